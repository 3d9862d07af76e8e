//! Which pitfalls of a network with both versions of the internet protocol explain what is seen?

use model::{Family, Name};

/// What is known of a path before a family is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathFamilies {
    /// The path.
    pub path: Name,
    /// The versions its interface has an address of.
    pub families: Vec<Family>,
}

/// The pitfalls of reaching a server that has addresses of the families `server` over `chosen`, a
/// sentence each, with what to do; `paths` in order, the one to start on first.
///
/// MultipathTester (section IV) met users whose Wi-Fi had IPv6 and whose mobile network only IPv4:
/// the connection began over IPv6, the server announced no other address (ADD_ADDR), and so it could
/// never leave the Wi-Fi.
pub fn traps(paths: &[PathFamilies], server: &[Family], chosen: Family) -> Vec<String> {
    let other = match chosen {
        Family::Ipv4 => Family::Ipv6,
        Family::Ipv6 => Family::Ipv4,
    };
    let Some((first, rest)) = paths.split_first() else {
        return Vec::new();
    };
    if !server.contains(&chosen) {
        return vec![format!(
            "The server has no {} address: choose {}.",
            words(chosen),
            words(other)
        )];
    }
    if !first.families.contains(&chosen) {
        let (path, missing) = (&first.path, words(chosen));
        return vec![
            match server.contains(&other) && first.families.contains(&other) {
                true => format!(
                    "The first path, `{path}`, has no {missing} address: choose {}.",
                    words(other)
                ),
                false => format!(
                    "The first path, `{path}`, has no {missing} address: begin with another path, or choose \
                 a server that has an address of its family."
                ),
            },
        ];
    }
    let everywhere = paths.iter().all(|p| p.families.contains(&other));
    let way_out = server.contains(&other) && everywhere;
    let out_of_reach = rest
        .iter()
        .filter(|p| !p.families.contains(&chosen) && !p.families.is_empty());
    out_of_reach
        .map(|stranger| {
            let (path, begins) = (&stranger.path, &first.path);
            match (chosen, way_out) {
                (Family::Ipv6, true) => format!(
                    "The connection begins over IPv6 on `{begins}`, and `{path}` has only IPv4: as the \
                     server announces no other address (ADD_ADDR), it cannot leave `{begins}`. Use IPv4, \
                     which every path has."
                ),
                (Family::Ipv6, false) => format!(
                    "The connection begins over IPv6 on `{begins}`, and `{path}` has only IPv4: as the \
                     server announces no other address (ADD_ADDR), it cannot leave `{begins}`. Give \
                     `{begins}` and the server an IPv4 address and use IPv4; or give `{path}` IPv6."
                ),
                (Family::Ipv4, true) => format!(
                    "The connection begins over IPv4 on `{begins}`, and `{path}` has only IPv6. Use IPv6, \
                     which every path has; or, as networks of this kind translate (NAT64), give this host \
                     an IPv4 address on `{path}` with a translator of its own (464XLAT, RFC 6877)."
                ),
                (Family::Ipv4, false) => format!(
                    "The connection begins over IPv4 on `{begins}`, and `{path}` has only IPv6. It works \
                     where the network translates (NAT64) and this host has an IPv4 address on `{path}` \
                     through a translator of its own (464XLAT, RFC 6877); without one, the connection \
                     cannot leave `{begins}`."
                ),
            }
        })
        .collect()
}

fn words(family: Family) -> &'static str {
    match family {
        Family::Ipv4 => "IPv4",
        Family::Ipv6 => "IPv6",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_of_families() {
        let (v4, v6) = (Family::Ipv4, Family::Ipv6);
        let (only4, only6, both) = (vec![v4], vec![v6], vec![v4, v6]);
        let mut table = Vec::new();
        for (wifi, cellular, server, chosen) in [
            (&both, &both, &both, v4),
            (&both, &both, &both, v6),
            // The trap: IPv6 on Wi-Fi, IPv4 only on cellular.
            (&both, &only4, &both, v6),
            (&both, &only4, &both, v4),
            (&only6, &only4, &both, v6),
            (&both, &only4, &only6, v6),
            // The converse.
            (&both, &only6, &both, v4),
            (&only4, &only6, &both, v4),
            (&both, &only6, &both, v6),
            // What the caller should not have chosen.
            (&only4, &both, &both, v6),
            (&both, &both, &only4, v6),
            (&only6, &both, &only4, v4),
        ] {
            let path = |name: &str, families: &Vec<Family>| PathFamilies {
                path: Name::from(name),
                families: families.clone(),
            };
            let paths = [path("wifi", wifi), path("cellular", cellular)];
            let said = traps(&paths, server, chosen);
            let short = |families: &[Family]| {
                let digits = families.iter().map(|f| if *f == v4 { "4" } else { "6" });
                digits.collect::<String>()
            };
            table.push(format!(
                "{:2} {:2} {:2} over {}: {}",
                short(wifi),
                short(cellular),
                short(server),
                short(&[chosen]),
                if said.is_empty() {
                    "-".to_owned()
                } else {
                    said.join(" | ")
                }
            ));
        }
        insta::assert_snapshot!(table.join("\n"));
    }

    #[test]
    fn one_path_has_nowhere_to_go() {
        let wifi = PathFamilies {
            path: Name::from("wifi"),
            families: vec![Family::Ipv6],
        };
        assert!(traps(&[wifi], &Family::ALL, Family::Ipv6).is_empty());
        assert!(traps(&[], &Family::ALL, Family::Ipv6).is_empty());
    }

    #[test]
    fn a_path_without_any_address_is_no_trap_but_down() {
        let path = |name: &str, families: &[Family]| PathFamilies {
            path: Name::from(name),
            families: families.to_vec(),
        };
        let paths = [path("wifi", &Family::ALL), path("cellular", &[])];
        assert!(traps(&paths, &Family::ALL, Family::Ipv6).is_empty());
    }
}
