//! The daemon with many workspaces, jobs that wait, and listeners: how fast it answers, what memory it takes, and what it
//! does while nobody asks.

use std::fs::{self, File};
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use spinney_testkit::{HttpClient, Listeners, Outcome, Requests};

use super::Bench;
use super::job::configure;
use super::many::make_workspaces;
use super::process::Process;
use super::site::Site;
use super::table::{Goal, MIB, Row, Unit, finish};
use super::tree::{SMALL, Tree};

const WORKSPACES: usize = 200;
const JOBS: usize = 50;
const LISTENERS: usize = 100;
/// Requests in a second.
const RATE: f64 = 500.0;
const LASTS: Duration = Duration::from_secs(60);
/// When only one round is wanted, a quick look is.
const LASTS_SHORTLY: Duration = Duration::from_secs(15);
/// How long it works before its memory counts: what is kept is kept by then.
const WARM_UP: Duration = Duration::from_secs(5);
/// How long it is watched while nobody asks.
const WATCHED: Duration = Duration::from_secs(20);
const MOST_ROUNDS: usize = 2;
const START_WITHIN: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(10);

const ANSWERED: &str = "half of them";
const AT_START: &str = "when the load began";

/// Under load.
pub fn load(bench: &Bench) -> Vec<Row> {
    let mut slowest = Row::new("99 of 100 requests to `serve`, 500 a second", Unit::Millis).goal(Goal::Under(50.0));
    let mut errors = Row::new("requests to `serve` that failed, and listeners that were cut off", Unit::Percent)
        .goal(Goal::Under(0.0));
    let mut missed =
        Row::new("requests to `serve` that did not fit into the time", Unit::Percent).goal(Goal::Under(1.0));
    let mut memory = Row::new("memory of `serve` after the load", Unit::Bytes).goal(Goal::Under(80.0 * MIB));
    slowest = slowest.beside(ANSWERED);
    memory = memory.against(AT_START).goal(Goal::Beyond(8.0 * MIB));
    let outcome = measure_load(bench, [&mut slowest, &mut errors, &mut missed, &mut memory]);
    finish(outcome, [slowest, errors, missed, memory])
}

fn measure_load(bench: &Bench, [slowest, errors, missed, memory]: [&mut Row; 4]) -> Result<()> {
    let daemon = Daemon::start(bench)?;
    let listeners = daemon.listen()?;
    let requests = daemon.requests()?;
    requests.send_while(|due| due < WARM_UP);
    let lasts = if bench.rounds.slow == 1 { LASTS_SHORTLY } else { LASTS };
    let mut failed = 0;
    for _ in 0..bench.rounds.slow.min(MOST_ROUNDS) {
        memory.push(Some(AT_START), daemon.memory()?);
        let outcome = requests.send_while(|due| due < lasts);
        slowest.push(None, outcome.percentile(99).context("no request was answered")?);
        slowest.push(Some(ANSWERED), outcome.percentile(50).context("no request was answered")?);
        missed.push(None, (100.0 - outcome.rate() / RATE * 100.0).max(0.0));
        memory.push(None, daemon.memory()?);
        let Outcome { refused, unanswered, .. } = &outcome;
        let count = refused.len() + unanswered.len();
        errors.push(None, count as f64 / (RATE * lasts.as_secs_f64()) * 100.0);
        failed += count;
        refused.iter().chain(unanswered).take(3).for_each(|error| eprintln!("   {error}"));
        eprintln!("   {:.0} requests a second were answered, {count} failed", outcome.rate());
    }
    let ended = listeners.end();
    let heard: usize = ended.iter().map(|listener| listener.ids.len()).sum();
    let cut_off: usize = ended.iter().map(|listener| listener.cut_off + listener.refused.len()).sum();
    eprintln!("   {heard} events were heard, {failed} requests failed, {cut_off} listeners were cut off");
    if cut_off > 0 {
        errors.push(None, cut_off as f64 / LISTENERS as f64 * 100.0);
    }
    daemon.end()
}

/// How long the chores of a start take at most, over all those trees.
const SETTLES_WITHIN: Duration = Duration::from_secs(45);

/// While nobody asks.
pub fn idle(bench: &Bench) -> Vec<Row> {
    let row = |what: &str| Row::new(format!("processor of `serve` while nobody asks, {what}"), Unit::Percent);
    let mut alone = row("jobs in its queue").goal(Goal::Under(0.5));
    let mut heard = row("and 100 listeners");
    finish(measure_idle(bench, &mut alone, &mut heard), [alone, heard])
}

fn measure_idle(bench: &Bench, alone: &mut Row, heard: &mut Row) -> Result<()> {
    let daemon = Daemon::start(bench)?;
    // What it does when it starts is work: orphans and merged workspaces are looked for in every tree.
    thread::sleep(SETTLES_WITHIN);
    for _ in 0..bench.rounds.slow.min(MOST_ROUNDS) {
        alone.push(None, daemon.watch()?);
        let listeners = daemon.listen()?;
        heard.push(None, daemon.watch()?);
        listeners.end();
    }
    daemon.end()
}

/// A daemon over workspaces and jobs. Dropped, it is killed.
struct Daemon {
    child: Child,
    process: Process,
    client: HttpClient,
    site: Site,
}

impl Daemon {
    fn start(bench: &Bench) -> Result<Self> {
        let tree = Tree::generated(&fresh(bench)?, SMALL)?;
        let mut site = Site::new(&bench.spinney, &tree, bench.root.path())?;
        site.set("SPINNEY_LIMITS__MAX_WORKERS", "1");
        configure(&mut site, &[("sleeper", "exec sleep 1000")])?;
        make_workspaces(&site, 0..WORKSPACES)?;
        let token = site.json(&["token", "create", "--json", "--name", "bench", "--scope", "write"])?;
        let (out, log) = (site.path().join("serve.json"), site.path().join("serve.log"));
        let mut command = site.command(site.spinney_program());
        command.args(["serve", "--json", "--listen", "127.0.0.1:0"]).stdin(Stdio::null());
        let child = command.stdout(File::create(&out)?).stderr(File::create(&log)?).spawn()?;
        let started = Instant::now();
        let address = loop {
            let text = fs::read_to_string(&out)?;
            if let Ok(said) = serde_json::from_str::<Value>(&text) {
                break said["address"].as_str().and_then(|text| text.parse().ok()).context("no address")?;
            }
            if started.elapsed() > START_WITHIN {
                bail!("the daemon does not start: {}", fs::read_to_string(&log)?);
            }
            thread::sleep(PAUSE);
        };
        let token = token["token"].as_str().context("no token")?;
        let client = HttpClient::tcp(address).with_token(token).with_header("Content-Type", "application/json");
        let process = Process::of_id(child.id());
        let daemon = Self { child, process, client, site };
        daemon.ask_for_jobs()?;
        Ok(daemon)
    }

    /// One runs, the others wait for it.
    fn ask_for_jobs(&self) -> Result<()> {
        let repositories = self.site.json(&["repo", "ls", "--json"])?;
        let repository = &repositories["repositories"][0]["id"];
        for number in 0..=JOBS {
            let body = json!({ "repository": repository, "agent": "sleeper", "prompt": format!("job {number}") });
            self.ask("POST", "/api/v1/jobs", &body.to_string())?;
        }
        let started = Instant::now();
        let running = || -> Result<usize> {
            let listed = self.ask("GET", "/api/v1/jobs?status=running", "")?;
            Ok(listed["jobs"].as_array().map_or(0, Vec::len))
        };
        while running()? == 0 {
            if started.elapsed() > START_WITHIN {
                bail!("no job runs");
            }
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    /// Asks for one thing, and reads the document that is answered.
    fn ask(&self, method: &str, target: &str, body: &str) -> Result<Value> {
        let reply = self.client.try_send(method, target, body.as_bytes())?;
        if !(200..300).contains(&reply.status) {
            bail!("`{method} {target}` was answered with {}", reply.told());
        }
        serde_json::from_slice(&reply.body).with_context(|| format!("`{method} {target}` gave no JSON"))
    }

    /// What is read, again and again.
    fn requests(&self) -> Result<Requests> {
        let ids = |what: &str| -> Result<Vec<String>> {
            let listed = self.ask("GET", &format!("/api/v1/{what}?limit=50"), "")?;
            let listed = listed[what].as_array().context("no list")?;
            Ok(listed.iter().filter_map(|thing| Some(thing["id"].as_str()?.to_owned())).collect())
        };
        Ok(Requests::of(&self.client, &ids("workspaces")?, &ids("jobs")?, RATE))
    }

    /// Those who listen, all of them.
    fn listen(&self) -> Result<Listeners> {
        let listeners = Listeners::start(&self.client, LISTENERS);
        let started = Instant::now();
        while listeners.listening() < LISTENERS {
            if started.elapsed() > START_WITHIN {
                bail!("only {} of {LISTENERS} can listen", listeners.listening());
            }
            thread::sleep(PAUSE);
        }
        Ok(listeners)
    }

    fn memory(&self) -> Result<f64> {
        self.process.memory_bytes().context("the daemon is gone")
    }

    /// Of one processor, in percent.
    fn watch(&self) -> Result<f64> {
        let before = self.process.whole_processor_millis()?;
        thread::sleep(WATCHED);
        Ok((self.process.whole_processor_millis()? - before) / WATCHED.as_secs_f64() / 10.0)
    }

    fn end(mut self) -> Result<()> {
        let id = self.child.id().to_string();
        let listed = self.ask("GET", "/api/v1/jobs?status=pending,running&limit=200", "")?;
        let jobs = listed["jobs"].as_array().map(Vec::as_slice).unwrap_or_default();
        let jobs: Vec<&str> = jobs.iter().filter_map(|job| job["id"].as_str()).collect();
        self.site.spinney(&[&["cancel", "--now"], jobs.as_slice()].concat())?;
        super::site::output(self.site.command("kill").args(["-TERM", &id]))?;
        let status = self.child.wait()?;
        if !status.success() {
            bail!("the daemon ended with {status}");
        }
        self.site.settle()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A directory with a home for git.
fn fresh(bench: &Bench) -> Result<std::path::PathBuf> {
    let directory = tempfile::Builder::new().prefix("serve-").tempdir_in(bench.root.path())?.keep();
    super::site::make_home(&directory)?;
    Ok(directory)
}
