//! What a forge's word changes: `cleanup`, `why` and `doctor` on a repository whose pull requests are on a forge.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::time::Duration;

use crate::support::common::Story;
use crate::support::lost::work::codes;
use serde_json::Value;
use spinney_testkit::{Cli, TestForge, Trouble, scripted_agent, wait_until};

/// Where the remote seems to be: git is led to a directory, and the forge's API is on the same host.
const URL: &str = "http://127.0.0.1/acme/app.git";
const BRANCH: &str = "agent/coder/issue-1";

struct Forged {
    story: Story,
    forge: TestForge,
    cli: Cli,
}

impl Forged {
    /// A repository on a forge, and an agent whose branches become pull requests there.
    fn new() -> Self {
        let story = Story::new();
        let forge = TestForge::github("acme/app");
        let rewrite = format!("url.{}.insteadOf", story.remote().url());
        story.sandbox().git(story.sandbox().home(), &["config", "--global", &rewrite, URL]);
        story.change(|repository| repository.git(&["remote", "set-url", "origin", URL]));
        let api_url = forge.api_url();
        let agent = scripted_agent();
        story.sandbox().write_config(&format!(
            "[forge.github]\napi_url = {api_url:?}\n[agents.coder]\nruntime = \"command\"\ncommand = [{agent:?}]\n\
             [agents.coder.workspace]\ncreate_pr = true\n"
        ));
        let cli = story.cli.with_variable("GITHUB_TOKEN", forge.token());
        Self { story, forge, cli }
    }

    /// A job on issue 1, up to its pull request; gives the pull request's number.
    #[track_caller]
    fn offer(&self) -> u64 {
        let job = self.cli.run(&["run", "--json", "--issue", "1", "write made.txt ours"]).ok().json();
        assert_eq!(job["branch"], BRANCH, "{job}");
        self.forge.push(BRANCH, job["commit"].as_str().unwrap());
        let [pull] = self.forge.pull_requests().try_into().unwrap();
        pull.number
    }

    /// Somebody merges it on the forge in a way that neither commits nor content show: squashed, and written anew.
    fn merge_unrecognisably(&self, number: u64) {
        let commit = self.story.remote().advance("made.txt");
        self.forge.merge(number, &commit);
    }

    #[track_caller]
    fn sweep(&self, arguments: &[&str]) -> Value {
        self.cli.run(&[&["cleanup", "merged", "--json"], arguments].concat()).ok().json()
    }
}

/// Names of what went.
#[track_caller]
fn removed(report: &Value) -> Vec<&str> {
    report["removed"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect()
}

/// Codes of what kept the only one.
#[track_caller]
fn kept(report: &Value) -> Vec<String> {
    let rows = report["kept"].as_array().unwrap();
    assert_eq!(rows.len(), 1, "{report}");
    codes(&rows[0]["reasons"])
}

#[test]
fn what_only_the_forge_knows_to_be_merged_goes() {
    let forged = Forged::new();
    let number = forged.offer();
    assert_eq!(kept(&forged.sweep(&[])), ["unmerged", "open_pull_request"]);
    forged.merge_unrecognisably(number);
    let without_token = forged.story.cli.run(&["cleanup", "merged", "--json", "--dry-run"]).ok().json();
    assert_eq!(kept(&without_token), ["unmerged", "open_pull_request"], "git alone does not see it");
    let report = forged.sweep(&[]);
    assert_eq!(removed(&report), ["issue-1"]);
    assert!(report["removed"][0]["why"].as_str().unwrap().contains("the forge merged"), "{report}");
}

#[test]
fn what_came_after_the_merge_is_not_merged() {
    let forged = Forged::new();
    let number = forged.offer();
    forged.merge_unrecognisably(number);
    let path = forged.story.show("issue-1").path();
    fs::write(path.join("later.txt"), "later").unwrap();
    forged.story.sandbox().git(&path, &["add", "--all"]);
    forged.story.sandbox().git(&path, &["commit", "--quiet", "--message", "later"]);
    assert_eq!(kept(&forged.sweep(&[])), ["unpushed", "unmerged"]);
}

#[test]
fn a_closed_one_goes_only_when_asked_for() {
    let forged = Forged::new();
    let number = forged.offer();
    forged.forge.close(number);
    assert_eq!(kept(&forged.sweep(&[])), ["unmerged"]);
    assert_eq!(removed(&forged.sweep(&["--include-closed", "--dry-run"])), ["issue-1"]);
    let report = forged.sweep(&["--include-closed"]);
    assert_eq!(removed(&report), ["issue-1"]);
    assert!(report["removed"][0]["why"].as_str().unwrap().contains("was closed"), "{report}");
    forged.cli.run(&["cleanup", "stale", "--include-closed"]).exits(2);
}

#[test]
fn closed_work_that_is_nowhere_else_stays() {
    let forged = Forged::new();
    let number = forged.offer();
    forged.forge.close(number);
    fs::write(forged.story.show("issue-1").path().join("notes.md"), "mine").unwrap();
    assert_eq!(kept(&forged.sweep(&["--include-closed"])), ["untracked"]);
}

#[test]
fn where_the_forge_gives_no_answer_a_known_pull_request_counts_as_open() {
    let forged = Forged::new();
    let number = forged.offer();
    forged.forge.close(number);
    forged.forge.trouble(Trouble::LimitReached(Duration::from_secs(600)));
    let ran = forged.cli.run(&["cleanup", "merged", "--json", "--include-closed"]).ok();
    assert_eq!(kept(&ran.json()), ["unmerged", "open_pull_request"]);
    assert!(ran.stderr.contains("limits requests"), "{}", ran.told());
}

#[test]
fn why_asks_the_forge_about_a_known_pull_request() {
    let forged = Forged::new();
    forged.story.make(&["--issue", "2"]);
    forged.cli.run(&["why", "issue-2"]).ok();
    assert!(forged.forge.exchanges().is_empty(), "it has no pull request");
    let number = forged.offer();
    let why = |cli: &Cli| cli.run(&["why", "issue-1", "--json"]).ok();
    assert!(codes(&why(&forged.cli).json()["reasons"]).contains(&"open_pull_request".to_owned()));
    forged.merge_unrecognisably(number);
    let told = why(&forged.cli).json();
    assert_eq!(codes(&told["reasons"]), Vec::<String>::new());
    assert!(told["evidence"].to_string().contains("the forge merged"), "{told}");
    let refused = why(&forged.cli.with_variable("GITHUB_TOKEN", "wrong"));
    assert!(codes(&refused.json()["reasons"]).contains(&"open_pull_request".to_owned()));
    assert!(
        refused.stderr.contains("note: ") && refused.stderr.contains("does not accept the token"),
        "{}",
        refused.told()
    );
}

#[test]
fn doctor_tells_whether_the_forge_takes_the_token() {
    let forged = Forged::new();
    forged.story.make(&["--issue", "1"]);
    let line = |cli: &Cli, status: i32| {
        let ran = cli.run(&["doctor"]).exits(status);
        assert!(!ran.told().contains("wrong-token"), "{}", ran.told());
        ran.stdout.lines().find(|line| line.contains("forge ")).unwrap().to_owned()
    };
    let good = line(&forged.cli, 0);
    assert!(good.starts_with('✓') && good.contains("acme/app") && good.contains("127.0.0.1"), "{good}");
    let refused = line(&forged.cli.with_variable("GITHUB_TOKEN", "wrong-token"), 1);
    assert!(refused.starts_with('✗') && refused.contains("GITHUB_TOKEN is refused by 127.0.0.1"), "{refused}");
    assert!(refused.contains("(401)") && refused.contains("forge.github.token_env"), "{refused}");
    let other = forged.story.cli.with_variable("GH_TOKEN", "wrong-token");
    assert!(line(&other, 1).contains("GH_TOKEN is refused"), "the one that is really used");
    let none = line(&forged.story.cli, 0);
    assert!(none.starts_with('!') && none.contains("wants a token") && none.contains("set GITHUB_TOKEN"), "{none}");
    forged.forge.trouble(Trouble::LimitReached(Duration::from_secs(600)));
    assert!(line(&forged.cli, 0).starts_with('!'));
}

#[test]
fn a_forge_behind_a_proxy_is_asked_through_it() {
    let forged = Forged::new();
    let config = fs::read_to_string(forged.story.sandbox().config_file()).unwrap();
    let api_url = "https://forge.invalid/api/v3";
    forged.story.sandbox().write_config(&config.replace(&forged.forge.api_url(), api_url));
    let remote = "https://forge.invalid/acme/app.git";
    forged.story.change(|repository| repository.git(&["remote", "set-url", "origin", remote]));
    let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
    proxy.set_nonblocking(true).unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    forged.cli.run(&["repo", "add", "."]).ok();
    let doctor = forged.cli.with_variable("HTTPS_PROXY", &address).spawn(&["doctor"]);
    let mut asked = None;
    wait_until(
        || {
            asked = proxy.accept().ok();
            asked.is_some()
        },
        Duration::from_secs(30),
    );
    let (stream, _) = asked.unwrap();
    stream.set_nonblocking(false).unwrap();
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    assert!(line.starts_with("CONNECT forge.invalid:443 "), "{line}");
    doctor.kill();
}

#[test]
fn doctor_asks_no_forge_that_the_remote_is_not_on() {
    let forged = Forged::new();
    let path = forged.story.remote().url().to_owned();
    forged.story.change(|repository| repository.git(&["remote", "set-url", "origin", &path]));
    forged.story.make(&["--issue", "1"]);
    let told = forged.cli.run(&["doctor"]).ok().stdout;
    assert!(!told.contains("forge "), "{told}");
    assert!(forged.forge.exchanges().is_empty());
}
