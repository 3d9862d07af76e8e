//! How much energy did the host itself measure? By its battery's gauge and the processor's counters (RAPL).
//!
//! What a host does not expose, or not to this user, is absent. A gauge is read before and after: it tells
//! of the whole host, and as finely as it counts (a battery's often in 10 mWh, 36 J).

use model::live::{EnergySource, MeasuredEnergy};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// J in a microwatt-hour, and in a microampere-hour at one volt.
const J_PER_UWH: f64 = 3_600.0 / 1e6;

/// What the host's gauges said when a run began.
#[derive(Clone, Debug)]
pub struct Meter {
    sys: PathBuf,
    start: BTreeMap<Gauge, Reading>,
}

/// One gauge: who measures, and its directory's name.
type Gauge = (EnergySource, String);

/// What a gauge says.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reading {
    /// What was taken so far; it begins anew at `range_j`.
    Counted { taken_j: f64, range_j: f64 },
    /// What is left.
    Left { left_j: f64 },
}

impl Meter {
    /// Reads the gauges below `sys`, which is `/sys`.
    pub fn start(sys: &Path) -> Meter {
        Meter {
            sys: sys.to_owned(),
            start: gauges(sys),
        }
    }

    /// What was taken since: the sum over the gauges of each source, if all that were there still are, and
    /// none of them ran backwards (a battery that was charged).
    pub fn read(&self) -> Vec<MeasuredEnergy> {
        let now = gauges(&self.sys);
        let mut sums: BTreeMap<EnergySource, Option<f64>> = BTreeMap::new();
        for (gauge, start) in &self.start {
            let taken = now.get(gauge).and_then(|now| start.until(now));
            let sum = sums.entry(gauge.0).or_insert(Some(0.0));
            *sum = sum.zip(taken).map(|(sum, taken)| sum + taken);
        }
        let measured = sums.into_iter().filter_map(|(source, sum)| {
            let measured_j = sum?;
            Some(MeasuredEnergy { source, measured_j })
        });
        measured.collect()
    }
}

impl Reading {
    /// What was taken between this and a later reading.
    fn until(&self, later: &Reading) -> Option<f64> {
        let taken = match (*self, *later) {
            (
                Reading::Counted { taken_j: from, .. },
                Reading::Counted {
                    taken_j: to,
                    range_j,
                },
            ) => {
                if to >= from {
                    to - from
                } else {
                    to + range_j - from
                }
            }
            (Reading::Left { left_j: from }, Reading::Left { left_j: to }) => from - to,
            _ => return None,
        };
        (taken >= 0.0).then_some(taken)
    }
}

fn gauges(sys: &Path) -> BTreeMap<Gauge, Reading> {
    let mut gauges = BTreeMap::new();
    for (name, folder) in folders(&sys.join("class/power_supply")) {
        if let Some(reading) = battery(&folder) {
            gauges.insert((EnergySource::Battery, name), reading);
        }
    }
    for (name, folder) in folders(&sys.join("class/powercap")) {
        if let Some((source, reading)) = rapl(&folder) {
            gauges.insert((source, name), reading);
        }
    }
    gauges
}

/// A battery that powers the host and is being discharged.
fn battery(folder: &Path) -> Option<Reading> {
    let is = |file: &str, word: &str| text(folder, file).as_deref() == Some(word);
    // One of a mouse or a headset has the scope `Device`.
    if !is("type", "Battery") || is("scope", "Device") || !is("status", "Discharging") {
        return None;
    }
    let left_uwh = number(folder, "energy_now").or_else(|| {
        let volts =
            number(folder, "voltage_min_design").or_else(|| number(folder, "voltage_now"))?;
        Some(number(folder, "charge_now")? * volts / 1e6)
    })?;
    let left_j = left_uwh * J_PER_UWH;
    Some(Reading::Left { left_j })
}

/// A zone of a whole package or of the platform; those within a package are in its sum already.
fn rapl(folder: &Path) -> Option<(EnergySource, Reading)> {
    let name = text(folder, "name")?;
    let source = match name.as_str() {
        "psys" => EnergySource::RaplPlatform,
        _ if name.starts_with("package-") => EnergySource::RaplPackages,
        _ => return None,
    };
    let reading = Reading::Counted {
        taken_j: number(folder, "energy_uj")? / 1e6,
        range_j: number(folder, "max_energy_range_uj")? / 1e6,
    };
    Some((source, reading))
}

/// The entries of a directory, none if there is no such directory.
fn folders(folder: &Path) -> Vec<(String, PathBuf)> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let named = entries.filter_map(Result::ok).map(|entry| {
        (
            entry.file_name().to_string_lossy().into_owned(),
            entry.path(),
        )
    });
    named.collect()
}

fn text(folder: &Path, file: &str) -> Option<String> {
    let text = fs::read_to_string(folder.join(file)).ok()?;
    Some(text.trim().to_owned())
}

/// A file that holds a number which is not negative.
fn number(folder: &Path, file: &str) -> Option<f64> {
    let value: f64 = text(folder, file)?.parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use EnergySource::{Battery, RaplPackages, RaplPlatform};

    /// Writes files below `class` of a directory that stands for `/sys`.
    fn put(sys: &Path, folder: &str, files: &[(&str, &str)]) {
        let folder = sys.join("class").join(folder);
        fs::create_dir_all(&folder).expect("a directory");
        for (file, text) in files {
            fs::write(folder.join(file), format!("{text}\n")).expect("a file");
        }
    }

    fn zone(sys: &Path, folder: &str, name: &str, energy: &str) {
        let files = [
            ("name", name),
            ("energy_uj", energy),
            ("max_energy_range_uj", "262143000000"),
        ];
        put(sys, &format!("powercap/{folder}"), &files);
    }

    fn measured(meter: &Meter) -> Vec<(EnergySource, f64)> {
        let rounded = |j: f64| (j * 1e6).round() / 1e6;
        let measured = meter.read();
        measured
            .iter()
            .map(|m| (m.source, rounded(m.measured_j)))
            .collect()
    }

    #[test]
    fn a_host_without_gauges_measured_nothing() {
        let sys = tempfile::tempdir().expect("a directory");
        assert_eq!(measured(&Meter::start(sys.path())), []);
        assert_eq!(measured(&Meter::start(&sys.path().join("missing"))), []);
    }

    #[test]
    fn packages_are_added_up_and_their_parts_are_not() {
        let sys = tempfile::tempdir().expect("a directory");
        let sys = sys.path();
        zone(sys, "intel-rapl:0", "package-0", "1000000");
        zone(sys, "intel-rapl:0:0", "core", "900000");
        zone(sys, "intel-rapl:1", "package-1", "262142000000");
        zone(sys, "intel-rapl:2", "psys", "5000000");
        let meter = Meter::start(sys);
        zone(sys, "intel-rapl:0", "package-0", "3500000");
        zone(sys, "intel-rapl:0:0", "core", "3000000");
        // It began anew.
        zone(sys, "intel-rapl:1", "package-1", "500000");
        zone(sys, "intel-rapl:2", "psys", "12000000");
        assert_eq!(measured(&meter), [(RaplPlatform, 7.0), (RaplPackages, 4.0)]);
    }

    #[test]
    fn a_gauge_that_is_gone_or_unreadable_makes_its_source_absent() {
        let sys = tempfile::tempdir().expect("a directory");
        let sys = sys.path();
        zone(sys, "intel-rapl:0", "package-0", "1000000");
        zone(sys, "intel-rapl:1", "package-1", "1000000");
        zone(sys, "intel-rapl:2", "psys", "not a number");
        let meter = Meter::start(sys);
        fs::remove_dir_all(sys.join("class/powercap/intel-rapl:1")).expect("it was there");
        assert_eq!(measured(&meter), []);
    }

    #[test]
    fn a_battery_tells_what_was_taken_from_it() {
        let sys = tempfile::tempdir().expect("a directory");
        let sys = sys.path();
        let discharging = [("type", "Battery"), ("status", "Discharging")];
        put(
            sys,
            "power_supply/AC",
            &[("type", "Mains"), ("online", "0")],
        );
        put(sys, "power_supply/mouse", &discharging);
        let mouse = [("scope", "Device"), ("energy_now", "500000")];
        put(sys, "power_supply/mouse", &mouse);
        put(sys, "power_supply/BAT0", &discharging);
        put(sys, "power_supply/BAT0", &[("energy_now", "40010000")]);
        // By charge: 10 mAh at 11.4 V.
        put(sys, "power_supply/BAT1", &discharging);
        let charge = [
            ("charge_now", "2010000"),
            ("voltage_min_design", "11400000"),
        ];
        put(sys, "power_supply/BAT1", &charge);
        let meter = Meter::start(sys);
        put(sys, "power_supply/mouse", &[("energy_now", "100000")]);
        put(sys, "power_supply/BAT0", &[("energy_now", "40000000")]);
        put(sys, "power_supply/BAT1", &[("charge_now", "2000000")]);
        assert_eq!(measured(&meter), [(Battery, 36.0 + 410.4)]);
    }

    #[test]
    fn a_battery_that_is_charged_measures_nothing() {
        let sys = tempfile::tempdir().expect("a directory");
        let sys = sys.path();
        let files = |status, energy| {
            [
                ("type", "Battery"),
                ("status", status),
                ("energy_now", energy),
            ]
        };
        put(sys, "power_supply/BAT0", &files("Charging", "40000000"));
        assert_eq!(measured(&Meter::start(sys)), []);
        put(sys, "power_supply/BAT0", &files("Discharging", "40000000"));
        let meter = Meter::start(sys);
        put(sys, "power_supply/BAT0", &files("Charging", "41000000"));
        assert_eq!(measured(&meter), []);
        put(sys, "power_supply/BAT0", &files("Discharging", "41000000"));
        assert_eq!(measured(&meter), [], "it has more than before");
    }
}
