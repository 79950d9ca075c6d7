//! Takes connections and lets a handler answer.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::{Request, Response};

const MAX_CONNECTIONS: usize = 16;
pub(crate) const SILENCE: Duration = Duration::from_secs(30);

/// What answers; an error closes the connection without an answer.
type Handler = dyn Fn(&Request) -> io::Result<Response> + Send + Sync;

/// The server; it stops when dropped.
#[derive(Debug)]
pub(crate) struct HttpServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    handler: Box<Handler>,
    stopping: AtomicBool,
    /// The connections being served, by number.
    open: Mutex<HashMap<u64, TcpStream>>,
    closed: Condvar,
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").field("open", &self.open).finish_non_exhaustive()
    }
}

impl HttpServer {
    /// Serves on a free port.
    pub fn start(handler: impl Fn(&Request) -> io::Result<Response> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback can be listened on");
        let address = listener.local_addr().expect("the listener has an address");
        let shared = Arc::new(Shared {
            handler: Box::new(handler),
            stopping: AtomicBool::new(false),
            open: Mutex::new(HashMap::new()),
            closed: Condvar::new(),
        });
        let accepting = thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Self { address, shared, accepting: Some(accepting) }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the accepting thread.
        TcpStream::connect(self.address).ok();
        if let Ok(open) = self.shared.open.lock() {
            open.values().for_each(|stream| {
                stream.shutdown(Shutdown::Both).ok();
            });
        }
        if let Some(accepting) = self.accepting.take() {
            accepting.join().ok();
        }
    }
}

/// Takes connections until told to stop, then waits for those still served.
fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    let mut threads: Vec<JoinHandle<()>> = Vec::new();
    for (number, stream) in (0..).zip(listener.incoming()) {
        if shared.stopping.load(Ordering::SeqCst) {
            break;
        }
        let Ok(stream) = stream else {
            continue;
        };
        threads.retain(|thread| !thread.is_finished());
        if shared.enter(number, &stream).is_err() {
            continue;
        }
        let shared = Arc::clone(shared);
        threads.push(thread::spawn(move || {
            shared.serve(stream).ok();
            shared.leave(number);
        }));
    }
    for thread in threads {
        thread.join().ok();
    }
}

impl Shared {
    /// Waits for a place among the connections and takes it.
    fn enter(&self, number: u64, stream: &TcpStream) -> io::Result<()> {
        let stream = stream.try_clone()?;
        let open = self.open.lock().expect("no thread panicked");
        let mut open = self.closed.wait_while(open, |open| open.len() >= MAX_CONNECTIONS).expect("no thread panicked");
        open.insert(number, stream);
        Ok(())
    }

    fn leave(&self, number: u64) {
        self.open.lock().expect("no thread panicked").remove(&number);
        self.closed.notify_all();
    }

    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(SILENCE))?;
        stream.set_write_timeout(Some(SILENCE))?;
        let request = Request::read(&mut stream)?;
        let response = (self.handler)(&request)?;
        response.write(&mut stream)?;
        stream.shutdown(Shutdown::Write)?;
        // Closing with unread input would reset the connection and lose the answer.
        io::copy(&mut stream, &mut io::sink())?;
        Ok(())
    }
}
