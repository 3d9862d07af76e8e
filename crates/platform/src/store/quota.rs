//! How much may a key still spend in a window of time?

use super::StoreError;
use super::database::{Transaction, values};
use super::run::signed;
use std::time::Duration;

/// A wish to spend.
#[derive(Clone, Debug)]
pub(super) struct Spending {
    pub(super) key: String,
    pub(super) amount: u64,
    pub(super) limit: u64,
    pub(super) window: Duration,
    pub(super) now_s: u64,
}

/// Takes the amount unless less is left; whether it was taken.
pub(super) async fn spend(
    transaction: &mut Transaction,
    spending: &Spending,
) -> Result<bool, StoreError> {
    let (amount, limit) = (signed(spending.amount), signed(spending.limit));
    if amount > limit {
        return Ok(false);
    }
    let window_s = spending.window.as_secs().max(1);
    let begins_s = spending.now_s / window_s * window_s;
    let rows = transaction
        .rows(
            "INSERT INTO quotas (key, begins_s, ends_s, spent) VALUES ($1, $2, $3, $4) \
             ON CONFLICT (key, begins_s, ends_s) DO UPDATE SET spent = quotas.spent + excluded.spent \
             WHERE quotas.spent <= $5 RETURNING spent",
            values![
                spending.key.as_str(),
                signed(begins_s),
                signed(begins_s.saturating_add(window_s)),
                amount,
                limit - amount,
            ],
        )
        .await?;
    Ok(!rows.is_empty())
}
