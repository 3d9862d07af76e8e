//! What does the daemon that runs see, and what has it done?

use crate::failure::Failure;
use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long a daemon may take to tell its status.
const PATIENCE: Duration = Duration::from_secs(5);

/// Shows the status of the daemon that answers at `socket`.
pub fn show(socket: &Path, json: bool) -> Result<(), Failure> {
    let no_answer = |error: std::io::Error| {
        let at = socket.display();
        let what_to_do = match error.kind() {
            ErrorKind::PermissionDenied => "only who runs it may ask: try sudo",
            _ => "is it running (systemctl status walkabout-oracle), and with this socket?",
        };
        Failure::failed(format!("no oracle answers at {at}: {error}; {what_to_do}"))
    };
    let mut stream = UnixStream::connect(socket).map_err(no_answer)?;
    stream.set_read_timeout(Some(PATIENCE)).map_err(no_answer)?;
    let mut text = String::new();
    stream.read_to_string(&mut text).map_err(no_answer)?;
    let status: serde_json::Value = serde_json::from_str(&text)
        .map_err(|error| Failure::failed(format!("the oracle's answer is no status: {error}")))?;
    if json {
        println!("{status:#}");
        return Ok(());
    }
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Null => "-".to_owned(),
        other => other.to_string(),
    };
    let dry = if status["dry_run"] == true {
        ", dry run"
    } else {
        ""
    };
    println!(
        "{} ({}){dry}",
        text(&status["policy"]),
        text(&status["role"])
    );
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    for path in list(&status["paths"]) {
        let up = if path["up"] == true { "up" } else { "down" };
        println!(
            "path {} ({}): {up}",
            text(&path["interface"]),
            text(&path["kind"])
        );
    }
    for connection in list(&status["connections"]) {
        println!(
            "connection {} {} to {}",
            text(&connection["connection"]),
            text(&connection["state"]),
            text(&connection["remote"]),
        );
        for subflow in list(&connection["subflows"]) {
            let backup = if subflow["backup"] == true {
                ", backup"
            } else {
                ""
            };
            println!(
                "  {} over {}{backup}, srtt {} us, {} sent again",
                text(&subflow["state"]),
                text(&subflow["path"]),
                text(&subflow["srtt_us"]),
                text(&subflow["retransmissions"]),
            );
        }
    }
    println!("counters {}", status["counters"]);
    Ok(())
}
