//! Did either end count what must not happen between two right ends?

use crate::Outcome;
use crate::stage::Stage;

impl Stage {
    /// Fails unless the kernel counted nothing that must not happen between two right ends.
    pub fn expect_clean(&self) -> Outcome {
        let ours = self.ours.stack.counters();
        let wrong = [
            ("malformed", ours.malformed),
            ("join_no_token", ours.join_no_token),
            ("join_bad_hmac", ours.join_bad_hmac),
            ("add_addr_bad_hmac", ours.add_addr_bad_hmac),
            ("fallbacks", ours.fallbacks),
            ("checksum_errors", ours.checksum_errors),
            ("bad_mappings", ours.bad_mappings),
        ];
        let counted = self.kernel.counters()?;
        let kernel = MUST_BE_ZERO
            .iter()
            .filter_map(|name| Some((*name, *counted.get(*name)?)));
        let wrong: Vec<_> = wrong
            .into_iter()
            .chain(kernel)
            .filter(|(_, n)| *n > 0)
            .collect();
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(format!("counted {wrong:?}\n{}", self.state()).into()),
        }
    }
}

/// Counters of the kernel that stay zero between two right ends (net/mptcp/mib.h).
const MUST_BE_ZERO: &[&str] = &[
    "MPCapableFallbackACK",
    "MPCapableFallbackSYNACK",
    "MPCapableDataFallback",
    "MPFallbackTokenInit",
    "MPJoinNoTokenFound",
    "MPJoinSynAckHMacFailure",
    "MPJoinAckHMacFailure",
    "MPJoinRejected",
    "DSSNotMatching",
    "DSSCorruptionFallback",
    "DSSCorruptionReset",
    "DSSNoMatchTCP",
    "DssFallback",
    "InfiniteMapTx",
    "InfiniteMapRx",
    "DataCsumErr",
    "NoDSSInWindow",
    "AddAddrDrop",
    "RmAddrDrop",
    "MismatchPortSynRx",
    "MismatchPortAckRx",
    "MPFailTx",
    "MPFailRx",
    "MD5SigFallback",
    "SimultConnectFallback",
    "FallbackFailed",
];
