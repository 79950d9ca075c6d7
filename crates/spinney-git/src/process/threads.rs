//! Which threads may wait.
//!
//! All of this crate, and of the engine above it, blocks: it reads and writes files, takes locks, and starts processes. A
//! command does one thing after the other and may wait anywhere. A daemon's runtime has a few threads that serve everybody:
//! there, such work is done on threads that lend themselves to it, and nowhere else. A debug build holds to that.

use std::cell::Cell;
use std::marker::PhantomData;

thread_local! {
    static IS_SHARED: Cell<bool> = const { Cell::new(false) };
}

/// Marks this thread as one that serves many, and never waits by itself.
pub fn share_thread() {
    IS_SHARED.set(true);
}

/// Lets this thread wait, until the value goes.
#[must_use]
pub fn lend_thread() -> LentThread {
    LentThread { was_shared: IS_SHARED.replace(false), _of_this_thread: PhantomData }
}

/// A thread that may wait.
#[derive(Debug)]
pub struct LentThread {
    was_shared: bool,
    _of_this_thread: PhantomData<*const ()>,
}

impl Drop for LentThread {
    fn drop(&mut self) {
        IS_SHARED.set(self.was_shared);
    }
}

/// Holds to the rule, in a debug build: whoever comes here on a thread that serves many must go by the engine's threads.
///
/// # Panics
///
/// If this thread may not wait.
pub fn expect_patience(what: &str) {
    debug_assert!(!IS_SHARED.get(), "{what} on a thread that serves everybody: it must go by the engine's threads");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_lent_until_it_is_given_back() {
        let is_refused = || std::panic::catch_unwind(|| expect_patience("a test")).is_err();
        assert!(!is_refused(), "nobody shares this one");
        share_thread();
        assert!(is_refused());
        let lent = lend_thread();
        let again = lend_thread();
        drop(again);
        assert!(!is_refused());
        drop(lent);
        assert!(is_refused());
        drop(lend_thread());
    }
}
