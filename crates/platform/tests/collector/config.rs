//! What the collector is told, and the key it keeps.

use super::rig;
use walkabout_platform::collector::{Collector, Config, token_key};

#[test]
fn mistakes_in_the_configuration_name_file_line_and_key() {
    let good = r#"
name = "ours"
listen = "127.0.0.1:0"
database = "sqlite:runs.sqlite"
key = "collector.key"
retention_days = 30
[[server]]
id = "near"
place = "here"
addresses = ["192.0.2.1"]
ports = [443]
certificate_sha256 = "0000000000000000000000000000000000000000000000000000000000000000"
"#;
    let file = std::path::Path::new("conf/collector.toml");
    let config = Config::parse(good, file).expect("good");
    assert_eq!(config.database, "sqlite:conf/runs.sqlite");
    assert_eq!(config.key, std::path::Path::new("conf/collector.key"));
    let cases = [
        (
            "retention_days = 30",
            "retention_days = 0",
            "conf/collector.toml:6: retention_days: ",
        ),
        (
            "retention_days = 30",
            "retention = 30",
            "conf/collector.toml:6: unknown field `retention`",
        ),
        (
            "id = \"near\"",
            "id = \"ne ar\"",
            "conf/collector.toml:8: server[0].id: `ne ar` is no id",
        ),
        (
            "ports = [443]",
            "ports = []",
            "conf/collector.toml:11: server[0].ports: ",
        ),
        (
            "ports = [443]",
            "ports = [70000]",
            "conf/collector.toml:11: ",
        ),
        (
            "sqlite:runs",
            "mysql:runs",
            "conf/collector.toml:4: database: no database",
        ),
        (
            "\"0000",
            "\"00",
            "conf/collector.toml:12: server[0].certificate_sha256: 64 hex",
        ),
        ("127.0.0.1:0", "here", "conf/collector.toml:3: "),
        ("name = ", "name == ", "conf/collector.toml:2: "),
    ];
    for (right, wrong, said) in cases {
        let text = good.replacen(right, wrong, 1);
        let error = Config::parse(&text, file).expect_err(wrong).to_string();
        assert!(error.starts_with(said), "{error}");
        assert!(!error.contains('\n'), "{error}");
    }
}

#[tokio::test]
async fn keys_are_made_once_and_kept_private() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("collector.key");
    let key = token_key(&file).expect("made");
    assert_eq!(token_key(&file).expect("read"), key);
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::metadata(&file)
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    std::fs::write(&file, b"no key").expect("written");
    let mut config = rig::config(&folder);
    config.key = file;
    let error = Collector::open(config).await;
    let error = error.err().expect("no key").to_string();
    assert!(
        error.contains("collector.key") && error.contains("PKCS #8"),
        "{error}"
    );
}
