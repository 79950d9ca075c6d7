//! The directories that an index needs.

use super::{Index, IndexEntry};

/// A directory with tracked files in it or below it.
#[derive(Debug)]
pub struct IndexDirectory<'a> {
    /// Without a slash at its end; empty is the root.
    pub path: &'a [u8],
    /// The files right in it.
    pub files: Vec<&'a IndexEntry>,
    /// The names of the directories right in it, in the order of their bytes.
    pub directories: Vec<&'a [u8]>,
}

impl Index {
    /// Groups the entries by their directories, each of which comes after the one that it is in; the root is the first.
    #[must_use]
    pub fn directories(&self) -> Vec<IndexDirectory<'_>> {
        let new = |path| IndexDirectory { path, files: Vec::new(), directories: Vec::new() };
        let mut found = vec![new(&b""[..])];
        // The directories that the last entry is in, from the outermost. In the order of paths, whatever is below a
        // directory comes in one piece.
        let mut way = Vec::new();
        for entry in self.entries() {
            while let Some(last) = way.last().map(|last: &usize| found[*last].path)
                && !entry.path.strip_prefix(last).is_some_and(|rest| rest.starts_with(b"/"))
            {
                way.pop();
            }
            let start = way.last().map_or(0, |last| found[*last].path.len() + 1);
            let mut name = start;
            for (at, _) in entry.path.iter().enumerate().skip(start).filter(|(_, byte)| **byte == b'/') {
                found[way.last().copied().unwrap_or(0)].directories.push(&entry.path[name..at]);
                way.push(found.len());
                found.push(new(&entry.path[..at]));
                name = at + 1;
            }
            found[way.last().copied().unwrap_or(0)].files.push(entry);
        }
        // `a-b/x` comes before `a/x`, but `a` before `a-b`.
        for directory in &mut found {
            directory.directories.sort_unstable();
        }
        found
    }
}

impl<'a> IndexDirectory<'a> {
    /// Parts directories in two that have about as many files.
    #[must_use]
    pub fn halves<'b>(directories: &'b [Self]) -> (&'b [Self], &'b [Self]) {
        let weight = |directory: &IndexDirectory<'a>| directory.files.len() + 1;
        let total: usize = directories.iter().map(weight).sum();
        let mut seen = 0;
        let is_first = |directory: &&IndexDirectory<'a>| {
            seen += weight(directory);
            seen <= total / 2
        };
        directories.split_at(directories.iter().take_while(is_first).count())
    }
}
