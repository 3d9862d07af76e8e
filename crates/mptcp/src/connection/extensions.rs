//! What do the two ends have beyond RFC 8684, and is a subflow starved (De Coninck and Bonaventure,
//! MultiMob, section III-B)?

use super::Event;
use super::machine::{Connection, Context, Stage};
use super::shared::{Protocol, Role};
use crate::wire::mptcp::{self, Extension, Features, MptcpOption, NotRead, Subtypes};
use model::Time;
use policy::{SubflowId, SubflowSet};
use std::time::Duration;

/// How often the offer is made before the peer is held to have no extension: as often as an
/// ADD_ADDR is repeated.
const OFFERS: u32 = 3;
/// How long until it is made again: a SYN's timeout (RFC 6298, section 2).
const OFFER_TIMEOUT: Duration = Duration::from_secs(1);

/// Extensions of Multipath TCP that a host has; it offers them to its peer and uses what both
/// have. All are off by default.
#[derive(Clone, Debug)]
pub struct Extensions {
    /// Whether data says if more follows (MP_IDLE), and a client looks for starved subflows.
    pub idle_flag: bool,
    /// Whether a client asks for the server's retransmission timeout, and a server answers.
    pub rto_option: bool,
    /// How often a client asks at most.
    pub rto_period: Duration,
    /// How long a subflow brings nothing at least before it is starved: 500 ms in the paper.
    pub idle_floor: Duration,
    /// Whether subflows are opened, and accepted, with FAST_JOIN_OUT and FAST_JOIN_IN.
    pub fast_join: bool,
    /// Under which option subtypes.
    pub subtypes: Subtypes,
}

impl Default for Extensions {
    fn default() -> Self {
        Extensions {
            idle_flag: false,
            rto_option: false,
            rto_period: Duration::from_secs(1),
            idle_floor: Duration::from_millis(500),
            fast_join: false,
            subtypes: Subtypes::default(),
        }
    }
}

impl Extensions {
    /// Those that are on.
    pub fn features(&self) -> Features {
        let of = |on: bool, feature| if on { feature } else { Features::default() };
        of(self.idle_flag, Features::IDLE_FLAG)
            .or(of(self.rto_option, Features::RTO))
            .or(of(self.fast_join, Features::FAST_JOIN))
    }
}

/// An offer without an answer.
#[derive(Clone, Copy, Debug)]
struct Offer {
    sent: u32,
    again_at: Time,
}

/// What a connection knows of its extensions.
#[derive(Default, Debug)]
pub(super) struct Extended {
    offer: Option<Offer>,
    /// Whether data came since the flag was agreed on.
    heard: bool,
    /// Where the data ends that came with the flag, the furthest: an offset in the stream.
    idle_from: Option<u64>,
    /// The subflow that brought something new last, and when it is starved.
    watched: Option<SubflowId>,
    starved_at: Option<Time>,
}

impl Connection {
    /// Both keys are known: the client says what it has.
    #[cold]
    pub(super) fn offer_extensions(&mut self, ctx: &mut Context<'_>) {
        let extensions = &ctx.config.extensions;
        self.shared.subtypes = extensions.subtypes;
        if self.shared.role == Role::Client && !extensions.features().is_empty() {
            self.extended.offer = Some(Offer {
                sent: 0,
                again_at: ctx.now,
            });
            self.repeat_offer(ctx);
        }
    }

    /// Makes the offer, or gives it up.
    #[cold]
    fn repeat_offer(&mut self, ctx: &mut Context<'_>) {
        let Some(offer) = &mut self.extended.offer else {
            return;
        };
        if offer.sent >= OFFERS || self.shared.protocol != Protocol::Multipath {
            self.extended.offer = None;
            self.emit(ctx, Event::Extensions(Features::default()));
            return;
        }
        offer.sent += 1;
        offer.again_at = ctx.now + OFFER_TIMEOUT;
        let features = ctx.config.extensions.features();
        let offer = Extension::Offer {
            answer: false,
            features,
        };
        if let Some(id) = self.usable().iter().next() {
            self.say(id, offer);
        }
    }

    /// Plain TCP from now on: no option is sent any more.
    pub(super) fn forget_extensions(&mut self) {
        self.shared.agreed = Features::default();
        self.extended = Extended::default();
        for path in self.paths.iter_mut().flatten() {
            path.state.outbox.extensions.clear();
            path.state.starved = false;
        }
    }

    /// Sends an extension's option with an acknowledgement.
    fn say(&mut self, id: SubflowId, extension: Extension) {
        if self.shared.protocol != Protocol::Multipath {
            return;
        }
        if let Some(path) = self.path_mut(id) {
            let waiting = &mut path.state.outbox.extensions;
            if !waiting.contains(&extension) && !waiting.is_full() {
                waiting.push(extension);
            }
        }
        self.send_acks(SubflowSet::only(id));
    }

    /// An option of a subtype without a meaning of its own, in a segment without SYN.
    #[cold]
    pub(super) fn read_private(
        &mut self,
        ctx: &mut Context<'_>,
        id: SubflowId,
        option: &mptcp::Private,
    ) {
        let own = ctx.config.extensions.features();
        let read = self.shared.subtypes.read(option, false, true);
        match (read, self.shared.role) {
            _ if own.is_empty() => {}
            (Ok(Extension::Offer { answer, features }), Role::Server) if !answer => {
                let both = own.and(features);
                if self.shared.agreed != both {
                    self.shared.agreed = both;
                    self.tell_agreed(ctx);
                }
                let answer = Extension::Offer {
                    answer: true,
                    features: both,
                };
                self.say(id, answer);
            }
            (Ok(Extension::Offer { answer, features }), Role::Client) if answer => {
                if self.extended.offer.take().is_some() {
                    self.shared.agreed = own.and(features);
                    self.tell_agreed(ctx);
                }
            }
            (Ok(Extension::RtoRequest), _) if self.shared.agreed.has(Features::RTO) => {
                if let Some(rto) = self.path(id).map(|p| p.tcp.info(ctx.now).rto) {
                    ctx.counters.rto_answers += 1;
                    self.say(id, Extension::RtoAnswer(rto));
                }
            }
            (Ok(Extension::RtoAnswer(rto)), Role::Client)
                if self.shared.agreed.has(Features::RTO) =>
            {
                if let Some(path) = self.path_mut(id) {
                    path.state.peer_rto = Some(rto);
                }
            }
            (Ok(_) | Err(NotRead::Foreign), _) => {}
            (Err(NotRead::Malformed | NotRead::MalformedJoin), _) => {
                ctx.counters.malformed_extensions += 1;
            }
        }
    }

    /// Tells what both ends agreed on, unless the connection ended before they did.
    fn tell_agreed(&self, ctx: &mut Context<'_>) {
        if !self.is_over() {
            self.emit(ctx, Event::Extensions(self.shared.agreed));
        }
    }

    /// Data is announced by a mapping: whether its sender has more.
    pub(super) fn note_idle_flag(&mut self, mapping: &mptcp::Mapping, length: u16, idle: bool) {
        let Some(numbers) = self.receiving.numbers else {
            return;
        };
        let next = self.receiving.stream.next();
        let end = numbers.beyond(mapping.dsn, next) + i64::from(length);
        let Some(end) = next.checked_add_signed(end).filter(|end| *end > next) else {
            return;
        };
        self.extended.heard = true;
        if idle {
            self.extended.idle_from = self.extended.idle_from.max(Some(end));
        }
    }

    /// A subflow brought something new.
    pub(super) fn note_new_data(&mut self, id: SubflowId) {
        self.extended.watched = Some(id);
    }

    /// Whether the peer has more to send, as far as it said: the stream has not come to where it
    /// was said to be idle. By the place in the stream and not by the order of arrival, because
    /// data that is sent again comes after what it was sent before.
    fn expects_data(&self) -> bool {
        let next = self.receiving.stream.next();
        self.stage == Stage::Connected
            && self.extended.heard
            && !self.receiving.is_finished()
            && self.extended.idle_from != Some(next)
    }

    /// A packet came on a subflow: the idle timer starts anew, or stops.
    pub(super) fn watch_idle(&mut self, ctx: &mut Context<'_>, id: SubflowId) {
        if !self.shared.agreed.has(Features::IDLE_FLAG) || self.shared.role != Role::Client {
            return;
        }
        let asks = self.shared.agreed.has(Features::RTO);
        let expects = self.expects_data();
        let watched = self.extended.watched;
        let extensions = &ctx.config.extensions;
        let Some(path) = self.path_mut(id) else {
            return;
        };
        path.state.starved = false;
        if !expects {
            self.extended.starved_at = None;
            return;
        }
        if watched != Some(id) {
            return;
        }
        let rto = match asks {
            // Until the first answer its own, which is of the same path.
            true => path.state.peer_rto.unwrap_or(path.tcp.info(ctx.now).rto),
            false => Duration::ZERO,
        };
        let asked = path.state.rto_asked;
        let due = asked.is_none_or(|at| ctx.now.since(at) >= extensions.rto_period);
        let ask = asks && due && path.state.is_usable();
        if ask {
            path.state.rto_asked = Some(ctx.now);
        }
        self.extended.starved_at = Some(ctx.now + extensions.idle_floor.max(rto));
        if ask {
            ctx.counters.rto_requests += 1;
            self.say(id, Extension::RtoRequest);
        }
    }

    /// When something of the extensions is due.
    pub(super) fn extensions_poll_at(&self) -> Option<Time> {
        let offer = self.extended.offer.map(|offer| offer.again_at);
        Time::earliest([offer, self.extended.starved_at])
    }

    /// Repeats the offer, and tells of a subflow that is starved.
    pub(super) fn poll_extensions(&mut self, ctx: &mut Context<'_>) {
        let due = |at: Option<Time>| at.is_some_and(|at| at <= ctx.now);
        let (offer, starved) = (
            due(self.extended.offer.map(|offer| offer.again_at)),
            due(self.extended.starved_at),
        );
        if offer {
            if self.stage == Stage::Connected {
                self.repeat_offer(ctx);
            } else {
                self.extended.offer = None;
            }
        }
        if starved {
            self.extended.starved_at = None;
            let watched = self.extended.watched;
            let usable = |id: &SubflowId| self.path(*id).is_some_and(|p| p.state.is_usable());
            if let Some(id) = watched.filter(usable)
                && let Some(path) = self.path_mut(id)
            {
                path.state.starved = true;
                ctx.counters.starved += 1;
                self.emit(ctx, Event::Starved(id));
            }
        }
    }
}

/// The FAST_JOIN of a SYN or (`ack`) SYN/ACK, if there is one, malformed or not.
pub(crate) fn in_syn(
    extensions: &Extensions,
    options: &[MptcpOption],
    ack: bool,
) -> Option<Result<mptcp::FastJoin, NotRead>> {
    options.iter().find_map(|option| match option {
        MptcpOption::Private(private) => match extensions.subtypes.read(private, true, ack) {
            Ok(Extension::FastJoin(join)) => Some(Ok(join)),
            Err(malformed @ NotRead::MalformedJoin) => Some(Err(malformed)),
            _ => None,
        },
        _ => None,
    })
}
