//! The record that a program keeps of its conversation, followed for what its stream does not tell: how full the
//! context is. It may be missing, cut or hostile; then nothing is known, and nothing else happens.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde_json::Value;

/// How much of the end of the record is read at a time.
const TAIL_BYTES: u64 = 1024 * 1024;

/// How many entries of directories are looked at for the record.
const ENTRIES: usize = 100_000;

#[derive(Debug)]
pub(super) struct Transcript {
    root: Option<PathBuf>,
    /// How many directories lie between the root and the record.
    depth: usize,
    file: Option<PathBuf>,
    /// Up to where it is read.
    read: u64,
}

impl Transcript {
    pub(super) fn below(root: Option<PathBuf>, depth: usize) -> Self {
        Self { root, depth, file: None, read: 0 }
    }

    /// Finds the last new line that the function makes something of, in the record whose name ends so.
    pub(super) fn last<T>(&mut self, name_ends: &str, find: impl Fn(&Value) -> Option<T>) -> Option<T> {
        let tail = self.tail(name_ends)?;
        let mut lines = tail.split(|byte| *byte == b'\n').rev();
        lines.find_map(|line| serde_json::from_slice(line).ok().as_ref().and_then(&find))
    }

    /// The complete lines since the last time, or the last of them.
    fn tail(&mut self, name_ends: &str) -> Option<Vec<u8>> {
        if self.file.is_none() {
            self.file = find(self.root.as_deref()?, self.depth, name_ends, &mut ENTRIES.clone());
        }
        let mut file = open(self.file.as_deref()?)?;
        let length = file.metadata().ok()?.len();
        let from = self.read.max(length.saturating_sub(TAIL_BYTES));
        file.seek(SeekFrom::Start(from)).ok()?;
        let mut tail = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut tail).ok()?;
        let complete = tail.iter().rposition(|byte| *byte == b'\n')? + 1;
        tail.truncate(complete);
        self.read = from + complete as u64;
        Some(tail)
    }
}

/// Finds the file whose name ends so, that many directories below.
fn find(directory: &Path, depth: usize, name_ends: &str, left: &mut usize) -> Option<PathBuf> {
    for entry in fs::read_dir(directory).ok()?.flatten() {
        *left = left.checked_sub(1)?;
        let kind = entry.file_type().ok()?;
        if depth == 0 && kind.is_file() && entry.file_name().to_string_lossy().ends_with(name_ends) {
            return Some(entry.path());
        }
        if depth > 0 && kind.is_dir() {
            let found = find(&entry.path(), depth - 1, name_ends, left);
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

/// Opens a file that is one: opening a pipe could wait for ever.
fn open(path: &Path) -> Option<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOFOLLOW).bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).ok()?;
    file.metadata().ok()?.is_file().then_some(file)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn number(value: &Value) -> Option<u64> {
        value["n"].as_u64()
    }

    #[test]
    fn the_last_new_line_is_found_however_large_the_record() {
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("a/b");
        fs::create_dir_all(&directory).unwrap();
        let mut transcript = Transcript::below(Some(home.path().into()), 2);
        assert_eq!(transcript.last("-id.jsonl", number), None);

        let mut file = File::create(directory.join("record-id.jsonl")).unwrap();
        writeln!(file, "{{\"n\":1}}\n{{\"n\":2}}\n{{\"m\":3}}").unwrap();
        assert_eq!(transcript.last("-id.jsonl", number), Some(2));
        assert_eq!(transcript.last("-id.jsonl", number), None);

        write!(file, "{{\"n\":").unwrap();
        assert_eq!(transcript.last("-id.jsonl", number), None);
        writeln!(file, "4}}").unwrap();
        assert_eq!(transcript.last("-id.jsonl", number), Some(4));

        writeln!(file, "{{\"n\":5}}\n{}\n{{\"n\":6}}", "x".repeat(3 * 1024 * 1024)).unwrap();
        assert_eq!(transcript.last("-id.jsonl", number), Some(6));
    }

    #[test]
    fn what_is_no_file_is_not_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let pipe = home.path().join("x-id.jsonl");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        assert!(open(&pipe).is_none());
        assert_eq!(Transcript::below(Some(home.path().into()), 0).last("-id.jsonl", number), None);
        assert_eq!(Transcript::below(None, 0).last("-id.jsonl", number), None);
    }
}
