//! The program between a test and its browser.
//!
//! It runs in a process group of its own, with the browser, under a small shell that waits for the end of its input, which
//! is a pipe that the test holds. However the test ends (done, failed, Ctrl-C, killed), the pipe closes, and the shell kills
//! the group.

use std::env;
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread::{self, JoinHandle};

use crate::Sandbox;
use crate::programs::needs::left_out_without;

/// Name the programs; set by `cargo xtask test`.
const DRIVER_VARIABLE: &str = "SPINNEY_TEST_CHROMEDRIVER";
const BROWSER_VARIABLE: &str = "SPINNEY_TEST_CHROMIUM";

const SUPERVISOR: &str = r#"
exec 2>&1
{ "$0" --port=0; kill -KILL 0; } &
read -r _
kill -KILL 0
"#;
/// Stands before the port in what the driver prints.
const STARTED: &str = "was started successfully on port ";

/// A driver that runs. Dropped, it is killed with all its browsers.
#[derive(Debug)]
pub(super) struct Driver {
    shell: Child,
    /// Reads to the end of all who could write, so that its end is theirs.
    output: Option<JoinHandle<()>>,
    pub address: SocketAddr,
    /// Held until the browser writes no more.
    _sandbox: Sandbox,
}

impl Driver {
    #[track_caller]
    pub fn start(sandbox: &Sandbox) -> Self {
        let temporary = sandbox.fresh("home");
        fs::create_dir(&temporary).expect("the sandbox can be written");
        let mut command = sandbox.command("sh");
        command.args(["-c", SUPERVISOR]).arg(program(DRIVER_VARIABLE)).env("TMPDIR", temporary);
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut shell = command.spawn().expect("a shell can be started");
        let mut output = BufReader::new(shell.stdout.take().expect("stdout is piped"));
        let port = port_in(&mut output);
        let output = thread::spawn(move || {
            io::copy(&mut output, &mut io::sink()).ok();
        });
        let address = (Ipv4Addr::LOCALHOST, 0).into();
        let mut driver = Self { shell, output: Some(output), address, _sandbox: sandbox.clone() };
        match port {
            Ok(port) => driver.address.set_port(port),
            Err(said) => panic!("the browser's driver did not start\n{said}"),
        }
        driver
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        self.shell.wait().ok();
        if let Some(output) = self.output.take() {
            output.join().ok();
        }
    }
}

/// The browser itself.
#[track_caller]
pub(super) fn browser_program() -> PathBuf {
    program(BROWSER_VARIABLE)
}

#[track_caller]
fn program(variable: &str) -> PathBuf {
    let program = env::var_os(variable).map(PathBuf::from);
    program.unwrap_or_else(|| left_out_without("Chromium and its driver"))
}

/// Reads until the driver tells its port; gives what it said if it does not.
fn port_in(output: &mut impl BufRead) -> Result<u16, String> {
    let mut said = String::new();
    loop {
        let start = said.len();
        if !matches!(output.read_line(&mut said), Ok(1..)) {
            return Err(said);
        }
        let port =
            said[start..].split_once(STARTED).and_then(|(_, rest)| rest.trim_end_matches(['.', '\n']).parse().ok());
        if let Some(port) = port {
            return Ok(port);
        }
    }
}
