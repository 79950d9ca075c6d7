//! What a test can't run without.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::thread;

/// Names a file in which tests that can't run are noted; set by `cargo xtask test`.
pub const LEFT_OUT: &str = "SPINNEY_TEST_LEFT_OUT";

/// Ends a test that needs something which is not here. It fails; where `cargo xtask test` runs it, that counts as left out.
///
/// # Panics
///
/// Always.
#[track_caller]
pub fn left_out_without(need: &str) -> ! {
    if let Some(notes) = env::var_os(LEFT_OUT) {
        let thread = thread::current();
        // One write, since others do the same.
        let line = format!("{}\t{need}\n", thread.name().unwrap_or("?"));
        let file = OpenOptions::new().append(true).create(true).open(notes);
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("the test can be noted");
    }
    panic!("needs {need}: run `cargo xtask test`")
}
