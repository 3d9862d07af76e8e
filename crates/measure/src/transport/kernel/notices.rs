//! What is made of the kernel's notifications about subflows.

use super::connections::Connections;
use crate::netlink::mptcp::{EventKind as Pm, Notification};
use model::record::EventKind;
use model::{Side, Time};
use std::io;

impl Connections {
    /// Takes in what the kernel says about subflows, and looks at them when it said something.
    pub fn drain_notifications(&mut self, now: Time) {
        let Some(notifications) = &mut self.notifications else {
            return;
        };
        let told = match notifications.drain() {
            Ok(told) => told,
            Err(error) => {
                // ENOBUFS: some were lost; looking at the connections tells what changed.
                let detail = format!("MPTCP notifications were lost: {error}");
                self.event(now, EventKind::Note, None, None, detail);
                self.refresh(now);
                return;
            }
        };
        let ours: Vec<(usize, Notification)> = told
            .into_iter()
            .filter_map(|n| Some((*self.tokens.get(&n.token)?, n)))
            .collect();
        for (channel, notification) in &ours {
            self.take_in(now, *channel, notification);
        }
        if !ours.is_empty() {
            self.refresh(now);
        }
    }

    fn take_in(&mut self, now: Time, channel: usize, told: &Notification) {
        let address = match self.side {
            Side::Client => told.local,
            Side::Server => told.remote,
        };
        let path = address.and_then(|a| self.path_of(a.ip()));
        match told.kind {
            Pm::SubflowClosed => {
                let reason = closing_reason(told);
                match path.map(|p| (channel, p)) {
                    Some(key) if self.known.contains_key(&key) => {
                        self.reasons.entry(key).or_insert(reason);
                    }
                    _ => {
                        let detail = format!("a subflow is gone: {reason}");
                        self.event(now, EventKind::Note, Some(channel), path, detail);
                    }
                }
                self.changed = true;
            }
            Pm::SubflowPriority => {
                let detail = match told.backup {
                    Some(true) => "the peer made it backup",
                    _ => "the peer made it regular",
                };
                let kind = EventKind::PriorityChanged;
                self.event(now, kind, Some(channel), path, detail);
                self.changed = true;
            }
            Pm::Announced | Pm::Removed => {
                let verb = match told.kind {
                    Pm::Announced => "announced",
                    _ => "removed",
                };
                let id = told.remote_id.unwrap_or(0);
                let detail = format!("the peer {verb} its address {id}");
                self.event(now, EventKind::Note, Some(channel), None, detail);
            }
            Pm::Created | Pm::Established | Pm::Closed | Pm::SubflowEstablished => {}
        }
    }
}

fn closing_reason(told: &Notification) -> String {
    let error = told.error.filter(|e| *e != 0);
    let error = error.map(|e| io::Error::from_raw_os_error(i32::from(e)).to_string());
    let reset = told
        .reset_reason
        .map(|r| format!("reset, reason {r} (RFC 8684 section 3.6)"));
    let parts: Vec<String> = error.into_iter().chain(reset).collect();
    match parts.is_empty() {
        true => "closed".to_owned(),
        false => parts.join(", "),
    }
}
