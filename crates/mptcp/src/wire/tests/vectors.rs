//! Are the hashes those of the published vectors?

use crate::wire::key;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// FIPS 180-4's examples of one block and of two (NIST, "Secure Hash Standard" examples).
#[test]
fn sha256() {
    let two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    assert_eq!(
        [
            hex(&Sha256::digest("abc")),
            hex(&Sha256::digest(two_blocks))
        ],
        [
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ]
    );
}

/// RFC 4231, sections 4.2 to 4.4, 4.7.
#[test]
fn hmac_sha256() {
    let cases: [(&[u8], &[u8], &str); 4] = [
        (
            &[0x0b; 20],
            b"Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
        ),
        (
            b"Jefe",
            b"what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        ),
        (
            &[0xaa; 20],
            &[0xdd; 50],
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
        ),
        (
            &[0xaa; 131],
            b"Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
        ),
    ];
    for (key, message, expected) in cases {
        let mut hmac = Hmac::<Sha256>::new_from_slice(key).expect("any length");
        hmac.update(message);
        assert_eq!(hex(&hmac.finalize().into_bytes()), expected);
    }
}

/// The vectors that Linux tests its HMACs of joins with (net/mptcp/crypto_test.c): both keys and
/// both nonces as text.
#[test]
fn hmac_of_a_join() {
    let cases = [
        (
            *b"0b0b0b0b0b0b0b0b",
            *b"48692054",
            "8385e24fb4235ac37556b6b886db106284a1da671699f46db1f235ec622dcafa",
        ),
        (
            *b"aaaaaaaaaaaaaaaa",
            *b"dddddddd",
            "2c5e219164ff1dca1c4a92318d847bb6b9d44492984e1eb71aff9022f71046e9",
        ),
        (
            *b"0102030405060708",
            *b"cdcdcdcd",
            "e73b9ba9969969cefb04aa0d6df18ec2fcc075b6f23b4d8c4da736a5dbbc6e7d",
        ),
    ];
    for (keys, nonces, expected) in cases {
        let keys = u128::from_be_bytes(keys);
        let nonces = u64::from_be_bytes(nonces);
        let hmac = key::join_hmac(
            (keys >> 64) as u64,
            keys as u64,
            (nonces >> 32) as u32,
            nonces as u32,
        );
        assert_eq!(hex(&hmac), expected);
    }
}

/// RFC 8684, section 3.3.1: over the 64-bit number, the relative one, the length, zeros and the
/// data, as over any bytes.
#[test]
fn checksum_of_a_mapping() {
    // Added by hand: 0001 + 0002 + 0003 + 0004, 0000 + 0005, 0003, 0000; 6162 + 6300.
    let sum = 0x0001 + 0x0002 + 0x0003 + 0x0004 + 0x0005 + 0x0003 + 0x6162 + 0x6300;
    let checksum = key::dss_checksum(0x0001_0002_0003_0004, 5, 3, 0, b"abc");
    assert_eq!(checksum, !(sum as u16));
    assert_eq!(
        key::dss_checksum(0x0001_0002_0003_0004, 5, 3, checksum, b"abc"),
        0
    );
    assert_ne!(
        key::dss_checksum(0x0001_0002_0003_0004, 5, 3, checksum, b"abd"),
        0
    );

    let mut pieces = key::DssChecksum::default();
    pieces.add(b"a");
    pieces.add(b"");
    pieces.add(b"bc");
    assert_eq!(pieces.finish(0x0001_0002_0003_0004, 5, 3, 0), checksum);
}
