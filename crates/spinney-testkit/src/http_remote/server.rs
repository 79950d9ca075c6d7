//! Checks the token, and lets `git http-backend` answer.

use std::io::{self, Read, Write};
use std::process::Stdio;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use crate::Sandbox;
use crate::http::{HttpServer, Request, Response};

/// The user name that forges expect beside a token.
const USER: &str = "x-access-token";

/// The server; it stops when dropped.
#[derive(Debug)]
pub struct HttpRemote {
    server: HttpServer,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    sandbox: Sandbox,
    token: Option<String>,
    requests: Mutex<Vec<String>>,
    /// How many pushes are still to fail.
    refusals: AtomicUsize,
}

impl HttpRemote {
    /// Serves the sandbox's remotes to everyone.
    #[must_use]
    pub fn open(sandbox: &Sandbox) -> Self {
        Self::start(sandbox, None)
    }

    /// Serves them to those who know the token, by Basic authentication as `x-access-token`.
    #[must_use]
    pub fn with_token(sandbox: &Sandbox, token: &str) -> Self {
        Self::start(sandbox, Some(token.to_owned()))
    }

    fn start(sandbox: &Sandbox, token: Option<String>) -> Self {
        let shared = Arc::new(Shared {
            sandbox: sandbox.clone(),
            token,
            requests: Mutex::new(Vec::new()),
            refusals: AtomicUsize::new(0),
        });
        let server = HttpServer::start({
            let shared = Arc::clone(&shared);
            move |request| shared.answer(request)
        });
        Self { server, shared }
    }

    /// The address of a repository, as `acme/app.git`.
    #[must_use]
    pub fn url(&self, name: &str) -> String {
        format!("http://{}/{name}", self.server.address())
    }

    /// The same with the credentials in it, as people should not but do write it.
    #[must_use]
    pub fn url_with_token(&self, name: &str) -> String {
        let token = self.shared.token.as_deref().unwrap_or_default();
        format!("http://{USER}:{token}@{}/{name}", self.server.address())
    }

    /// The next so many pushes find the server down.
    pub fn refuse_pushes(&self, count: usize) {
        self.shared.refusals.store(count, Ordering::Relaxed);
    }

    /// Each request so far: the status of the answer, the method and the target.
    #[must_use]
    pub fn requests(&self) -> Vec<String> {
        self.shared.requests.lock().expect("no thread panicked").clone()
    }
}

impl Shared {
    fn answer(&self, request: &Request) -> io::Result<Response> {
        let response = if self.refuses(request) {
            Response::text("503 Service Unavailable", &[], "down for a moment".to_owned())
        } else if self.is_allowed(request) {
            self.backend(request)?
        } else {
            Response::unauthorized()
        };
        let line =
            format!("{} {} {}", &response.status[..3.min(response.status.len())], request.method, request.target);
        self.requests.lock().expect("no thread panicked").push(line);
        Ok(response)
    }

    /// Whether it is down for this request, which is the first of a push.
    fn refuses(&self, request: &Request) -> bool {
        let is_push = request.query().contains("git-receive-pack");
        let one_less = |left: usize| left.checked_sub(1);
        is_push && self.refusals.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less).is_ok()
    }

    fn is_allowed(&self, request: &Request) -> bool {
        let Some(token) = &self.token else {
            return true;
        };
        let expected = format!("Basic {}", base64(format!("{USER}:{token}").as_bytes()));
        request.header("authorization") == Some(&expected)
    }

    /// Runs `git http-backend`, which speaks CGI.
    fn backend(&self, request: &Request) -> io::Result<Response> {
        let mut command = self.sandbox.command("git");
        command
            .arg("http-backend")
            .env("GIT_PROJECT_ROOT", self.sandbox.remotes())
            .env("GIT_HTTP_EXPORT_ALL", "1")
            .env("REQUEST_METHOD", &request.method)
            .env("PATH_INFO", request.path())
            .env("QUERY_STRING", request.query())
            .env("CONTENT_LENGTH", request.body.len().to_string())
            .env("REMOTE_ADDR", "127.0.0.1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        for (header, variable) in [
            ("content-type", "CONTENT_TYPE"),
            ("content-encoding", "HTTP_CONTENT_ENCODING"),
            ("git-protocol", "GIT_PROTOCOL"),
        ] {
            if let Some(value) = request.header(header) {
                command.env(variable, value);
            }
        }
        if self.token.is_some() {
            command.env("REMOTE_USER", USER);
        }
        let mut child = command.spawn()?;
        let mut input = child.stdin.take().expect("stdin is piped");
        let output = thread::scope(|scope| {
            scope.spawn(move || input.write_all(&request.body).ok());
            let mut output = Vec::new();
            child.stdout.take().expect("stdout is piped").read_to_end(&mut output).map(|_| output)
        });
        child.wait()?;
        Ok(Response::from_cgi(&output?))
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * place)) as usize & 63];
            text.push(if place <= chunk.len() { char::from(digit) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::net::TcpStream;
    use std::time::Instant;

    use super::*;
    use crate::http::SILENCE;
    use crate::{TestRepository, wait_until};

    fn served() -> (Sandbox, TestRepository) {
        let sandbox = Sandbox::new();
        let repository = sandbox.repository("app").with_remote();
        (sandbox, repository)
    }

    #[test]
    fn everyone_can_clone_and_fetch_from_an_open_one() {
        let (sandbox, repository) = served();
        let server = HttpRemote::open(&sandbox);
        sandbox.git(sandbox.path(), &["clone", "--quiet", &server.url("acme/app.git"), "clone"]);
        let clone = sandbox.path().join("clone");
        assert_eq!(sandbox.git(&clone, &["rev-parse", "HEAD"]), repository.head());
        let commit = repository.remote().advance("x");
        sandbox.git(&clone, &["fetch", "--quiet"]);
        assert_eq!(sandbox.git(&clone, &["rev-parse", "origin/main"]), commit);
        let requests = server.requests();
        assert!(requests.iter().any(|line| line == "200 POST /acme/app.git/git-upload-pack"), "{requests:?}");
        let missing = sandbox.try_git(sandbox.path(), &["ls-remote", &server.url("acme/none.git")]);
        assert!(missing.stderr.contains("not found"), "{}", missing.stderr);
    }

    #[test]
    fn a_token_is_asked_for() {
        let (sandbox, repository) = served();
        let server = HttpRemote::with_token(&sandbox, "s3cret");
        let refused = sandbox.try_git(sandbox.path(), &["ls-remote", &server.url("acme/app.git")]);
        assert_eq!(refused.status, 128, "{}", refused.told());
        assert!(server.requests().iter().all(|line| line.starts_with("401 ")), "{:?}", server.requests());
        let wrong = server.url_with_token("acme/app.git").replace("s3cret", "wrong");
        assert_eq!(sandbox.try_git(sandbox.path(), &["ls-remote", &wrong]).status, 128);
        let listed = sandbox.git(sandbox.path(), &["ls-remote", &server.url_with_token("acme/app.git"), "HEAD"]);
        assert!(listed.starts_with(&repository.head()), "{listed}");
    }

    #[test]
    fn pushes_large_and_small_arrive() {
        let (sandbox, repository) = served();
        let server = HttpRemote::with_token(&sandbox, "t");
        repository.git(&["remote", "set-url", "origin", &server.url_with_token("acme/app.git")]);
        // Too large for one buffer of git's, so that it comes in chunks; hard to compress.
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let noise = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        });
        let noise: Vec<u8> = noise.take(400_000).flatten().collect();
        let commit = repository.write("noise", noise).commit("noise");
        repository.push();
        assert_eq!(repository.remote().head(), commit);
        let commit = repository.write("small", "x").commit("small");
        repository.push();
        assert_eq!(repository.remote().head(), commit);
    }

    #[test]
    fn a_question_so_long_that_git_compresses_it_is_understood() {
        let (sandbox, repository) = served();
        for number in 0..40 {
            repository.git(&["commit", "--quiet", "--allow-empty", "--message", &number.to_string()]);
            repository.git(&["branch", &format!("branch-{number}")]);
        }
        repository.git(&["push", "--quiet", "--all", "origin"]);
        let server = HttpRemote::open(&sandbox);
        sandbox.git(sandbox.path(), &["clone", "--quiet", "--bare", &server.url("acme/app.git"), "clone"]);
        let branches = sandbox.git(sandbox.path().join("clone"), &["branch", "--list", "branch-*"]);
        assert_eq!(branches.lines().count(), 40);
    }

    #[test]
    fn without_permission_nobody_pushes() {
        let (sandbox, repository) = served();
        let server = HttpRemote::open(&sandbox);
        repository.git(&["remote", "set-url", "origin", &server.url("acme/app.git")]);
        repository.write("x", "x").commit("x");
        let refused = repository.try_git(&["push", "origin", "HEAD"]);
        assert_ne!(refused.status, 0, "{}", refused.told());
        repository.remote().git(&["config", "http.receivepack", "true"]);
        repository.push();
        assert_eq!(repository.remote().head(), repository.head());
    }

    #[test]
    fn it_stops_when_dropped_although_a_client_is_silent() {
        let (sandbox, _repository) = served();
        let server = HttpRemote::open(&sandbox);
        let address = server.server.address();
        let silent = TcpStream::connect(address).unwrap();
        sandbox.git(sandbox.path(), &["ls-remote", &server.url("acme/app.git")]);
        let start = Instant::now();
        drop(server);
        assert!(start.elapsed() < SILENCE / 2);
        // A program that another test is just starting may hold the listener for a moment.
        wait_until(|| TcpStream::connect(address).is_err(), SILENCE);
        drop(silent);
    }

    #[test]
    fn many_clients_at_once_are_served() {
        let (sandbox, _repository) = served();
        let server = HttpRemote::open(&sandbox);
        thread::scope(|scope| {
            for _ in 0..24 {
                scope.spawn(|| sandbox.git(sandbox.path(), &["ls-remote", &server.url("acme/app.git")]));
            }
        });
    }

    #[test]
    fn base64_is_padded() {
        let pairs = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("a:b~\u{ff}", "YTpifsO/")];
        for (plain, encoded) in pairs {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
    }
}
