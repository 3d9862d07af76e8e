//! Which path is home, and which one helps out?

use crate::view::View;
use model::{PathIndex, PathKind};

/// The path a connection starts on and prefers, as long as it works.
pub const HOME: PathIndex = PathIndex(0);

/// The path to use instead of [`HOME`]: the first cellular one that is up; without one, the
/// first other path that is up.
pub fn spare(view: &View) -> Option<PathIndex> {
    let others = || view.paths.iter().enumerate().skip(1).filter(|(_, p)| p.up);
    others()
        .find(|(_, p)| p.kind == PathKind::Cellular)
        .or_else(|| others().next())
        .map(|(index, _)| PathIndex(index))
}

/// Whether `path` is up; one that does not exist is not.
pub fn is_up(view: &View, path: PathIndex) -> bool {
    view.paths.get(path.0).is_some_and(|p| p.up)
}

/// How causes call a path: `Wi-Fi (path 0)`.
pub fn label(view: &View, path: PathIndex) -> String {
    let kind = match view.paths.get(path.0).map(|p| p.kind) {
        Some(PathKind::Wifi) => "Wi-Fi",
        Some(PathKind::Cellular) => "cellular",
        Some(PathKind::Ethernet) => "Ethernet",
        None => "unknown",
    };
    format!("{kind} (path {})", path.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::PathView;
    use PathKind::{Cellular, Ethernet, Wifi};

    #[test]
    fn the_spare_is_cellular_if_one_is_up() {
        for (paths, expected) in [
            (&[(Wifi, true), (Cellular, true)][..], Some(1)),
            (&[(Wifi, true), (Ethernet, true), (Cellular, true)], Some(2)),
            (
                &[(Wifi, true), (Ethernet, true), (Cellular, false)],
                Some(1),
            ),
            (&[(Wifi, false), (Cellular, false)], None),
            (&[(Cellular, true), (Wifi, true)], Some(1)),
            (&[(Cellular, true)], None),
            (&[], None),
        ] {
            let paths = paths.iter().map(|&(kind, up)| PathView { kind, up });
            let view = View {
                paths: paths.collect(),
                connections: Vec::new(),
            };
            assert_eq!(spare(&view), expected.map(PathIndex), "{view:?}");
        }
    }
}
