//! Takes requests, keeps the record, and makes the trouble.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use crate::forge::{Exchange, Trouble};
use crate::http::{HttpServer, Request, Response};

/// An API; it stops when dropped.
#[derive(Debug)]
pub(super) struct ApiServer {
    server: HttpServer,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    troubles: Mutex<VecDeque<Trouble>>,
    exchanges: Mutex<Vec<Exchange>>,
}

impl ApiServer {
    pub fn start(route: impl Fn(&Request) -> Response + Send + Sync + 'static) -> Self {
        let shared = Arc::new(Shared::default());
        let server = HttpServer::start({
            let shared = Arc::clone(&shared);
            move |request| shared.answer(request, &route)
        });
        Self { server, shared }
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub fn trouble(&self, trouble: Trouble) {
        lock(&self.shared.troubles).push_back(trouble);
    }

    pub fn exchanges(&self) -> Vec<Exchange> {
        lock(&self.shared.exchanges).clone()
    }
}

impl Shared {
    fn answer(&self, request: &Request, route: impl Fn(&Request) -> Response) -> io::Result<Response> {
        let trouble = lock(&self.troubles).pop_front();
        let lost = || Err(io::Error::other("the connection is dropped"));
        let answered = match trouble {
            None => Ok(route(request)),
            Some(Trouble::AnswerLost) => {
                route(request);
                lost()
            }
            Some(trouble) => trouble.response().map_or_else(lost, Ok),
        };
        lock(&self.exchanges).push(Exchange::of(request, answered.as_ref().ok()));
        answered
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panicked")
}
