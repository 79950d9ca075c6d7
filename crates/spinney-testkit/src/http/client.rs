//! A client that lets a test send any header, any body, and what is no HTTP at all.

use std::fmt::Write as _;
use std::io::{self, BufReader, Write};
use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::Value;

use super::connection::Connection;
use super::events::EventStream;
use super::reply::{Head, Reply};
use super::socket::{Endpoint, Socket};

/// Sends requests to one server, each over a connection of its own. A header has one value: the last that was given.
#[derive(Debug, Clone)]
pub struct HttpClient {
    place: Endpoint,
    headers: Vec<(String, String)>,
}

impl HttpClient {
    #[must_use]
    pub fn tcp(address: SocketAddr) -> Self {
        Self::of(Endpoint::Tcp(address)).with_header("Host", &address.to_string())
    }

    #[must_use]
    pub fn unix(socket: impl Into<PathBuf>) -> Self {
        Self::of(Endpoint::Unix(socket.into())).with_header("Host", "localhost")
    }

    fn of(place: Endpoint) -> Self {
        Self { place, headers: Vec::new() }.with_header("Connection", "close")
    }

    /// Sends the same requests over one connection, as long as it lasts.
    #[must_use]
    pub fn kept(&self) -> Connection {
        Connection::new(self.without_header("Connection"))
    }

    /// The same with a header, in place of the one of that name.
    #[must_use]
    pub fn with_header(&self, name: &str, value: &str) -> Self {
        let mut client = self.without_header(name);
        client.headers.push((name.to_owned(), value.to_owned()));
        client
    }

    /// The same without a header, as without `Host`.
    #[must_use]
    pub fn without_header(&self, name: &str) -> Self {
        let mut client = self.clone();
        client.headers.retain(|(given, _)| !given.eq_ignore_ascii_case(name));
        client
    }

    /// The same with a token to show.
    #[must_use]
    pub fn with_token(&self, token: &str) -> Self {
        self.with_header("Authorization", &format!("Bearer {token}"))
    }

    /// The same with all cookies that the answer set, and no others.
    #[must_use]
    pub fn with_cookies_of(&self, reply: &Reply) -> Self {
        let cookies = reply.cookies().map(|(name, value)| format!("{name}={value}"));
        self.with_header("Cookie", &cookies.collect::<Vec<_>>().join("; "))
    }

    #[track_caller]
    pub fn get(&self, target: &str) -> Reply {
        self.send("GET", target, b"")
    }

    #[track_caller]
    pub fn delete(&self, target: &str) -> Reply {
        self.send("DELETE", target, b"")
    }

    /// Posts a JSON document.
    #[track_caller]
    pub fn post(&self, target: &str, document: &Value) -> Reply {
        let client = self.with_header("Content-Type", "application/json");
        client.send("POST", target, document.to_string().as_bytes())
    }

    /// Posts what a page's form would.
    #[track_caller]
    pub fn post_form(&self, target: &str, fields: &[(&str, &str)]) -> Reply {
        let pairs = fields.iter().map(|(name, value)| format!("{}={}", escape(name), escape(value)));
        let client = self.with_header("Content-Type", "application/x-www-form-urlencoded");
        client.send("POST", target, pairs.collect::<Vec<_>>().join("&").as_bytes())
    }

    /// Sends these bytes with the client's headers; an empty body is none.
    #[track_caller]
    pub fn send(&self, method: &str, target: &str, body: &[u8]) -> Reply {
        match self.try_send(method, target, body) {
            Ok(reply) => reply,
            Err(error) => panic!("`{method} {target}` got no answer: {error}"),
        }
    }

    /// The same where there may be nobody to answer.
    pub fn try_send(&self, method: &str, target: &str, body: &[u8]) -> io::Result<Reply> {
        self.exchange(&self.message(method, target, body), method)
    }

    /// Sends bytes as they are, even if they are no HTTP, and reads the answer.
    pub fn send_raw(&self, bytes: &[u8]) -> io::Result<Reply> {
        self.exchange(bytes, "GET")
    }

    /// Asks for a stream of events, which must be granted.
    #[track_caller]
    pub fn events(&self, target: &str) -> EventStream {
        match self.try_events(target) {
            Ok(Ok(stream)) => stream,
            Ok(Err(reply)) => panic!("`GET {target}` is no stream: {}", reply.told()),
            Err(error) => panic!("`GET {target}` got no answer: {error}"),
        }
    }

    /// The same where there may be nobody to answer, or another answer.
    pub fn try_events(&self, target: &str) -> io::Result<Result<EventStream, Reply>> {
        let client = self.with_header("Accept", "text/event-stream");
        let socket = self.connect()?;
        let (mut writer, mut reader) = (socket.try_clone()?, BufReader::new(socket.try_clone()?));
        let head = write_and_read_head(&mut writer, &mut reader, &client.message("GET", target, b""))?;
        let body = head.body(reader, "GET")?;
        if head.status == 200 {
            return Ok(Ok(EventStream::new(head, body, socket)));
        }
        Reply::read(head, body).map(Err)
    }

    pub(super) fn message(&self, method: &str, target: &str, body: &[u8]) -> Vec<u8> {
        let mut head = format!("{method} {target} HTTP/1.1\r\n");
        for (name, value) in &self.headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        if !body.is_empty() || method == "POST" {
            let _ = write!(head, "Content-Length: {}\r\n", body.len());
        }
        [head.as_bytes(), b"\r\n", body].concat()
    }

    pub(super) fn connect(&self) -> io::Result<Socket> {
        Socket::connect(&self.place)
    }

    fn exchange(&self, message: &[u8], method: &str) -> io::Result<Reply> {
        let socket = self.connect()?;
        let (mut writer, mut reader) = (socket.try_clone()?, BufReader::new(socket));
        let head = write_and_read_head(&mut writer, &mut reader, message)?;
        let body = head.body(reader, method)?;
        Reply::read(head, body)
    }
}

/// Sends a message and reads up to where the answer's body begins.
pub(super) fn write_and_read_head(
    writer: &mut Socket,
    reader: &mut BufReader<Socket>,
    message: &[u8],
) -> io::Result<Head> {
    // A server may refuse, and close, before it has read all; what it answered is still to be read.
    let written = writer.write_all(message);
    Head::read(reader).map_err(|error| written.err().unwrap_or(error))
}

fn escape(text: &str) -> String {
    let escaped = text.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    });
    escaped.collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;
    use std::thread;

    use serde_json::json;

    use super::*;
    use crate::Sandbox;
    use crate::http::{HttpServer, Response, ServerEvent};

    /// Answers with what it was sent.
    fn echo() -> (HttpServer, HttpClient) {
        let server = HttpServer::start(|request| {
            let headers: serde_json::Map<_, _> =
                request.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
            let (method, target) = (&request.method, &request.target);
            let body = String::from_utf8_lossy(&request.body);
            let seen = json!({ "method": method, "target": target, "headers": headers, "body": body });
            let cookies = ["Set-Cookie: a=1; HttpOnly".to_owned(), "Set-Cookie: b=2; SameSite=Strict".to_owned()];
            Ok(Response::json("201 Created", &cookies, &seen))
        });
        let client = HttpClient::tcp(server.address());
        (server, client)
    }

    #[test]
    fn headers_and_bodies_arrive_as_given() {
        let (server, client) = echo();
        let reply = client.post("/x?y=1", &json!({ "a": 1 })).expects(201);
        let seen = reply.json();
        assert_eq!(
            (&seen["method"], &seen["target"], &seen["body"]),
            (&json!("POST"), &json!("/x?y=1"), &json!("{\"a\":1}"))
        );
        assert_eq!(seen["headers"]["host"], server.address().to_string());
        let odd = client.with_header("host", "evil.example").with_header("Origin", "null").with_token("t");
        let headers = odd.get("/").json()["headers"].clone();
        assert_eq!((&headers["host"], &headers["origin"]), (&json!("evil.example"), &json!("null")));
        assert_eq!(headers["authorization"], "Bearer t");
        assert!(client.without_header("HOST").get("/").json()["headers"].get("host").is_none());
        assert_eq!(client.post_form("/", &[("a b", "ü&=")]).json()["body"], "a%20b=%C3%BC%26%3D");
        let cookies = client.with_cookies_of(&reply).get("/").json()["headers"]["cookie"].clone();
        assert_eq!(cookies, "a=1; b=2");
        assert_eq!(client.send_raw(b"PUT / HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi").unwrap().json()["body"], "hi");
    }

    /// A server on a Unix socket that says one thing.
    fn saying(answer: impl Into<String>) -> (Sandbox, HttpClient) {
        let (sandbox, answer) = (Sandbox::new(), answer.into());
        let socket = sandbox.path().join("socket");
        let listener = UnixListener::bind(&socket).unwrap();
        thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(answer.as_bytes()).unwrap();
        });
        (sandbox, HttpClient::unix(socket))
    }

    fn chunked(chunks: &[&str]) -> String {
        let chunks = chunks.iter().chain([&""]).map(|chunk| format!("{:x};x\r\n{chunk}\r\n", chunk.len()));
        format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}", chunks.collect::<String>())
    }

    #[test]
    fn chunks_are_put_together() {
        let (_sandbox, client) = saying(chunked(&["abc", "de"]));
        assert_eq!(client.get("/").expects(200).text(), "abcde");
    }

    #[test]
    fn an_answer_that_breaks_off_is_none() {
        let (whole, head) = (chunked(&["abc"]), "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n");
        for answer in
            [&format!("{head}abc"), "HTTP/1.1 200 OK\r\n", "", &whole[..whole.len() - 10], &whole.replace("3;", "2;")]
        {
            let (_sandbox, client) = saying(answer);
            assert!(client.try_send("GET", "/", b"").is_err(), "{answer:?}");
        }
        let (_sandbox, client) = saying(head);
        assert_eq!(client.try_send("HEAD", "/", b"").unwrap().header("content-length"), Some("9"));
    }

    #[test]
    fn events_come_one_by_one() {
        let chunks = [":alive\n\n", "id: 7\nevent: job\nd", "ata: 1\ndata:2", "\n\n", "data: last\n"];
        let (_sandbox, client) = saying(chunked(&chunks));
        let mut events = client.events("/events");
        let expected = ServerEvent { id: Some("7".to_owned()), name: Some("job".to_owned()), data: "1\n2".to_owned() };
        assert_eq!(events.next_event(), Some(expected));
        // What no empty line ends is no event.
        assert_eq!(events.next_event(), None);
    }
}
