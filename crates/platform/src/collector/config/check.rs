//! What can the collector not be told?

use super::{Config, ConfigError, Limits};
use crate::api::{Experiment, Server};
use measure::transport::list::TRANSPORTS;
use model::spelling::nearest;

/// What cannot be told, before anyone looked up the line.
type Checked = Result<(), ConfigError>;

fn require(right: bool, key: impl Into<String>, what: impl Into<String>) -> Checked {
    if right {
        return Ok(());
    }
    Err(ConfigError {
        place: None,
        key: key.into(),
        what: what.into(),
    })
}

/// Letters, digits and `-`, the first one a letter or digit: what is part of URLs and tokens.
pub fn is_id(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
    !text.is_empty() && text.len() <= 64 && !text.starts_with('-') && text.bytes().all(plain)
}

impl Config {
    /// Checks what the types cannot.
    ///
    /// # Errors
    /// The first thing wrong, with its key and without a line.
    pub fn check(&self) -> Result<(), ConfigError> {
        let name = self.name.trim();
        let one_line = !name.is_empty() && name.len() <= 200 && !name.contains('\n');
        require(
            one_line,
            "name",
            "one line of at most 200 bytes was expected",
        )?;
        let is_database = ["sqlite:", "postgres://", "postgresql://"]
            .iter()
            .any(|scheme| self.database.starts_with(scheme));
        require(
            is_database,
            "database",
            "no database; write sqlite:FILE or postgres://USER@HOST/DATABASE",
        )?;
        require(
            (1..=36_500).contains(&self.retention_days),
            "retention_days",
            "results are kept for 1 to 36500 days",
        )?;
        for (i, server) in self.servers.iter().enumerate() {
            check_server(server, &format!("server[{i}]"))?;
            let twice = self.servers[..i].iter().any(|s| s.id == server.id);
            let what = format!("`{}` is the id of another server already", server.id);
            require(!twice, format!("server[{i}].id"), what)?;
        }
        for (i, experiment) in self.experiments.iter().enumerate() {
            check_experiment(experiment, &format!("experiment[{i}]"))?;
            let twice = self.experiments[..i]
                .iter()
                .any(|e| e.name == experiment.name);
            let what = format!("another experiment is called `{}` already", experiment.name);
            require(!twice, format!("experiment[{i}].name"), what)?;
        }
        check_limits(&self.limits)
    }
}

fn check_server(server: &Server, key: &str) -> Checked {
    let Server {
        id,
        place,
        addresses,
        ports,
        certificate_sha256,
    } = server;
    let what = format!("`{id}` is no id; letters, digits and `-` are allowed, 64 at most");
    require(is_id(id), format!("{key}.id"), what)?;
    let what = "where the server is, in one line of at most 200 bytes, was expected";
    let one_line = !place.trim().is_empty() && place.len() <= 200 && !place.contains('\n');
    require(one_line, format!("{key}.place"), what)?;
    let what = "at least one address was expected";
    require(!addresses.is_empty(), format!("{key}.addresses"), what)?;
    let what = "at least one port above 0 was expected";
    let right = !ports.is_empty() && !ports.contains(&0);
    require(right, format!("{key}.ports"), what)?;
    let pin = crate::token::unhex::<32>(certificate_sha256).is_some();
    let what = "64 hexadecimal digits were expected: `walkabout serve` prints them when it starts";
    require(pin, format!("{key}.certificate_sha256"), what)
}

fn check_experiment(experiment: &Experiment, key: &str) -> Checked {
    let Experiment {
        name,
        summary,
        mode: _,
        transports,
        policies,
        traffic,
    } = experiment;
    let what = format!("`{name}` is no name; letters, digits and `-` are allowed, 64 at most");
    require(is_id(name), format!("{key}.name"), what)?;
    let one_line = !summary.trim().is_empty() && summary.len() <= 300 && !summary.contains('\n');
    let what = "one line of at most 300 bytes was expected";
    require(one_line, format!("{key}.summary"), what)?;
    let known: Vec<&str> = TRANSPORTS.iter().map(|t| t.name).collect();
    listed(
        transports,
        &known,
        "transport",
        &format!("{key}.transports"),
    )?;
    let known: Vec<&str> = policy::list::MANAGERS.iter().map(|p| p.name).collect();
    listed(policies, &known, "policy", &format!("{key}.policies"))?;
    let what = "at least one pattern was expected";
    require(!traffic.is_empty(), format!("{key}.traffic"), what)?;
    for (i, traffic) in traffic.iter().enumerate() {
        let what = "a pattern lasts for 1 to 86400 seconds";
        let right = (1..=86_400).contains(&traffic.seconds);
        require(right, format!("{key}.traffic[{i}].seconds"), what)?;
    }
    Ok(())
}

fn listed(names: &[String], known: &[&str], kind: &str, key: &str) -> Checked {
    require(
        !names.is_empty(),
        key,
        format!("at least one {kind} was expected"),
    )?;
    for name in names {
        let hint = nearest(name, known.iter().copied());
        let hint = hint.map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
        let all = known.join(", ");
        let what = format!("unknown {kind} `{name}`; expected some of {all}{hint}");
        require(known.contains(&name.as_str()), key, what)?;
    }
    Ok(())
}

fn check_limits(limits: &Limits) -> Checked {
    let at_least_one = [
        ("upload_bytes", limits.upload_bytes),
        ("upload_expanded_bytes", limits.upload_expanded_bytes),
        ("upload_values", limits.upload_values),
        ("upload_rows", limits.upload_rows),
        ("upload_seconds", limits.upload_seconds.into()),
        ("uploads_at_once", limits.uploads_at_once.into()),
        (
            "uploads_at_once_per_prefix",
            limits.uploads_at_once_per_prefix.into(),
        ),
        ("token_bytes", limits.token_bytes),
        ("token_seconds", limits.token_seconds.into()),
        (
            "token_validity_seconds",
            limits.token_validity_seconds.into(),
        ),
        ("watchers", limits.watchers.into()),
        ("watchers_per_prefix", limits.watchers_per_prefix.into()),
        ("connections", limits.connections.into()),
        (
            "connections_per_prefix",
            limits.connections_per_prefix.into(),
        ),
        ("requests_per_second", limits.requests_per_second.into()),
        ("queries_at_once", limits.queries_at_once.into()),
        ("exports_at_once", limits.exports_at_once.into()),
        ("export_runs", limits.export_runs),
    ];
    for (name, value) in at_least_one {
        let what = "0 would refuse everything; write at least 1";
        require(value > 0, format!("limits.{name}"), what)?;
    }
    // What is in memory at once is a product with these.
    let what = "at most 1 GiB (1073741824) fits the collector's memory";
    let right = limits.upload_bytes <= 1 << 30;
    require(right, "limits.upload_bytes", what)?;
    let right = limits.upload_expanded_bytes <= 1 << 30;
    require(right, "limits.upload_expanded_bytes", what)
}
