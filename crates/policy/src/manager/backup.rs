//! `backup`: what if cellular is there but used only when nothing else works?
//!
//! As [`fullmesh`](super::fullmesh), but with the subflows on cellular paths as backup. When to
//! use a backup is the stack's own decision: Linux waits until every regular subflow is stale,
//! noq until the regular paths are closed, so a silent failure can stall a connection for long.

use super::fullmesh::Mesh;

/// A subflow on every path, those on cellular as backup.
pub fn backup() -> Mesh {
    Mesh::with_cellular_as_backup()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manager::stage::Stage;

    #[test]
    fn cellular_is_a_backup_and_a_failure_changes_nothing() {
        let mut stage = Stage::new(Box::new(backup()));
        stage.run(1_000);
        stage.kill(0);
        stage.run(5_000);
        insta::assert_snapshot!(stage.story());
    }
}
