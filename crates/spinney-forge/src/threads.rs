//! The threads on which requests are made: a few for the whole process, however many requests there are. They are started
//! when they are needed, and end after a while without work.
//!
//! They are none of a runtime's: one that ends waits for nothing here, nor does a caller who goes away.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// At the most; what comes beyond them waits its turn.
pub(crate) const MOST: usize = 32;
/// How long a thread waits for more to do.
const REST: Duration = Duration::from_secs(10);
const NAME: &str = "http";

type Work = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    waiting: VecDeque<Work>,
    threads: usize,
    /// Those of them that wait for work.
    idle: usize,
}

static STATE: Mutex<State> = Mutex::new(State { waiting: VecDeque::new(), threads: 0, idle: 0 });
static CAME: Condvar = Condvar::new();

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Does some work on one of the threads. An error means that there is none, and none could be started.
pub(crate) fn run(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let mut state = state();
    state.waiting.push_back(Box::new(work));
    if state.waiting.len() > state.idle && state.threads < MOST {
        match thread::Builder::new().name(NAME.to_owned()).spawn(serve) {
            Ok(_) => state.threads += 1,
            // Those that are there come to it.
            Err(_) if state.threads > 0 => {}
            Err(error) => {
                state.waiting.pop_back();
                return Err(error);
            }
        }
    }
    drop(state);
    CAME.notify_one();
    Ok(())
}

/// One thread from its start to its end.
fn serve() {
    let mut state = state();
    loop {
        if let Some(work) = state.waiting.pop_front() {
            drop(state);
            // Whoever waits for it sees that nothing comes.
            let _ = catch_unwind(AssertUnwindSafe(work));
            state = self::state();
            continue;
        }
        state.idle += 1;
        let (woken, rested) = CAME.wait_timeout(state, REST).unwrap_or_else(PoisonError::into_inner);
        state = woken;
        state.idle -= 1;
        if rested.timed_out() && state.waiting.is_empty() {
            state.threads -= 1;
            return;
        }
    }
}
