//! How does a TCP connection behave?

use std::time::Duration;

/// How a TCP connection behaves; the default is Linux's.
#[derive(Clone, Debug)]
pub struct Config {
    /// The maximum segment size announced: the path's MTU less the headers of IP and TCP.
    pub mss: u16,
    /// Bytes to leave free in each data segment for the owner's options.
    pub option_reserve: usize,
    /// Whether to offer selective acknowledgements.
    pub sack: bool,
    /// Whether to offer timestamps.
    pub timestamps: bool,
    /// The window scale to offer; `None` for none.
    pub window_scale: Option<u8>,
    /// Whether to offer ECN (RFC 3168).
    pub ecn: bool,
    /// The smallest retransmission timeout: 200 ms in Linux.
    pub min_rto: Duration,
    /// The largest retransmission timeout: 120 s in Linux.
    pub max_rto: Duration,
    /// The retransmission timeout before a round trip is measured (RFC 6298): 1 s.
    pub initial_rto: Duration,
    /// The delay of an acknowledgement that waits for company: 40 ms in Linux (TCP_DELACK_MIN).
    pub delayed_ack: Duration,
    /// How often a SYN is sent again with doubled timeouts: 6 in Linux
    /// (net.ipv4.tcp_syn_retries).
    pub syn_retries: u32,
    /// How often a SYN is sent again after [`Config::initial_rto`] each, before the timeouts
    /// begin to double: 4 in Linux since 6.5 (net.ipv4.tcp_syn_linear_timeouts). They are not
    /// counted in `syn_retries`.
    pub syn_linear_timeouts: u32,
    /// How often data is sent again before the connection is given up: 15 in Linux
    /// (net.ipv4.tcp_retries2).
    pub retries: u32,
    /// Silence after which a keep-alive probe is sent; `None` for none.
    pub keep_alive: Option<Duration>,
    /// Whether the sender paces even if the controller asks for no rate.
    pub pacing: bool,
    /// Whether the window falls after an idle time (net.ipv4.tcp_slow_start_after_idle).
    pub slow_start_after_idle: bool,
    /// The time in TIME-WAIT: 60 s in Linux.
    pub time_wait: Duration,
    /// Whether TCP's checksums are computed and verified. Without, as when a network card does it,
    /// the field is 0 in what is sent: for packets that nothing alters on their way.
    pub checksums: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            mss: 1460,
            option_reserve: 0,
            sack: true,
            timestamps: true,
            window_scale: Some(7),
            ecn: false,
            min_rto: Duration::from_millis(200),
            max_rto: Duration::from_secs(120),
            initial_rto: Duration::from_secs(1),
            delayed_ack: Duration::from_millis(40),
            syn_retries: 6,
            syn_linear_timeouts: 4,
            retries: 15,
            keep_alive: None,
            pacing: false,
            slow_start_after_idle: true,
            time_wait: Duration::from_secs(60),
            checksums: true,
        }
    }
}
