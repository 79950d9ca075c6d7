//! The server of the database goes away under a daemon and its jobs, and comes back: nobody has to start anything again.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::common::Story;
use crate::support::job::{LONG, Workshop, is_alive, runner_of};
use serde_json::{Value, json};
use spinney_store::{Error, Store, StoreUrl};
use spinney_testkit::{Daemon, HttpClient, Listeners, PostgresServer, Sandbox, wait_until};

/// A workshop whose store is on a server of its own.
struct Place {
    workshop: Workshop,
    client: HttpClient,
    // Goes last: what is left of jobs is looked at before.
    server: PostgresServer,
}

impl Place {
    fn new(settings: &str) -> Self {
        let server = PostgresServer::start();
        let sandbox = Sandbox::new();
        let mut story = Story::of(sandbox.repository("app").with_remote());
        story.cli = story.cli.with_variable("SPINNEY_DATABASE_URL", server.url());
        let workshop = Workshop::of(story, settings);
        workshop.cli.run(&["status"]).ok();
        let client = HttpClient::unix(sandbox.spinney_home().join("serve.socket"));
        Self { workshop, client, server }
    }

    fn ready(&self) -> u16 {
        self.client.get("/ready").status
    }

    #[track_caller]
    fn start(&self, key: &str, prompt: &str) -> String {
        start(&self.client, key, prompt)
    }

    fn job(&self, id: &str) -> Option<Value> {
        let reply = self.client.get(&format!("/api/v1/jobs/{id}"));
        (reply.status == 200).then(|| reply.json())
    }

    #[track_caller]
    fn completes(&self, id: &str) -> Value {
        let has_ended = |job: &Value| !matches!(job["status"].as_str(), Some("pending" | "running"));
        wait_until(|| self.job(id).is_some_and(|job| has_ended(&job)), LONG);
        let job = self.job(id).unwrap();
        assert_eq!((&job["status"], &job["attempt"]), (&json!("completed"), &json!(1)), "{job:#}");
        job
    }
}

/// Asks for a job under a key, until it is answered for good.
#[track_caller]
fn start(client: &HttpClient, key: &str, prompt: &str) -> String {
    let body = json!({ "repository": "local/app", "agent": "coder", "prompt": prompt }).to_string();
    let client = client.with_header("Idempotency-Key", key).with_header("Content-Type", "application/json");
    let mut id = None;
    wait_until(
        || {
            let reply = client.send("POST", "/api/v1/jobs", body.as_bytes());
            match reply.status {
                202 => id = reply.json()["id"].as_str().map(str::to_owned),
                409 | 503 => {}
                _ => panic!("{}", reply.told()),
            }
            id.is_some()
        },
        LONG,
    );
    id.unwrap()
}

#[test]
fn a_daemon_and_a_running_job_go_on_after_a_restart() {
    let place = Place::new("");
    let daemon = Daemon::start(&place.workshop.cli);
    let listeners = Listeners::start(&place.client.with_header("Last-Event-ID", "0"), 2);
    for (number, crashes) in [(1, false), (2, true)] {
        let name = format!("job{number}");
        let prompt = format!("{}\nwrite {name}.txt a", place.workshop.hold(&name));
        let id = place.start(&name, &prompt);
        let agent = place.workshop.wait_for_agent(&name);
        let runner = runner_of(&id).unwrap();
        if crashes {
            place.server.crash();
        } else {
            place.server.stop();
        }
        let reply = place.client.get("/api/v1/jobs");
        assert_eq!((place.ready(), reply.status), (503, 503), "{}", reply.told());
        assert_eq!(reply.json()["error"]["kind"], "unavailable");
        place.server.start_again();
        let back = Instant::now();
        wait_until(|| place.ready() == 200, LONG);
        assert_eq!(place.job(&id).unwrap()["status"], "running");
        println!("answers {:?} after the server", back.elapsed());
        assert!(is_alive(agent) && is_alive(runner), "it went with the server");
        place.workshop.let_go(&name);
        let job = place.completes(&id);
        assert_eq!(job["push"], "pushed", "{job:#}");
        let next = place.start(&format!("next{number}"), "print x");
        place.completes(&next);
    }
    // Who listens hears of all of it, and of what comes later.
    let last = place.start("last", "print x");
    place.completes(&last);
    let audit = place.client.get("/api/v1/audit?limit=1").expects(200).json();
    let newest = audit["events"][0]["id"].as_i64().unwrap();
    wait_until(|| listeners.have_heard(newest), LONG);
    for heard in listeners.end() {
        assert!(heard.ids.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", heard.ids);
    }
    assert_eq!(daemon.terminate().status, 0);
}

#[test]
fn a_job_that_comes_to_its_end_meanwhile_waits_for_the_server() {
    let place = Place::new("");
    let _daemon = Daemon::start(&place.workshop.cli);
    let done = place.workshop.beside("done");
    let prompt = format!("{}\nwrite a.txt a\nappend {} x", place.workshop.hold("one"), done.display());
    let id = place.start("one", &prompt);
    let agent = place.workshop.wait_for_agent("one");
    let runner = runner_of(&id).unwrap();
    place.server.stop();
    place.workshop.let_go("one");
    wait_until(|| done.exists() && !is_alive(agent), LONG);
    // Whoever gives up does so by now.
    let until = Instant::now() + Duration::from_secs(3);
    wait_until(|| Instant::now() > until || !is_alive(runner), LONG);
    assert!(is_alive(runner), "it did not wait");
    place.server.start_again();
    assert_eq!(place.completes(&id)["push"], "pushed");
    assert_eq!(fs::read_to_string(&done).unwrap().lines().count(), 1, "how often its agent ran");
}

#[test]
fn whatever_is_cut_off_in_the_middle_is_done_once() {
    const JOBS: usize = 12;
    let place = Place::new("[limits]\nmax_workers = 3\n");
    let daemon = Daemon::start(&place.workshop.cli);
    let ran = place.workshop.beside("ran");
    fs::create_dir(&ran).unwrap();
    let prompt = |number: usize| format!("append {} x\nwrite {number}.txt a", ran.join(number.to_string()).display());
    let client = place.client.clone();
    let ids: Vec<String> = thread::scope(|scope| {
        let asking =
            scope.spawn(move || (0..JOBS).map(|number| start(&client, &number.to_string(), &prompt(number))).collect());
        let mut round = 0;
        // Each time a little later after it came back.
        while !asking.is_finished() || round < 6 {
            round += 1;
            thread::sleep(Duration::from_millis(200 + round * 130 % 900));
            if round % 2 == 0 {
                place.server.crash();
            } else {
                place.server.stop();
            }
            place.server.start_again();
        }
        asking.join().unwrap()
    });
    for (number, id) in ids.iter().enumerate() {
        assert_eq!(place.completes(id)["push"], "pushed");
        let times = fs::read_to_string(ran.join(number.to_string())).unwrap().lines().count();
        assert_eq!(times, 1, "how often the agent of job {number} ran");
    }
    assert_eq!(place.workshop.jobs().len(), JOBS);
    drop(daemon);
    place.workshop.cli.run(&["ls"]).ok();
    // Where the server went before an operation's row arrived, the empty file of its lock is left, and holds nothing.
    for lock in
        crate::support::common::files_below(&place.workshop.story.sandbox().spinney_home().join("operations"), 0)
    {
        fs::remove_file(lock).unwrap();
    }
}

#[tokio::test]
async fn who_is_patient_waits_for_the_server_and_no_longer_than_that() {
    let server = PostgresServer::start();
    let url = StoreUrl::parse(&server.url()).unwrap();
    let store = Store::open_patiently(&url, Duration::from_secs(60)).await.unwrap();
    let hasty = Store::open(&url).await.unwrap();
    server.stop();
    assert!(hasty.read().await.unwrap_err().is_cut_off());
    let began = Instant::now();
    let short = Duration::from_millis(600);
    let error = Store::open_patiently(&url, short).await.unwrap_err();
    assert!(matches!(error, Error::Unreachable { waited, .. } if waited >= short), "{error:?}");
    assert!(!error.is_cut_off() && began.elapsed() >= short);
    let waiting = tokio::spawn(async move {
        store.write().await.unwrap().commit().await.unwrap();
        Store::open_patiently(&url, Duration::from_secs(60)).await.unwrap();
    });
    tokio::time::sleep(short).await;
    assert!(!waiting.is_finished());
    let _server = tokio::task::spawn_blocking(move || {
        server.start_again();
        server
    })
    .await
    .unwrap();
    tokio::time::timeout(Duration::from_secs(30), waiting).await.unwrap().unwrap();
}
