//! The daemon is killed under load, again and again: it comes back, agents go on as if nothing had happened, no job is
//! lost or run twice, and whoever listens misses nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::common::Story;
use crate::support::job::{LONG, Workshop, is_alive, read_pid};
use serde_json::json;
use spinney_store::{Store, StoreUrl};
use spinney_testkit::{Daemon, Heard, HttpClient, Listeners, Outcome, Requests, Sandbox, wait_until};

/// How often it is killed under the whole load; `cargo xtask crash --serve` says it.
const ROUNDS: &str = "SPINNEY_SERVE_CRASH_ROUNDS";
/// How long after everybody is there again it is killed at most.
const MOST_MS: u64 = 400;
/// From one kill to the next, this much later.
const STEP_MS: u64 = 147;
const POSTERS: usize = 3;
const PAUSE: Duration = Duration::from_millis(20);
/// On a machine that can't bear the whole load, all takes its time.
const PATIENCE: Duration = Duration::from_secs(300);
const SETTINGS: &str = "[limits]\nmax_workers = 3\nmax_workspaces = 3000\n";

/// What it is killed under, and how often.
struct Scale {
    rounds: u64,
    workspaces: usize,
    /// Jobs that wait.
    queued: usize,
    /// How long each of them takes at least, so that they do not end faster than others are asked for.
    job_seconds: u64,
    listeners: usize,
    /// Requests in a second.
    rate: f64,
}

impl Scale {
    const FEW: Self = Self { rounds: 3, workspaces: 3, queued: 5, job_seconds: 0, listeners: 4, rate: 40.0 };
    const WHOLE: Self = Self { rounds: 20, workspaces: 200, queued: 50, job_seconds: 2, listeners: 100, rate: 500.0 };

    #[expect(clippy::disallowed_methods, reason = "the variable is for tests")]
    fn wanted() -> Self {
        match std::env::var(ROUNDS) {
            Ok(rounds) => Self { rounds: rounds.parse().expect("a number of rounds"), ..Self::WHOLE },
            Err(_) => Self::FEW,
        }
    }
}

#[test]
fn a_daemon_that_is_killed_comes_back_and_nothing_is_lost() {
    kill_again_and_again(&Sandbox::new());
}

#[test]
fn so_it_does_on_postgresql() {
    kill_again_and_again(&Sandbox::on_postgres());
}

/// Those who ask for jobs while the daemon comes and goes.
struct Posters<'a> {
    client: HttpClient,
    /// Where each job's agent leaves a line.
    ran: &'a Path,
    repository: String,
    /// How many jobs wait, if the machine keeps up.
    queued: usize,
    job_seconds: u64,
    /// The job that each key was answered with.
    jobs: Mutex<BTreeMap<String, String>>,
    faults: Mutex<Vec<String>>,
}

fn kill_again_and_again(sandbox: &Sandbox) {
    let workshop = &Workshop::of(Story::of(sandbox.repository("app").with_remote()), SETTINGS);
    let scale = Scale::wanted();
    let made = workshop.cli.run(&["token", "create", "--json", "--name", "t", "--scope", "write"]).ok().json();
    let token = made["token"].as_str().unwrap();
    let ran = workshop.beside("ran");
    fs::create_dir(&ran).unwrap();
    let (pid, ticks, go) = (workshop.beside("pid"), workshop.beside("ticks"), workshop.beside("go"));
    let count = format!("while [ ! -e {} ]; do echo x >> {}; sleep 0.02; done", go.display(), ticks.display());
    let long = workshop.detach(&["--branch", "long"], &format!("pid {}\ngit version; {count}", pid.display()));
    let agent = read_pid(&pid);
    make_workspaces(workshop, scale.workspaces);
    let repositories = workshop.cli.run(&["repo", "ls", "--json"]).ok().json();

    // The socket is at the same place whichever daemon listens.
    let socket = sandbox.spinney_home().join("serve.socket");
    let client = HttpClient::unix(socket).with_token(token);
    let posters = Posters {
        client: client.clone(),
        ran: &ran,
        repository: repositories["repositories"][0]["id"].as_str().unwrap().to_owned(),
        queued: scale.queued,
        job_seconds: scale.job_seconds,
        jobs: Mutex::default(),
        faults: Mutex::default(),
    };
    let ends = AtomicBool::new(false);
    let mut starts = Vec::new();
    let mut daemon = Daemon::start(&workshop.cli);
    let listeners = Listeners::start(&client.with_header("Last-Event-ID", "0"), scale.listeners);
    let (outcome, heard, happened) = thread::scope(|scope| {
        let _ended = SetOnDrop(&ends);
        let (posters, ends) = (&posters, &ends);
        let posting: Vec<_> = (0..POSTERS).map(|number| scope.spawn(move || posters.post(number, ends))).collect();
        let everybody = |answered: usize| {
            let deadline = Instant::now() + PATIENCE;
            loop {
                let (jobs, waiting, listening) = (posters.answered(), posters.waiting(), listeners.listening());
                if jobs > answered && waiting + POSTERS >= scale.queued && listening == scale.listeners {
                    break;
                }
                assert!(Instant::now() < deadline, "{jobs} jobs, {waiting} wait, {listening} listen");
                thread::sleep(PAUSE);
            }
        };
        everybody(0);
        let requests = Requests::of(&client, &ids(&client, "workspaces"), &ids(&client, "jobs"), scale.rate);
        let asking = scope.spawn(move || requests.send_while(|_| !ends.load(Ordering::SeqCst)));
        for round in 1..=scale.rounds {
            everybody(posters.answered());
            let after = Duration::from_millis(round * STEP_MS % MOST_MS);
            // The moment is what the test is about.
            thread::sleep(after);
            daemon.kill();
            let killed = Instant::now();
            daemon = Daemon::start(&workshop.cli);
            starts.push(killed.elapsed());
            println!("kill {round} after {after:?}, {} jobs, back in {:?}", posters.answered(), killed.elapsed());
            let ticked = lines(&ticks);
            wait_until(|| lines(&ticks) > ticked + 2, LONG);
            assert!(is_alive(agent), "the agent went with it");
        }
        ends.store(true, Ordering::SeqCst);
        for poster in posting {
            poster.join().unwrap();
        }
        let outcome = asking.join().unwrap();
        fs::write(&go, "").unwrap();
        let open = || workshop.jobs().iter().filter(|job| matches!(job.text("status"), "pending" | "running")).count();
        wait_until(|| open() == 0, PATIENCE);
        let happened = all_events(&sandbox.store_url());
        let newest = *happened.last().unwrap();
        wait_until(|| listeners.have_heard(newest), LONG);
        let heard = listeners.end();
        daemon.terminate();
        (outcome, heard, happened)
    });
    tell(&starts, &outcome, &heard, &happened);

    for Heard { mut ids, cut_off, refused } in heard {
        ids.retain(|id| id <= happened.last().unwrap());
        assert_eq!(ids, happened, "what was heard, and what happened");
        assert_eq!((cut_off as u64, refused), (scale.rounds, Vec::new()), "once a death");
    }
    assert_eq!(outcome.refused, Vec::<String>::new());
    assert!(outcome.answered() > 0);
    assert_eq!(*posters.faults.lock().unwrap(), Vec::<String>::new());
    let job = workshop.job(&long);
    assert_eq!((job.text("status"), &job.0["attempt"], read_pid(&pid)), ("completed", &json!(1), agent));
    let keys = posters.jobs.into_inner().unwrap();
    let jobs = workshop.jobs();
    let known: BTreeSet<String> = jobs.iter().map(|job| job.id().to_owned()).collect();
    let answered: BTreeSet<String> = keys.values().cloned().chain([long]).collect();
    assert_eq!(answered.len(), keys.len() + 1, "two keys got one job: {keys:?}");
    assert_eq!(known, answered, "jobs that are there, and jobs that were asked for");
    for (key, id) in &keys {
        let job = jobs.iter().find(|job| job.id() == id).unwrap();
        assert_eq!(job.text("status"), "completed", "{key}: {:#}", job.0);
        assert_eq!(lines(&ran.join(key)), 1, "how often the agent of {key} ran");
    }
    workshop.assert_nothing_runs();
}

/// Makes them for issues, several at a time.
fn make_workspaces(workshop: &Workshop, count: usize) {
    let cli = &workshop.cli;
    thread::scope(|scope| {
        for first in 1..=POSTERS {
            scope.spawn(move || {
                for number in (first..=count).step_by(POSTERS) {
                    cli.run(&["new", "--quiet", "--json", "--issue", &number.to_string()]).ok();
                }
            });
        }
    });
}

/// The ids of what there is.
fn ids(client: &HttpClient, what: &str) -> Vec<String> {
    let listed = client.get(&format!("/api/v1/{what}?limit=50")).expects(200).json();
    listed[what].as_array().unwrap().iter().map(|thing| thing["id"].as_str().unwrap().to_owned()).collect()
}

/// Says how it went.
fn tell(starts: &[Duration], outcome: &Outcome, heard: &[Heard], happened: &[i64]) {
    let mut starts = starts.to_vec();
    starts.sort();
    let cut_off: usize = heard.iter().map(|heard| heard.cut_off).sum();
    println!(
        "{} kills, back in {:?} (at most {:?}); {} requests answered ({:.0} a second), {} unanswered; \
         {} events, heard by {} listeners that were cut off {cut_off} times",
        starts.len(),
        starts[starts.len() / 2],
        starts[starts.len() - 1],
        outcome.answered(),
        outcome.rate(),
        outcome.unanswered.len(),
        happened.len(),
        heard.len(),
    );
}

/// Ends the load also when the test fails.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Posters<'_> {
    fn answered(&self) -> usize {
        self.jobs.lock().unwrap().len()
    }

    /// How many jobs have not begun yet.
    fn waiting(&self) -> usize {
        let begun = fs::read_dir(self.ran).unwrap().count();
        self.answered().saturating_sub(begun)
    }

    /// Asks for jobs, each with a key of its own, and again until it is answered.
    fn post(&self, poster: usize, ends: &AtomicBool) {
        let mut number = 0;
        while !ends.load(Ordering::SeqCst) {
            if self.waiting() >= self.queued {
                thread::sleep(PAUSE);
                continue;
            }
            let key = format!("{poster}-{number}");
            let prompt = format!("append {} x\nsleep {}", self.ran.join(&key).display(), self.job_seconds);
            let body = json!({ "repository": self.repository, "agent": "coder", "prompt": prompt }).to_string();
            let client =
                self.client.with_header("Idempotency-Key", &key).with_header("Content-Type", "application/json");
            wait_until(|| self.try_post(&client, &key, &body), PATIENCE);
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
                self.faults.lock().unwrap().push(format!("job {key}: {}", reply.told()));
                true
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
