//! What does the client call the paths that the server saw? The server knows where packets came from, which
//! behind an address translation is no address of the client's.

use crate::transport::LocalPath;
use model::Name;
use model::live::SeenPath;
use std::collections::BTreeMap;

/// The client's name for each path that the server `seen`, as far as it is certain. Connections start on the
/// first of the client's `paths`, and one that is not `multipath` stays there.
pub fn of(seen: &[SeenPath], paths: &[LocalPath], multipath: bool) -> BTreeMap<Name, Name> {
    let mut names = BTreeMap::new();
    let Some(first) = paths.first() else {
        return names;
    };
    if !multipath {
        let all = seen.iter().map(|s| (s.name.clone(), first.name.clone()));
        return all.collect();
    }
    let mut unnamed: Vec<&SeenPath> = Vec::new();
    let mut left: Vec<&LocalPath> = paths.iter().collect();
    for path in seen {
        let address = path.address.to_canonical();
        match left.iter().position(|p| p.address == address) {
            Some(at) => {
                names.insert(path.name.clone(), left.remove(at).name.clone());
            }
            None => unnamed.push(path),
        }
    }
    // What several paths share is none of them.
    let mut translated = unnamed.into_iter().filter(|path| !path.shared);
    let mut rest = Vec::new();
    if let Some(path) = translated.next() {
        let is_start = seen.first().is_some_and(|start| start.name == path.name);
        match is_start && left.first().is_some_and(|p| p.name == first.name) {
            true => {
                names.insert(path.name.clone(), left.remove(0).name.clone());
            }
            false => rest.push(path),
        }
    }
    rest.extend(translated);
    if let ([path], [own]) = (&rest[..], &left[..])
        && seen.iter().all(|path| !path.shared)
    {
        names.insert(path.name.clone(), own.name.clone());
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::PathKind;
    use std::net::IpAddr;

    fn own(name: &str, host: u8) -> LocalPath {
        LocalPath {
            name: name.into(),
            kind: PathKind::Wifi,
            address: IpAddr::from([192, 168, 0, host]),
            interface: 1,
        }
    }

    fn seen(number: usize, address: [u8; 4]) -> SeenPath {
        SeenPath {
            name: format!("path-{number}").as_str().into(),
            address: address.into(),
            shared: false,
        }
    }

    /// The client's names of `path-1`, `path-2` ...; `?` where nothing is certain.
    fn named(seen: &[SeenPath], paths: &[LocalPath], multipath: bool) -> Vec<String> {
        let names = of(seen, paths, multipath);
        let name = |s: &SeenPath| {
            let name = names.get(&s.name);
            name.map_or("?".to_owned(), |name| name.as_str().to_owned())
        };
        seen.iter().map(name).collect()
    }

    #[test]
    fn paths_get_their_names_by_address_and_behind_translations_by_what_is_left() {
        let paths = [own("wifi", 1), own("cellular", 2)];
        let (wifi, cellular) = ([192, 168, 0, 1], [192, 168, 0, 2]);
        let (home, carrier) = ([203, 0, 113, 1], [198, 51, 100, 1]);
        let both = |a, b| [seen(1, a), seen(2, b)];
        assert_eq!(
            named(&both(cellular, wifi), &paths, true),
            ["cellular", "wifi"]
        );
        assert_eq!(
            named(&both(home, carrier), &paths, true),
            ["wifi", "cellular"]
        );
        assert_eq!(
            named(&both(home, cellular), &paths, true),
            ["wifi", "cellular"]
        );
        assert_eq!(
            named(&both(wifi, carrier), &paths, true),
            ["wifi", "cellular"]
        );
        assert_eq!(named(&[seen(1, home)], &paths, true), ["wifi"]);
        // Both behind one.
        let mut shared = [seen(1, home)];
        shared[0].shared = true;
        assert_eq!(named(&shared, &paths, true), ["?"]);
        // Which of the two others came second?
        let three = [own("wifi", 1), own("cellular", 2), own("ethernet", 3)];
        assert_eq!(named(&both(home, carrier), &three, true), ["wifi", "?"]);
        // On one path, whatever its address becomes.
        assert_eq!(named(&both(home, carrier), &paths, false), ["wifi", "wifi"]);
        assert_eq!(named(&both(home, carrier), &[], true), ["?", "?"]);
    }
}
