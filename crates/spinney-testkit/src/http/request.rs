//! Reads as much of HTTP/1.1 as git's client and a forge's speak.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

const MAX_LINE: u64 = 16 * 1024;
const MAX_HEADERS: usize = 100;
const MAX_BODY: u64 = 256 * 1024 * 1024;

#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Names in lowercase.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn read(stream: &mut TcpStream) -> io::Result<Self> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let first = line(&mut reader)?;
        let mut words = first.split(' ');
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Err(malformed());
        };
        let mut request =
            Self { method: method.to_owned(), target: target.to_owned(), headers: Vec::new(), body: Vec::new() };
        loop {
            let header = line(&mut reader)?;
            if header.is_empty() {
                break;
            }
            let (name, value) = header.split_once(':').ok_or_else(malformed)?;
            request.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            if request.headers.len() > MAX_HEADERS {
                return Err(malformed());
            }
        }
        if request.header("expect").is_some() {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        request.body = request.read_body(&mut reader)?;
        Ok(request)
    }

    fn read_body(&self, reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        if self.header("transfer-encoding").is_some_and(|encoding| encoding.eq_ignore_ascii_case("chunked")) {
            loop {
                let size = u64::from_str_radix(line(reader)?.split(';').next().unwrap_or_default().trim(), 16);
                let size = size.map_err(|_| malformed())?;
                read_exactly(reader, size, &mut body)?;
                // The empty line behind a chunk, and the one behind the last.
                line(reader)?;
                if size == 0 {
                    return Ok(body);
                }
            }
        }
        if let Some(length) = self.header("content-length") {
            read_exactly(reader, length.parse().map_err(|_| malformed())?, &mut body)?;
        }
        Ok(body)
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// The path without its escapes.
    pub fn path(&self) -> String {
        unescape(self.raw_path())
    }

    /// The path as it came.
    pub fn raw_path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    pub fn query(&self) -> &str {
        self.target.split_once('?').map_or("", |(_, query)| query)
    }

    /// The query's names and values, without escapes.
    pub fn parameters(&self) -> Vec<(String, String)> {
        let pairs = self.query().split('&').filter(|pair| !pair.is_empty());
        pairs.map(|pair| pair.split_once('=').unwrap_or((pair, ""))).map(|(n, v)| (unescape(n), unescape(v))).collect()
    }
}

/// A text without its escapes.
pub(crate) fn unescape(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let escaped = tail.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (first, escaped) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).replace('\0', "")
}

/// One line without its end.
pub(super) fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    reader.by_ref().take(MAX_LINE).read_line(&mut line)?;
    match line.strip_suffix('\n') {
        Some(line) => Ok(line.strip_suffix('\r').unwrap_or(line).to_owned()),
        None => Err(malformed()),
    }
}

fn read_exactly(reader: &mut impl BufRead, length: u64, into: &mut Vec<u8>) -> io::Result<()> {
    if into.len() as u64 + length > MAX_BODY {
        return Err(malformed());
    }
    let read = reader.by_ref().take(length).read_to_end(into)?;
    if read as u64 == length { Ok(()) } else { Err(malformed()) }
}

pub(super) fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "malformed HTTP")
}
