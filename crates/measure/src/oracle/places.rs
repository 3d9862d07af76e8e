//! Which interfaces are the host's two paths, and what can be used of them now?

use super::kernel::Interface;
use model::PathKind;
use model::daemon::Place;
use std::cmp::Reverse;
use std::net::IpAddr;

/// A path as it is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathNow {
    /// The interface's name; `None` while none fits.
    pub name: Option<String>,
    /// What carries it.
    pub kind: PathKind,
    /// The interface's number, 0 while there is none.
    pub index: u32,
    /// Whether the interface is up, has a carrier and an address.
    pub up: bool,
    /// Its addresses of global scope.
    pub addresses: Vec<IpAddr>,
}

impl PathNow {
    /// How it is called in words.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or("no interface")
    }
}

/// Finds the two paths, and keeps to what it has found: an interface that goes down loses its
/// default route, and stays the path it was.
#[derive(Clone, Debug)]
pub struct Places {
    wanted: [Place; 2],
    /// The names found so far.
    found: [Option<String>; 2],
}

/// What a path counts as when nobody says: home is Wi-Fi, the backup is cellular.
const USUAL: [PathKind; 2] = [PathKind::Wifi, PathKind::Cellular];

impl Places {
    /// Looks for these, home first.
    pub fn new(home: Place, backup: Place) -> Places {
        Places {
            wanted: [home, backup],
            found: [None, None],
        }
    }

    /// The paths among these interfaces.
    pub fn resolve(&mut self, interfaces: &[Interface]) -> [PathNow; 2] {
        if self.found.iter().any(Option::is_none) {
            self.choose(interfaces);
        }
        [0, 1].map(|path| {
            let name = self.found[path].clone();
            let interface = interfaces.iter().find(|i| Some(&i.name) == name.as_ref());
            let kind = self.wanted[path].kind.or(interface.and_then(|i| i.kind));
            PathNow {
                name,
                kind: kind.unwrap_or(USUAL[path]),
                index: interface.map_or(0, |i| i.index),
                up: interface.is_some_and(|i| i.running && !i.addresses.is_empty()),
                addresses: interface.map(|i| i.addresses.clone()).unwrap_or_default(),
            }
        })
    }

    fn choose(&mut self, interfaces: &[Interface]) {
        let mut found = [0, 1].map(|path| self.wanted[path].interface.clone());
        // By kind before by route, so that the one who says nothing takes what is left.
        for by_kind in [true, false] {
            for path in 0..2 {
                let wanted = &self.wanted[path];
                if found[path].is_some() || wanted.kind.is_some() != by_kind {
                    continue;
                }
                let free = |i: &&Interface| !found.contains(&Some(i.name.clone()));
                let fits = |i: &&Interface| match wanted.kind {
                    Some(kind) => i.kind == Some(kind),
                    None => i.metric.is_some(),
                };
                // Of equals the one that is used: a cellular one is no home unless it is told to be.
                let rank = |i: &&Interface| {
                    let cellular = i.kind == Some(PathKind::Cellular);
                    (
                        i.metric.is_none(),
                        cellular,
                        i.metric,
                        Reverse(i.running),
                        i.index,
                    )
                };
                let best = interfaces.iter().filter(free).filter(fits).min_by_key(rank);
                found[path] = best.map(|i| i.name.clone());
            }
        }
        self.found = found;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(index: u32, name: &str, kind: Option<PathKind>, metric: Option<u32>) -> Interface {
        Interface {
            index,
            name: name.to_owned(),
            kind,
            running: true,
            addresses: vec![IpAddr::from([10, 0, index as u8, 2])],
            metric,
        }
    }

    fn names(paths: &[PathNow; 2]) -> [Option<&str>; 2] {
        [paths[0].name.as_deref(), paths[1].name.as_deref()]
    }

    fn place(interface: Option<&str>, kind: Option<PathKind>) -> Place {
        Place {
            interface: interface.map(str::to_owned),
            kind,
        }
    }

    #[test]
    fn metrics_decide_when_nothing_is_said() {
        use PathKind::{Cellular, Wifi};
        let mut all = vec![
            interface(1, "lo", None, None),
            interface(2, "wwan0", Some(Cellular), Some(50)),
            interface(3, "wlan0", Some(Wifi), Some(600)),
        ];
        let mut places = Places::new(Place::default(), Place::default());
        assert_eq!(names(&places.resolve(&all)), [Some("wlan0"), Some("wwan0")]);
        // The Wi-Fi goes: it stays the home.
        all[2].metric = None;
        all[2].running = false;
        let paths = places.resolve(&all);
        assert_eq!(names(&paths), [Some("wlan0"), Some("wwan0")]);
        assert!(!paths[0].up && paths[1].up);
        all.truncate(2);
        let paths = places.resolve(&all);
        assert_eq!((paths[0].index, paths[0].up), (0, false));
    }

    #[test]
    fn names_and_kinds_decide_where_they_are_given() {
        use PathKind::{Cellular, Ethernet, Wifi};
        let all = [
            interface(2, "eth0", Some(Ethernet), Some(100)),
            interface(3, "wlan0", Some(Wifi), Some(600)),
            interface(4, "usb0", Some(Ethernet), Some(700)),
        ];
        let resolve = |home, backup| {
            let paths = Places::new(home, backup).resolve(&all);
            (names(&paths).map(|n| n.map(str::to_owned)), paths[1].kind)
        };
        let named = |names: [Option<&str>; 2]| names.map(|n| n.map(str::to_owned));
        let (names, kind) = resolve(place(None, Some(Wifi)), place(Some("usb0"), Some(Cellular)));
        assert_eq!(names, named([Some("wlan0"), Some("usb0")]));
        assert_eq!(kind, Cellular);
        // What is taken by name or kind is not taken again.
        let (names, _) = resolve(Place::default(), place(Some("eth0"), None));
        assert_eq!(names, named([Some("wlan0"), Some("eth0")]));
        // One that is not there yet.
        let (names, _) = resolve(Place::default(), place(None, Some(Cellular)));
        assert_eq!(names, named([Some("eth0"), None]));
    }

    #[test]
    fn an_interface_that_appears_later_is_found() {
        let wifi = interface(3, "wlan0", Some(PathKind::Wifi), Some(600));
        let mut places = Places::new(Place::default(), Place::default());
        let alone = [wifi.clone()];
        assert_eq!(names(&places.resolve(&alone)), [Some("wlan0"), None]);
        let both = [
            wifi,
            interface(5, "wwan0", Some(PathKind::Cellular), Some(700)),
        ];
        assert_eq!(
            names(&places.resolve(&both)),
            [Some("wlan0"), Some("wwan0")]
        );
    }
}
