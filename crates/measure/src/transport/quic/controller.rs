//! What does a path's congestion controller see that noq does not report? A controller that
//! delegates every decision to one of noq's own and records round-trip times, the bytes in
//! flight, and the age of the oldest of them.

use noq_proto::congestion::{
    Bbr3Config, Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig,
};
use noq_proto::{Connection, PathId, RttEstimator};
use std::any::Any;
use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A congestion controller of noq.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Congestion {
    /// CUBIC (RFC 9438), noq's default.
    #[default]
    Cubic,
    /// NewReno (RFC 9002, section 7).
    Reno,
    /// BBRv3 (draft-ietf-ccwg-bbr). Its bandwidth probes are timed by randomness that cannot be
    /// seeded in noq 1.4, so two runs of one seed differ.
    Bbr3,
}

impl Congestion {
    /// The name in manifests.
    pub fn as_str(self) -> &'static str {
        match self {
            Congestion::Cubic => "cubic",
            Congestion::Reno => "reno",
            Congestion::Bbr3 => "bbr3",
        }
    }

    /// A factory of recording controllers that delegate to this one.
    pub(super) fn factory(self) -> Arc<dyn ControllerFactory + Send + Sync> {
        match self {
            Congestion::Cubic => Arc::new(Factory(Arc::new(CubicConfig::default()))),
            Congestion::Reno => Arc::new(Factory(Arc::new(NewRenoConfig::default()))),
            Congestion::Bbr3 => Arc::new(Factory(Arc::new(Bbr3Config::default()))),
        }
    }
}

/// A congestion controller that noq does not have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("noq has no congestion controller `{0}`; choose cubic, reno or bbr")]
pub struct UnknownCongestion(String);

impl FromStr for Congestion {
    type Err = UnknownCongestion;
    fn from_str(name: &str) -> Result<Congestion, UnknownCongestion> {
        match name {
            "cubic" => Ok(Congestion::Cubic),
            "reno" => Ok(Congestion::Reno),
            "bbr" | "bbr3" => Ok(Congestion::Bbr3),
            _ => Err(UnknownCongestion(name.to_owned())),
        }
    }
}

/// What was seen on one path.
#[derive(Debug, Default)]
pub struct PathRecord {
    /// Ack-eliciting packets in flight and their bytes, by the time sent and packet number.
    in_flight: BTreeMap<(Instant, u64), u16>,
    bytes_in_flight: u64,
    mtu: u16,
    largest_acked: Option<u64>,
    /// Whether this batch of acknowledgements had an ack-eliciting packet.
    acked_in_batch: bool,
    /// Whether noq took a round-trip sample that [`PathRecord::observe`] has not seen.
    sample_taken: bool,
    rtt: Option<(Duration, Duration)>,
    probes_since_ack: u32,
    window_full: bool,
}

impl PathRecord {
    /// Bytes in packets that were neither acknowledged nor declared lost.
    pub fn bytes_in_flight(&self) -> u64 {
        self.bytes_in_flight
    }

    /// When the oldest packet in flight was sent.
    pub fn oldest_in_flight(&self) -> Option<Instant> {
        self.in_flight.first_key_value().map(|((sent, _), _)| *sent)
    }

    /// Smoothed round-trip time and its variation, once measured; `srtt` is noq's value now.
    pub fn rtt(&mut self, srtt: Duration) -> Option<(Duration, Duration)> {
        self.observe(srtt);
        self.rtt
    }

    /// Probe timeouts since the last acknowledgement. Each sends two probes (noq 1.4,
    /// `on_loss_detection_timeout`).
    pub fn timeouts(&self) -> u32 {
        self.probes_since_ack.div_ceil(2)
    }

    /// Whether data waits for the congestion window, since noq was last asked for packets.
    pub fn window_full(&self) -> bool {
        self.window_full
    }

    /// A tail-loss probe went out.
    pub(super) fn probe_sent(&mut self) {
        self.probes_since_ack += 1;
    }

    /// noq is about to be asked for packets until it has none.
    pub(super) fn begin_sending(&mut self) {
        self.window_full = false;
    }

    /// Initial and handshake packets are dropped with their keys, without a word to the
    /// controller (RFC 9002, section 6.4).
    pub(super) fn forget_handshake(&mut self) {
        self.in_flight.clear();
        self.bytes_in_flight = 0;
    }

    /// noq hands out the smoothed round-trip time but neither its variation nor the samples.
    /// Each sample follows from two smoothed values (RFC 9002, section 5.3):
    /// srtt' = 7/8 srtt + 1/8 sample.
    fn observe(&mut self, srtt: Duration) {
        if !std::mem::take(&mut self.sample_taken) {
            return;
        }
        self.rtt = Some(match self.rtt {
            None => (srtt, srtt / 2),
            Some((previous, variation)) => {
                let sample = (srtt * 8).saturating_sub(previous * 7);
                (srtt, (variation * 3 + previous.abs_diff(sample)) / 4)
            }
        });
    }

    fn remove(&mut self, key: (Instant, u64)) {
        if let Some(bytes) = self.in_flight.remove(&key) {
            self.bytes_in_flight -= u64::from(bytes);
        }
    }
}

/// One path's record, shared between noq's controller and the core.
#[derive(Clone, Debug, Default)]
pub struct SharedRecord(Arc<Mutex<PathRecord>>);

impl SharedRecord {
    /// The record of an open path.
    pub(super) fn of(connection: &Connection, path: PathId) -> Option<SharedRecord> {
        let controller = connection.congestion_state(path)?.clone_box().into_any();
        let recording = controller.downcast::<Recording>().ok()?;
        Some(recording.record)
    }

    /// The record itself.
    pub fn lock(&self) -> MutexGuard<'_, PathRecord> {
        // A panic elsewhere leaves plain numbers behind, nothing half-done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct Factory<F>(Arc<F>);

impl<F: ControllerFactory + Send + Sync + 'static> ControllerFactory for Factory<F> {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let record = SharedRecord::default();
        record.lock().mtu = current_mtu;
        Box::new(Recording {
            inner: self.0.clone().build(now, current_mtu),
            record,
        })
    }
}

#[derive(Debug)]
struct Recording {
    inner: Box<dyn Controller>,
    record: SharedRecord,
}

impl Controller for Recording {
    fn on_sent(&mut self, now: Instant, bytes: u64, largest_pn: u64) {
        self.inner.on_sent(now, bytes, largest_pn);
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        {
            let mut record = self.record.lock();
            // Larger than the path's MTU: a probe for a larger one. Its loss is not reported
            // to the controller, so it would stay in flight for ever.
            if bytes <= record.mtu {
                record.in_flight.insert((now, pn), bytes);
                record.bytes_in_flight += u64::from(bytes);
            }
        }
        self.inner.on_packet_sent(now, bytes, pn);
    }

    fn on_cwnd_limited(&mut self) {
        self.record.lock().window_full = true;
        self.inner.on_cwnd_limited();
    }

    fn on_ack(
        &mut self,
        now: Instant,
        sent: Instant,
        bytes: u64,
        pn: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        {
            let mut record = self.record.lock();
            record.observe(rtt.get());
            record.remove((sent, pn));
            record.acked_in_batch = true;
        }
        self.inner.on_ack(now, sent, bytes, pn, app_limited, rtt);
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        largest_packet_num_acked: Option<u64>,
    ) {
        {
            let mut record = self.record.lock();
            record.probes_since_ack = 0;
            let elicited = std::mem::take(&mut record.acked_in_batch);
            if largest_packet_num_acked > record.largest_acked {
                record.largest_acked = largest_packet_num_acked;
                record.sample_taken |= elicited;
            }
            if in_flight == 0 {
                record.forget_handshake();
            }
        }
        self.inner
            .on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        lost_bytes: u64,
        largest_lost_pn: u64,
    ) {
        self.inner.on_congestion_event(
            now,
            sent,
            is_persistent_congestion,
            is_ecn,
            lost_bytes,
            largest_lost_pn,
        );
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        {
            let mut record = self.record.lock();
            // Losses are the oldest packets in flight, so this ends early.
            let key = record.in_flight.keys().find(|(_, n)| *n == pn).copied();
            if let Some(key) = key {
                record.remove(key);
            }
        }
        self.inner.on_packet_lost(lost_bytes, pn, now);
    }

    fn on_spurious_congestion_event(&mut self) {
        self.inner.on_spurious_congestion_event();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.record.lock().mtu = new_mtu;
        self.inner.on_mtu_update(new_mtu);
    }

    fn on_ack_frequency_update(
        &mut self,
        ack_eliciting_threshold: u64,
        requested_max_ack_delay: Duration,
    ) {
        self.inner
            .on_ack_frequency_update(ack_eliciting_threshold, requested_max_ack_delay);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        // The clone shares the record: noq clones a controller only to look at it, and for
        // migrations, which are switched off.
        Box::new(Recording {
            inner: self.inner.clone_box(),
            record: self.record.clone(),
        })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
