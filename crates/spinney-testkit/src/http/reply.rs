//! Reads what a server answers.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

use serde_json::Value;

use super::request::{line, malformed};
use super::socket::Socket;

/// A whole answer.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    /// Names in lowercase.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    pub(super) fn read(head: Head, mut body: Body<impl BufRead>) -> io::Result<Self> {
        let mut bytes = Vec::new();
        body.read_to_end(&mut bytes)?;
        Ok(Self { status: head.status, headers: head.headers, body: bytes })
    }

    /// Asserts its status.
    #[track_caller]
    pub fn expects(self, status: u16) -> Self {
        assert!(self.status == status, "expected status {status}\n{}", self.told());
        self
    }

    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let name = name.to_ascii_lowercase();
        self.headers.iter().find(|(given, _)| *given == name).map(|(_, value)| value.as_str())
    }

    /// Names and values of the cookies that it sets.
    pub fn cookies(&self) -> impl Iterator<Item = (&str, &str)> {
        let set = self.headers.iter().filter(|(name, _)| name == "set-cookie");
        set.filter_map(|(_, value)| value.split(';').next()?.trim().split_once('='))
    }

    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as the one JSON document that it must be.
    #[must_use]
    #[track_caller]
    pub fn json(&self) -> Value {
        match serde_json::from_slice(&self.body) {
            Ok(value) => value,
            Err(error) => panic!("the body is not one JSON document: {error}\n{}", self.told()),
        }
    }

    /// Everything about it, for a message.
    #[must_use]
    pub fn told(&self) -> String {
        let headers: String = self.headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
        format!("status {}\n{headers}\n{}", self.status, self.text())
    }
}

/// An answer's status and headers.
#[derive(Debug)]
pub(super) struct Head {
    pub status: u16,
    pub headers: Vec<(String, String)>,
}

impl Head {
    /// Reads up to where the body begins.
    pub fn read(mut reader: &mut impl BufRead) -> io::Result<Self> {
        let first = line(&mut reader)?;
        let status = first.split(' ').nth(1).and_then(|word| word.parse().ok()).ok_or_else(malformed)?;
        let mut head = Self { status, headers: Vec::new() };
        loop {
            let header = line(&mut reader)?;
            if header.is_empty() {
                break;
            }
            let (name, value) = header.split_once(':').ok_or_else(malformed)?;
            head.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        Ok(head)
    }

    /// The body of an answer to such a request.
    pub fn body<R>(&self, reader: R, method: &str) -> io::Result<Body<R>> {
        Ok(Body { reader, rest: self.body_framing(method)? })
    }

    /// Whether another answer may follow on the same connection.
    pub fn is_kept(&self) -> bool {
        !self.headers.iter().any(|(name, value)| name == "connection" && value.eq_ignore_ascii_case("close"))
    }

    fn body_framing(&self, method: &str) -> io::Result<Rest> {
        let header = |name| self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value);
        if method == "HEAD" || matches!(self.status, 100..=199 | 204 | 304) {
            return Ok(Rest::Length(0));
        }
        if header("transfer-encoding").is_some_and(|encoding| encoding.eq_ignore_ascii_case("chunked")) {
            return Ok(Rest::Chunk(0));
        }
        match header("content-length") {
            Some(length) => Ok(Rest::Length(length.parse().map_err(|_| malformed())?)),
            None => Ok(Rest::All),
        }
    }
}

/// What is left to read of a body.
#[derive(Debug, Clone, Copy)]
enum Rest {
    Length(u64),
    /// So much of this chunk, then more chunks.
    Chunk(u64),
    /// Everything until the connection closes.
    All,
}

/// A body that is still being read.
pub(super) struct Body<R = BufReader<Socket>> {
    reader: R,
    rest: Rest,
}

impl<R> fmt::Debug for Body<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("rest", &self.rest).finish_non_exhaustive()
    }
}

impl<R: BufRead> Read for Body<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if matches!(self.rest, Rest::Chunk(0)) {
            let size = line(&mut self.reader)?;
            let size = u64::from_str_radix(size.split(';').next().unwrap_or_default().trim(), 16);
            self.rest = match size.map_err(|_| malformed())? {
                0 => Rest::Length(0),
                size => Rest::Chunk(size),
            };
        }
        let wanted = match self.rest {
            Rest::Length(0) => return Ok(0),
            Rest::Length(left) | Rest::Chunk(left) => buffer.len().min(usize::try_from(left).unwrap_or(usize::MAX)),
            Rest::All => buffer.len(),
        };
        let read = self.reader.read(&mut buffer[..wanted])?;
        match &mut self.rest {
            Rest::All => return Ok(read),
            Rest::Length(_) | Rest::Chunk(_) if read == 0 => return Err(malformed()),
            Rest::Length(left) | Rest::Chunk(left) => *left -= read as u64,
        }
        // The empty line behind a chunk.
        if matches!(self.rest, Rest::Chunk(0)) && !line(&mut self.reader)?.is_empty() {
            return Err(malformed());
        }
        Ok(read)
    }
}
