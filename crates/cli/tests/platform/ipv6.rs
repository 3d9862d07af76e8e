//! Does everything work over IPv6 as over IPv4?

use crate::database;
use crate::deployment::{Deployment, URL};
use crate::stable::{assert_stored, uploaded};
use serde_json::{Value, json};

/// Every transport, from the choice of the server to what is stored.
pub fn every_transport_runs_over_it(deployment: &mut Deployment) {
    let mut command = deployment.client(&["test", "pings", "--collector", URL]);
    command.args([
        "--path",
        "wifi=wlan0:wifi",
        "--path",
        "cellular=wwan0:cellular",
    ]);
    command.args(["--family", "ipv6", "--server", "near"]);
    command.args(["--consent", "agree", "--json", "--out", "six"]);
    let result = deployment.start_client(&mut command).finish().success();
    assert_eq!(result["family"], "ipv6", "{result:#}");
    let ways = result["reachability"].as_array().expect("attempts");
    assert_eq!(ways.len(), 16, "four transports, two ports, two families");
    for way in ways {
        assert_eq!(way["outcome"], "reached", "{way}");
    }
    let runs = uploaded(&result, &deployment.home());
    assert_eq!(runs.len(), 4, "{result:#}");
    for run in result["runs"].as_array().expect("runs") {
        assert_eq!(
            (&run["ended"], &run["error"]),
            (&json!("done"), &Value::Null),
            "{run}"
        );
    }
    let (rest, stored) = (deployment.rest(), database::runs(&deployment.database));
    for (id, folder) in &runs {
        assert_stored(deployment, &rest, &stored, id, folder);
        let row = stored.iter().find(|row| row.text("id") == Some(id));
        assert_eq!(row.and_then(|row| row.text("family")), Some("ipv6"));
    }
}
