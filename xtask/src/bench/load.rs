//! Requests at a steady rate, over connections that are kept, and listeners beside them.
//!
//! A request's time counts from the moment it was due, not from the moment it could be sent: a server that stalls is not
//! spared the requests that would have come meanwhile.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// How many requests can be under way at once.
const CONNECTIONS: usize = 32;
/// What takes longer has failed.
const PATIENCE: Duration = Duration::from_secs(10);
const LISTENER_STACK_BYTES: usize = 128 << 10;

/// Whom to ask, and as whom.
#[derive(Debug, Clone)]
pub struct Server {
    pub address: SocketAddr,
    pub token: String,
}

/// How it went.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Milliseconds, sorted.
    times: Vec<f64>,
    pub errors: Vec<String>,
    pub took: Duration,
}

impl Outcome {
    /// The time that so many of a hundred requests did not exceed.
    pub fn percentile(&self, percent: usize) -> Option<f64> {
        let rank = (self.times.len() * percent).div_ceil(100);
        self.times.get(rank.checked_sub(1)?).copied()
    }

    /// Answered requests in a second.
    pub fn rate(&self) -> f64 {
        self.times.len() as f64 / self.took.as_secs_f64()
    }
}

impl Server {
    /// Asks for these things in turn, so many times a second.
    pub fn load(&self, targets: &[String], rate: f64, lasts: Duration) -> Outcome {
        let start = Instant::now();
        let parts: Vec<_> = thread::scope(|scope| {
            let ask = |number| scope.spawn(move || self.ask_in_turn(targets, rate, number, start, lasts));
            let threads: Vec<_> = (0..CONNECTIONS).map(ask).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_default()).collect()
        });
        let mut outcome = Outcome { took: start.elapsed(), ..Outcome::default() };
        for part in parts {
            outcome.times.extend(part.times);
            outcome.errors.extend(part.errors);
        }
        outcome.times.sort_by(f64::total_cmp);
        outcome
    }

    /// Every so many-th request, over one connection.
    fn ask_in_turn(&self, targets: &[String], rate: f64, number: usize, start: Instant, lasts: Duration) -> Outcome {
        let mut outcome = Outcome::default();
        let mut connection = None;
        for turn in (number..).step_by(CONNECTIONS) {
            let due = Duration::from_secs_f64(turn as f64 / rate);
            if due >= lasts {
                break;
            }
            thread::sleep(due.saturating_sub(start.elapsed()));
            let target = &targets[turn % targets.len()];
            match self.ask_over(&mut connection, "GET", target, "") {
                Ok((200, _)) => outcome.times.push((start.elapsed() - due).as_secs_f64() * 1000.0),
                Ok((status, body)) => outcome.errors.push(format!("{target}: {status} {body}")),
                Err(error) => {
                    outcome.errors.push(format!("{target}: {error}"));
                    connection = None;
                }
            }
        }
        outcome
    }

    /// Asks for one thing, and reads the document that is answered.
    pub fn ask(&self, method: &str, target: &str, body: &str) -> Result<Value> {
        let (status, text) = self.ask_over(&mut None, method, target, body)?;
        if !(200..300).contains(&status) {
            bail!("`{method} {target}` was answered with {status}: {text}");
        }
        serde_json::from_str(&text).with_context(|| format!("`{method} {target}` gave no JSON"))
    }

    fn ask_over(
        &self,
        connection: &mut Option<BufReader<TcpStream>>,
        method: &str,
        target: &str,
        body: &str,
    ) -> io::Result<(u16, String)> {
        let reader = match connection {
            Some(reader) => reader,
            None => connection.insert(self.connect()?),
        };
        reader.get_mut().write_all(self.message(method, target, body).as_bytes())?;
        read_answer(reader)
    }

    fn connect(&self) -> io::Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(BufReader::new(stream))
    }

    fn message(&self, method: &str, target: &str, body: &str) -> String {
        let Self { address, token } = self;
        format!(
            "{method} {target} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
    }

    /// Listens to what happens, over so many connections.
    pub fn listen(&self, count: usize) -> Result<Listeners> {
        let shared = Arc::new(Heard::default());
        let mut connections = Vec::new();
        let mut threads = Vec::new();
        for _ in 0..count {
            let mut reader = self.connect()?;
            reader.get_ref().set_read_timeout(None)?;
            reader.get_mut().write_all(self.message("GET", "/api/v1/events", "").as_bytes())?;
            let status = read_head(&mut reader)?.0;
            if status != 200 {
                bail!("a listener was answered with {status}");
            }
            connections.push(reader.get_ref().try_clone()?);
            let heard = Arc::clone(&shared);
            let builder = thread::Builder::new().stack_size(LISTENER_STACK_BYTES);
            threads.push(builder.spawn(move || heard.follow(reader))?);
        }
        Ok(Listeners { heard: shared, connections, threads })
    }
}

#[derive(Debug, Default)]
struct Heard {
    events: AtomicUsize,
    cut_off: AtomicUsize,
    ends: AtomicBool,
}

impl Heard {
    fn follow(&self, reader: BufReader<TcpStream>) {
        for line in reader.lines().map_while(Result::ok) {
            self.events.fetch_add(usize::from(line.starts_with("data:")), Ordering::Relaxed);
        }
        if !self.ends.load(Ordering::SeqCst) {
            self.cut_off.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Those who listen until they are ended.
#[derive(Debug)]
pub struct Listeners {
    heard: Arc<Heard>,
    connections: Vec<TcpStream>,
    threads: Vec<JoinHandle<()>>,
}

impl Listeners {
    /// How many events they heard, and how many of them were cut off.
    pub fn end(self) -> (usize, usize) {
        self.heard.ends.store(true, Ordering::SeqCst);
        for connection in &self.connections {
            let _ = connection.shutdown(std::net::Shutdown::Both);
        }
        for thread in self.threads {
            let _ = thread.join();
        }
        (self.heard.events.load(Ordering::SeqCst), self.heard.cut_off.load(Ordering::SeqCst))
    }
}

fn read_answer(reader: &mut BufReader<TcpStream>) -> io::Result<(u16, String)> {
    let (status, length) = read_head(reader)?;
    let mut body = vec![0; length.ok_or_else(|| io::Error::other("an answer without a length"))?];
    reader.read_exact(&mut body)?;
    Ok((status, String::from_utf8_lossy(&body).into_owned()))
}

/// The status, and how long the body is.
fn read_head(reader: &mut impl BufRead) -> io::Result<(u16, Option<usize>)> {
    let (mut line, mut status, mut length) = (String::new(), None, None);
    loop {
        line.clear();
        if reader.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let text = line.trim_end();
        if text.is_empty() {
            break;
        }
        if status.is_none() {
            status = text.split(' ').nth(1).and_then(|word| word.parse().ok());
        }
        if let Some((name, value)) = text.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().ok();
        }
    }
    Ok((status.ok_or_else(|| io::Error::other("no HTTP"))?, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_exceeded_by_the_rest_only() {
        let times = (1..=200).map(f64::from).collect();
        let outcome = Outcome { times, took: Duration::from_secs(4), ..Outcome::default() };
        assert_eq!((outcome.percentile(50), outcome.percentile(99)), (Some(100.0), Some(198.0)));
        assert!((outcome.rate() - 50.0).abs() < 1e-9);
        assert_eq!(Outcome::default().percentile(99), None);
    }

    #[test]
    fn a_stall_counts_for_every_request_that_was_due() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Server { address: listener.local_addr().unwrap(), token: String::new() };
        thread::spawn(move || {
            for (number, stream) in listener.incoming().enumerate() {
                thread::spawn(move || {
                    let mut reader = BufReader::new(stream.unwrap());
                    while read_head(&mut reader).is_ok() {
                        // The first connection's requests take long.
                        thread::sleep(Duration::from_millis(if number == 0 { 300 } else { 0 }));
                        reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").unwrap();
                    }
                });
            }
        });
        let outcome = server.load(&["/".to_owned()], 1000.0, Duration::from_millis(200));
        assert_eq!((outcome.times.len(), outcome.errors.len()), (200, 0));
        // Of one connection, seven requests were due, of which the last waited for all before it.
        assert!(outcome.times.last().unwrap() > &1500.0, "{:?}", outcome.times.last());
        assert!(outcome.percentile(50).unwrap() < 100.0);
    }
}
