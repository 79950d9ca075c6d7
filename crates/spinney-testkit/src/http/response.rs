//! What is sent back.

use std::io::{self, Write};
use std::net::TcpStream;

#[derive(Debug)]
pub(crate) struct Response {
    /// Number and reason.
    pub status: String,
    headers: Vec<String>,
    body: Vec<u8>,
}

impl Response {
    /// A body of this type.
    pub fn new(status: u16, content_type: &str, body: impl Into<Vec<u8>>) -> Self {
        // No client that matters reads the reason.
        let headers = vec![format!("Content-Type: {content_type}")];
        Self { status: format!("{status} -"), headers, body: body.into() }
    }

    /// An answer in JSON, with these headers beside its own.
    pub fn json(status: &str, headers: &[String], body: &serde_json::Value) -> Self {
        let own = "Content-Type: application/json; charset=utf-8".to_owned();
        let headers = [&[own], headers].concat();
        Self { status: status.to_owned(), headers, body: body.to_string().into_bytes() }
    }

    pub fn text(status: &str, headers: &[String], body: String) -> Self {
        Self { status: status.to_owned(), headers: headers.to_vec(), body: body.into_bytes() }
    }

    pub fn unauthorized() -> Self {
        let headers = vec!["WWW-Authenticate: Basic realm=\"git\"".to_owned()];
        Self { status: "401 Unauthorized".to_owned(), headers, body: Vec::new() }
    }

    /// Takes apart what a CGI program prints: headers, among them perhaps `Status`, an empty line, the body.
    pub fn from_cgi(output: &[u8]) -> Self {
        let end = output.windows(4).position(|window| window == b"\r\n\r\n");
        let Some(end) = end else {
            return Self { status: "502 Bad Gateway".to_owned(), headers: Vec::new(), body: Vec::new() };
        };
        let head = String::from_utf8_lossy(&output[..end]);
        let (status, headers): (Vec<_>, Vec<_>) = head.lines().partition(|line| line.starts_with("Status: "));
        let status = status.first().map_or("200 OK", |line| &line["Status: ".len()..]).to_owned();
        Self { status, headers: headers.into_iter().map(str::to_owned).collect(), body: output[end + 4..].to_vec() }
    }

    pub fn body(&self) -> &[u8] {
        &self.body
    }

    pub fn write(&self, stream: &mut TcpStream) -> io::Result<()> {
        let headers: String = self.headers.iter().map(|header| format!("{header}\r\n")).collect();
        let length = self.body.len();
        write!(stream, "HTTP/1.1 {}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n", self.status)?;
        stream.write_all(&self.body)?;
        stream.flush()
    }
}
