//! Does the dashboard answer at each of its addresses, with what a browser needs to know?

use super::*;
use std::io::Read;
use std::net::SocketAddr;

/// A bundle as small as can be.
#[derive(RustEmbed)]
#[folder = "src/dashboard/testdata"]
struct Small;

/// A program built without the page.
#[derive(RustEmbed)]
#[folder = "src/dashboard/testdata/none"]
#[allow_missing = true]
struct Absent;

/// Serves `B` on a port of this machine while `ask` runs.
fn serving<B: RustEmbed + 'static, T>(ask: impl FnOnce(SocketAddr) -> T) -> T {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
        .expect("a port");
    let address = listener.local_addr().expect("an address");
    runtime.spawn(axum::serve(listener, routes_of::<(), B>()).into_future());
    ask(address)
}

/// Status, the headers asked about (empty when absent), and the body.
fn get(address: SocketAddr, path: &str, tag: Option<&str>) -> (u16, [String; 3], String) {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    let mut request = agent.get(format!("http://{address}{path}"));
    if let Some(tag) = tag {
        request = request.header("If-None-Match", tag);
    }
    let mut answer = request.call().expect("an answer");
    let header = |name| {
        let value = answer
            .headers()
            .get(name)
            .map(|v| v.to_str().expect("text"));
        value.unwrap_or_default().to_owned()
    };
    let headers = ["content-type", "cache-control", "etag"].map(header);
    let mut body = String::new();
    let mut reader = answer.body_mut().as_reader();
    reader.read_to_string(&mut body).expect("text");
    (answer.status().as_u16(), headers, body)
}

#[test]
fn every_address_of_the_page_has_it_and_no_other_does() {
    serving::<Small, _>(|address| {
        let test = "0123456789abcdef0123456789abcdef";
        for path in [
            "/",
            "/live",
            &format!("/live/{test}"),
            "/runs",
            "/runs?transport=mptcp&limit=2",
            &format!("/runs/{test}"),
            "/compare",
            "/usage",
        ] {
            let (status, [kind, caching, _], body) = get(address, path, None);
            assert_eq!(
                (status, kind.as_str(), caching.as_str()),
                (200, "text/html; charset=utf-8", "no-cache"),
                "{path}"
            );
            assert!(body.contains("a small page"), "{path}");
        }
        for path in [
            "/elsewhere",
            "/live/a/b",
            "/assets/none.js",
            "/assets/",
            "/assets/..%2fdashboard.html",
            "/assets/..%2f..%2fmod.rs",
            "/dashboard.html",
        ] {
            assert_eq!(get(address, path, None).0, 404, "{path}");
        }
    });
}

#[test]
fn parts_say_what_they_are_and_how_long_they_hold() {
    const FOREVER: &str = "public, max-age=31536000, immutable";
    serving::<Small, _>(|address| {
        for (path, kind, caching) in [
            ("/assets/a-1.js", "text/javascript; charset=utf-8", FOREVER),
            ("/assets/a-1.css", "text/css; charset=utf-8", FOREVER),
            ("/assets/a-1.svg", "image/svg+xml", FOREVER),
            ("/licences.txt", "text/plain; charset=utf-8", "no-cache"),
        ] {
            let (status, headers, body) = get(address, path, None);
            assert_eq!(status, 200, "{path}");
            assert_eq!(&headers[..2], [kind, caching], "{path}");
            assert!(!body.is_empty(), "{path}");

            let tag = headers[2].as_str();
            assert!(tag.len() == 66 && tag.starts_with('"'), "{tag}");
            for known in [tag, &format!("W/{tag}"), &format!("\"other\", {tag}"), "*"] {
                let (status, again, body) = get(address, path, Some(known));
                assert_eq!((status, body.as_str()), (304, ""), "{path} {known}");
                assert_eq!(again[2], tag);
            }
            assert_eq!(get(address, path, Some("\"other\"")).0, 200);
        }
    });
}

#[test]
fn a_program_without_the_page_says_how_to_get_it() {
    serving::<Absent, _>(|address| {
        let (status, _, body) = get(address, "/", None);
        assert_eq!(status, 501);
        assert!(body.contains("cargo xtask web"), "{body}");
        assert_eq!(get(address, "/assets/a-1.js", None).0, 404);
    });
}

/// Holds for the real bundle where it was built: `cargo xtask test` builds it first.
#[test]
fn the_page_has_no_script_of_its_own_and_all_its_parts() {
    let Some(page) = Bundle::get(PAGE) else {
        assert_eq!(Bundle::iter().count(), 0, "a bundle without its page");
        return;
    };
    let page = String::from_utf8(page.data.into_owned()).expect("UTF-8");
    for script in page.split("<script").skip(1) {
        let (attributes, rest) = script.split_once('>').expect("an end");
        assert!(attributes.contains(" src=\"/assets/"), "{attributes}");
        assert!(
            rest.starts_with("</script>"),
            "a script in the page: {rest}"
        );
    }
    let parts: Vec<&str> = page
        .split('"')
        .filter(|text| text.starts_with("/assets/"))
        .collect();
    assert!(parts.len() >= 3, "{parts:?}");
    for part in parts {
        let name = part.trim_start_matches('/');
        assert!(Bundle::get(name).is_some(), "{name} is missing");
        assert_ne!(content_type(name), "application/octet-stream", "{name}");
    }
    assert!(Bundle::get("licences.txt").is_some());
}
