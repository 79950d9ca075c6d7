//! A year of a daemon that is left alone, in little time: jobs with every ending, messages of platforms, merges and deaths.
//! Whatever was written is still found at its end, and what is left is counted: it has a bound.
//!
//! Days are short instead of clocks being moved: git, the kernel and the daemon agree about the time.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::platforms::hooks::EVE;
use crate::platforms::office::Office;
use crate::support::job::{agent, runner_of, signal};
use crate::support::lost::tokens::{EVERYWHERE, Tokens};
use rustix::process::Signal;
use serde_json::json;
use spinney_testkit::HttpClient;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions, Connection as _, Row};

/// How many jobs there are; `cargo xtask soak` says it.
const JOBS: &str = "SPINNEY_SOAK_JOBS";
const PAUSE: Duration = Duration::from_millis(20);
/// A machine that does much else takes its time.
const PATIENCE: Duration = Duration::from_secs(300);
/// Jobs that are open at once.
const OPEN: usize = 8;
const MOST_WORKSPACES: usize = 40;
/// How many days an ended job is kept, the longest time of all.
const LONGEST_DAYS: u32 = 90;
const TRASH_DAYS: u32 = 14;

struct Scale {
    jobs: usize,
    day: Duration,
    /// The daemon is killed each time so many jobs were asked for.
    deaths_every: usize,
}

impl Scale {
    #[expect(clippy::disallowed_methods, reason = "the variable is for tests")]
    fn wanted() -> Self {
        match std::env::var(JOBS) {
            Ok(jobs) => {
                Self { jobs: jobs.parse().expect("a number of jobs"), day: Duration::from_secs(1), deaths_every: 100 }
            }
            Err(_) => Self { jobs: 24, day: Duration::from_millis(40), deaths_every: 12 },
        }
    }

    fn days(&self, days: u32) -> String {
        format!("{}ms", (self.day * days).as_millis())
    }

    fn hours(&self, hours: u32) -> String {
        format!("{}ms", (self.day * hours / 24).as_millis().max(1))
    }

    /// The defaults, in days of this length.
    fn settings(&self) -> String {
        let keys = "max_attempts = 2\nworkspace.create_pr = true\n";
        format!(
            "[limits]\nmax_workspaces = {MOST_WORKSPACES}\nmax_workers = 3\n\
             {}{keys}{}timeout = \"3s\"\n{keys}\
             [workspace]\nfetch_max_age = \"{}\"\n\
             [cleanup]\ninterval = \"{}\"\nsession_interval = \"{}\"\nidle_after = \"{}\"\nstale_after = \"{}\"\n\
             abandoned_after = \"{}\"\ntrash_for = \"{}\"\nsession_retention = \"{}\"\njob_retention = \"{}\"\n",
            agent("worker"),
            agent("slow"),
            self.hours(1),
            self.days(1),
            self.days(1),
            self.hours(1),
            self.days(14),
            self.days(7),
            self.days(TRASH_DAYS),
            self.days(30),
            self.days(LONGEST_DAYS),
        )
    }
}

/// How a job goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Ending {
    Delivered,
    CommittedByItself,
    NothingToDo,
    Failed,
    Crashed,
    TimedOut,
    Cancelled,
    ProcessKilled,
    FromAnIssue,
    FromAnIssueThatIsClosed,
    FromAThread,
    NotAllowed,
}

const ENDINGS: [Ending; 12] = [
    Ending::Delivered,
    Ending::Failed,
    Ending::FromAnIssue,
    Ending::CommittedByItself,
    Ending::Cancelled,
    Ending::NothingToDo,
    Ending::FromAThread,
    Ending::Crashed,
    Ending::ProcessKilled,
    Ending::FromAnIssueThatIsClosed,
    Ending::TimedOut,
    Ending::NotAllowed,
];

struct Year<'a> {
    office: &'a Office,
    scale: Scale,
    token: String,
    repository: String,
    /// All that was ever written.
    written: Tokens,
    /// What agents are to write, each with the file that tells that they did.
    planned: Vec<(PathBuf, Vec<String>)>,
    asked: BTreeMap<Ending, usize>,
    /// Issues that are closed soon.
    to_close: Vec<u64>,
    /// Pull requests that are over.
    seen: BTreeSet<u64>,
    merged: usize,
    deaths: usize,
    /// The most that was there at once.
    most_live: usize,
    faults: Vec<String>,
}

impl Year<'_> {
    fn client(&self) -> HttpClient {
        self.office.client().with_token(&self.token)
    }

    /// A prompt's lines that leave something in a commit and something untracked behind.
    fn half_done(&mut self, number: usize) -> String {
        let (committed, left) = (self.written.make("committed"), self.written.make("untracked"));
        let lines =
            format!("write work/{number}.txt {committed}\ncommit half of {number}\nwrite left-{number}.txt {left}");
        self.noted(number, &lines, vec![committed, left])
    }

    fn done(&mut self, number: usize) -> String {
        let text = self.written.make("delivered");
        self.noted(number, &format!("write work/{number}.txt {text}"), vec![text])
    }

    /// Lines that end with a note, beside everything, that they were carried out.
    fn noted(&mut self, number: usize, lines: &str, texts: Vec<String>) -> String {
        let note = self.office.workshop.beside(&format!("wrote-{number}"));
        let lines = format!("{lines}\nwrite-outside {} it did", note.display());
        self.planned.push((note, texts));
        lines
    }

    /// All that was really written: a job may have been ended before its agent came to it.
    fn take_written(&mut self) -> Tokens {
        for (note, texts) in std::mem::take(&mut self.planned) {
            if !note.exists() {
                texts.iter().for_each(|text| self.written.forget(text));
            }
        }
        std::mem::take(&mut self.written)
    }

    /// Asks for a job by the API; gives its id.
    fn post(&mut self, number: usize, agent: &str, prompt: &str) -> String {
        let key = format!("soak {number}");
        let asked = json!({
            "repository": self.repository, "agent": agent, "prompt": prompt, "kind": "task", "key": key,
        });
        let reply = self.client().post("/api/v1/jobs", &asked);
        reply.expects(202).json()["id"].as_str().unwrap().to_owned()
    }

    fn ask(&mut self, number: usize) {
        let ending = ENDINGS[number % ENDINGS.len()];
        *self.asked.entry(ending).or_default() += 1;
        let office = self.office;
        match ending {
            Ending::Delivered => {
                let prompt = self.done(number);
                self.post(number, "worker", &prompt);
            }
            Ending::CommittedByItself => {
                let prompt = format!("{}\ncommit work {number}", self.done(number));
                self.post(number, "worker", &prompt);
            }
            Ending::NothingToDo => drop(self.post(number, "worker", "print There is nothing to do.")),
            Ending::Failed => {
                let prompt = format!("{}\nexit 3", self.half_done(number));
                self.post(number, "worker", &prompt);
            }
            Ending::Crashed => {
                let prompt = format!("{}\ncrash", self.half_done(number));
                self.post(number, "worker", &prompt);
            }
            Ending::TimedOut => {
                let prompt = format!("{}\nsleep 1000", self.half_done(number));
                self.post(number, "slow", &prompt);
            }
            Ending::Cancelled => {
                let name = format!("cancelled-{number}");
                let prompt = format!("{}\n{}", self.half_done(number), office.workshop.hold(&name));
                let id = self.post(number, "worker", &prompt);
                let pid = office.workshop.beside(&format!("{name}.pid"));
                self.live_until("an agent to hold", PATIENCE, |_| pid.exists());
                self.client().post(&format!("/api/v1/jobs/{id}/cancel"), &json!({})).expects(202);
            }
            Ending::ProcessKilled => {
                let name = format!("killed-{number}");
                let once = office.workshop.beside_text(&format!("{name}.once"));
                let (pid, never) = (office.workshop.beside_text(&format!("{name}.pid")), format!("{once}.never"));
                let prompt = format!("{}\npid {pid}\nonce {once} wait-for {never}", self.done(number));
                let id = self.post(number, "worker", &prompt);
                self.live_until("an agent to begin", PATIENCE, |_| Path::new(&once).exists());
                if let Some(runner) = runner_of(&id) {
                    signal(runner, Signal::KILL);
                }
            }
            Ending::FromAnIssue => {
                let script = self.done(number);
                office.ask(&format!("Problem {number}"), &script);
            }
            Ending::FromAnIssueThatIsClosed => {
                let script = self.done(number);
                self.to_close.push(office.ask(&format!("Problem {number}"), &script));
            }
            Ending::FromAThread => {
                let script = self.done(number);
                office.say(None, &format!("please\nscript:\n{script}"));
            }
            Ending::NotAllowed => {
                let issue = office.forge.add_issue("A stranger's", "It says no.");
                office.comment_by(EVE, issue, "@spinney please\nscript:\nwrite a.txt a");
            }
        }
    }

    fn count(&self, what: &str) -> usize {
        let listed = self.client().get(&format!("/api/v1/{what}")).expects(200).json();
        listed[what.split('?').next().unwrap()].as_array().unwrap().len()
    }

    fn open_jobs(&self) -> usize {
        self.count("jobs?status=pending&limit=200") + self.count("jobs?status=running&limit=200")
    }

    /// What people do on the forge: most pull requests are merged, by one button or the other, some are closed.
    fn look_at_pull_requests(&mut self) {
        let office = self.office;
        for pull in office.forge.pull_requests() {
            if pull.state != "open" || !self.seen.insert(pull.number) {
                continue;
            }
            let remote = office.workshop.story.remote();
            match pull.number % 4 {
                0 => {
                    office.forge.close(pull.number);
                    office.pull("closed", pull.number);
                }
                // The merge is told.
                1 | 2 => {
                    let commit = remote.squash_merge(&pull.head);
                    office.forge.merge(pull.number, &commit);
                    office.pull("closed", pull.number);
                    self.merged += 1;
                }
                // Nobody tells; the branch is gone, too.
                _ => {
                    let commit = remote.merge(&pull.head);
                    office.forge.merge(pull.number, &commit);
                    remote.git(&["update-ref", "-d", &format!("refs/heads/{}", pull.head)]);
                    self.merged += 1;
                }
            }
        }
        for issue in std::mem::take(&mut self.to_close) {
            match office.said_on(issue).iter().any(|said| said.contains("✓ Done") || said.contains('✗')) {
                true => drop(office.close(issue)),
                false => self.to_close.push(issue),
            }
        }
    }

    fn die(&mut self) {
        self.office.kill();
        self.office.open(&self.office.workshop.cli);
        self.deaths += 1;
    }

    /// Waits for something while life goes on.
    fn live_until(&mut self, what: &str, patience: Duration, is_so: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + patience;
        while !is_so(self) {
            if Instant::now() > deadline {
                let open = ["pending", "running"].map(|status| {
                    self.client().get(&format!("/api/v1/jobs?status={status}&limit=200")).expects(200).json()
                });
                self.faults.push(format!("in vain was waited for {what}; open jobs: {open:#?}"));
                return;
            }
            self.look_at_pull_requests();
            self.most_live = self.most_live.max(self.count("workspaces?limit=200"));
            thread::sleep(PAUSE);
        }
    }
}

#[test]
fn a_year_leaves_no_more_than_is_worth_keeping() {
    let scale = Scale::wanted();
    let office = &Office::closed("", &scale.settings());
    office.open(&office.workshop.cli);
    let cli = &office.workshop.cli;
    let made = cli.run(&["token", "create", "--json", "--name", "t", "--scope", "write"]).ok().json();
    let repositories = cli.run(&["repo", "ls", "--json"]).ok().json();
    let mut year = Year {
        office,
        token: made["token"].as_str().unwrap().to_owned(),
        repository: repositories["repositories"][0]["id"].as_str().unwrap().to_owned(),
        written: Tokens::default(),
        planned: Vec::new(),
        asked: BTreeMap::new(),
        to_close: Vec::new(),
        seen: BTreeSet::new(),
        merged: 0,
        deaths: 0,
        most_live: 0,
        faults: Vec::new(),
        scale,
    };
    // What a person works on, and comes back to a year later.
    let own = year.written.make("own");
    let person = cli.run(&["new", "--json", "--branch", "mine"]).ok().json();
    fs::write(Path::new(person["path"].as_str().unwrap()).join("own.txt"), &own).unwrap();

    let begun = Instant::now();
    for number in 0..year.scale.jobs {
        year.live_until("jobs to end", PATIENCE, |year| year.open_jobs() < OPEN);
        year.ask(number);
        if (number + 1) % year.scale.deaths_every == 0 {
            year.die();
        }
    }
    year.live_until("the last job to end", PATIENCE, |year| year.open_jobs() == 0);
    let busy = begun.elapsed();
    let after_all = PATIENCE + year.scale.day * (LONGEST_DAYS + 2);
    year.live_until("all jobs to be forgotten", after_all, |year| year.count("jobs?limit=1") == 0);
    let live = |year: &Year<'_>| year.count("workspaces?limit=200");
    year.live_until("what is done to go to the trash", PATIENCE, |year| live(year) == 1);
    // The trash is looked at each minute, and by a daemon that starts.
    thread::sleep(year.scale.day * TRASH_DAYS);
    year.die();
    year.live_until("the trash to be empty", PATIENCE, |year| year.count("trash?limit=1") == 0);

    let days = busy.as_secs_f64() / year.scale.day.as_secs_f64();
    println!("{} jobs in {days:.0} days ({busy:.1?}): {:?}", year.scale.jobs, year.asked);
    println!("{} merged, the daemon killed {} times, at most {} workspaces", year.merged, year.deaths, year.most_live);
    let faults = Left::of(&year).told(&year);
    year.faults.extend(faults);
    assert_eq!(year.faults, Vec::<String>::new());
    assert!(year.most_live <= MOST_WORKSPACES + 1, "{}", year.most_live);
    assert_eq!(office.live(), ["task-mine"]);
    let repository = &office.workshop.story.repository;
    repository.git(&["fetch", "--quiet", "origin"]);
    year.take_written().assert_readable(&office.workshop.story, &EVERYWHERE, "a year later");
}

/// The chores, each with its row.
const CHORES: usize = 6;
/// What a home with a daemon has beside its folders: the store in three files, ids, locks, the socket, what is known of git.
const FILES: usize = 20;
/// Kinds of operations on a workspace: the last of each that ended well is kept, since a restore reads it.
const KINDS: usize = 5;

/// How much there may be of something.
#[derive(Clone, Copy)]
enum Most {
    Fixed(usize),
    /// So many for each job that had a workspace of its own. **Today's truth**: archives are kept for ever, and with each the row
    /// and the rescue ref that bring it back, as `cleanup.archive_for = "0"` says; rows stay also where there is neither. Once the
    /// soak sets a time for archives, this is what was made within that time.
    OfArchives(usize),
    /// As many as jobs whose work nobody merged. **Today's truth**: also those whose merge was not known when the workspace
    /// went. Once a sweep deletes these, it is the pull requests that were closed, and jobs that ended badly.
    OfUnmerged,
    /// As many as messages and jobs of the last days, which in the small run are all of them.
    OfRetention,
}

impl Most {
    fn number(self, year: &Year<'_>) -> usize {
        let jobs = year.scale.jobs;
        match self {
            Self::Fixed(number) => number,
            // And the person's own.
            Self::OfArchives(each) => each * (jobs + 2),
            Self::OfUnmerged => jobs + 2,
            // What a job does is told by a few dozen events.
            Self::OfRetention => 100 * jobs + 100,
        }
    }
}

/// What may be left in the store, and why.
const TABLES: &[(&str, Most, &str)] = &[
    ("accounts", Most::Fixed(1), "who owns the home"),
    (
        "beginnings",
        Most::OfArchives(1),
        "where the first session of a workspace began: as long as the workspace is known",
    ),
    ("brought", Most::OfArchives(1), "what Spinney put into a workspace: as long as the workspace is known"),
    ("claims", Most::Fixed(0), "items of sources that a schedule took: there is no source"),
    ("clones", Most::Fixed(1), "the repository on this machine"),
    ("conversations", Most::OfArchives(1), "threads that have a workspace which can be brought back, or a repository"),
    ("cursors", Most::Fixed(4), "how far each reader of events came"),
    ("deliveries", Most::OfRetention, "messages of the last 30 days, so that what comes twice counts once"),
    ("events", Most::OfRetention, "the audit log of the last 90 days"),
    ("idempotency_keys", Most::OfRetention, "answers of the last day, for who asks twice"),
    ("jobs", Most::Fixed(0), "those that ended in the last 90 days"),
    ("long_operations", Most::OfRetention, "long answers of the last day"),
    ("nodes", Most::Fixed(1), "this machine"),
    ("operations", Most::OfArchives(KINDS), "of each workspace that is known, the last of each kind that ended well"),
    ("ports", Most::Fixed(0), "ports of live workspaces: none asked for one"),
    ("repositories", Most::Fixed(1), "the repository"),
    ("schedules", Most::Fixed(CHORES), "the daemon's chores"),
    ("schema_migrations", Most::Fixed(100), "the steps of the schema"),
    ("sessions", Most::Fixed(0), "those of jobs of the last 90 days"),
    ("tokens", Most::Fixed(2), "who may ask: the one of this run"),
    ("trusts", Most::Fixed(1), "what was shown to a person"),
    ("workspaces", Most::OfArchives(1), "the live one, and each that was purged"),
    ("works", Most::OfArchives(1), "what live workspaces are for"),
];

/// What may be left in the home, and why.
const FOLDERS: &[(&str, Most, &str)] = &[
    ("archives", Most::OfArchives(1), "what only a purged tree held: kept until somebody erases it"),
    ("jobs", Most::Fixed(2), "the bell"),
    ("links", Most::Fixed(4), "the readable path of the live workspace"),
    ("logs", Most::Fixed(0), "logs of jobs of the last 90 days"),
    ("operations", Most::Fixed(2), "locks of what is under way"),
    ("pools", Most::Fixed(6), "who fills, who copies"),
    ("settings", Most::Fixed(1), "what of the repository's git configuration was accepted"),
    ("trash", Most::Fixed(1), "removed trees of the last 14 days"),
    ("trees", Most::Fixed(40), "the live workspace's files"),
    ("(files)", Most::Fixed(FILES), "the store, ids, locks, the socket"),
];

/// What may be left of our refs, and why.
const REFS: &[(&str, Most, &str)] = &[
    ("spinney/rescue", Most::OfArchives(1), "objects of workspaces that can be brought back"),
    ("spinney/fetched", Most::OfUnmerged, "what the remote had when it was asked"),
];

/// What a home and its repository hold.
struct Left {
    /// Of each table.
    rows: BTreeMap<String, usize>,
    /// Files and bytes in each folder of the home.
    folders: BTreeMap<String, (usize, u64)>,
    local: usize,
    remote: usize,
    /// Refs of ours, by the two words behind `refs/`.
    refs: BTreeMap<String, usize>,
    /// Of the repository's git dir: our own folder, and all of it.
    git: (usize, u64),
    git_bytes: u64,
}

impl Left {
    fn of(year: &Year<'_>) -> Self {
        let story = &year.office.workshop.story;
        let home = story.sandbox().spinney_home();
        let mut folders = BTreeMap::from([("(files)".to_owned(), (0, 0))]);
        for entry in fs::read_dir(&home).unwrap().map(Result::unwrap) {
            let size = size_of(&entry.path());
            if entry.file_type().unwrap().is_dir() {
                folders.insert(entry.file_name().into_string().unwrap(), size);
            } else {
                let files = folders.get_mut("(files)").unwrap();
                *files = (files.0 + size.0, files.1 + size.1);
            }
        }
        let count = |git: String| git.lines().count();
        let mut refs = BTreeMap::new();
        let all = story.repository.git(&["for-each-ref", "--format=%(refname)"]);
        for name in all.lines().filter_map(|name| name.strip_prefix("refs/")) {
            let words: Vec<&str> = name.split('/').take(2).collect();
            if !["heads", "remotes", "tags"].contains(&words[0]) {
                *refs.entry(words.join("/")).or_default() += 1;
            }
        }
        let git_dir = story.repository.path().join(".git");
        Self {
            rows: rows(&home.join("spinney.db")),
            folders,
            local: count(story.repository.git(&["for-each-ref", "refs/heads"])),
            remote: count(story.remote().git(&["for-each-ref", "refs/heads"])),
            refs,
            git: size_of(&git_dir.join("spinney")),
            git_bytes: size_of(&git_dir).1,
        }
    }

    /// Prints what is left, each with its bound and the reason why it is there; gives what is over its bound, or unexplained.
    fn told(&self, year: &Year<'_>) -> Vec<String> {
        let mut faults = Vec::new();
        let mut tell = |what: String, count: usize, bytes: Option<u64>, known: Option<(Most, &str)>| {
            let (most, why) = known.map_or((0, "nobody explains it"), |(most, why)| (most.number(year), why));
            let size = bytes.map_or(String::new(), |bytes| format!("{bytes} B"));
            println!("{what:34} {count:6} of {most:6} {size:>12}  {why}");
            if count > most {
                faults.push(format!("{what}: {count}, at most {most}: {why}"));
            }
        };
        let known = |list: &'static [(&str, Most, &'static str)], name: &str| {
            list.iter().find(|(known, ..)| *known == name).map(|(_, most, why)| (*most, *why))
        };
        for (table, count) in &self.rows {
            tell(format!("rows of {table}"), *count, None, known(TABLES, table));
        }
        for (folder, (files, bytes)) in &self.folders {
            tell(format!("files in {folder}"), *files, Some(*bytes), known(FOLDERS, folder));
        }
        for (name, count) in &self.refs {
            tell(format!("refs/{name}"), *count, None, known(REFS, name));
        }
        let unmerged = |why| Some((Most::OfUnmerged, why));
        tell("local branches".to_owned(), self.local, None, unmerged("main, the live one, and unmerged work"));
        tell(
            "branches of the remote".to_owned(),
            self.remote,
            None,
            unmerged("the forge's: of pull requests that nobody merged"),
        );
        let state =
            Some((Most::Fixed(20), "the clone's id, lock and what was fetched when; git dirs of what is in the trash"));
        tell("files in .git/spinney".to_owned(), self.git.0, Some(self.git.1), state);
        println!("{:34} {:>29} B  commits of everybody, and what rescue refs keep", "bytes in .git", self.git_bytes);
        faults
    }
}

/// Files and bytes at a path, and below it.
fn size_of(path: &Path) -> (usize, u64) {
    let Ok(metadata) = fs::symlink_metadata(path) else { return (0, 0) };
    if !metadata.is_dir() {
        return (1, metadata.len());
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| size_of(&entry.path())).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}

/// How many rows each table of the store has.
fn rows(store: &Path) -> BTreeMap<String, usize> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut store = SqliteConnectOptions::new().filename(store).read_only(true).connect().await.unwrap();
        let tables = sqlx::query("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'");
        let mut rows = BTreeMap::new();
        for table in tables.fetch_all(&mut store).await.unwrap() {
            let table: String = table.get(0);
            let count = sqlx::query(AssertSqlSafe(format!("SELECT COUNT(*) FROM {table}")));
            let count: i64 = count.fetch_one(&mut store).await.unwrap().get(0);
            rows.insert(table, usize::try_from(count).unwrap());
        }
        store.close().await.unwrap();
        rows
    })
}
