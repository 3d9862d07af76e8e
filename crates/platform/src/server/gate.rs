//! How many connections may there be, and how many from one network? Whoever is let in holds a permit
//! until the connection is gone.

use super::Limits;
use super::metrics::Held;
use super::reasons::Refusal;
use crate::privacy;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(super) struct Gate {
    limits: Limits,
    inside: Mutex<Inside>,
}

#[derive(Debug, Default)]
struct Inside {
    total: usize,
    by_prefix: HashMap<String, usize>,
}

/// The right to be connected; given back when dropped.
#[derive(Debug)]
pub(super) struct Permit {
    gate: Arc<Gate>,
    prefix: String,
    /// Only kept.
    _counted: Option<Held>,
}

impl Gate {
    pub(super) fn new(limits: Limits) -> Arc<Gate> {
        let inside = Mutex::default();
        Arc::new(Gate { limits, inside })
    }

    /// Lets a connection from `address` in.
    pub(super) fn admit(self: &Arc<Gate>, address: IpAddr) -> Result<Permit, Refusal> {
        let prefix = privacy::prefix(address);
        let mut inside = self.inside();
        if inside.total >= self.limits.connections {
            return Err(Refusal::Connections);
        }
        let of_prefix = inside.by_prefix.get(&prefix).copied().unwrap_or(0);
        if of_prefix >= self.limits.connections_per_prefix {
            return Err(Refusal::Prefix);
        }
        inside.total += 1;
        inside.by_prefix.insert(prefix.clone(), of_prefix + 1);
        drop(inside);
        let gate = Arc::clone(self);
        Ok(Permit {
            gate,
            prefix,
            _counted: None,
        })
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit {
    /// The same, counted in the metrics for as long.
    pub(super) fn counted(mut self, held: Held) -> Permit {
        self._counted = Some(held);
        self
    }

    /// The network it was given to, as it may be logged.
    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let mut inside = self.gate.inside();
        inside.total -= 1;
        if let Some(count) = inside.by_prefix.get_mut(&self.prefix) {
            *count -= 1;
            if *count == 0 {
                inside.by_prefix.remove(&self.prefix);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_network_does_not_keep_the_others_out() {
        let gate = Gate::new(Limits {
            connections: 5,
            connections_per_prefix: 2,
            ..Limits::default()
        });
        let from = |text: &str| gate.admit(text.parse().expect("an address"));
        let first = from("192.0.2.1").expect("room");
        let _second = from("::ffff:192.0.2.2").expect("room");
        assert!(matches!(from("192.0.2.3"), Err(Refusal::Prefix)));
        let _others = [
            from("198.51.100.1").expect("room"),
            from("2001:db8:1::1").expect("room"),
            from("2001:db8:1:9::2").expect("room"),
        ];
        assert!(matches!(from("203.0.113.1"), Err(Refusal::Connections)));
        drop(first);
        assert_eq!(
            from("192.0.2.4").expect("room again").prefix(),
            "192.0.2.0/24"
        );
        assert_eq!(gate.inside().by_prefix.len(), 3);
    }
}
