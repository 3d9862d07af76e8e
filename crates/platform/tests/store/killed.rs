//! Is what was acknowledged there after the collector was killed?

use crate::place::{Place, block_on, on_both};
use crate::sample;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use walkabout_platform::api::Filter;
use walkabout_platform::store::{Put, Store};

on_both!(in_the_middle_of_uploads);

/// The environment variable with the URL of the database.
const DATABASE: &str = "WALKABOUT_TEST_DATABASE";

async fn in_the_middle_of_uploads(place: &Place) {
    let mut acknowledged = Vec::new();
    for kills in 1..=5 {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "killed::uploads_until_killed"])
            .args(["--ignored", "--nocapture"])
            .env(DATABASE, &place.url)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let said = BufReader::new(child.stdout.take().expect("piped"));
        let mut said = said.lines().map_while(Result::ok);
        let wanted = acknowledged.len() + 30 * kills;
        while acknowledged.len() < wanted {
            let line = said.next().expect("it goes on until it is killed");
            acknowledged.extend(line.strip_prefix("stored ").map(str::to_owned));
        }
        let pid = Pid::from_raw(child.id().cast_signed());
        kill(pid, Signal::SIGKILL).expect("it lives");
        child.wait().expect("it was killed");
        // What it had said by then was acknowledged as well.
        acknowledged.extend(said.filter_map(|line| {
            let id = line.strip_prefix("stored ")?;
            (id.len() == 32).then(|| id.to_owned())
        }));
        let store = place.store().await;
        for id in &acknowledged {
            assert!(store.get(id).await.unwrap().is_some(), "{id} is lost");
        }
        let all = Filter {
            invalid: Some(true),
            ..Filter::default()
        };
        // Those it could not say any more are at most those under way.
        let total = store.list(&all).await.unwrap().total;
        let known = acknowledged.len() as u64;
        assert!((known..=known + 8 * kills as u64).contains(&total));
        store.close().await;
    }
}

#[test]
#[ignore = "started by `in_the_middle_of_uploads`"]
fn uploads_until_killed() {
    block_on(async {
        let url = std::env::var(DATABASE).expect("started by another test");
        let store = Store::open(&url).await.expect("it opens");
        let tasks = (0..8).map(|task| {
            let store = store.clone();
            // Another in each process: the ids are new.
            let seed = u64::from(std::process::id()) << 8 | task;
            tokio::spawn(async move {
                let random = &mut sample::random(seed);
                loop {
                    let run = sample::run(random, "a");
                    let put = store.put(&run).await;
                    if put != Ok(Put::Stored) {
                        return put;
                    }
                    println!("stored {}", run.summary.id);
                }
            })
        });
        let mut tasks: Vec<_> = tasks.collect();
        let ended = tasks.pop().expect("there are some").await;
        panic!("{ended:?}");
    });
}
