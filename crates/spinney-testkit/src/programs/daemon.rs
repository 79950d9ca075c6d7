//! The daemon of the program under test.

use std::net::SocketAddr;
use std::time::Duration;

use crate::programs::process::Ran;
use crate::{Cli, HttpClient, Running, wait_until};

const START_TIMEOUT: Duration = Duration::from_secs(60);
/// Stands before the address in what the daemon says.
const LISTENING: &str = "listening on http://";
const LOGIN: &str = "/login?key=";

/// A daemon that is ready for requests. Dropped, it is killed.
#[derive(Debug)]
pub struct Daemon {
    running: Running,
    address: SocketAddr,
}

impl Daemon {
    /// Starts it on a free port.
    #[must_use]
    #[track_caller]
    pub fn start(cli: &Cli) -> Self {
        Self::start_with(cli, &["--listen", "127.0.0.1:0"])
    }

    /// Starts `serve` with these arguments, and waits until it is ready.
    #[must_use]
    #[track_caller]
    pub fn start_with(cli: &Cli, arguments: &[&str]) -> Self {
        let mut running = cli.spawn(&[&["serve"], arguments].concat());
        let mut address = None;
        wait_until(
            || {
                address = address_in(&running.stderr_so_far());
                address.is_some() || !running.is_running()
            },
            START_TIMEOUT,
        );
        let Some(address) = address else { panic!("the daemon ended\n{}", running.wait().told()) };
        let client = HttpClient::tcp(address);
        let is_ready = || client.try_send("GET", "/ready", b"").is_ok_and(|reply| reply.status == 200);
        wait_until(|| is_ready() || !running.is_running(), START_TIMEOUT);
        assert!(running.is_running(), "the daemon ended\n{}", running.wait().told());
        Self { running, address }
    }

    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of one of its pages.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Sends it requests; with neither token nor cookie yet.
    #[must_use]
    pub fn client(&self) -> HttpClient {
        HttpClient::tcp(self.address)
    }

    /// The link that logs a browser in, which it prints when it starts for the first time.
    #[must_use]
    pub fn login_link(&self) -> Option<String> {
        login_link_in(&self.said())
    }

    /// What it has said by now.
    #[must_use]
    pub fn said(&self) -> String {
        self.running.stderr_so_far()
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.running.id()
    }

    /// Asks it to end, which it must do well.
    #[track_caller]
    pub fn terminate(self) -> Ran {
        self.running.terminate().ok()
    }

    /// Kills it, as `kill -9` does.
    #[track_caller]
    pub fn kill(self) -> Ran {
        self.running.kill()
    }
}

/// The address in a finished line.
fn address_in(said: &str) -> Option<SocketAddr> {
    let (_, rest) = said.split_once(LISTENING)?;
    let end = rest.find(|letter: char| letter.is_whitespace() || "\"/".contains(letter))?;
    rest[..end].parse().ok()
}

/// The link in a finished line.
fn login_link_in(said: &str) -> Option<String> {
    let (before, after) = said.split_once(LOGIN)?;
    let start = before.rfind("http")?;
    let end = after.find(|letter: char| letter.is_whitespace() || letter == '"')?;
    Some(format!("{}{LOGIN}{}", &before[start..], &after[..end]))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::Sandbox;
    use crate::http::{HttpServer, Response};

    /// Something that says what the daemon says, where this server answers.
    fn stand_in(server: &HttpServer, script: &str) -> Cli {
        let sandbox = Sandbox::new();
        let repository = sandbox.empty_repository("program");
        repository.write_executable("program", format!("#!/bin/sh\n{script}\n"));
        sandbox.cli(repository.path().join("program")).with_variable("ADDRESS", server.address().to_string())
    }

    const SCRIPT: &str = "\
trap 'exit 0' TERM
echo $* >&2
echo listening on http://$ADDRESS >&2
echo log in at http://$ADDRESS/login?key=abc >&2
while :; do sleep 0.01; done";

    #[test]
    fn it_is_ready_when_it_is_started_and_ends_when_asked() {
        let asked = AtomicUsize::new(0);
        let server = HttpServer::start(move |_| {
            let status = if asked.fetch_add(1, Ordering::SeqCst) < 3 { 503 } else { 200 };
            Ok(Response::new(status, "text/plain", ""))
        });
        let daemon = Daemon::start(&stand_in(&server, SCRIPT));
        daemon.client().get("/").expects(200);
        assert_eq!(daemon.url("/x"), format!("http://{}/x", server.address()));
        wait_until(|| daemon.login_link().is_some(), START_TIMEOUT);
        assert_eq!(daemon.login_link(), Some(daemon.url("/login?key=abc")));
        assert!(daemon.said().starts_with("serve --listen 127.0.0.1:0\n"));
        daemon.terminate();
    }

    #[test]
    fn it_can_be_killed_and_ends_with_its_test() {
        let server = HttpServer::start(|_| Ok(Response::new(200, "text/plain", "")));
        let cli = stand_in(&server, SCRIPT);
        Daemon::start(&cli).kill().exits(137);
        let daemon = Daemon::start(&cli);
        let process = PathBuf::from(format!("/proc/{}", daemon.id()));
        assert!(process.exists());
        drop(daemon);
        assert!(!process.exists());
    }

    #[test]
    #[should_panic(expected = "some reason")]
    fn why_it_did_not_start_is_told() {
        let server = HttpServer::start(|_| Ok(Response::new(200, "text/plain", "")));
        let _ = Daemon::start(&stand_in(&server, "echo some reason >&2; exit 1"));
    }

    #[test]
    fn addresses_are_read_from_whole_lines_only() {
        let address = "127.0.0.1:7420".parse().ok();
        assert_eq!(address_in("talk\nlistening on http://127.0.0.1:7420\n"), address);
        assert_eq!(address_in("{\"message\":\"listening on http://127.0.0.1:7420\"}\n"), address);
        assert_eq!(address_in("listening on http://127.0.0.1:742"), None);
        let link = Some("http://127.0.0.1:1/login?key=a".to_owned());
        assert_eq!(login_link_in("listening on http://127.0.0.1:1\n  http://127.0.0.1:1/login?key=a\n"), link);
        assert_eq!(login_link_in("http://127.0.0.1:1/login?key=a"), None);
    }
}
