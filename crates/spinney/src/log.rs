//! The log, on standard error: of the daemon always, of a command when it is asked to tell more.

use std::io::{IsTerminal, stderr};

use tracing::Level;

use crate::cli::{Color, Global};

/// Begins the log. The daemon's tells the time of each line, and is an object a line under `--json`.
pub fn begin(global: &Global, is_daemon: bool) {
    let level = match (global.verbose, global.quiet, is_daemon) {
        (true, _, _) => Level::DEBUG,
        (_, true, true) => Level::ERROR,
        (_, false, true) => Level::INFO,
        (_, _, false) => return,
    };
    let colours = match global.color {
        Color::Auto => stderr().is_terminal(),
        Color::Always => true,
        Color::Never => false,
    };
    let log = tracing_subscriber::fmt().with_writer(stderr).with_max_level(level).with_ansi(colours);
    match (is_daemon, global.json) {
        (true, true) => log.json().flatten_event(true).with_span_list(false).init(),
        (true, false) => log.with_target(false).init(),
        (false, _) => log.without_time().init(),
    }
}
