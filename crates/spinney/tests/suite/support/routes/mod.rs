//! Requests that no client would send, and what comes back.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How long an answer may take.
const SILENCE: Duration = Duration::from_secs(30);
/// How long a stream may be silent to have told all that it has to tell by now.
const STREAM_SILENCE: Duration = Duration::from_millis(200);

/// What came back, as it came: a body in chunks has their lengths in it.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }
}

/// A request of which everything can be said.
#[derive(Debug, Clone)]
pub struct Ask<'a> {
    pub method: &'a str,
    pub target: &'a str,
    pub headers: Vec<(&'a str, String)>,
    pub body: &'a [u8],
}

impl Ask<'_> {
    fn message(&self) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\nConnection: close\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        if !matches!(self.method, "GET" | "HEAD") {
            let _ = write!(head, "Content-Length: {}\r\n", self.body.len());
        }
        [head.as_bytes(), b"\r\n", self.body].concat()
    }

    #[track_caller]
    pub fn tcp(&self, address: SocketAddr) -> Answer {
        let stream = TcpStream::connect(address).unwrap();
        self.exchange(stream, |stream, silence| stream.set_read_timeout(Some(silence)).unwrap())
    }

    #[track_caller]
    pub fn unix(&self, socket: &Path) -> Answer {
        let stream = UnixStream::connect(socket).unwrap();
        self.exchange(stream, |stream, silence| stream.set_read_timeout(Some(silence)).unwrap())
    }

    #[track_caller]
    fn exchange<S: Read + Write>(&self, mut stream: S, set_timeout: impl Fn(&S, Duration)) -> Answer {
        set_timeout(&stream, SILENCE);
        // It may refuse, and close, before it has read all.
        let _ = stream.write_all(&self.message());
        let (mut bytes, mut chunk) = (Vec::new(), [0; 8192]);
        let mut is_stream = false;
        loop {
            match stream.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => bytes.extend(&chunk[..count]),
                // With a time limit, a signal such as that of another test's child ends the call.
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_stream && matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => break,
                Err(error) if error.kind() == ErrorKind::ConnectionReset && !bytes.is_empty() => break,
                Err(error) => panic!("{} {}: {error}", self.method, self.target),
            }
            if !is_stream && String::from_utf8_lossy(&bytes).contains("text/event-stream") {
                is_stream = true;
                set_timeout(&stream, STREAM_SILENCE);
            }
        }
        parse(&String::from_utf8_lossy(&bytes)).unwrap_or_else(|| panic!("{} {}: no answer", self.method, self.target))
    }
}

fn parse(text: &str) -> Option<Answer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers = lines.filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned())).collect();
    Some(Answer { status, headers, body: body.to_owned() })
}
