//! A connection that is kept from one request to the next.

use std::io::{self, BufReader};

use super::HttpClient;
use super::client::write_and_read_head;
use super::reply::Reply;
use super::socket::Socket;

/// Sends one request after the other, and connects anew when the connection is gone.
#[derive(Debug)]
pub struct Connection {
    client: HttpClient,
    open: Option<(Socket, BufReader<Socket>)>,
}

impl Connection {
    pub(super) fn new(client: HttpClient) -> Self {
        Self { client, open: None }
    }

    /// Sends a request; where there is no answer, the next one has another connection.
    pub fn try_send(&mut self, method: &str, target: &str, body: &[u8]) -> io::Result<Reply> {
        let (mut writer, mut reader) = match self.open.take() {
            Some(open) => open,
            None => {
                let socket = self.client.connect()?;
                (socket.try_clone()?, BufReader::new(socket))
            }
        };
        let message = self.client.message(method, target, body);
        let head = write_and_read_head(&mut writer, &mut reader, &message)?;
        let is_kept = head.is_kept();
        let body = head.body(&mut reader, method)?;
        let reply = Reply::read(head, body)?;
        self.open = is_kept.then_some((writer, reader));
        Ok(reply)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Counts its connections; ends each after so many answers, saying so or not.
    fn counting(answers: usize, last: &'static str) -> HttpClient {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = HttpClient::tcp(listener.local_addr().unwrap());
        thread::spawn(move || {
            for (number, stream) in (1..).zip(listener.incoming()) {
                let mut stream = stream.unwrap();
                for answer in 1..=answers {
                    let mut request = Vec::new();
                    while !request.ends_with(b"\r\n\r\n") {
                        let mut byte = [0];
                        stream.read_exact(&mut byte).unwrap();
                        request.push(byte[0]);
                    }
                    let last = if answer == answers { last } else { "" };
                    write!(stream, "HTTP/1.1 200 OK\r\n{last}Content-Length: 1\r\n\r\n{number}").unwrap();
                }
            }
        });
        client
    }

    fn ask(connection: &mut Connection) -> Option<String> {
        connection.try_send("GET", "/", b"").ok().map(|reply| reply.text())
    }

    #[test]
    fn one_connection_serves_until_it_is_closed() {
        let mut connection = counting(2, "Connection: close\r\n").kept();
        let answers: Vec<_> = (0..5).map(|_| ask(&mut connection).unwrap()).collect();
        assert_eq!(answers, ["1", "1", "2", "2", "3"]);
    }

    #[test]
    fn after_one_that_broke_off_the_next_request_has_another() {
        let mut connection = counting(1, "").kept();
        let answers: Vec<_> = (0..3).map(|_| ask(&mut connection)).collect();
        assert_eq!(answers, [Some("1".to_owned()), None, Some("2".to_owned())]);
    }
}
