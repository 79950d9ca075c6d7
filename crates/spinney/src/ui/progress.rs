//! A spinner for whatever takes over half a second; on a terminal only.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Shorter waits show nothing.
const SHOW_AFTER: Duration = Duration::from_millis(500);
const TICK: Duration = Duration::from_millis(100);

#[derive(Debug, Default)]
struct State {
    message: Option<String>,
    bar: Option<ProgressBar>,
}

#[derive(Debug, Clone)]
pub struct Progress {
    enabled: bool,
    shared: Arc<(Mutex<State>, Condvar)>,
}

impl Progress {
    pub fn new(enabled: bool) -> Self {
        Self { enabled, shared: Arc::default() }
    }

    /// Whether a terminal is there to show anything on.
    pub fn is_live(&self) -> bool {
        self.enabled
    }

    /// Says what is going on now; the first time, a thread is set to show it if it lasts.
    pub fn set(&self, message: String) {
        if !self.enabled {
            return;
        }
        let mut state = self.lock();
        if let Some(bar) = &state.bar {
            bar.set_message(message.clone());
        }
        let first = state.message.replace(message).is_none() && state.bar.is_none();
        drop(state);
        if first {
            let shared = Arc::clone(&self.shared);
            thread::spawn(move || show_if_it_lasts(&shared));
        }
    }

    pub fn clear(&self) {
        let mut state = self.lock();
        state.message = None;
        if let Some(bar) = state.bar.take() {
            bar.finish_and_clear();
        }
        self.shared.1.notify_all();
    }

    /// Prints something without the spinner in between.
    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        let state = self.lock();
        match &state.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.shared.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn show_if_it_lasts(shared: &(Mutex<State>, Condvar)) {
    let state = shared.0.lock().unwrap_or_else(PoisonError::into_inner);
    let waited = shared.1.wait_timeout_while(state, SHOW_AFTER, |state| state.message.is_some());
    let (mut state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
    if let (true, Some(message)) = (timeout.timed_out(), state.message.clone()) {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} {elapsed}") {
            bar.set_style(style);
        }
        bar.set_message(message);
        bar.enable_steady_tick(TICK);
        state.bar = Some(bar);
    }
}
