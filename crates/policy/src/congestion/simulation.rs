//! What do controllers do to each other at bottlenecks? A small network, packet by packet: links
//! with a rate and a queue that drops at its tail, and senders that always have data.
//!
//! Every packet is acknowledged by itself, and the way back loses nothing. A packet is lost when
//! three later ones arrived. On its way to the bottleneck a packet takes a random moment more, as on
//! real access links: without it arrivals would be so regular that a full queue drops just the
//! packets by which a window grows, and who grows slowly would never lose any (the phase effects of
//! Floyd and Jacobson, "On traffic phase effects in packet-switched gateways", 1992).

use super::{Ack, Controller, DeliveryRate, Signal, list};
use crate::SubflowId;
use model::Time;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

pub const MSS: u64 = 1_400;

/// The longest of the random moments: some packets at the rates used here.
const JITTER: Duration = Duration::from_millis(3);

/// A bottleneck.
pub struct Link {
    /// Bytes a second.
    pub rate: u64,
    /// Bytes that can wait.
    pub queue: u64,
    /// When what waits will have been sent.
    pub busy_until: Time,
}

struct Packet {
    sequence: u64,
    sent: Time,
    gone: bool,
    delivered: u64,
    delivered_at: Time,
    first_sent: Time,
}

/// A sender's end of a subflow.
pub struct Flow {
    pub connection: usize,
    pub id: SubflowId,
    pub link: usize,
    /// Round-trip time without queues.
    pub rtt: Duration,
    pub delivered: u64,
    pub losses: u64,
    pub in_flight: u64,
    pub last_rtt: Duration,
    outstanding: VecDeque<Packet>,
    next: u64,
    recovery_until: Option<u64>,
    smoothed: Duration,
    min_rtt: Duration,
    delivered_at: Time,
    first_sent: Time,
    send_at: Time,
    waking: bool,
    last_ack: Time,
    /// When the packet before reached the bottleneck.
    reached: Time,
}

enum Event {
    Queued { flow: usize, sequence: u64 },
    Arrived { flow: usize, sequence: u64 },
    Send { flow: usize },
    Timer { flow: usize },
}

pub struct Network {
    pub now: Time,
    pub links: Vec<Link>,
    pub connections: Vec<Box<dyn Controller>>,
    pub flows: Vec<Flow>,
    events: BTreeMap<(Time, u64), Event>,
    count: u64,
    random: u64,
}

impl Network {
    pub fn new(seed: u64) -> Network {
        Network {
            now: Time::ZERO,
            links: Vec::new(),
            connections: Vec::new(),
            flows: Vec::new(),
            events: BTreeMap::new(),
            count: 0,
            random: seed,
        }
    }

    /// A link of so many Mbit/s with a queue of so many milliseconds.
    pub fn link(&mut self, mbit: u64, queue_ms: u64) -> usize {
        let rate = mbit * 125_000;
        self.links.push(Link {
            rate,
            queue: rate * queue_ms / 1_000,
            busy_until: Time::ZERO,
        });
        self.links.len() - 1
    }

    /// A connection with a subflow over each of these links (index, round-trip time in ms).
    pub fn connection(&mut self, controller: &str, paths: &[(usize, u64)]) -> usize {
        let connection = self.connections.len();
        let mut controller = (list::find(controller).expect("it is in the list").make)();
        for (i, (link, rtt)) in paths.iter().enumerate() {
            let id = SubflowId::new(i);
            controller.opened(id, self.now, MSS);
            self.flows.push(Flow {
                connection,
                id,
                link: *link,
                rtt: Duration::from_millis(*rtt),
                delivered: 0,
                losses: 0,
                in_flight: 0,
                last_rtt: Duration::ZERO,
                outstanding: VecDeque::new(),
                next: 0,
                recovery_until: None,
                smoothed: Duration::ZERO,
                min_rtt: Duration::ZERO,
                delivered_at: self.now,
                first_sent: self.now,
                send_at: self.now,
                waking: false,
                last_ack: self.now,
                reached: self.now,
            });
        }
        self.connections.push(controller);
        for flow in self.flows.len() - paths.len()..self.flows.len() {
            self.at(self.now, Event::Send { flow });
            self.at(self.now + Duration::from_secs(1), Event::Timer { flow });
        }
        connection
    }

    pub fn run_until(&mut self, end: Time) {
        while let Some(entry) = self.events.first_entry() {
            if entry.key().0 > end {
                break;
            }
            let ((time, _), event) = entry.remove_entry();
            self.now = time;
            match event {
                Event::Queued { flow, sequence } => self.queued(flow, sequence),
                Event::Arrived { flow, sequence } => self.arrived(flow, sequence),
                Event::Send { flow } => {
                    self.flows[flow].waking = false;
                    self.send(flow);
                }
                Event::Timer { flow } => self.timer(flow),
            }
        }
        self.now = end;
    }

    /// Bytes delivered on all subflows of `connection`.
    pub fn delivered(&self, connection: usize) -> u64 {
        let own = self.flows.iter().filter(|f| f.connection == connection);
        own.map(|f| f.delivered).sum()
    }

    fn at(&mut self, time: Time, event: Event) {
        self.count += 1;
        self.events.insert((time, self.count), event);
    }

    /// Up to `most`.
    fn moment(&mut self, most: Duration) -> Duration {
        // Numerical Recipes' linear congruential generator.
        let next = self.random.wrapping_mul(6_364_136_223_846_793_005);
        self.random = next.wrapping_add(1_442_695_040_888_963_407);
        most.mul_f64((self.random >> 33) as f64 / (1u64 << 31) as f64)
    }

    fn send(&mut self, index: usize) {
        loop {
            let flow = &self.flows[index];
            let controller = &self.connections[flow.connection];
            let window = controller.window(flow.id);
            if flow.in_flight > 0 && flow.in_flight + MSS > window {
                return;
            }
            if self.now < flow.send_at {
                if !flow.waking {
                    let at = flow.send_at;
                    self.flows[index].waking = true;
                    self.at(at, Event::Send { flow: index });
                }
                return;
            }
            let pace = controller.pacing_rate(flow.id);
            let per_packet = pace.map(|rate| Duration::from_secs_f64(MSS as f64 / rate as f64));
            self.transmit(index);
            self.flows[index].send_at = self.now + per_packet.unwrap_or_default();
        }
    }

    fn transmit(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        if flow.in_flight == 0 {
            flow.first_sent = self.now;
            flow.delivered_at = self.now;
            flow.last_ack = self.now;
        }
        let sequence = flow.next;
        flow.outstanding.push_back(Packet {
            sequence,
            sent: self.now,
            gone: false,
            delivered: flow.delivered,
            delivered_at: flow.delivered_at,
            first_sent: flow.first_sent,
        });
        flow.next += 1;
        flow.in_flight += MSS;
        let reaches = self.now + self.moment(JITTER);
        let flow = &mut self.flows[index];
        flow.reached = flow.reached.max(reaches);
        let at = flow.reached;
        let queued = Event::Queued {
            flow: index,
            sequence,
        };
        self.at(at, queued);
    }

    fn queued(&mut self, index: usize, sequence: u64) {
        let flow = &self.flows[index];
        let link = &mut self.links[flow.link];
        let waits = link.busy_until.since(self.now);
        if (waits.as_secs_f64() * link.rate as f64) as u64 + MSS > link.queue {
            return;
        }
        let takes = Duration::from_secs_f64(MSS as f64 / link.rate as f64);
        link.busy_until = link.busy_until.max(self.now) + takes;
        let back = link.busy_until + flow.rtt;
        let arrived = Event::Arrived {
            flow: index,
            sequence,
        };
        self.at(back, arrived);
    }

    fn arrived(&mut self, index: usize, sequence: u64) {
        let now = self.now;
        let flow = &mut self.flows[index];
        let controller = &mut self.connections[flow.connection];
        let Some(first) = flow.outstanding.front().map(|p| p.sequence) else {
            return;
        };
        if sequence < first || flow.outstanding[(sequence - first) as usize].gone {
            return;
        }
        let before = flow.in_flight;
        let was_limited = before + MSS > controller.window(flow.id);
        let packet = &mut flow.outstanding[(sequence - first) as usize];
        packet.gone = true;
        flow.in_flight -= MSS;
        flow.delivered += MSS;
        let interval = now.since(packet.delivered_at);
        let rate = DeliveryRate {
            delivered: flow.delivered - packet.delivered,
            interval: interval.max(packet.sent.since(packet.first_sent)),
            app_limited: false,
            prior_delivered: packet.delivered,
        };
        let rtt = now - packet.sent;
        flow.first_sent = packet.sent;
        flow.delivered_at = now;
        flow.last_ack = now;
        flow.last_rtt = rtt;
        if flow.smoothed.is_zero() {
            (flow.smoothed, flow.min_rtt) = (rtt, rtt);
        }
        flow.smoothed = (flow.smoothed * 7 + rtt) / 8;
        flow.min_rtt = flow.min_rtt.min(rtt);

        let mut lost = 0;
        let mut newest_lost = None;
        while let Some(packet) = flow.outstanding.front() {
            if packet.gone {
                flow.outstanding.pop_front();
            } else if packet.sequence + 3 <= sequence {
                lost += MSS;
                newest_lost = Some(packet.sequence);
                flow.outstanding.pop_front();
            } else {
                break;
            }
        }
        flow.in_flight -= lost;
        flow.losses += lost / MSS;
        if flow.recovery_until.is_some_and(|end| sequence >= end) {
            flow.recovery_until = None;
            controller.on_recovered(flow.id, now);
        }
        if newest_lost.is_some() && flow.recovery_until.is_none() {
            flow.recovery_until = Some(flow.next);
            controller.on_congestion(flow.id, now, Signal::Loss, before);
        }
        let ack = Ack {
            now,
            acked: MSS,
            rtt: Some(rtt),
            smoothed_rtt: flow.smoothed,
            min_rtt: flow.min_rtt,
            in_flight: flow.in_flight,
            window_limited: was_limited,
            lost,
            in_recovery: flow.recovery_until.is_some(),
            delivered: flow.delivered,
            rate: Some(rate),
        };
        controller.on_ack(flow.id, &ack);
        self.send(index);
    }

    fn timer(&mut self, index: usize) {
        let now = self.now;
        let flow = &mut self.flows[index];
        let rto = flow.smoothed * 2 + Duration::from_millis(200);
        if flow.in_flight > 0 && now.since(flow.last_ack) >= rto {
            let controller = &mut self.connections[flow.connection];
            controller.on_congestion(flow.id, now, Signal::Timeout, flow.in_flight);
            flow.losses += flow.in_flight / MSS;
            flow.outstanding.clear();
            flow.in_flight = 0;
            flow.recovery_until = None;
            flow.last_ack = now;
            self.send(index);
        }
        let again = self.now + Duration::from_millis(50);
        self.at(again, Event::Timer { flow: index });
    }
}
