//! The scripted agent does what it is told.

#![expect(clippy::disallowed_methods, reason = "the agent is started as a runtime would")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use spinney_testkit::{Sandbox, TestRepository, scripted_agent, wait_until};

const LONG: Duration = Duration::from_secs(30);

/// Starts the agent in a process group of its own, with this prompt.
fn start(repository: &TestRepository, prompt: &str) -> Child {
    let mut command = repository.sandbox().command(scripted_agent());
    command.args(["one", "two"]).current_dir(repository.path()).process_group(0);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(prompt.as_bytes()).unwrap();
    child
}

fn run(repository: &TestRepository, prompt: &str) -> Output {
    start(repository, prompt).wait_with_output().unwrap()
}

fn repository() -> TestRepository {
    Sandbox::new().repository("app")
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap().trim().to_owned()
}

fn signal(process: &str, name: &str) {
    assert!(Command::new("kill").args([name, "--", process]).status().unwrap().success());
}

fn is_alive(process: &str) -> bool {
    Path::new("/proc").join(process).exists()
}

#[test]
fn files_commits_branches_and_words() {
    let repository = repository();
    let output = run(
        &repository,
        "# a comment\n\nwrite new/a.txt one  two\nappend new/a.txt $three\ncommit it's done\nrename-branch other\n\
         print  it's \"said\" $HOME\nerror loud\narguments\nenv LANG\ngit log -1 '--format=%s'",
    );
    assert!(output.status.success(), "{output:?}");
    assert_eq!(told(&output), " it's \"said\" $HOME\none two\nC.UTF-8\nit's done\n");
    assert_eq!(output.stderr, b"loud\n");
    assert_eq!(repository.git(&["show", "other:new/a.txt"]), "one  two\n$three");
    assert!(run(&repository, "detach-head\ntouch x\ndump-env env.txt").status.success());
    assert_ne!(repository.try_git(&["symbolic-ref", "HEAD"]).status, 0);
    assert!(read(&repository.path().join("env.txt")).contains("LANG=C.UTF-8"));
}

#[test]
fn it_ends_as_told() {
    let repository = repository();
    assert_eq!(run(&repository, "exit 3\nprint never").status.code(), Some(3));
    assert_eq!(run(&repository, "crash").status.signal(), Some(9));
    let unknown = run(&repository, "print a\ndance wildly\nprint b");
    assert_eq!((unknown.status.code(), told(&unknown).as_str()), (Some(64), "a\n"));
    assert!(String::from_utf8_lossy(&unknown.stderr).contains("no instruction `dance`"));
    let failed = run(&repository, "git no-such-command\nprint never");
    assert_eq!((failed.status.code(), told(&failed).as_str()), (Some(1), ""));
    let once = "once marker exit 7\nprint again";
    assert_eq!(run(&repository, once).status.code(), Some(7));
    assert_eq!(told(&run(&repository, once)), "again\n");
}

#[test]
fn much_comes_out() {
    let repository = repository();
    let output = run(&repository, "flood 5000000\nlong-line 3000000\nprint end");
    assert_eq!(output.stdout.len(), 5_000_000 + 3_000_001 + 4);
    let longest = BufReader::new(&output.stdout[5_000_000..]).split(b'\n').next().unwrap().unwrap();
    assert_eq!(longest.len(), 3_000_000);
}

#[test]
fn it_may_delete_its_own_directory() {
    let repository = repository();
    let output = run(&repository, "delete-own-directory\nprint gone");
    assert_eq!(told(&output), "gone\n");
    assert!(!repository.path().exists());
}

#[test]
fn it_can_be_deaf_to_sigterm() {
    let repository = repository();
    let (ready, deaf) = (repository.path().join("ready"), repository.path().join("deaf"));
    let mut child = start(&repository, "pid ready\nsleep 100");
    wait_until(|| ready.exists(), LONG);
    signal(&format!("-{}", child.id()), "-TERM");
    assert_eq!(child.wait().unwrap().signal(), Some(15));
    let mut child = start(&repository, "ignore-term\ntouch deaf\nwait-for go\nexit 5");
    wait_until(|| deaf.exists(), LONG);
    signal(&format!("-{}", child.id()), "-TERM");
    fs::write(repository.path().join("go"), "").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

#[test]
fn a_child_stays_in_the_group_and_a_daemon_does_not() {
    let repository = repository();
    let mut agent = start(&repository, "pid pid\nchild child\ndaemon daemon");
    let mut output = agent.stdout.take().unwrap();
    assert!(agent.wait().unwrap().success());
    let id = |name: &str| read(&repository.path().join(name));
    let group = |process: &str| {
        let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
        status.rsplit(") ").next().unwrap().split(' ').nth(2).unwrap().to_owned()
    };
    assert_eq!(id("pid"), agent.id().to_string());
    assert_eq!(group(&id("child")), id("pid"));
    assert_eq!(group(&id("daemon")), id("daemon"), "it leads its own");
    signal(&id("child"), "-KILL");
    // It alone held the output open.
    output.read_to_end(&mut Vec::new()).unwrap();
    assert!(is_alive(&id("daemon")));
    signal(&id("daemon"), "-KILL");
}

#[test]
fn a_gate_shows_who_runs() {
    let repository = repository();
    let gate = repository.sandbox().path().join("gate");
    fs::create_dir(&gate).unwrap();
    let inside =
        || fs::read_dir(&gate).unwrap().filter(|entry| entry.as_ref().unwrap().path() != gate.join("go")).count();
    let prompt = format!("gate {}", gate.display());
    let agents = [start(&repository, &prompt), start(&repository, &prompt)];
    wait_until(|| inside() == 2, LONG);
    fs::write(gate.join("go"), "").unwrap();
    for mut agent in agents {
        assert!(agent.wait().unwrap().success());
    }
    assert_eq!(inside(), 0);
}
