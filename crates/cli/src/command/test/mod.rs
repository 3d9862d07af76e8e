//! `walkabout test`: a test on this machine's real interfaces, against the nearest test server.

mod abandoned;
mod bars;
mod board;
mod carried;
mod clock;
mod consent;
mod exchange;
mod journey;
mod outcome;
mod paths;
mod ping;
mod places;
mod plan;
mod push;
mod reach;
mod setting;
mod show;
mod stream;
mod terminal;
mod tokens;
mod upload;
mod view;

use crate::failure::{Failure, conclude};
use model::Family;
use model::live::CoarseLocation;
pub use paths::word as kind_word;
use places::Places;
use std::path::PathBuf;
use std::time::Duration;

/// How long an exchange with the collector may take.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Measure on this machine's interfaces, against a test server; ends with a table and a report.
#[derive(clap::Args)]
#[command(after_help = crate::failure::EXIT_CODES)]
pub struct Test {
    /// The experiment, by the name the collector gives it; by default the first of the mode.
    #[arg(conflicts_with = "mode")]
    experiment: Option<String>,
    /// The collector's address, such as https://HOST.
    #[arg(long, value_name = "URL", required_unless_present_any = ["upload_only", "delete"])]
    collector: Option<String>,
    /// `stable`: one protocol after the other, while nothing moves. `mobile`: the multipath protocols
    /// all at once, on a walk away from the Wi-Fi.
    #[arg(long, value_parser = ["stable", "mobile"], default_value = "stable")]
    mode: String,
    /// A path and its interface (repeatable, the first is where connections start), such as
    /// wifi=wlan0 or cellular=usb0:cellular; every interface that leads out by default.
    #[arg(long = "path", value_name = "NAME=IFACE[:KIND]")]
    paths: Vec<paths::PathArgument>,
    /// This server instead of the nearest.
    #[arg(long, value_name = "ID")]
    server: Option<String>,
    /// Only over `ipv4` or `ipv6`.
    #[arg(long, value_parser = family)]
    family: Option<Family>,
    /// This port of the server instead of its first.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Agree to this version of the collector's text (or, with `agree`, to the one there is), which is
    /// printed: for scripts.
    #[arg(long, value_name = "VERSION|agree")]
    consent: Option<String>,
    /// The result may be published.
    #[arg(long)]
    publish: bool,
    /// Where the test takes place; kept to a tenth of a degree. Nothing is said of it by default.
    #[arg(long, value_name = "LAT,LON", value_parser = location, allow_hyphen_values = true)]
    location: Option<CoarseLocation>,
    /// The seed of the order of the runs; drawn by default, and recorded.
    #[arg(long)]
    seed: Option<u64>,
    /// The folder of the results; a new one under `runs/` by default.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Keep the results here: nothing is uploaded, and nobody can watch.
    #[arg(long)]
    no_upload: bool,
    /// Measure nothing: upload what waits from earlier tests.
    #[arg(long, conflicts_with_all = ["no_upload", "delete"])]
    upload_only: bool,
    /// Measure nothing: delete this run at its collector, by its id.
    #[arg(long, value_name = "RUN")]
    delete: Option<String>,
    /// Print a JSON object per line for whatever is seen, and the results last.
    #[arg(long)]
    json_stream: bool,
}

impl Test {
    /// Tests, prints the table, writes the report, uploads.
    pub fn run(self, json: bool) -> Result<(), Failure> {
        let places = Places::find()?;
        if let Some(run) = &self.delete {
            let deleted = upload::delete(&places, run, TIMEOUT)?;
            return conclude(json.then_some(deleted), None);
        }
        // Nothing of it is uploaded by who wants no upload now.
        if !self.no_upload {
            abandoned::queue(&places)?;
        }
        if self.upload_only {
            let sent = upload::only(&places, self.collector.as_deref(), TIMEOUT)?;
            return conclude(json.then_some(sent), None);
        }
        let style = match (self.json_stream, json) {
            (true, _) => show::Style::Stream,
            (false, true) => show::Style::Silent,
            (false, false) => show::Style::People,
        };
        journey::run(&self, &places, style)
    }
}

fn family(name: &str) -> Result<Family, String> {
    match name {
        "ipv4" => Ok(Family::Ipv4),
        "ipv6" => Ok(Family::Ipv6),
        _ => Err("ipv4 or ipv6 was expected".to_owned()),
    }
}

/// Degrees north and east, at once cut to a tenth: more than that is never kept.
fn location(text: &str) -> Result<CoarseLocation, String> {
    let expected = "degrees north and east were expected, such as 50.7,4.6";
    let (latitude, longitude) = text.split_once(',').ok_or(expected)?;
    let degrees = |text: &str, most: f64| {
        let degrees: f64 = text.trim().parse().map_err(|_| expected.to_owned())?;
        let within = (-most..=most).contains(&degrees);
        let tenth = (degrees * 10.0).round() / 10.0;
        within
            .then_some(tenth)
            .ok_or(format!("{degrees} is not from -{most} to {most}"))
    };
    Ok(CoarseLocation {
        latitude_deg: degrees(latitude, 90.0)?,
        longitude_deg: degrees(longitude, 180.0)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_coarse_from_the_start() {
        let coarse = location("50.6681, -4.6118").expect("a place");
        assert_eq!((coarse.latitude_deg, coarse.longitude_deg), (50.7, -4.6));
        for wrong in ["50.7", "a,b", "91,0", "0,181", "NaN,0"] {
            assert!(location(wrong).is_err(), "{wrong}");
        }
    }
}
