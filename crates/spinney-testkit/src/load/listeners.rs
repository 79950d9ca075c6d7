//! Listeners that come back where they were cut off.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::HttpClient;
use crate::http::Closer;

/// Between two tries to connect.
const PAUSE: Duration = Duration::from_millis(20);
const STACK_BYTES: usize = 128 << 10;
const LAST_EVENT_ID: &str = "Last-Event-ID";

/// What one of them heard.
#[derive(Debug, Default, Clone)]
pub struct Heard {
    /// Of the events, as they came.
    pub ids: Vec<i64>,
    /// How often the stream ended by itself.
    pub cut_off: usize,
    /// Other answers than a stream.
    pub refused: Vec<String>,
}

/// Those who listen to what happens until they are ended.
#[derive(Debug)]
pub struct Listeners {
    listeners: Vec<(Arc<Listener>, JoinHandle<()>)>,
}

impl Listeners {
    /// So many, each over a connection of its own, from the `Last-Event-ID` that the client has, or else from now on.
    #[must_use]
    pub fn start(client: &HttpClient, count: usize) -> Self {
        let start = |_| {
            let listener = Arc::new(Listener::default());
            let (own, client) = (Arc::clone(&listener), client.clone());
            let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn(move || own.listen(client));
            (listener, thread.expect("a thread can be started"))
        };
        Self { listeners: (0..count).map(start).collect() }
    }

    /// How many have a stream now.
    #[must_use]
    pub fn listening(&self) -> usize {
        self.listeners.iter().filter(|(listener, _)| lock(&listener.stream).is_some()).count()
    }

    /// Whether every one of them has heard of this.
    #[must_use]
    pub fn have_heard(&self, id: i64) -> bool {
        self.listeners.iter().all(|(listener, _)| lock(&listener.heard).ids.last() >= Some(&id))
    }

    /// Ends them; gives what each heard.
    pub fn end(mut self) -> Vec<Heard> {
        self.close();
        let ended = self.listeners.drain(..).map(|(listener, thread)| {
            thread.join().expect("no thread panicked");
            lock(&listener.heard).clone()
        });
        ended.collect()
    }

    fn close(&self) {
        for (listener, _) in &self.listeners {
            listener.ends.store(true, Ordering::SeqCst);
            if let Some(stream) = lock(&listener.stream).as_ref() {
                stream.close();
            }
        }
    }
}

impl Drop for Listeners {
    fn drop(&mut self) {
        self.close();
    }
}

#[derive(Debug, Default)]
struct Listener {
    stream: Mutex<Option<Closer>>,
    heard: Mutex<Heard>,
    ends: AtomicBool,
}

impl Listener {
    fn listen(&self, mut client: HttpClient) {
        while !self.ends() {
            match client.try_events("/api/v1/events") {
                Ok(Ok(mut stream)) => {
                    *lock(&self.stream) = stream.closer().ok();
                    // Who ends it looks at the stream only after saying so.
                    while !self.ends()
                        && let Some(event) = stream.next_event()
                    {
                        let id = event.id.expect("each has an id");
                        lock(&self.heard).ids.push(id.parse().expect("an id is a number"));
                        client = client.with_header(LAST_EVENT_ID, &id);
                    }
                    *lock(&self.stream) = None;
                    lock(&self.heard).cut_off += usize::from(!self.ends());
                }
                Ok(Err(reply)) => lock(&self.heard).refused.push(reply.told()),
                // Nobody there.
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }

    fn ends(&self) -> bool {
        self.ends.load(Ordering::SeqCst)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panicked")
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::net::TcpListener;

    use super::*;
    use crate::wait_until;

    const DEADLINE: Duration = Duration::from_secs(30);

    #[test]
    fn one_that_is_cut_off_comes_back_where_it_was() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = HttpClient::tcp(listener.local_addr().unwrap());
        thread::spawn(move || {
            // Tells the next two events, and cuts off all but the third.
            let mut kept = Vec::new();
            for (number, stream) in (1..).zip(listener.incoming()) {
                let mut stream = stream.unwrap();
                let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
                let head: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
                let last = head.iter().find_map(|line| line.strip_prefix("Last-Event-ID: ")).unwrap_or("10");
                let next = last.parse::<i64>().unwrap() + 1;
                let events = format!("id: {next}\ndata: x\n\nid: {}\ndata: x\n\nid: 9\n", next + 1);
                write!(stream, "HTTP/1.1 200 OK\r\n\r\n{events}").unwrap();
                if number == 3 {
                    kept.push(stream);
                }
            }
        });
        let listeners = Listeners::start(&client, 1);
        wait_until(|| listeners.have_heard(16), DEADLINE);
        assert!(!listeners.have_heard(17));
        assert_eq!(listeners.listening(), 1);
        let [heard] = listeners.end().try_into().unwrap();
        assert_eq!((heard.ids, heard.cut_off), ((11..=16).collect::<Vec<_>>(), 2));
        assert!(heard.refused.is_empty());
    }
}
