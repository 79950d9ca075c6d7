//! Jobs as a person or a program meets them: run, followed, detached, cancelled, tried again, listed and read.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::support::common::refused;
use crate::support::job::terminal::Terminal;
use crate::support::job::{LONG, Workshop, group_and_session, is_alive, runner_of, signal, signal_group};
use rustix::process::Signal;
use serde_json::Value;
use spinney_testkit::wait_until;
use unicode_width::UnicodeWidthStr;

/// Less than an agent that was asked to end has before it is made to.
const AT_ONCE: Duration = Duration::from_secs(8);

fn texts(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
}

/// `spinney run --detach` as a person has it: what it prints, of the only agent there is.
#[track_caller]
fn detach(workshop: &Workshop, arguments: &[&str]) -> String {
    workshop.cli.run(&[&["run", "--detach"], arguments].concat()).ok().stdout.trim_end().to_owned()
}

#[test]
fn in_a_pipe_the_branch_is_the_answer_and_the_rest_is_talk() {
    let workshop = Workshop::new("");
    let prompt = "write new.txt hello\ncommit one\nerror some noise\nprint Adds a file.";
    let ran = workshop.cli.run(&["run", "--agent", "coder", "--issue", "42", prompt]).ok();
    assert_eq!(ran.stdout, "agent/coder/issue-42\n");
    let lines = [
        "coder on issue-42\n",
        "set up\nissue-42 created on `agent/coder/issue-42` from main ",
        "session: command\n",
        "some noise\n",
        "\nAdds a file.\n",
        "✓ coder  0m0",
        "s  1 commit, 1 file, +1 −0, pushed\n  Adds a file.\n",
    ];
    for line in lines {
        assert!(ran.stderr.contains(line), "{line:?}\n{}", ran.told());
    }
    assert!(!ran.stderr.contains('\u{1b}') && !ran.stderr.contains("completed"), "{}", ran.told());
    assert!(!workshop.story.remote().tip("agent/coder/issue-42").is_empty());
    let quiet = workshop.cli.run(&["run", "--quiet", "--issue", "42", "write more.txt x\nprint y"]).ok();
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("agent/coder/issue-42\n", ""));
}

#[test]
fn a_job_is_one_document() {
    let workshop = Workshop::new("");
    let ran = workshop
        .cli
        .run(&["run", "--json", "--issue", "42", "--title", "Login", "write a.txt x\nprint \u{1b}[31mred"])
        .ok();
    assert_eq!(ran.stderr, "");
    let job = ran.json();
    let keys = |value: &Value| -> BTreeSet<String> { value.as_object().unwrap().keys().cloned().collect() };
    let words = |text: &str| -> BTreeSet<String> { text.split_whitespace().map(str::to_owned).collect() };
    let expected =
        "id repository agent kind key title prompt trigger status waits_for cancel attempt workspace workspace_id
        path branch base_commit commit commits files insertions deletions pushed push pull_request sessions escaped
        left_out shared dropped held denied
        summary error duration_ms usage log created_at started_at ended_at";
    assert_eq!(keys(&job), words(expected));
    let expected = "id runtime conversation resumed status usage context_tokens context_window started_at ended_at";
    assert_eq!(keys(&job["sessions"][0]), words(expected));
    let told = ["status", "agent", "kind", "key", "title", "workspace", "branch", "push", "trigger"];
    let told: Vec<_> = told.iter().map(|key| job[key].as_str().unwrap()).collect();
    let expected = ["completed", "coder", "issue", "42", "Login", "issue-42", "agent/coder/issue-42", "pushed", "cli"];
    assert_eq!(told, expected);
    assert_eq!(
        (&job["pushed"], &job["commits"], &job["files"], &job["attempt"]),
        (&true.into(), &1.into(), &1.into(), &1.into())
    );
    assert!(job["duration_ms"].as_u64().unwrap() > 0);
    assert_eq!(job["commit"].as_str().unwrap(), workshop.story.remote().tip("agent/coder/issue-42"));
    assert_eq!(workshop.story.show("issue-42").path().to_str(), job["path"].as_str());
    assert!(std::path::Path::new(job["log"].as_str().unwrap()).is_file());
    assert_eq!(workshop.job(job["id"].as_str().unwrap()).0, job, "`jobs` tells the same");
}

#[test]
fn the_exit_status_tells_how_it_ended() {
    let workshop = Workshop::new("timeout = \"1s\"\n");
    let failed = workshop.cli.run(&["run", "--task", "break", "write a.txt x\nprint going\nexit 3"]).exits(1);
    assert_eq!(failed.stdout, "");
    for text in [
        "✗ coder",
        "failed: exit status 3",
        "its work is in task-break\n",
        "again: spinney retry ",
        "look: cd \"$(spinney path --link task-break)\"",
    ] {
        assert!(failed.stderr.contains(text), "{text}\n{}", failed.told());
    }
    let ran = workshop.cli.run(&["run", "--json", "--task", "take long", "sleep 60"]).exits(6);
    assert_eq!((ran.json()["status"].as_str(), ran.stderr.as_str()), (Some("timed_out"), ""));
}

#[test]
fn a_terminal_shows_a_block_that_goes_and_what_came_of_it_stays() {
    let workshop = Workshop::new("");
    let prompt =
        format!("print looking\n{}\nwrite a.txt x\nprint \u{1b}[2J\u{1b}]0;owned\u{7}done", workshop.hold("one"));
    let terminal = Terminal::open(&workshop, &["run", "--issue", "7", &prompt]);
    workshop.wait_for_agent("one");
    workshop.let_go("one");
    let (status, screen) = terminal.wait();
    assert_eq!(status, 0, "{screen}");
    assert!(screen.contains("issue-7 created on `agent/coder/issue-7` from main "), "{screen:?}");
    assert!(["⠁", "⠉", "⠙"].iter().any(|spinner| screen.contains(&format!("{spinner} coder  0m0"))), "{screen:?}");
    assert!(screen.contains("s  1 commit, 1 file, +1 −0, pushed\r\n  agent/coder/issue-7\r\n  done\r\n"), "{screen:?}");
    assert!(!screen.contains("\u{1b}]0;owned") && !screen.contains("\u{1b}[2J"), "{screen:?}");
}

#[test]
fn wide_characters_do_not_overflow_the_terminal() {
    let workshop = Workshop::new("");
    let wide = "日本語".repeat(16);
    for (name, many) in [("one", &[][..]), ("many", &["--count", "1"])] {
        let prompt = format!("print {wide}\n{}", workshop.hold(name));
        let terminal = Terminal::open(&workshop, &[&["run", "--task", name], many, &["--", &prompt]].concat());
        terminal.shows("日本語");
        workshop.let_go(name);
        let (status, screen) = terminal.wait();
        assert_eq!(status, 0, "{screen}");
        let rows = screen.split(['\r', '\n']).map(|row| anstream::adapter::strip_str(row).to_string());
        let rows: Vec<_> = rows.filter(|row| row.contains("  0m0") && row.contains("  日本語")).collect();
        assert!(!rows.is_empty() && rows.iter().all(|row| row.width() <= 80), "{rows:#?}");
    }
}

#[test]
fn ctrl_c_at_the_terminal_cancels_and_the_agent_is_asked() {
    let workshop = Workshop::new("");
    let prompt = format!("write a.txt x\n{}", workshop.hold("one"));
    let mut terminal = Terminal::open(&workshop, &["run", "--issue", "7", &prompt]);
    let agent = workshop.wait_for_agent("one");
    terminal.types("\u{3}");
    let (status, screen) = terminal.wait();
    assert_eq!(status, 6, "{screen}");
    assert!(screen.contains("cancelling… Ctrl-C again ends it at once"), "{screen:?}");
    assert!(screen.contains("coder  0m0") && screen.contains("  cancelled\r\n"), "{screen:?}");
    assert!(screen.contains("its work is in issue-7"), "{screen:?}");
    assert!(!is_alive(agent));
    assert!(workshop.story.show("issue-7").path().join("a.txt").is_file());
}

#[test]
fn an_interrupt_reaches_the_agent_by_the_job_alone() {
    let workshop = Workshop::new("");
    let prompt = format!("ignore-term\n{}", workshop.hold("one"));
    let running = workshop.spawn_in_group(&["run", "--json", "--issue", "7", &prompt]);
    let agent = workshop.wait_for_agent("one");
    let (group, session) = group_and_session(agent);
    assert!(group != running.id() && session != running.id(), "the agent is in the terminal's own group");
    signal_group(running.id(), Signal::INT);
    let id = workshop.cli.run(&["jobs", "--json"]).ok().json()["jobs"][0]["id"].as_str().unwrap().to_owned();
    wait_until(|| workshop.job(&id).0["cancel"] == "asked", LONG);
    assert!(is_alive(agent), "it is deaf to being asked");
    let began = Instant::now();
    signal_group(running.id(), Signal::INT);
    let ran = running.wait().exits(6);
    assert!(began.elapsed() < AT_ONCE, "{:?}", began.elapsed());
    assert_eq!(ran.json()["status"], "cancelled", "{}", ran.told());
    assert!(!is_alive(agent));
}

#[test]
fn who_started_a_job_can_go_and_it_goes_on() {
    let workshop = Workshop::new("");
    let start = |name: &str| {
        let prompt = format!("{}\nwrite a.txt x\nprint done", workshop.hold(name));
        let running = workshop.spawn_in_group(&["run", "--task", name, &prompt]);
        workshop.wait_for_agent(name);
        running
    };
    let killed = start("one");
    killed.kill();
    let told = start("two");
    signal(told.id(), Signal::TERM);
    let told = told.wait().exits(143);
    let hung_up = start("three");
    signal(hung_up.id(), Signal::HUP);
    hung_up.wait().exits(129);
    let listed = workshop.cli.run(&["jobs", "--status", "running", "--json"]).ok().json();
    let ids: Vec<_> = listed["jobs"].as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 3, "{listed}");
    assert!(
        told.stderr.contains(&format!("job {} goes on; `spinney logs {} -f` follows it", ids[1], ids[1])),
        "{}",
        told.told()
    );
    ["one", "two", "three"].iter().for_each(|name| workshop.let_go(name));
    for id in &ids {
        workshop.wait_for(id, "completed");
    }
}

#[test]
fn a_detached_job_is_seen_followed_and_read() {
    let workshop = Workshop::new("");
    let prompt = format!("print I look around.\n{}\nwrite a.txt x\nprint \u{1b}[31mdone\u{7}", workshop.hold("one"));
    let id = detach(&workshop, &["--issue", "42", &prompt]);
    workshop.wait_for_agent("one");
    wait_until(|| workshop.cli.run(&["jobs"]).ok().stdout.contains("I look around."), LONG);
    let listed = workshop.cli.run(&["jobs"]).ok();
    assert!(listed.stderr.contains("1 job, 1 running, 0 waiting"), "{}", listed.told());
    let row = listed.stdout.lines().nth(1).unwrap();
    assert!(row.starts_with(&format!("{id}  coder  issue-42  running  0m")), "{}", listed.told());
    let listed = workshop.cli.run(&["ls"]).ok();
    let row: Vec<_> = listed.stdout.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!((row[0], row[2], row[4]), ("issue-42", "running", "coder"), "{}", listed.told());
    assert!(listed.stderr.contains(", 1 running"), "{}", listed.told());
    assert_eq!(workshop.cli.run(&["ls", "--json"]).ok().json()["workspaces"][0]["job"], id.as_str());
    assert_eq!(workshop.story.show("issue-42").0["jobs"][0]["id"], id.as_str());

    let refusal = workshop.cli.run(&["rm", "issue-42", "--force"]).exits(5);
    assert!(refusal.stderr.contains(&format!("spinney cancel {id}\n")), "{}", refusal.told());
    assert!(!refusal.stderr.contains("--allow"), "{}", refusal.told());

    let mut readable = workshop.cli.spawn(&["logs", &id[..6], "-f"]);
    let raw = workshop.cli.spawn(&["logs", "issue-42", "--follow", "--json"]);
    let so_far = workshop.cli.run(&["logs", &id]).ok();
    assert!(so_far.stdout.contains("I look around.") && !so_far.stdout.contains("done"), "{}", so_far.told());
    assert!(readable.is_running());
    workshop.let_go("one");
    let readable = readable.wait().ok();
    let log: Vec<_> =
        readable.stdout.lines().map(|line| line.trim_start().split_once("  ").unwrap_or_default().1).collect();
    assert_eq!(log.first(), Some(&"set up"), "{}", readable.told());
    assert_eq!(log.last(), Some(&"completed"), "{}", readable.told());
    assert!(log.contains(&"I look around.") && log.contains(&"done"), "{}", readable.told());
    assert!(readable.stdout.chars().all(|c| c == '\n' || !c.is_control()), "{}", readable.told());
    let raw = raw.wait().ok();
    let on_disk = std::fs::read_to_string(workshop.job(&id).0["log"].as_str().unwrap()).unwrap();
    assert_eq!(raw.stdout, on_disk);
    assert!(on_disk.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    assert_eq!(workshop.cli.run(&["jobs"]).ok().stdout.lines().nth(1).unwrap().split_whitespace().last(), Some("done"));
}

#[test]
fn one_piece_of_work_has_one_job_at_a_time() {
    let workshop = Workshop::new("");
    let first = detach(&workshop, &["--issue", "42", &format!("{}\nwrite a.txt x", workshop.hold("one"))]);
    workshop.wait_for_agent("one");
    let refusal = refused(&workshop.cli, 5, &["run", "--issue", "42", "print too"]);
    refusal.says(&["issue-42", &first, "coder"]).hints(&["--wait", &format!("spinney logs {first} -f")]);
    let second = workshop.cli.spawn(&["run", "--issue", "42", "--wait", "print second"]);
    let waits =
        || workshop.cli.run(&["jobs"]).ok().stdout.contains(&format!("for job {first} of `coder`, which has issue-42"));
    wait_until(waits, LONG);
    workshop.let_go("one");
    let second = second.wait().ok();
    assert!(
        second.stderr.contains(&format!("waits for job {first} of `coder`, which has issue-42\n")),
        "{}",
        second.told()
    );
    assert_eq!(workshop.job(&first).0["status"], "completed");
}

#[test]
fn cancel_waits_for_the_end_and_retry_goes_on() {
    let workshop = Workshop::new("");
    let once = workshop.beside("once");
    let prompt = format!(
        "write a.txt x\nonce {} {}\nwait-for {}",
        once.display(),
        "print first",
        workshop.beside("one.go").display()
    );
    let id = detach(&workshop, &["--task", "slow", &format!("{prompt}\n{}", workshop.hold("never"))]);
    wait_until(|| once.exists(), LONG);
    let cancelled = workshop.cli.run(&["cancel", &id]).ok();
    assert!(
        cancelled.stderr.contains(&format!("job {id} (coder on task-slow) is cancelled after 0m")),
        "{}",
        cancelled.told()
    );
    assert!(runner_of(&id).is_none());
    refused(&workshop.cli, 3, &["cancel", &id]).says(&["is cancelled"]).hints(&[&format!("spinney retry {id}")]);
    workshop.let_go("one");
    workshop.let_go("never");
    let retried = workshop.cli.run(&["retry", "task-slow"]).ok();
    assert_eq!(retried.stdout, "agent/coder/task-slow\n");
    assert!(!retried.stderr.contains("\nfirst\n"), "what was told before is not told again: {}", retried.told());
    assert_eq!(workshop.job(&id).0["attempt"], 2);

    let deaf = format!("ignore-term\n{}", workshop.hold("deaf"));
    let deaf = detach(&workshop, &["--task", "deaf", &deaf]);
    let agent = workshop.wait_for_agent("deaf");
    refused(&workshop.cli, 5, &["retry", &deaf]).says(&["is running"]);
    let began = Instant::now();
    let two = workshop.cli.run(&["cancel", "--json", "--now", &deaf, "nothing"]).exits(4).json();
    assert!(began.elapsed() < AT_ONCE && !is_alive(agent));
    assert_eq!((&two["jobs"][0]["status"], &two["failed"][0]["name"]), (&"cancelled".into(), &"nothing".into()));
}

#[test]
fn a_job_whose_process_died_is_settled_by_the_next_command() {
    let workshop = Workshop::new("");
    let prompt = format!("write a.txt x\n{}", workshop.hold("one"));
    let running = workshop.spawn_in_group(&["run", "--issue", "42", &prompt]);
    let agent = workshop.wait_for_agent("one");
    let id = workshop.cli.run(&["jobs", "--json"]).ok().json()["jobs"][0]["id"].as_str().unwrap().to_owned();
    let follower = workshop.cli.spawn(&["logs", &id, "-f"]);
    signal(runner_of(&id).unwrap(), Signal::KILL);
    let ran = running.wait().exits(6);
    assert!(ran.stderr.contains("interrupted: its process died"), "{}", ran.told());
    assert!(ran.stderr.contains(&format!("again: spinney retry {id}")), "{}", ran.told());
    follower.wait().ok();
    assert!(!is_alive(agent));

    let other = detach(&workshop, &["--issue", "7", &workshop.hold("two")]);
    workshop.wait_for_agent("two");
    signal(runner_of(&other).unwrap(), Signal::KILL);
    wait_until(|| runner_of(&other).is_none(), LONG);
    let listed = workshop.cli.run(&["ls", "--json"]).ok();
    let said =
        format!("job {other} (coder on issue-7) was interrupted: its process died; `spinney retry {other}` goes on\n");
    assert_eq!(listed.stderr, said, "{}", listed.told());
    assert_eq!(listed.json()["workspaces"].as_array().unwrap().len(), 2);
    assert_eq!(workshop.cli.run(&["ls"]).ok().stderr.lines().count(), 1, "it is said once");
}

#[test]
fn every_line_of_a_file_is_a_job_of_its_own() {
    let workshop = Workshop::new("");
    let prompts = "# what is to do\nwrite a.txt x\n\n  print nothing to do\nwrite a.txt x\nexit 3\n";
    let ran = workshop.run_with_input(&["run", "--each", "-"], prompts.as_bytes()).exits(1);
    let rows: Vec<Vec<_>> = ran
        .stdout
        .lines()
        .map(|row| row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect())
        .collect();
    let rows: Vec<_> = rows.iter().map(|row| (row[0], row[1], row[2], row[4])).collect();
    let expected = [
        ("1", "✓", "task-write-a-txt-x", "1 commit, 1 file, +1 −0, pushed"),
        ("2", "✓", "task-print-nothing-to-do", "nothing changed, nothing pushed"),
        ("3", "✓", "task-write-a-txt-x-2", "1 commit, 1 file, +1 −0, pushed"),
        ("4", "✗", "task-exit-3", "failed: exit status 3"),
    ];
    assert_eq!(rows, expected, "{}", ran.told());
    assert!(ran.stderr.contains("task-exit-3: session: command\n"), "{}", ran.told());
    assert!(ran.stderr.contains("task-exit-3:\n  again: spinney retry "), "it did nothing: {}", ran.told());
    refused(&workshop.cli, 2, &["run", "--each", "nowhere.txt"]).says(&["nowhere.txt"]);
    refused(&workshop.cli, 2, &["run", "--each", "-"]).says(&["there is no prompt"]);
    refused(&workshop.cli, 2, &["run", "--each", "-", "--issue", "4"]);
}

#[test]
fn several_tries_have_a_workspace_each() {
    let workshop = Workshop::new("");
    let ran = workshop.cli.run(&["run", "--json", "--issue", "42", "--count", "3", "write a.txt x"]).ok().json();
    let list = ran["jobs"].as_array().unwrap();
    let workspaces: Vec<_> = list.iter().map(|job| job["workspace"].as_str().unwrap()).collect();
    assert_eq!(workspaces, ["task-issue-42-1", "task-issue-42-2", "task-issue-42-3"]);
    assert_eq!(list[2]["title"], "issue-42 (try 3 of 3)");
    assert!(list.iter().all(|job| job["pushed"] == true && job["status"] == "completed"), "{ran}");
    let ids = detach(&workshop, &["--count", "2", "print hello"]);
    let ids: Vec<_> = ids.lines().collect();
    assert_eq!(ids.len(), 2);
    for id in &ids {
        workshop.wait_for(id, "completed");
    }
    ids.iter().for_each(|id| assert_eq!(workshop.job(id).0["key"], **id));
    refused(&workshop.cli, 2, &["run", "--pr", "9", "--count", "2", "x"]).says(&["pr-9 has one branch"]);
    refused(&workshop.cli, 2, &["run", "--count", "0", "x"]);

    // One that can't be started does not stop the others, and is told.
    let held = detach(&workshop, &["--task", "b 2", &workshop.hold("one")]);
    workshop.wait_for_agent("one");
    let ran = workshop.cli.run(&["run", "--json", "--task", "b", "--count", "3", "print x"]).exits(1).json();
    assert_eq!(ran["jobs"].as_array().unwrap().len(), 2);
    assert_eq!((&ran["failed"][0]["name"], &ran["failed"][0]["error"]["kind"]), (&"task-b-2".into(), &"held".into()));
    workshop.let_go("one");
    workshop.wait_for(&held, "completed");
}

#[test]
fn a_prompt_comes_from_wherever_it_is() {
    let workshop = Workshop::new("");
    assert_eq!(
        workshop.run_with_input(&["run", "--json", "-"], b"print from\nprint stdin\n").ok().json()["summary"],
        "stdin"
    );
    assert_eq!(workshop.cli.run(&["run", "--json", "--task", "print the task"]).ok().json()["summary"], "the task");
    for bad in [vec!["run"], vec!["run", ""], vec!["run", " \n"], vec!["run", "--issue", "4"], vec!["run", "-"]] {
        refused(&workshop.cli, 2, &bad).says(&["the prompt is empty"]).hints(&["spinney run --issue 42"]);
    }
    for bad in [&b"a\0b"[..], b"\xff\xfe", &[b'x'; (1 << 20) + 1]] {
        let ran = workshop.run_with_input(&["run", "--json", "-"], bad).exits(2);
        assert_eq!(ran.error_json()["error"]["kind"], "usage", "{}", ran.told());
    }
    assert_eq!(workshop.cli.run(&["jobs", "--all", "--json"]).ok().json()["jobs"].as_array().unwrap().len(), 2);
}

#[test]
fn what_is_not_there_is_named() {
    let workshop = Workshop::new("");
    refused(&workshop.cli, 4, &["run", "--agent", "writer", "x"]).says(&["`writer`", "configured: `coder`"]);
    refused(&workshop.cli, 2, &["run", "--agent", "No Such", "x"]);
    for command in ["logs", "cancel", "retry"] {
        refused(&workshop.cli, 4, &[command, "nothing"]).says(&["no job is called `nothing`"]).hints(&["spinney jobs"]);
    }
    workshop.story.make(&["--issue", "9"]);
    refused(&workshop.cli, 4, &["logs", "issue-9"]).says(&["issue-9 has had no job yet"]);
    let none = workshop.cli.run(&["jobs"]).ok();
    assert!(none.stdout.is_empty() && none.stderr.contains("spinney run"), "{}", none.told());
    assert_eq!(texts(&workshop.cli.run(&["jobs", "--json"]).ok().json()["jobs"]), Vec::<&str>::new());
    workshop.story.sandbox().write_config("[agents.a]\nruntime = \"command\"\n[agents.b]\nruntime = \"command\"\n");
    refused(&workshop.cli, 2, &["run", "x"]).says(&["no agent is named", "`a`, `b`"]).hints(&["--agent"]);
    // Outside of any repository, too.
    for cli in [&workshop.cli, &workshop.cli.in_directory(workshop.story.sandbox().path())] {
        refused(cli, 2, &["config", "validate"]).says(&["agent `a`", "needs a program"]);
    }
    workshop.story.sandbox().write_config("");
    refused(&workshop.cli, 2, &["run", "x"]).says(&["none is configured"]).hints(&["[agents.coder]"]);
}
