//! What the daemon owes to whoever runs it: sessions, secrets, slow and greedy clients, its start and its end.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::common::Story;
use crate::support::serve::{LONG, Place};
use crate::support::tls::{make_certificate, start_with_tls};
use serde_json::Value;
use spinney_testkit::{Daemon, HttpClient, Reply, wait_until};

/// How long a client may take for the head of a request or for its body, with room for a busy machine.
const DROPPED_WITHIN: Duration = Duration::from_secs(20);
const ENDS_WITHIN: Duration = Duration::from_secs(10);

/// The value of the only cookie that an answer sets, and what is said about it.
#[track_caller]
fn cookie(reply: &Reply) -> (String, BTreeSet<String>) {
    let set: Vec<_> = reply.headers.iter().filter(|(name, _)| name == "set-cookie").collect();
    let [(_, text)] = set.as_slice() else { panic!("{set:?}") };
    let mut parts = text.split(';').map(|part| part.trim().to_owned());
    (parts.next().unwrap(), parts.filter(|part| !part.starts_with("Max-Age")).collect())
}

/// The CSRF token in a page's form.
#[track_caller]
fn csrf(page: &Reply) -> String {
    let text = page.text();
    let (_, rest) = text.split_once("name=\"csrf\" value=\"").expect("the page has a form");
    rest.split('"').next().unwrap().to_owned()
}

#[test]
fn a_link_logs_one_browser_in_and_its_session_ends() {
    let story = Story::new();
    let daemon = Daemon::start(&story.cli);
    let link = daemon.login_link().expect("the first start prints a link");
    let (_, key) = link.split_once("key=").unwrap();
    let client = daemon.client();
    // Looking at it does not use it up.
    for _ in 0..2 {
        client.get(&format!("/login?key={key}")).expects(200);
    }
    let replies: Vec<_> = thread::scope(|scope| {
        let logins: Vec<_> = (0..8).map(|_| scope.spawn(|| client.post_form("/login", &[("key", key)]))).collect();
        logins.into_iter().map(|login| login.join().unwrap()).collect()
    });
    let statuses: Vec<_> = replies.iter().map(|reply| reply.status).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 303).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 401).count(), 7, "{statuses:?}");
    let reply = replies.iter().find(|reply| reply.status == 303).unwrap();
    let (value, flags) = cookie(reply);
    assert_eq!(flags, ["HttpOnly", "Path=/", "SameSite=Strict"].map(str::to_owned).into(), "{value}");

    let browser = client.with_cookies_of(reply);
    let shown = csrf(&browser.get("/").expects(200));
    browser.post_form("/logout", &[("csrf", &shown.replace(|letter| letter != '0', "0"))]).expects(403);
    browser.get("/").expects(200);
    let out = browser.post_form("/logout", &[("csrf", &shown)]).expects(303);
    assert_eq!(cookie(&out).0, "spinney_session=");
    assert_eq!(browser.get("/").expects(303).header("location"), Some("/login?next=/"));
    browser.get("/api/v1/openapi.json").expects(401);
    daemon.terminate();
}

#[test]
fn the_csrf_token_of_one_session_is_of_no_use_to_another() {
    let place = Place::new();
    let (_, token) = place.token("one", "admin", &[]);
    let [one, two] = [(); 2].map(|()| place.client().with_header("Cookie", &place.session(&token)));
    let of_two = csrf(&two.get("/").expects(200));
    one.post_form("/logout", &[("csrf", &of_two)]).expects(403);
    let pin = format!("/api/v1/workspaces/{}/pin", place.workshop.jobs()[0].text("workspace_id"));
    one.with_header("X-CSRF-Token", &of_two).post(&pin, &serde_json::json!({})).expects(403);
    let own = csrf(&one.get("/").expects(200));
    let pinned = one.with_header("X-CSRF-Token", &own).post(&pin, &serde_json::json!({}));
    assert!(pinned.status < 300, "{}", pinned.told());
    two.post_form("/logout", &[("csrf", &of_two)]).expects(303);
    one.get("/").expects(200);
    // Without the token that a session was begun with, it goes on until it ends itself; a revoked one begins none.
    place.cli().run(&["token", "revoke", "one"]).ok();
    place.client().post_form("/login", &[("key", &token)]).expects(401);
}

#[test]
fn nobody_is_sent_elsewhere_after_logging_in() {
    let place = Place::new();
    let (_, token) = place.token("one", "read", &[]);
    let log_in = |next: &str| place.client().post_form("/login", &[("key", &token), ("next", next)]).expects(303);
    assert_eq!(log_in("/jobs/7f3k2a9qxe").header("location"), Some("/jobs/7f3k2a9qxe"));
    for next in [
        "//evil.example",
        "https://evil.example",
        "/\\evil.example",
        "/\t/evil.example",
        "\t//evil.example",
        "javascript:alert(1)",
        "/x\r\nSet-Cookie: a=b",
        "",
    ] {
        let reply = log_in(next);
        assert_eq!(reply.header("location"), Some("/"), "{next:?}");
        assert_eq!(reply.cookies().count(), 1, "{next:?}");
    }
    // Nor does the page itself carry it on.
    let page = place.client().get("/login?next=%22%3E%3Cscript%3Ealert(1)%3C/script%3E").expects(200).text();
    assert!(!page.contains("<script>alert"), "{page}");
}

#[test]
fn whoever_guesses_waits_and_others_do_not() {
    let story = Story::new();
    let daemon = Daemon::start(&story.cli);
    let guess = || daemon.client().post_form("/login", &[("key", &format!("spn_{}", "1".repeat(64)))]);
    for _ in 0..10 {
        guess().expects(401);
    }
    let refused = guess().expects(429);
    let seconds: u64 = refused.header("retry-after").expect("it says when").parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    // Not even with the right one: else the answer would tell.
    let link = daemon.login_link().unwrap();
    let (_, key) = link.split_once("key=").unwrap();
    daemon.client().post_form("/login", &[("key", key)]).expects(429);
    daemon.client().get("/login").expects(200);
    let body = format!("key={key}");
    let request = format!(
        "POST /login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    assert!(sent_from(Ipv4Addr::new(127, 0, 0, 2), daemon.address(), &request).starts_with("HTTP/1.1 303"));
    daemon.terminate();
}

/// What is answered to a request from this address.
fn sent_from(address: Ipv4Addr, to: SocketAddr, request: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let stream = runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.bind((address, 0).into()).unwrap();
        socket.connect(to).await.unwrap().into_std().unwrap()
    });
    let mut stream = stream;
    stream.set_nonblocking(false).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn no_secret_is_in_the_log_and_each_line_names_its_request() {
    let story = Story::new();
    let made = story.cli.run(&["token", "create", "--json", "--name", "t", "--scope", "admin"]).ok().json();
    let token = made["token"].as_str().unwrap().to_owned();
    let link = story.cli.run(&["token", "link"]).ok().stdout;
    let key = link.trim().split_once("key=").unwrap().1.to_owned();
    let daemon = Daemon::start_with(&story.cli, &["--listen", "127.0.0.1:0", "--json", "--verbose"]);

    let unknown = format!("spn_{}", "ab".repeat(32));
    let client = daemon.client();
    let mut replies = vec![
        client.with_token(&token).get("/api/v1/workspaces"),
        client.with_token(&unknown).get("/api/v1/workspaces"),
        client
            .with_header("Authorization", &format!("Basic {unknown}"))
            .get(&format!("/nowhere/{unknown}?a={unknown}")),
        client.get(&format!("/login?key={key}&next={unknown}")),
        client.post_form("/login", &[("key", &unknown)]),
        client.with_token(&token).post("/api/v1/workspaces", &serde_json::json!({ unknown.clone(): 1 })),
        client.with_header("Host", &unknown).get("/"),
    ];
    let logged_in = client.post_form("/login", &[("key", &key)]).expects(303);
    let browser = client.with_cookies_of(&logged_in);
    let home = browser.get("/").expects(200);
    let (cookie, shown) = (cookie(&logged_in).0, csrf(&home));
    replies.extend([logged_in, home, browser.with_header("X-CSRF-Token", &shown).post_form("/logout", &[])]);
    let ids: BTreeSet<String> =
        replies.iter().map(|reply| reply.header("x-request-id").expect("each has an id").to_owned()).collect();
    assert_eq!(ids.len(), replies.len());

    let ran = daemon.terminate();
    let session = cookie.split_once('=').unwrap().1;
    for secret in [&token, &key, &unknown, session, &shown] {
        assert!(!ran.stderr.contains(secret) && !ran.stdout.contains(secret), "{secret} is in\n{}", ran.told());
    }
    let lines = ran.stderr.lines().map(|line| match serde_json::from_str::<Value>(line) {
        Ok(line) => line,
        Err(error) => panic!("{error}: {line}"),
    });
    let answered: Vec<_> = lines.filter(|line| line["message"] == "answered").collect();
    let logged: BTreeSet<_> = answered.iter().map(|line| line["span"]["id"].as_str().unwrap().to_owned()).collect();
    assert!(logged.is_superset(&ids), "{ids:?} of {logged:?}");
    assert!(
        answered.iter().all(|line| line["status"].is_u64() && line["level"] == "INFO" && line["timestamp"].is_string())
    );
}

#[test]
fn a_log_for_people_has_lines_with_times_and_no_colours() {
    let story = Story::new();
    let daemon = Daemon::start(&story.cli);
    let id = daemon.client().get("/health").expects(200).header("x-request-id").unwrap().to_owned();
    let ran = daemon.terminate();
    let line = ran.stderr.lines().find(|line| line.contains(&id)).unwrap_or_else(|| panic!("{}", ran.told()));
    assert!(line.contains("INFO") && line.contains("/health") && !line.contains('\u{1b}'), "{line}");
    let quiet = Daemon::start_with(&story.cli, &["--listen", "127.0.0.1:0", "--quiet"]);
    quiet.client().get("/health").expects(200);
    assert!(!quiet.terminate().stderr.contains("answered"));
}

#[test]
fn slow_and_greedy_clients_do_not_hold_it_up() {
    let story = Story::new();
    let daemon = Daemon::start(&story.cli);
    let connect = || TcpStream::connect(daemon.address()).unwrap();
    let idle: Vec<_> = (0..200).map(|_| connect()).collect();
    let heads = ["", "GET /health HTTP/1.1\r\nHost: loc", "GET /health HTTP/1.1\r\nHost: localhost\r\n"];
    let body = "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n\
                Content-Length: 100\r\n\r\nkey=";
    let began = Instant::now();
    let slow: Vec<_> = heads
        .into_iter()
        .chain([body])
        .map(|start| {
            let mut stream = connect();
            stream.write_all(start.as_bytes()).unwrap();
            (start, stream)
        })
        .collect();

    for _ in 0..20 {
        let began = Instant::now();
        daemon.client().get("/health").expects(200);
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }
    // Heads that are too large, in one header and in many.
    for head in [format!("X: {}\r\n", "x".repeat(1 << 20)), "X-Y: z\r\n".repeat(5000)] {
        let message = format!("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{head}\r\n");
        match daemon.client().send_raw(message.as_bytes()) {
            Ok(reply) => assert!(matches!(reply.status, 400 | 431), "{}", reply.told()),
            Err(error) => println!("it closed: {error}"),
        }
    }
    for junk in [
        &b"\0\0\0\0\r\n\r\n"[..],
        b"GET /health\r\n\r\n",
        b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ] {
        if let Ok(reply) = daemon.client().send_raw(junk) {
            assert!((400..500).contains(&reply.status) || reply.status == 505, "{}", reply.told());
        }
    }
    for (start, mut stream) in slow {
        stream.set_read_timeout(Some(DROPPED_WITHIN)).unwrap();
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        assert!(read.is_ok() && began.elapsed() < DROPPED_WITHIN, "not dropped: {start:?} {read:?}");
        let answer = String::from_utf8_lossy(&answer).into_owned();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{start:?} got {answer}");
    }
    daemon.client().get("/health").expects(200);
    drop(idle);
    daemon.terminate();
}

#[test]
fn a_home_has_one_daemon_and_its_socket_is_the_owners() {
    let story = Story::new();
    let socket = story.sandbox().spinney_home().join("serve.socket");
    let daemon = Daemon::start(&story.cli);
    let mode = fs::metadata(&socket).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "{mode:o}");
    HttpClient::unix(&socket).get("/api/v1/workspaces").expects(200);
    let second = story.cli.run(&["serve", "--json", "--listen", "127.0.0.1:0"]).exits(5);
    assert_eq!(second.error_json()["error"]["kind"], "held", "{}", second.told());
    HttpClient::unix(&socket).get("/api/v1/workspaces").expects(200);
    // The command line works beside it.
    story.make(&["--branch", "beside"]);
    let listed = HttpClient::unix(&socket).get("/api/v1/workspaces").expects(200);
    assert!(listed.text().contains("beside"), "{}", listed.told());

    let taken = daemon.address().to_string();
    daemon.kill();
    assert!(socket.exists(), "it had no time to clean up");
    let other = TcpStream::connect(&taken);
    assert!(other.is_err(), "somebody else listens there");
    let holder = std::net::TcpListener::bind(&taken).unwrap();
    let refused = story.cli.run(&["serve", "--listen", &taken]).exits(1);
    assert!(refused.stderr.contains(&taken), "{}", refused.told());
    drop(holder);
    let daemon = Daemon::start(&story.cli);
    HttpClient::unix(&socket).get("/api/v1/workspaces").expects(200);
    daemon.terminate();
    assert!(!socket.exists(), "the socket is left");
    fs::write(&socket, "mine").unwrap();
    let refused = story.cli.run(&["serve", "--listen", "127.0.0.1:0"]).exits(1);
    assert!(refused.stderr.contains("it is no socket"), "{}", refused.told());
    assert_eq!(fs::read_to_string(&socket).unwrap(), "mine");
}

#[test]
fn it_ends_soon_and_well_whoever_listens() {
    let place = Place::new();
    let (_, token) = place.token("one", "admin", &[]);
    let agent = place.workshop.beside("agent");
    let go = place.workshop.beside("go");
    let prompt = format!("pid {}\nwait-for {}\nprint done", agent.display(), go.display());
    let job = place.workshop.detach(&["--branch", "long"], &prompt);
    let pid = crate::support::job::read_pid(&agent);
    let client = place.client().with_token(&token);
    let events = client.events("/api/v1/events");
    let log = client.events(&format!("/api/v1/jobs/{job}/log"));
    let idle: Vec<_> = (0..20).map(|_| TcpStream::connect(place.daemon.address()).unwrap()).collect();
    let mut kept = TcpStream::connect(place.daemon.address()).unwrap();
    kept.write_all(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = [0; 64];
    assert!(kept.read(&mut answer).unwrap() > 0);

    let Place { workshop, daemon } = place;
    let began = Instant::now();
    daemon.terminate();
    assert!(began.elapsed() < ENDS_WITHIN, "{:?}", began.elapsed());
    drop((events, log, idle, kept));
    assert!(crate::support::job::is_alive(pid), "the agent was ended with it");
    let daemon = Daemon::start(&workshop.cli);
    fs::write(&go, "").unwrap();
    assert_eq!(workshop.wait_for(&job, "completed").0["attempt"], 1);
    daemon.terminate();
}

#[test]
fn certificates_are_replaced_while_it_runs_and_kept_when_the_new_ones_are_no_good() {
    let story = Story::new();
    let ((key, certificate), (new_key, new_certificate)) =
        (make_certificate(&story, "one"), make_certificate(&story, "two"));
    story.sandbox().write_config(&format!("[server]\ntls_cert = {certificate:?}\ntls_key = {key:?}\n"));
    let (running, address) = start_with_tls(&story.cli);
    let shell = story.sandbox().cli("/bin/sh");
    let shows = |trusted: &str| {
        let line = format!("openssl s_client -verify_return_error -CAfile {trusted} -connect {address} < /dev/null");
        shell.run(&["-c", &line]).status == 0
    };
    let old = story.sandbox().path().join("old.pem").to_str().unwrap().to_owned();
    fs::copy(&certificate, &old).unwrap();
    assert!(shows(&old) && !shows(&new_certificate));
    // A key without its certificate.
    fs::copy(&new_key, &key).unwrap();
    wait_until(|| running.stderr_so_far().contains("configuration not reloaded"), LONG);
    assert!(shows(&old));
    fs::copy(&new_certificate, &certificate).unwrap();
    wait_until(|| shows(&new_certificate), LONG);
    running.terminate().ok();
}

#[test]
fn tls_is_had_with_the_right_files_and_refused_with_others() {
    let story = Story::new();
    let path = |name: &str| story.sandbox().path().join(name).to_str().unwrap().to_owned();
    let ((key, certificate), (other_key, _)) = (make_certificate(&story, "one"), make_certificate(&story, "two"));
    let configure = |certificate: &str, key: &str| {
        let text = format!("[server]\ntls_cert = {certificate:?}\ntls_key = {key:?}\n");
        story.sandbox().write_config(&text);
    };
    fs::write(path("junk"), "no PEM\n").unwrap();
    for (certificate, key) in [
        (path("missing"), key.clone()),
        (path("junk"), key.clone()),
        (certificate.clone(), path("junk")),
        (certificate.clone(), path("missing")),
        (certificate.clone(), other_key),
        (key.clone(), certificate.clone()),
    ] {
        configure(&certificate, &key);
        let refused = story.cli.run(&["serve", "--json", "--listen", "127.0.0.1:0"]).exits(2);
        assert_eq!(refused.error_json()["error"]["kind"], "usage", "{}", refused.told());
        assert!(refused.stderr.contains("tls_cert"), "{}", refused.told());
    }

    configure(&certificate, &key);
    let (running, address) = start_with_tls(&story.cli);
    let link = running.stderr_so_far().split_once("key=").unwrap().1.split_whitespace().next().unwrap().to_owned();
    let body = format!("key={link}");
    let request = format!(
        "POST /login HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    fs::write(path("request"), request).unwrap();
    let shell = story.sandbox().cli("/bin/sh");
    let line = format!(
        "openssl s_client -quiet -verify_return_error -verify_hostname localhost -CAfile {certificate} \
         -connect {address} -ign_eof < {} 2> /dev/null",
        path("request")
    );
    let answer = shell.run(&["-c", &line]).stdout;
    assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
    let set = answer.lines().find(|line| line.to_lowercase().starts_with("set-cookie")).unwrap();
    assert!(set.contains("; Secure") && set.contains("; HttpOnly"), "{set}");
    // Who speaks no TLS gets nothing.
    let plain = HttpClient::tcp(address).try_send("GET", "/health", b"");
    assert!(plain.is_err() || plain.is_ok_and(|reply| reply.status >= 400));
    running.terminate().ok();
}

#[test]
fn behind_a_proxy_cookies_are_for_tls_only() {
    let story = Story::new();
    story.sandbox().write_config("[server]\npublic_url = \"https://spinney.example.org\"\n");
    let running = story.cli.spawn(&["serve", "--json", "--listen", "127.0.0.1:0"]);
    let mut started = Value::Null;
    wait_until(
        || {
            started = serde_json::from_str(&running.stdout_so_far()).unwrap_or_default();
            !started.is_null()
        },
        LONG,
    );
    assert!(started["link"].is_null(), "a program's log is no place for it: {started}");
    let link = story.cli.run(&["token", "link"]).ok().stdout;
    let key = link.trim_end().strip_prefix("https://spinney.example.org/login?key=").unwrap();
    let client = HttpClient::tcp(started["address"].as_str().unwrap().parse().unwrap());
    let client = client.with_header("Host", "spinney.example.org");
    let client =
        client.with_header("Origin", "https://spinney.example.org").with_header("Sec-Fetch-Site", "same-origin");
    let reply = client.post_form("/login", &[("key", key)]).expects(303);
    assert!(cookie(&reply).1.contains("Secure"), "{}", reply.told());
    running.terminate().ok();
}
