//! The daemon is killed under load, again and again: it comes back, agents go on as if nothing had happened, no job is
//! lost or run twice, and whoever listens misses nothing.

mod common;
mod job_support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use common::Story;
use job_support::{LONG, Workshop, is_alive, read_pid};
use serde_json::json;
use spinney_store::{Store, StoreUrl};
use spinney_testkit::{Daemon, HttpClient, postgres_database, wait_until};

/// How often it is killed; `cargo xtask crash --serve` says another number.
const ROUNDS: &str = "SPINNEY_SERVE_CRASH_ROUNDS";
const FEW: u64 = 3;
/// How long after its start, or after new jobs, it is killed at most.
const MOST_MS: u64 = 400;
/// From one kill to the next, this much later.
const STEP_MS: u64 = 147;
const POSTERS: usize = 3;
const READERS: usize = 2;
/// How many jobs a poster has answered in a round at most, so that the machine keeps up.
const JOBS_A_ROUND: usize = 2;
const PAUSE: Duration = Duration::from_millis(20);

#[test]
fn a_daemon_that_is_killed_comes_back_and_nothing_is_lost() {
    let workshop = Workshop::new("[limits]\nmax_workers = 3\n");
    let file = workshop.story.sandbox().spinney_home().join("spinney.db");
    kill_again_and_again(&workshop, &format!("sqlite:{}", file.display()));
}

#[test]
fn so_it_does_on_postgresql() {
    let database = postgres_database();
    let mut story = Story::new();
    story.cli = story.cli.with_variable("SPINNEY_DATABASE_URL", database.url());
    kill_again_and_again(&Workshop::of(story, "[limits]\nmax_workers = 3\n"), database.url());
    assert_eq!(database.query("select count(*) from jobs where status in ('pending', 'running')"), "0");
}

/// What clients do while the daemon comes and goes.
struct Load<'a> {
    client: HttpClient,
    /// Where each job's agent leaves a line.
    ran: &'a Path,
    repository: String,
    round: AtomicUsize,
    ends: AtomicBool,
    /// The job that each key was answered with.
    jobs: Mutex<BTreeMap<String, String>>,
    events: Mutex<Vec<i64>>,
    faults: Mutex<Vec<String>>,
}

fn kill_again_and_again(workshop: &Workshop, store: &str) {
    let made = workshop.cli.run(&["token", "create", "--json", "--name", "t", "--scope", "write"]).ok().json();
    let token = made["token"].as_str().unwrap();
    let ran = workshop.beside("ran");
    fs::create_dir(&ran).unwrap();
    let (pid, ticks, go) = (workshop.beside("pid"), workshop.beside("ticks"), workshop.beside("go"));
    let count = format!("while [ ! -e {} ]; do echo x >> {}; sleep 0.02; done", go.display(), ticks.display());
    let long = workshop.detach(&["--branch", "long"], &format!("pid {}\ngit version; {count}", pid.display()));
    let agent = read_pid(&pid);
    let repositories = workshop.cli.run(&["repo", "ls", "--json"]).ok().json();

    // The socket is at the same place whichever daemon listens.
    let socket = workshop.story.sandbox().spinney_home().join("serve.socket");
    let load = Load {
        client: HttpClient::unix(socket).with_token(token),
        ran: &ran,
        repository: repositories["repositories"][0]["id"].as_str().unwrap().to_owned(),
        round: AtomicUsize::new(0),
        ends: AtomicBool::new(false),
        jobs: Mutex::default(),
        events: Mutex::default(),
        faults: Mutex::default(),
    };
    let mut daemon = Daemon::start(&workshop.cli);
    thread::scope(|scope| {
        let _ended = SetOnDrop(&load.ends);
        let load = &load;
        let posters: Vec<_> = (0..POSTERS).map(|number| scope.spawn(move || load.post(number))).collect();
        for _ in 0..READERS {
            scope.spawn(|| load.read());
        }
        let listener = scope.spawn(|| load.listen());
        for round in 1..=rounds() {
            let answered = load.answered();
            load.round.fetch_add(1, Ordering::SeqCst);
            wait_until(|| load.answered() > answered, LONG);
            let after = Duration::from_millis(round * STEP_MS % MOST_MS);
            println!("kill {round} after {after:?}, {} jobs", load.answered());
            // The moment is what the test is about.
            thread::sleep(after);
            daemon.kill();
            let ticked = lines(&ticks);
            wait_until(|| lines(&ticks) > ticked + 2, LONG);
            assert!(is_alive(agent), "the agent went with it");
            daemon = Daemon::start(&workshop.cli);
        }
        load.ends.store(true, Ordering::SeqCst);
        for poster in posters {
            poster.join().unwrap();
        }
        fs::write(&go, "").unwrap();
        let open = || workshop.jobs().iter().filter(|job| matches!(job.text("status"), "pending" | "running")).count();
        wait_until(|| open() == 0, LONG * 2);
        let happened = all_events(store);
        let newest = *happened.last().unwrap();
        wait_until(|| load.events.lock().unwrap().last() >= Some(&newest), LONG);
        daemon.terminate();
        listener.join().unwrap();
        let mut heard = load.events.lock().unwrap().clone();
        heard.retain(|id| *id <= newest);
        assert_eq!(heard, happened, "what was heard, and what happened");
    });

    assert_eq!(*load.faults.lock().unwrap(), Vec::<String>::new());
    let job = workshop.job(&long);
    assert_eq!((job.text("status"), &job.0["attempt"], read_pid(&pid)), ("completed", &json!(1), agent));
    let keys = load.jobs.into_inner().unwrap();
    let known: BTreeSet<String> = workshop.jobs().iter().map(|job| job.id().to_owned()).collect();
    let answered: BTreeSet<String> = keys.values().cloned().chain([long]).collect();
    assert_eq!(answered.len(), keys.len() + 1, "two keys got one job: {keys:?}");
    assert_eq!(known, answered, "jobs that are there, and jobs that were asked for");
    for (key, id) in &keys {
        assert_eq!(workshop.job(id).text("status"), "completed", "{key}");
        assert_eq!(lines(&ran.join(key)), 1, "how often the agent of {key} ran");
    }
    workshop.assert_nothing_runs();
}

#[expect(clippy::disallowed_methods, reason = "the variable is for tests")]
fn rounds() -> u64 {
    std::env::var(ROUNDS).map_or(FEW, |rounds| rounds.parse().expect("a number of rounds"))
}

/// Ends the load also when the test fails.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Load<'_> {
    fn answered(&self) -> usize {
        self.jobs.lock().unwrap().len()
    }

    fn is_over(&self) -> bool {
        self.ends.load(Ordering::SeqCst)
    }

    fn fault(&self, what: String) {
        self.faults.lock().unwrap().push(what);
    }

    /// Asks for jobs, each with a key of its own, and again until it is answered.
    fn post(&self, poster: usize) {
        let mut number = 0;
        while !self.is_over() {
            if number >= self.round.load(Ordering::SeqCst) * JOBS_A_ROUND {
                thread::sleep(PAUSE);
                continue;
            }
            let key = format!("{poster}-{number}");
            let prompt = format!("append {} x\nprint done", self.ran.join(&key).display());
            let body = json!({ "repository": self.repository, "agent": "coder", "prompt": prompt }).to_string();
            let client =
                self.client.with_header("Idempotency-Key", &key).with_header("Content-Type", "application/json");
            while !self.try_post(&client, &key, &body) {
                thread::sleep(PAUSE);
            }
            number += 1;
        }
    }

    /// Whether it was answered, for good.
    fn try_post(&self, client: &HttpClient, key: &str, body: &str) -> bool {
        // Nobody there, or not any more: perhaps it was carried out.
        let Ok(reply) = client.try_send("POST", "/api/v1/jobs", body.as_bytes()) else { return false };
        match reply.status {
            202 => {
                let id = reply.json()["id"].as_str().unwrap().to_owned();
                self.jobs.lock().unwrap().insert(key.to_owned(), id);
                true
            }
            // It is being answered, or the daemon ends.
            409 | 503 => false,
            _ => {
                self.fault(format!("job {key}: {}", reply.told()));
                true
            }
        }
    }

    /// Looks at what there is.
    fn read(&self) {
        while !self.is_over() {
            for target in ["/api/v1/workspaces", "/api/v1/jobs", "/ready", "/api/v1/schedules"] {
                match self.client.try_send("GET", target, b"") {
                    Ok(reply) if reply.status == 200 => {}
                    Ok(reply) => self.fault(format!("{target}: {}", reply.told())),
                    Err(_) => thread::sleep(PAUSE),
                }
            }
        }
    }

    /// Listens to what happens, and comes back where it was cut off, until nobody answers any more.
    fn listen(&self) {
        let mut last = 0;
        loop {
            let client = self.client.with_header("Last-Event-ID", &last.to_string());
            match client.try_events("/api/v1/events") {
                Ok(Ok(mut stream)) => {
                    while let Some(event) = stream.next_event() {
                        last = event.id.expect("each has an id").parse().unwrap();
                        self.events.lock().unwrap().push(last);
                    }
                }
                Ok(Err(reply)) => self.fault(format!("events: {}", reply.told())),
                Err(_) if self.is_over() => return,
                Err(_) => thread::sleep(PAUSE),
            }
        }
    }
}

/// The ids of all that happened so far, from the store itself.
fn all_events(store: &str) -> Vec<i64> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(&StoreUrl::parse(store).unwrap()).await.unwrap();
        let events = store.read().await.unwrap().events("local", 0, 100_000).await.unwrap();
        store.close().await.unwrap();
        events.into_iter().map(|(id, _)| id).collect()
    })
}

fn lines(file: &Path) -> usize {
    fs::read_to_string(file).map_or(0, |text| text.lines().count())
}
