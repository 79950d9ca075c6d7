//! A job's log: one JSON object a line, appended as things happen.
//!
//! Memory is bounded whatever an agent prints: a line is cut, and a log that has become huge takes no more of an agent's
//! output, though still all that Spinney itself has to say.

mod sink;

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use spinney_core::{JobEvent, LogEntry, Timestamp};

use crate::told::{Warning, Words};
use crate::{Error, Result};

pub use sink::Sink;

/// What an agent prints beyond this is not kept: nobody reads it, and it would fill the disk.
const MAX_OUTPUT_BYTES: u64 = 1 << 30;
/// What one event may hold of an agent's text.
const MAX_TEXT_BYTES: usize = 256 << 10;
/// A line of a log that is longer was not written by us.
const MAX_ENTRY_BYTES: u64 = 16 << 20;

#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    file: BufWriter<File>,
    written: u64,
    /// Whether it was said that no more is kept.
    is_full: bool,
    /// The first failure; the job goes on without its log, and says so at the end.
    fault: Option<io::Error>,
    words: Arc<dyn Words>,
}

impl Log {
    /// Opens a job's log to go on with it.
    pub fn open(path: &Path, words: Arc<dyn Words>) -> Result<Self> {
        let file = OpenOptions::new().append(true).create(true).mode(0o600).open(path);
        let file = file.map_err(|source| Error::files(path, "opened", source))?;
        let written = file.metadata().map_or(0, |metadata| metadata.len());
        let mut log = Self {
            path: path.to_owned(),
            file: BufWriter::with_capacity(64 << 10, file),
            written,
            is_full: false,
            fault: None,
            words,
        };
        if written > 0 && !ends_with_newline(path) {
            // The process before us died in the middle of a line.
            log.write(b"\n");
        }
        Ok(log)
    }

    /// Makes all that was written visible to who follows.
    pub fn flush(&mut self) {
        let outcome = self.file.flush();
        self.note(outcome);
    }

    /// Tells the operator what went wrong with the log, if anything did.
    pub fn report_fault(&self) {
        if let Some(fault) = &self.fault {
            tracing::warn!("the log `{}` is not whole: {fault}", self.path.display());
        }
    }

    fn write(&mut self, bytes: &[u8]) {
        self.written += bytes.len() as u64;
        let outcome = self.file.write_all(bytes);
        self.note(outcome);
    }

    fn note(&mut self, outcome: io::Result<()>) {
        if let Err(error) = outcome {
            self.fault.get_or_insert(error);
        }
    }
}

impl Sink for Log {
    fn emit(&mut self, mut event: JobEvent) {
        if self.written > MAX_OUTPUT_BYTES && is_of_agent(&event) {
            if self.is_full {
                return;
            }
            self.is_full = true;
            event = JobEvent::warning(self.words.warning(&Warning::LogFull));
        }
        shorten(&mut event, self.words.as_ref());
        let entry = LogEntry { at_ms: Timestamp::now().as_millisecond(), event };
        if let Ok(mut line) = serde_json::to_vec(&entry) {
            line.push(b'\n');
            self.write(&line);
        }
    }

    fn words(&self) -> Arc<dyn Words> {
        self.words.clone()
    }
}

fn is_of_agent(event: &JobEvent) -> bool {
    matches!(event, JobEvent::Output { .. } | JobEvent::Text { .. } | JobEvent::ToolResult { .. })
}

/// Cuts what an agent made too long.
fn shorten(event: &mut JobEvent, words: &dyn Words) {
    match event {
        JobEvent::Output { text, cut_bytes, .. } => *cut_bytes += cut(text),
        JobEvent::Text { text } | JobEvent::ToolResult { text, .. } | JobEvent::HandOff { note: text } => {
            let left_out = cut(text);
            if left_out > 0 {
                text.push_str(&words.cut(left_out));
            }
        }
        JobEvent::ToolUse { detail, .. } | JobEvent::PermissionDenied { detail, .. } => drop(cut(detail)),
        _ => {}
    }
}

fn cut(text: &mut String) -> u64 {
    let before = text.len();
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    (before - text.len()) as u64
}

fn ends_with_newline(path: &Path) -> bool {
    let last = || -> io::Result<u8> {
        let mut file = spinney_git::open_regular(path)?;
        file.seek(SeekFrom::End(-1))?;
        let mut byte = [0];
        file.read_exact(&mut byte)?;
        Ok(byte[0])
    };
    last().is_ok_and(|byte| byte == b'\n')
}

/// Reads a log from its beginning, and goes on as it grows.
#[derive(Debug)]
pub struct LogReader {
    path: PathBuf,
    file: Option<BufReader<File>>,
    /// How much of the file was read or passed over.
    position: u64,
    /// No line that begins here or later is read.
    end: u64,
    /// A line whose end was not written yet.
    partial: Vec<u8>,
}

impl LogReader {
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self { path, file: None, position: 0, end: u64::MAX, partial: Vec::new() }
    }

    /// Passes over what is there by now.
    pub fn skip(&mut self) -> Result<()> {
        self.skip_to_last(0)
    }

    /// Passes over all but the last so many bytes of what is there by now.
    pub fn skip_to_last(&mut self, bytes: u64) -> Result<()> {
        let start = self.length()?.saturating_sub(bytes);
        let Some(file) = self.open()? else { return Ok(()) };
        // The line that is cut in two is none, and passed over.
        let moved = file.seek(SeekFrom::Start(start));
        self.position = moved.map_err(|source| Error::files(&self.path, "read", source))?;
        self.partial.clear();
        Ok(())
    }

    /// Passes over all but the last so many whole lines of what is there by now. However long the log is, no more of it is
    /// read than those.
    pub fn skip_to_last_lines(&mut self, lines: u64) -> Result<()> {
        let length = self.length()?;
        let Some(file) = self.open()? else { return Ok(()) };
        let start = start_of_last_lines(file, length, lines);
        let moved = start.and_then(|start| file.seek(SeekFrom::Start(start)));
        self.position = moved.map_err(|source| Error::files(&self.path, "read", source))?;
        self.partial.clear();
        Ok(())
    }

    /// Goes to where a line ended that was read before; from within a line, to the next one.
    pub fn skip_to(&mut self, offset: u64) -> Result<()> {
        let Some(before) = offset.min(self.length()?).checked_sub(1) else { return Ok(()) };
        let Some(file) = self.open()? else { return Ok(()) };
        let moved = file.seek(SeekFrom::Start(before));
        self.position = moved.map_err(|source| Error::files(&self.path, "read", source))?;
        self.partial.clear();
        self.next_line().map(drop)
    }

    /// Where the last line ended that was read.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.position - self.partial.len() as u64
    }

    /// Reads no further than what is there by now, however fast the log grows.
    pub fn stop_here(&mut self) -> Result<()> {
        self.end = self.length()?;
        Ok(())
    }

    /// How many bytes are there that were not read yet.
    pub fn behind(&mut self) -> Result<u64> {
        Ok(self.length()?.saturating_sub(self.position))
    }

    fn length(&mut self) -> Result<u64> {
        let Some(file) = self.open()? else { return Ok(0) };
        let metadata = file.get_ref().metadata();
        Ok(metadata.map_err(|source| Error::files(&self.path, "read", source))?.len())
    }

    /// The file; none as long as there is none.
    fn open(&mut self) -> Result<Option<&mut BufReader<File>>> {
        if self.file.is_none() {
            match spinney_git::open_regular(&self.path) {
                Ok(file) => self.file = Some(BufReader::with_capacity(64 << 10, file)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                // A link in its place is not followed, and stops no job.
                Err(_) if self.path.is_symlink() => {}
                Err(source) => return Err(Error::files(&self.path, "read", source)),
            }
        }
        Ok(self.file.as_mut())
    }

    /// Reads the next whole line, as it is; none when there is none yet.
    pub fn next_line(&mut self) -> Result<Option<Vec<u8>>> {
        self.open()?;
        let Some(file) = &mut self.file else { return Ok(None) };
        if self.partial.is_empty() && self.position >= self.end {
            return Ok(None);
        }
        loop {
            let room = MAX_ENTRY_BYTES.saturating_sub(self.partial.len() as u64);
            let read = file.by_ref().take(room).read_until(b'\n', &mut self.partial);
            let read = read.map_err(|source| Error::files(&self.path, "read", source))?;
            self.position += read as u64;
            if self.partial.last() == Some(&b'\n') {
                return Ok(Some(std::mem::take(&mut self.partial)));
            }
            if room == 0 {
                self.partial.clear();
            } else if read == 0 {
                return Ok(None);
            }
        }
    }

    /// Reads the next entry; what is none is passed over.
    pub fn next_entry(&mut self) -> Result<Option<LogEntry>> {
        while let Some(line) = self.next_line()? {
            if let Ok(entry) = serde_json::from_slice(&line) {
                return Ok(Some(entry));
            }
        }
        Ok(None)
    }
}

/// Where the last so many lines begin. A line at the end that is not whole yet is none of them, and comes behind them.
fn start_of_last_lines(file: &mut (impl Read + Seek), length: u64, lines: u64) -> io::Result<u64> {
    const PIECE: u64 = 64 << 10;
    let mut piece = Vec::new();
    // The end of the line before them is one more.
    let mut ends = lines.saturating_add(1);
    let mut begin = length;
    while begin > 0 {
        let from = begin.saturating_sub(PIECE);
        file.seek(SeekFrom::Start(from))?;
        piece.clear();
        file.by_ref().take(begin - from).read_to_end(&mut piece)?;
        for at in (0..piece.len()).rev().filter(|at| piece[*at] == b'\n') {
            ends -= 1;
            if ends == 0 {
                return Ok(from + at as u64 + 1);
            }
        }
        begin = from;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use spinney_core::Stream;

    use super::*;
    use crate::told::Facts;

    fn text(text: &str) -> JobEvent {
        JobEvent::Text { text: text.to_owned() }
    }

    #[test]
    fn a_reader_follows_a_writer_line_by_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut reader = LogReader::new(path.clone());
        assert_eq!(reader.next_entry().unwrap(), None);
        let mut log = Log::open(&path, Arc::new(Facts)).unwrap();
        log.emit(text("one"));
        assert_eq!(reader.next_entry().unwrap(), None, "not flushed yet");
        log.flush();
        assert_eq!(reader.next_entry().unwrap().unwrap().event, text("one"));
        assert_eq!(reader.next_entry().unwrap(), None);
        log.emit(text("two"));
        log.flush();
        assert_eq!(reader.next_entry().unwrap().unwrap().event, text("two"));
    }

    #[test]
    fn a_reader_can_begin_at_the_end_or_shortly_before() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut reader = LogReader::new(path.clone());
        reader.skip().unwrap();
        let mut log = Log::open(&path, Arc::new(Facts)).unwrap();
        log.emit(text("one"));
        log.flush();
        reader.skip().unwrap();
        log.emit(text("two"));
        log.flush();
        assert_eq!(reader.next_entry().unwrap().unwrap().event, text("two"));
        reader.skip_to_last(70).unwrap();
        assert_eq!(reader.next_entry().unwrap().unwrap().event, text("two"), "the first is cut in two");
        reader.skip_to_last(1000).unwrap();
        assert_eq!(reader.next_entry().unwrap().unwrap().event, text("one"));
    }

    #[test]
    fn a_reader_can_begin_at_the_last_lines() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut reader = LogReader::new(path.clone());
        reader.skip_to_last_lines(3).unwrap();
        let rest = |reader: &mut LogReader| {
            let mut lines = Vec::new();
            while let Some(line) = reader.next_line().unwrap() {
                lines.push(String::from_utf8(line).unwrap());
            }
            lines
        };
        // Longer than what is read at once.
        let long = "x".repeat(200_000);
        std::fs::write(&path, format!("1\n{long}\n3\n4\nhalf")).unwrap();
        for (lines, expected) in [
            (0, vec![]),
            (1, vec!["4\n"]),
            (2, vec!["3\n", "4\n"]),
            (4, vec!["1\n", &format!("{long}\n"), "3\n", "4\n"]),
            (u64::MAX, vec!["1\n", &format!("{long}\n"), "3\n", "4\n"]),
        ] {
            reader.skip_to_last_lines(lines).unwrap();
            assert_eq!(rest(&mut reader), expected, "{lines}");
        }
        reader.skip_to_last_lines(1).unwrap();
        assert_eq!(reader.next_line().unwrap().unwrap(), b"4\n");
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b" is whole\n").unwrap();
        assert_eq!(rest(&mut reader), ["half is whole\n"]);
    }

    #[test]
    fn a_reader_that_is_to_stop_does_not_follow_what_grows() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut log = Log::open(&path, Arc::new(Facts)).unwrap();
        log.emit(text("one"));
        log.flush();
        let mut reader = LogReader::new(path);
        reader.stop_here().unwrap();
        let behind = reader.behind().unwrap();
        log.emit(text("two"));
        log.flush();
        assert_eq!(reader.behind().unwrap(), behind * 2);
        assert_eq!(reader.next_entry().unwrap().unwrap().event, text("one"));
        assert_eq!((reader.next_entry().unwrap(), reader.behind().unwrap()), (None, behind));
        reader.skip().unwrap();
        assert_eq!(reader.behind().unwrap(), 0);
    }

    #[test]
    fn a_reader_goes_on_where_another_stopped() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut log = Log::open(&path, Arc::new(Facts)).unwrap();
        for word in ["one", "two", "three"] {
            log.emit(text(word));
        }
        log.flush();
        let mut first = LogReader::new(path.clone());
        assert_eq!((first.next_entry().unwrap().unwrap().event, first.offset() > 0), (text("one"), true));
        let from = |offset| {
            let mut reader = LogReader::new(path.clone());
            reader.skip_to(offset).unwrap();
            reader.next_entry().unwrap().map(|entry| entry.event)
        };
        assert_eq!(from(0), Some(text("one")));
        assert_eq!(from(first.offset()), Some(text("two")));
        assert_eq!(from(first.offset() + 1), Some(text("three")), "within the second");
        assert_eq!(from(1 << 40), None);
    }

    #[test]
    fn half_a_line_of_a_dead_writer_does_not_spoil_the_next() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        std::fs::write(&path, "{\"at_ms\":1,\"ty").unwrap();
        let mut log = Log::open(&path, Arc::new(Facts)).unwrap();
        log.emit(text("after"));
        log.flush();
        assert_eq!(LogReader::new(path).next_entry().unwrap().unwrap().event, text("after"));
    }

    #[test]
    fn what_is_too_long_is_cut_and_said() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut log = Log::open(&path, Arc::new(Facts)).unwrap();
        let long = "ü".repeat(MAX_TEXT_BYTES);
        log.emit(JobEvent::Output { stream: Stream::Stdout, text: long.clone(), cut_bytes: 5 });
        log.emit(text(&long));
        log.flush();
        let mut reader = LogReader::new(path);
        match reader.next_entry().unwrap().unwrap().event {
            JobEvent::Output { text, cut_bytes, .. } => {
                assert_eq!((text.len() as u64) + cut_bytes - 5, long.len() as u64);
            }
            other => panic!("{other:?}"),
        }
        match reader.next_entry().unwrap().unwrap().event {
            JobEvent::Text { text } => assert_eq!(text, format!("{}{MAX_TEXT_BYTES}", "ü".repeat(MAX_TEXT_BYTES / 2))),
            other => panic!("{other:?}"),
        }
    }
}
