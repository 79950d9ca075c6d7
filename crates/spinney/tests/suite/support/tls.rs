//! The daemon with TLS.

use std::net::SocketAddr;

use spinney_testkit::{Cli, Running, wait_until};

use crate::support::common::Story;
use crate::support::job::LONG;

/// Starts the daemon with TLS, and waits until it says where.
#[track_caller]
pub fn start_with_tls(cli: &Cli) -> (Running, SocketAddr) {
    let running = cli.spawn(&["serve", "--listen", "127.0.0.1:0"]);
    let mut address = None;
    wait_until(
        || {
            let said = running.stderr_so_far();
            let place = said.split_once("listening on https://").and_then(|(_, rest)| rest.split_once('\n'));
            address = place.and_then(|(place, _)| place.trim().parse().ok());
            address.is_some()
        },
        LONG,
    );
    (running, address.unwrap())
}

/// Makes a key and a certificate of its own.
#[track_caller]
pub fn make_certificate(story: &Story, name: &str) -> (String, String) {
    let path = |ending: &str| story.sandbox().path().join(format!("{name}.{ending}")).to_str().unwrap().to_owned();
    let (key, certificate) = (path("key"), path("pem"));
    let subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
    let kind = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"];
    let openssl = story.sandbox().cli("openssl");
    openssl.run(&[&kind[..], &subject, &["-keyout", &key, "-out", &certificate]].concat()).ok();
    (key, certificate)
}
