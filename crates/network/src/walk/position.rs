//! Where is the walker when: the distance to the access point, and the way walked so far.

use model::Time;
use model::scenario::Waypoint;

/// A way through waypoints, straight and steady between two of them; before the first and
/// after the last the walker stands.
#[derive(Clone, Debug)]
pub struct Position {
    legs: Vec<Leg>,
}

#[derive(Clone, Copy, Debug)]
struct Leg {
    from: Time,
    distance: f64,
    /// Metres walked before this leg.
    walked: f64,
}

/// A place on the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Metres to the access point; at least 1, where the path-loss model begins.
    pub distance: f64,
    /// Metres walked so far.
    pub walked: f64,
}

impl Position {
    /// The way through `waypoints`; `None` when there are none.
    pub fn new(waypoints: &[Waypoint]) -> Option<Position> {
        let mut waypoints = waypoints.to_vec();
        waypoints.sort_by_key(|w| w.at);
        let mut legs: Vec<Leg> = Vec::with_capacity(waypoints.len());
        for Waypoint { at, distance_m } in waypoints {
            let distance = distance_m.max(1.0);
            let walked = legs.last().map_or(0.0, |previous| {
                previous.walked + (distance - previous.distance).abs()
            });
            legs.push(Leg {
                from: Time::ZERO + at.get(),
                distance,
                walked,
            });
        }
        (!legs.is_empty()).then_some(Position { legs })
    }

    /// Where the walker is at `now`.
    pub fn at(&self, now: Time) -> Place {
        let passed = self.legs.partition_point(|leg| leg.from <= now);
        let here = self.legs[passed.max(1) - 1];
        let Some(next) = self.legs.get(passed).filter(|_| passed > 0) else {
            return Place {
                distance: here.distance,
                walked: here.walked,
            };
        };
        let share = (now - here.from).as_secs_f64() / (next.from - here.from).as_secs_f64();
        Place {
            distance: here.distance + (next.distance - here.distance) * share,
            walked: here.walked + (next.walked - here.walked) * share,
        }
    }

    /// The farthest distance of the whole way, in metres.
    pub fn farthest(&self) -> f64 {
        self.legs.iter().map(|leg| leg.distance).fold(1.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::Span;

    #[test]
    fn between_before_and_after() {
        let waypoints = [(10, 2.0), (20, 22.0), (20, 12.0), (40, 2.0)].map(|(s, distance_m)| {
            let at = Span::from_millis(s * 1000);
            Waypoint { at, distance_m }
        });
        let position = Position::new(&waypoints).unwrap();
        let at = |s: u64| {
            let place = position.at(Time::from_millis(s * 1000));
            (place.distance, place.walked)
        };
        assert_eq!(at(0), (2.0, 0.0));
        assert_eq!(at(15), (12.0, 10.0));
        assert_eq!(at(20), (12.0, 30.0));
        assert_eq!(at(30), (7.0, 35.0));
        assert_eq!(at(90), (2.0, 40.0));
        assert_eq!(position.farthest(), 22.0);
        assert!(Position::new(&[]).is_none());
    }
}
