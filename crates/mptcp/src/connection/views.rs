//! What does the scheduler see of the subflows, without looking at each again every time?

use super::machine::Connection;
use model::Time;
use policy::scheduler::Subflow;
use policy::{SubflowId, SubflowSet};

/// The subflows that can carry data as the scheduler sees them, kept up to date.
#[derive(Default, Debug)]
pub(super) struct Views {
    all: Vec<Subflow>,
    set: SubflowSet,
    /// Those that changed since.
    stale: SubflowSet,
    /// Those that the peer's window as they know it holds back.
    narrow: SubflowSet,
    /// Their congestion windows together.
    windows: u64,
}

impl Views {
    /// By their numbers.
    pub(super) fn all(&self) -> &[Subflow] {
        &self.all
    }

    /// Which they are.
    pub(super) fn set(&self) -> SubflowSet {
        self.set
    }

    /// Those that work.
    pub(super) fn working(&self) -> SubflowSet {
        let working = self.all.iter().filter(|v| v.works());
        working.map(|v| v.id).collect()
    }

    /// Whether one could send something at once.
    pub(super) fn has_room(&self) -> bool {
        self.all.iter().any(|v| v.window_room > 0)
    }

    /// A subflow changed.
    pub(super) fn mark(&mut self, id: SubflowId) {
        self.stale.insert(id);
    }

    /// The peer's window opened, whichever subflow said so.
    pub(super) fn window_opened(&mut self) {
        self.narrow.iter().for_each(|id| self.stale.insert(id));
    }

    /// `bytes` were given to a subflow.
    pub(super) fn add_queued(&mut self, id: SubflowId, bytes: u64) {
        if let Some(view) = self.all.iter_mut().find(|v| v.id == id) {
            view.queued += bytes;
            view.window_room = view.window_room.saturating_sub(bytes);
            view.buffer_room = view.buffer_room.saturating_sub(bytes);
        }
        self.stale.insert(id);
    }
}

impl Connection {
    /// Looks again at the subflows that changed.
    pub(super) fn refresh_views(&mut self, now: Time) {
        if self.sending.views.stale.is_empty() {
            return;
        }
        for id in self.sending.views.stale.iter() {
            let view = self.view(now, id);
            let views = &mut self.sending.views;
            let at = views.all.partition_point(|v| v.id < id);
            let known = views.set.contains(id);
            views.narrow.remove(id);
            if view.is_some_and(|v| v.window_room + v.in_flight + v.queued < v.window) {
                views.narrow.insert(id);
            }
            match view {
                Some(view) if known => views.all[at] = view,
                Some(view) => {
                    views.all.insert(at, view);
                    views.set.insert(id);
                    // Nothing that was sent is on a subflow that appears.
                    self.sending.carried_everywhere = 0;
                }
                None if known => {
                    views.all.remove(at);
                    views.set.remove(id);
                }
                None => {}
            }
        }
        let views = &mut self.sending.views;
        views.stale = SubflowSet::EMPTY;
        let windows = views.all.iter().map(|v| v.window).sum();
        if windows > views.windows {
            views.windows = windows;
            self.sending.grow(windows);
        }
    }

    fn view(&self, now: Time, id: SubflowId) -> Option<Subflow> {
        let path = self.path(id).filter(|p| p.state.is_usable())?;
        let state = &path.state;
        let info = path.tcp.info(now);
        let window = self.controller.window(id);
        let in_use = info.in_flight + info.queued;
        Some(Subflow {
            id,
            established: state.established,
            backup: state.is_backup(),
            potentially_failed: state.potentially_failed,
            stale: state.stale,
            stale_count: state.stale_count,
            retransmitting: info.recovering,
            in_slow_start: window < self.controller.slow_start_threshold(id),
            smoothed_rtt: info.smoothed_rtt,
            rtt_variation: info.rtt_variation,
            rto: info.rto,
            retransmission_in: info.retransmission_at.map(|at| at.since(now)),
            mss: info.mss,
            window,
            in_flight: info.in_flight,
            unacked: info.unacked,
            queued: info.queued,
            window_room: window
                .saturating_sub(in_use)
                .min(self.peer_room(&info, path)),
            buffer_room: path.tcp.buffer_room(window),
            pacing_rate: info.pacing_rate,
            last_original: state.last_original,
        })
    }

    /// What the peer's window leaves on a subflow; the window is the connection's, so that what
    /// another subflow was told counts here as well.
    fn peer_room(&self, info: &crate::subflow::Info, path: &super::path::Path) -> u64 {
        let known = path.tcp.peer_window();
        let shared = self
            .sending
            .admitted
            .saturating_sub(self.sending.sent.first());
        info.peer_room + shared.saturating_sub(known)
    }
}
