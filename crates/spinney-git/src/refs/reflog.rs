//! Since when a branch is there, as its reflog tells: one that was deleted and made again has a new one.

use std::io::{BufRead as _, BufReader, Read as _};

use spinney_core::BranchName;

use crate::disk::regular::open_regular;
use crate::repository::opened::Repository;

/// More than an entry has.
const ENTRY_BYTES: u64 = 64 << 10;

impl Repository {
    /// The time of the oldest entry, in seconds; none where there is no reflog, or none in a file.
    #[must_use]
    pub fn load_reflog_start(&self, branch: &BranchName) -> Option<i64> {
        let file = open_regular(&self.common_dir().join("logs").join(branch.local_ref())).ok()?;
        let mut first = Vec::new();
        BufReader::new(file.take(ENTRY_BYTES)).read_until(b'\n', &mut first).ok()?;
        time_of(&String::from_utf8_lossy(&first))
    }
}

/// Reads the time of an entry: `OLD NEW A Person <person@example.org> 1700000000 +0000<TAB>message`.
fn time_of(entry: &str) -> Option<i64> {
    let (head, _) = entry.split_once('\t').unwrap_or((entry, ""));
    let (_, time) = head.rsplit_once("> ")?;
    time.split(' ').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_stands_behind_the_address() {
        assert_eq!(time_of("0 1 A > B <a@b> 1700000000 +0000\tbranch: Created from x> 5 6\n"), Some(1_700_000_000));
        for entry in ["", "0 1 A <a@b>", "0 1 A <a@b> soon +0000\tx"] {
            assert_eq!(time_of(entry), None, "{entry:?}");
        }
    }
}
