//! The index of a copy of a tree, made from the index of the tree itself.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::stat::STAT_BYTES;
use super::{FileStat, Index, InvalidIndex};

impl Index {
    /// The bytes of this index for a copy of its tree: each entry gets what the file system says of the copied file, in
    /// the order of the entries, so that git need not read it.
    ///
    /// Entries that are not [settled](Self::is_settled) get nothing: git reads those files. What else git had noted of
    /// the old tree (untracked files, a file monitor's state) is left out.
    pub fn patch_stat(&self, stats: &[FileStat]) -> Result<Vec<u8>, InvalidIndex> {
        if stats.len() != self.entries.len() {
            return Err(InvalidIndex("it has not as many entries as there are files"));
        }
        let mut bytes = self.bytes[..self.entries_end].to_vec();
        for (entry, stat) in self.entries.iter().zip(stats) {
            let place = bytes.get_mut(entry.stat_offset..).and_then(|rest| rest.first_chunk_mut::<STAT_BYTES>());
            let place = place.ok_or(InvalidIndex("it is cut off"))?;
            if self.is_settled(entry) { stat.write(place) } else { FileStat::default().write(place) }
        }
        for extension in &self.portable {
            bytes.extend_from_slice(&self.bytes[extension.clone()]);
        }
        let checksum = self.format.hash(&bytes);
        bytes.extend_from_slice(checksum.as_bytes());
        Ok(bytes)
    }

    /// The bytes of this index with what it remembers of some files forgotten, so that git reads them.
    pub fn forget_stat(&self, paths: &BTreeSet<PathBuf>) -> Result<Vec<u8>, InvalidIndex> {
        let stat =
            |entry: &super::IndexEntry| if paths.contains(entry.path()) { FileStat::default() } else { entry.stat };
        self.patch_stat(&self.entries.iter().map(stat).collect::<Vec<_>>())
    }
}
