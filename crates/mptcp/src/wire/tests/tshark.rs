//! Does tshark, which was written by others, read in each option what was written?

use super::capture;
use super::forms::{self, Form};
use crate::wire::key;
use crate::wire::mptcp::*;
use crate::wire::{OPTION_SPACE, Options};
use std::io::{ErrorKind, Write};
use std::net::IpAddr;
use std::process::{Command, Stdio};

/// The fields of Multipath TCP's options that are compared; each after `tcp.options.mptcp.`.
const FIELDS: [&str; 20] = [
    "subtype",
    "backup.flag",
    "addrid",
    "recvtok",
    "sendrand",
    "sendtrunchmac",
    "sendhmac",
    "sendkey",
    "recvkey",
    "datalvllen",
    "datafin.flag",
    "rawdataack",
    "rawdataseqno",
    "subflowseqno",
    "echo",
    "ipv4",
    "ipv6",
    "port",
    "addaddrtrunchmac",
    "rst_reason",
];

/// What tshark is to say of an option: fields and their values.
fn said(option: &MptcpOption) -> Vec<(&'static str, String)> {
    let bit = |bit: bool| u8::from(bit).to_string();
    let number = |number: Number| match number {
        Number::Wide(number) => number.to_string(),
        Number::Narrow(number) => number.to_string(),
    };
    let (subtype, mut said) = match *option {
        MptcpOption::Capable(capable) => {
            let fields = [
                ("sendkey", capable.sender_key.map(|key| key.to_string())),
                ("recvkey", capable.receiver_key.map(|key| key.to_string())),
                (
                    "datalvllen",
                    capable.data_length.map(|length| length.to_string()),
                ),
            ];
            let present = fields
                .into_iter()
                .filter_map(|(name, value)| Some((name, value?)));
            (0, present.collect())
        }
        MptcpOption::Join(Join::Syn {
            backup,
            address_id,
            token,
            nonce,
        }) => (
            1,
            vec![
                ("backup.flag", bit(backup)),
                ("addrid", address_id.to_string()),
                ("recvtok", token.to_string()),
                ("sendrand", nonce.to_string()),
            ],
        ),
        MptcpOption::Join(Join::SynAck {
            backup,
            address_id,
            hmac,
            nonce,
        }) => (
            1,
            vec![
                ("backup.flag", bit(backup)),
                ("addrid", address_id.to_string()),
                ("sendtrunchmac", hmac.to_string()),
                ("sendrand", nonce.to_string()),
            ],
        ),
        MptcpOption::Join(Join::Ack { hmac }) => (
            1,
            vec![(
                "sendhmac",
                hmac.iter().map(|byte| format!("{byte:02x}")).collect(),
            )],
        ),
        MptcpOption::Dss(Dss {
            data_fin,
            idle: _,
            data_ack,
            mapping,
        }) => {
            let mut fields = vec![("datafin.flag", bit(data_fin))];
            fields.extend(data_ack.map(|ack| ("rawdataack", number(ack))));
            if let Some(mapping) = mapping {
                fields.push(("rawdataseqno", number(mapping.dsn)));
                fields.push(("subflowseqno", mapping.subflow_seq.to_string()));
                fields.push(("datalvllen", mapping.length.to_string()));
            }
            (2, fields)
        }
        MptcpOption::AddAddr(AddAddr {
            id,
            address,
            port,
            hmac,
        }) => {
            let mut fields = vec![("addrid", id.to_string()), ("echo", bit(hmac.is_none()))];
            fields.push(match address {
                IpAddr::V4(address) => ("ipv4", address.to_string()),
                IpAddr::V6(address) => ("ipv6", address.to_string()),
            });
            fields.extend(port.map(|port| ("port", port.to_string())));
            fields.extend(hmac.map(|hmac| ("addaddrtrunchmac", hmac.to_string())));
            (3, fields)
        }
        MptcpOption::RemoveAddr(ref ids) => {
            let ids: Vec<_> = ids.iter().map(u8::to_string).collect();
            (4, vec![("addrid", ids.join(","))])
        }
        MptcpOption::Prio { backup } => (5, vec![("backup.flag", bit(backup))]),
        MptcpOption::Fail { dsn } => (6, vec![("rawdataseqno", dsn.to_string())]),
        MptcpOption::FastClose { key } => (7, vec![("recvkey", key.to_string())]),
        MptcpOption::Reset { reason, .. } => (8, vec![("rst_reason", format!("{reason:#04x}"))]),
        MptcpOption::Private(ref private) => (private.subtype, vec![]),
    };
    said.push(("subtype", subtype.to_string()));
    said
}

/// What is said of a right segment, too.
const HARMLESS: [&str; 5] = [
    "Connection establish request (SYN)",
    "Connection establish acknowledge (SYN+ACK)",
    "Connection reset (RST)",
    // The two forms of first data are the same data.
    "This frame is a (suspected) retransmission",
    // It counts padding before and after an option together. Linux pads the same way.
    "4 NOP in a row - a router may have removed some options",
];

/// The rows that tshark prints of a capture's packets; `None` when there is no tshark.
fn tshark(capture: &[u8], fields: &[String]) -> Option<Vec<Vec<String>>> {
    let mut command = Command::new("tshark");
    command.args(["-n", "-r", "-", "-T", "fields", "-E", "separator=|"]);
    for option in ["tcp.check_checksum:TRUE", "ip.check_checksum:TRUE"] {
        command.args(["-o", option]);
    }
    for field in fields {
        command.args(["-e", field]);
    }
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(e) if e.kind() == ErrorKind::NotFound => {
            assert!(std::env::var_os("CI").is_none(), "tshark is not installed");
            println!("skipped: tshark is not installed");
            return None;
        }
        Err(e) => panic!("tshark: {e}"),
    };
    child
        .stdin
        .take()
        .expect("piped")
        .write_all(capture)
        .expect("tshark reads");
    let output = child.wait_with_output().expect("tshark ends");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).expect("tshark writes UTF-8");
    Some(
        text.lines()
            .map(|line| line.split('|').map(str::to_string).collect())
            .collect(),
    )
}

#[test]
fn tshark_reads_what_was_written() {
    let forms = forms::all();
    let packets: Vec<_> = forms.iter().map(Form::packet).collect();
    let mut fields: Vec<_> = FIELDS
        .iter()
        .map(|field| format!("tcp.options.mptcp.{field}"))
        .collect();
    fields.extend(
        [
            "_ws.expert.message",
            "tcp.checksum.status",
            "ip.checksum.status",
        ]
        .map(String::from),
    );
    let Some(rows) = tshark(&capture::write(&packets), &fields) else {
        return;
    };
    assert_eq!(rows.len(), forms.len());
    for (form, row) in forms.iter().zip(rows) {
        let mut expected: Vec<_> = FIELDS.iter().map(|_| String::new()).collect();
        for (name, value) in form.options.mptcp.iter().flat_map(said) {
            let at = FIELDS
                .iter()
                .position(|&field| field == name)
                .expect("a field");
            expected[at] = value;
        }
        let (read, others) = row.split_at(FIELDS.len());
        assert_eq!(read, expected, "{form:?}");
        let [expert, tcp_checksum, ip_checksum] = others else {
            panic!("{row:?}")
        };
        for message in expert.split(',').filter(|message| !message.is_empty()) {
            assert!(
                HARMLESS.iter().any(|h| message.starts_with(h)),
                "{message}: {form:?}"
            );
        }
        // 1 is "good"; IPv6 has no checksum.
        assert_eq!(tcp_checksum, "1", "{form:?}");
        assert_eq!(ip_checksum, if form.v6 { "" } else { "1" }, "{form:?}");
    }
}

/// The answer to a fast join with a Data ACK beside it, which RFC 8684 has in no SYN/ACK.
#[test]
fn tshark_finds_nothing_wrong_with_a_data_ack_in_a_syn_ack() {
    let answer = FastJoin::SynAck {
        form: FastJoinForm::Out,
        backup: false,
        address_id: 1,
        hmac: 2,
    };
    let answer = Subtypes::default().write(&Extension::FastJoin(answer));
    let ack = Dss {
        data_ack: Some(Number::Wide(3)),
        ..Dss::default()
    };
    let options = Options {
        mss: Some(1_460),
        window_scale: Some(7),
        sack_permitted: true,
        mptcp: [MptcpOption::Private(answer), MptcpOption::Dss(ack)]
            .into_iter()
            .collect(),
        ..Options::default()
    };
    assert_eq!(options.len(), OPTION_SPACE);
    let form = Form {
        v6: false,
        port: 9_999,
        from_server: true,
        flags: forms::SYN_ACK,
        options,
        payload: b"",
    };
    let fields = [
        "tcp.options.mptcp.subtype",
        "tcp.options.mptcp.rawdataack",
        "_ws.expert.message",
        "_ws.malformed",
    ];
    let Some(rows) = tshark(&capture::write(&[form.packet()]), &fields.map(String::from)) else {
        return;
    };
    let [subtypes, ack, expert, malformed] = &rows[0][..] else {
        panic!("{rows:?}")
    };
    assert_eq!((subtypes.as_str(), ack.as_str()), ("15,2", "3"));
    assert!(expert.starts_with("Connection establish acknowledge") && !expert.contains(','));
    assert_eq!(malformed, "");
}

#[test]
fn tshark_derives_the_same_tokens_and_data_sequence_numbers() {
    let packets: Vec<_> = forms::handshake(false).iter().map(Form::packet).collect();
    let fields = ["mptcp.expected_token", "mptcp.expected_idsn"].map(String::from);
    let Some(rows) = tshark(&capture::write(&packets), &fields) else {
        return;
    };
    let derived: Vec<_> = rows.into_iter().filter(|row| !row[0].is_empty()).collect();
    let own = [forms::SERVER_KEY, forms::CLIENT_KEY].map(|key| {
        [
            key::token(key).to_string(),
            key::initial_dsn(key).to_string(),
        ]
    });
    assert_eq!(derived[..2], own);
}
