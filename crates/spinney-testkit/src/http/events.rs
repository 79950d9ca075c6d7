//! Reads server-sent events as they come.

use std::io::{BufRead, BufReader, ErrorKind};

use super::reply::{Body, Head};
use super::socket::Socket;

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerEvent {
    pub id: Option<String>,
    /// Its type, called `event` on the wire.
    pub name: Option<String>,
    /// Lines joined.
    pub data: String,
}

impl ServerEvent {
    /// Its data as the one JSON document that it must be.
    #[must_use]
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        match serde_json::from_str(&self.data) {
            Ok(value) => value,
            Err(error) => panic!("the event is not one JSON document: {error}\n{}", self.data),
        }
    }
}

/// Ends a stream from elsewhere.
#[derive(Debug)]
pub(crate) struct Closer(Socket);

impl Closer {
    pub fn close(&self) {
        // It may have ended by itself.
        let _ = self.0.shut_down();
    }
}

/// A stream that goes on until the server, or who drops this, ends it.
#[derive(Debug)]
pub struct EventStream {
    headers: Vec<(String, String)>,
    reader: BufReader<Body>,
    socket: Socket,
}

impl EventStream {
    pub(super) fn new(head: Head, body: Body, socket: Socket) -> Self {
        Self { headers: head.headers, reader: BufReader::new(body), socket }
    }

    /// What ends it while somebody else reads it.
    pub(crate) fn closer(&self) -> std::io::Result<Closer> {
        self.socket.try_clone().map(Closer)
    }

    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let name = name.to_ascii_lowercase();
        self.headers.iter().find(|(given, _)| *given == name).map(|(_, value)| value.as_str())
    }

    /// The next line, comments too; none at the end, however it came. Panics when the server is silent for long.
    #[track_caller]
    pub fn next_line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(1..) if line.ends_with('\n') => Some(line.trim_end_matches(['\r', '\n']).to_owned()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                panic!("the stream of events is silent")
            }
            _ => None,
        }
    }

    /// Waits for the next event; none at the end.
    #[track_caller]
    pub fn next_event(&mut self) -> Option<ServerEvent> {
        let mut event = ServerEvent::default();
        let mut data = Vec::new();
        loop {
            let line = self.next_line()?;
            if line.is_empty() && !data.is_empty() {
                event.data = data.join("\n");
                return Some(event);
            }
            let (field, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
            match field {
                "id" => event.id = Some(value),
                "event" => event.name = Some(value),
                "data" => data.push(value),
                // An empty line without data, a comment, `retry`.
                _ => {}
            }
        }
    }
}
