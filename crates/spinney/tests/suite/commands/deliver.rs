//! A person names a workspace to be delivered: what is left is committed, the branch pushed, a pull request opened or found.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};
use spinney_testkit::{Trouble, wait_until, write_program};

use crate::support::api::{Served, refused as refused_by_api};
use crate::support::common::{Refusal, Story, refused};
use crate::support::job::{LONG, Offered, Workshop};

/// A workspace for issue 7 in a repository on a forge.
struct Desk {
    offered: Offered,
    path: PathBuf,
}

impl Desk {
    fn new() -> Self {
        Self::with("")
    }

    /// With further settings.
    fn with(settings: &str) -> Self {
        let offered = Offered::new(settings);
        let path = offered.workshop.story.make(&["--issue", "7", "--title", "Login breaks"]).path();
        Self { offered, path }
    }

    fn story(&self) -> &Story {
        &self.offered.workshop.story
    }

    fn write(&self, path: &str, text: &str) {
        fs::write(self.path.join(path), text).unwrap();
    }

    #[track_caller]
    fn git(&self, arguments: &[&str]) -> String {
        self.offered.workshop.git(&self.path, arguments)
    }

    #[track_caller]
    fn deliver(&self, arguments: &[&str]) -> Value {
        self.offered.workshop.cli.run(&[&["deliver", "issue-7", "--json"], arguments].concat()).ok().json()
    }

    #[track_caller]
    fn refused(&self, status: i32, arguments: &[&str]) -> Refusal {
        refused(&self.offered.workshop.cli, status, &[&["deliver", "issue-7"], arguments].concat())
    }

    /// What the remote's branch changes.
    #[track_caller]
    fn pushed_files(&self) -> Vec<String> {
        let listed = self.story().remote().git(&["diff", "--name-only", "main", "issue-7"]);
        listed.lines().map(str::to_owned).collect()
    }
}

#[test]
fn what_is_left_is_committed_pushed_and_offered_once() {
    let desk = Desk::new();
    let forge = &desk.offered.forge;
    desk.write("a.txt", "a");
    desk.git(&["add", "a.txt"]);
    desk.git(&["commit", "--quiet", "--message", "mine"]);
    desk.write("b.txt", "b");
    desk.write("README.md", "changed");
    let first = desk.deliver(&["--draft"]);
    assert_eq!((&first["push"], &first["commits"], &first["opened"]), (&json!("pushed"), &json!(2), &json!(true)));
    assert_eq!((&first["committed"], &first["left_out"]), (&json!(["README.md", "b.txt"]), &json!([])));
    assert_eq!(desk.git(&["log", "-1", "--format=%s"]), "Login breaks");
    assert_eq!((desk.git(&["status", "--porcelain"]), desk.pushed_files().len()), (String::new(), 3));
    assert_eq!(desk.story().remote().tip("issue-7"), first["commit"].as_str().unwrap());
    let opened = forge.pull_requests();
    assert_eq!((opened.len(), opened[0].title.as_str(), opened[0].body.as_str()), (1, "Login breaks", "Fixes #7"));
    let shown = desk.story().show("issue-7").0;
    assert_eq!((&shown["pushed"], &shown["pull_request"]), (&json!(true), &first["pull_request"]));
    // Once more, there is nothing to do.
    let again = desk.deliver(&[]);
    assert_eq!((&again["push"], &again["opened"]), (&json!("up_to_date"), &json!(false)));
    assert_eq!((&again["pull_request"], &again["commit"]), (&first["pull_request"], &first["commit"]));
    // More of it goes to the same pull request.
    desk.write("c.txt", "c");
    let more = desk.deliver(&["--message", "More of it"]);
    assert_eq!((&more["push"], &more["pull_request"]), (&json!("pushed"), &first["pull_request"]));
    assert_eq!((desk.git(&["log", "-1", "--format=%s"]), forge.pull_requests().len()), ("More of it".to_owned(), 1));
    let told = desk.offered.workshop.cli.run(&["deliver", "issue-7"]).ok();
    assert_eq!(told.stdout.trim(), first["pull_request"].as_str().unwrap());
    assert!(told.stderr.contains("already"), "{}", told.stderr);
}

#[test]
fn nothing_to_deliver_makes_nothing() {
    let desk = Desk::new();
    let told = desk.deliver(&[]);
    assert_eq!((&told["push"], &told["pull_request"]), (&json!("nothing"), &Value::Null));
    assert_eq!((desk.offered.workshop.pushed(), desk.offered.heads().len()), (vec!["main".to_owned()], 0));
    let said = desk.offered.workshop.cli.run(&["deliver", "issue-7"]).ok();
    assert!(said.stdout.is_empty() && said.stderr.contains("nothing to deliver"), "{}", said.told());
    // What base has by now is nothing either.
    desk.write("a.txt", "a");
    let commit = desk.deliver(&["--no-pr"])["commit"].clone();
    desk.story().remote().merge("issue-7");
    desk.offered.workshop.cli.run(&["repo", "sync"]).ok();
    let merged = desk.deliver(&[]);
    assert_eq!((&merged["push"], &merged["commit"], desk.offered.heads().len()), (&json!("nothing"), &commit, 0));
}

#[test]
fn what_the_forge_squashed_is_not_offered_again() {
    let desk = Desk::new();
    desk.write("a.txt", "a");
    let first = desk.deliver(&[]);
    desk.offered.forge.push("issue-7", first["commit"].as_str().unwrap());
    let squashed = desk.story().remote().advance("squashed.txt");
    desk.offered.forge.merge(1, &squashed);
    assert_eq!((&desk.deliver(&[])["push"], desk.offered.heads().len()), (&json!("nothing"), 1));
    // What came after it is.
    desk.write("b.txt", "b");
    assert_eq!((&desk.deliver(&[])["opened"], desk.offered.heads().len()), (&json!(true), 2));
}

#[test]
fn a_dry_run_tells_and_does_nothing() {
    let desk = Desk::new();
    desk.write("a.txt", "a");
    let before = (desk.git(&["rev-parse", "HEAD"]), desk.git(&["status", "--porcelain"]));
    let told = desk.deliver(&["--dry-run"]);
    assert_eq!(
        (&told["dry_run"], &told["push"], &told["committed"]),
        (&json!(true), &json!("planned"), &json!(["a.txt"]))
    );
    assert_eq!((desk.git(&["rev-parse", "HEAD"]), desk.git(&["status", "--porcelain"])), before);
    assert_eq!((desk.offered.workshop.pushed(), desk.offered.heads().len()), (vec!["main".to_owned()], 0));
}

#[test]
fn what_spinney_copied_is_never_committed_and_holds_what_has_it() {
    let desk = Desk::with("[workspace]\ncopy = [\"*.key\"]\n");
    let (workshop, story) = (&desk.offered.workshop, desk.story());
    story.change(|repository| {
        repository.write(".gitignore", "/target/\n*.key\n").write("secrets.key", "PASSWORD=hunter2\n");
    });
    let path = story.make(&["--issue", "8"]).path();
    // Under its own name, no longer ignored, and under another.
    fs::write(path.join(".gitignore"), "").unwrap();
    fs::copy(path.join("secrets.key"), path.join("settings.txt")).unwrap();
    fs::write(path.join("a.txt"), "a").unwrap();
    let told = workshop.cli.run(&["deliver", "issue-8", "--json"]).ok().json();
    let left_out = json!([
        { "path": "secrets.key", "reason": "copied" }, { "path": "settings.txt", "reason": "copied" }
    ]);
    assert_eq!((&told["left_out"], &told["push"]), (&left_out, &json!("pushed")));
    let pushed = story.remote().git(&["ls-tree", "-r", "--name-only", "issue-8"]);
    assert!(
        pushed.contains("a.txt") && !pushed.contains("secrets.key") && !pushed.contains("settings.txt"),
        "{pushed}"
    );
    // Who commits it themselves has to name that commit.
    workshop.git(&path, &["add", "--force", "secrets.key"]);
    workshop.git(&path, &["commit", "--quiet", "--message", "oops"]);
    let commit = workshop.git(&path, &["rev-parse", "HEAD"]);
    let tip = story.remote().tip("issue-8");
    let held = refused(&workshop.cli, 3, &["deliver", "issue-8"]);
    held.says(&["`secrets.key`", "nothing is pushed"]).hints(&["spinney deliver issue-8 --accept-held", &commit]);
    let dry = workshop.cli.run(&["deliver", "issue-8", "--json", "--dry-run"]).ok().json();
    assert_eq!(dry["held"]["copied"][0]["path"], "secrets.key");
    refused(&workshop.cli, 3, &["deliver", "issue-8", "--accept-held", &tip]);
    refused(&workshop.cli, 2, &["deliver", "issue-8", "--accept-held", "yes"]);
    // What comes on top of it was not looked at.
    fs::write(path.join("b.txt"), "b").unwrap();
    refused(&workshop.cli, 3, &["deliver", "issue-8", "--accept-held", &commit]);
    assert_eq!(story.remote().tip("issue-8"), tip);
    let commit = workshop.git(&path, &["rev-parse", "HEAD"]);
    workshop.cli.run(&["deliver", "issue-8", "--accept-held", &commit]).ok();
    assert_eq!(story.remote().tip("issue-8"), commit);
}

#[test]
fn what_setup_made_goes_only_when_wanted() {
    let desk = Desk::with("[workspace]\nsetup = [\"echo made > made.txt; echo made > touched.txt\"]\n");
    let path = desk.story().make(&["--issue", "8"]).path();
    fs::write(path.join("touched.txt"), "by me").unwrap();
    let deliver = |arguments: &[&str]| {
        desk.offered.workshop.cli.run(&[&["deliver", "issue-8", "--json"], arguments].concat()).ok().json()
    };
    let told = deliver(&[]);
    assert_eq!(told["left_out"], json!([{ "path": "made.txt", "reason": "set_up" }]));
    assert_eq!(told["committed"], json!(["touched.txt"]));
    assert_eq!(deliver(&["--all"])["committed"], json!(["made.txt"]));
}

#[test]
fn a_branch_of_somebody_else_is_never_overwritten() {
    let desk = Desk::new();
    let theirs = desk.story().remote().advance_branch("issue-7", "theirs.txt");
    desk.write("a.txt", "a");
    desk.refused(1, &[]).says(&["issue-7"]);
    assert_eq!(desk.story().remote().tip("issue-7"), theirs);
    assert_eq!(desk.git(&["log", "-1", "--format=%s"]), "Login breaks", "the work is whole, in its workspace");
    // Taken in, it goes.
    desk.git(&["fetch", "--quiet", "origin", "issue-7"]);
    desk.git(&["rebase", "--quiet", "FETCH_HEAD"]);
    assert_eq!(desk.deliver(&[])["push"], "pushed");
    // What was pushed from here may be replaced, until somebody adds to it.
    desk.git(&["commit", "--quiet", "--amend", "--message", "again"]);
    assert_eq!(desk.deliver(&[])["push"], "pushed");
    let theirs = desk.story().remote().advance_branch("issue-7", "more.txt");
    desk.git(&["commit", "--quiet", "--amend", "--message", "and again"]);
    desk.refused(1, &[]);
    assert_eq!(desk.story().remote().tip("issue-7"), theirs);
}

#[test]
fn a_remote_that_leads_elsewhere_since_a_job_is_not_pushed_to() {
    let desk = Desk::new();
    let (workshop, story) = (&desk.offered.workshop, desk.story());
    workshop.complete(&["--issue", "7"], "write a.txt a");
    let elsewhere = workshop.beside_text("elsewhere.git");
    story.sandbox().git(story.sandbox().path(), &["init", "--quiet", "--bare", &elsewhere]);
    story.change(|repository| repository.git(&["config", "remote.origin.pushurl", &elsewhere]));
    desk.write("b.txt", "b");
    desk.refused(3, &[]).says(&["elsewhere.git"]).hints(&["--accept-remote"]);
    assert_eq!(desk.git(&["status", "--porcelain"]), "?? b.txt");
    assert_eq!(workshop.git(&elsewhere, &["for-each-ref"]), "");
    assert_eq!(desk.deliver(&["--accept-remote", "--no-pr"])["push"], "pushed");
    assert!(workshop.git(&elsewhere, &["for-each-ref"]).contains("issue-7"));
}

#[test]
fn a_refusal_of_the_remote_is_told_in_its_words() {
    let desk = Desk::new();
    let hook = desk.story().remote().path().join("hooks/pre-receive");
    write_program(&hook, "#!/bin/sh\necho not on a Friday >&2\nexit 1\n");
    desk.write("a.txt", "a");
    desk.refused(1, &[]).says(&["not on a Friday"]);
    assert_eq!(desk.offered.heads().len(), 0);
    fs::remove_file(hook).unwrap();
    assert_eq!((&desk.deliver(&[])["opened"], desk.pushed_files()), (&json!(true), vec!["a.txt".to_owned()]));
}

#[test]
fn without_a_remote_nothing_is_done() {
    let desk = Desk::new();
    desk.write("a.txt", "a");
    desk.story().change(|repository| repository.git(&["remote", "remove", "origin"]));
    desk.refused(2, &[]).says(&["no remote to push to"]).hints(&["git remote add origin URL"]);
    desk.refused(2, &["--dry-run"]);
    assert_eq!(desk.git(&["status", "--porcelain"]), "?? a.txt");
}

#[test]
fn without_a_pull_request_it_says_why() {
    let desk = Desk::new();
    let (workshop, forge) = (&desk.offered.workshop, &desk.offered.forge);
    desk.write("a.txt", "a");
    forge.trouble_at_post(Trouble::Forbidden("Resource not accessible by personal access token".to_owned()));
    let told = desk.deliver(&[]);
    assert_eq!((&told["push"], &told["pull_request"]), (&json!("pushed"), &Value::Null));
    assert!(told["no_pull_request"].as_str().unwrap().contains("Resource not accessible"), "{told}");
    let told = workshop.cli.without_variable("GITHUB_TOKEN").run(&["deliver", "issue-7"]).ok();
    assert!(told.stderr.contains("no pull request") && told.stderr.contains("token"), "{}", told.stderr);
    workshop.cli.without_variable("GITHUB_TOKEN").run(&["deliver", "issue-7", "--pr"]).exits(1);
    // Who wants none is told nothing of it.
    let told = desk.deliver(&["--no-pr"]);
    assert_eq!((&told["pull_request"], &told["no_pull_request"]), (&Value::Null, &Value::Null));
    desk.refused(2, &["--no-pr", "--title", "x"]);
    desk.refused(2, &["--message", " "]);
    assert_eq!(desk.offered.heads().len(), 0);
    assert_eq!(desk.deliver(&["--pr", "--title", "Mine", "--body", "Words"])["opened"], true);
    let [pull] = forge.pull_requests().try_into().unwrap();
    assert_eq!((pull.title.as_str(), pull.body.as_str()), ("Mine", "Words"));
    // A remote on no forge takes a push.
    let story = Workshop::new("");
    let path = story.story.make(&["--issue", "7"]).path();
    fs::write(path.join("a.txt"), "a").unwrap();
    refused(&story.cli, 2, &["deliver", "issue-7", "--pr"]).says(&["no forge that is configured"]);
    assert_eq!(story.pushed(), ["main"]);
    let told = story.cli.run(&["deliver", "issue-7", "--json"]).ok().json();
    assert!(told["no_pull_request"].as_str().unwrap().contains("no forge"), "{told}");
    assert_eq!(story.pushed(), ["issue-7", "main"]);
}

#[test]
fn while_a_job_runs_there_nobody_delivers() {
    let desk = Desk::new();
    let workshop = &desk.offered.workshop;
    let id = workshop.detach(&["--issue", "7"], &format!("{}\nwrite b.txt b", workshop.hold("agent")));
    workshop.wait_for_agent("agent");
    desk.write("a.txt", "a");
    desk.refused(5, &[]).says(&[&id, "issue-7"]).hints(&["spinney cancel"]);
    assert_eq!(workshop.pushed(), ["main"]);
    workshop.let_go("agent");
    workshop.wait_for_end(&id);
    assert_eq!(desk.deliver(&["--no-pr"])["push"], "up_to_date");
}

#[test]
fn while_somebody_delivers_a_job_waits_and_nobody_removes() {
    let desk = Desk::new();
    let workshop = &desk.offered.workshop;
    desk.write("a.txt", "a");
    let gate = desk.offered.forge.hold("POST");
    let delivering = workshop.cli.spawn(&["deliver", "issue-7", "--json"]);
    gate.wait();
    refused(&workshop.cli, 5, &["deliver", "issue-7"]).says(&["another Spinney process"]);
    refused(&workshop.cli, 5, &["rm", "issue-7", "--force"]).says(&["somebody delivers it"]);
    let why = workshop.cli.run(&["why", "issue-7", "--json"]).json();
    let codes: Vec<_> = why["reasons"].as_array().unwrap().iter().map(|reason| reason["code"].as_str()).collect();
    assert!(codes.contains(&Some("leased")), "{why:#}");
    let id = workshop.detach(&["--issue", "7"], "write b.txt b");
    let says_so =
        || workshop.log(&id).iter().any(|event| event.to_string().contains("waits until issue-7 is delivered"));
    wait_until(says_so, LONG);
    assert!(!desk.path.join("b.txt").exists());
    drop(gate);
    assert_eq!(delivering.wait().ok().json()["opened"], true);
    workshop.wait_for_end(&id);
    assert_eq!(workshop.job(&id).text("status"), "completed");
    assert_eq!(desk.pushed_files(), ["a.txt", "b.txt"]);
    assert_eq!(desk.offered.heads().len(), 1);
}

#[test]
fn what_is_half_done_and_what_is_not_its_own_is_refused() {
    let desk = Desk::new();
    desk.write("README.md", "one");
    desk.git(&["commit", "--quiet", "--all", "--message", "one"]);
    desk.git(&["branch", "side", "HEAD~1"]);
    desk.git(&["switch", "--quiet", "side"]);
    desk.write("README.md", "two");
    desk.git(&["commit", "--quiet", "--all", "--message", "two"]);
    desk.git(&["switch", "--quiet", "issue-7"]);
    assert_ne!(desk.offered.workshop.cli.run(&["exec", "issue-7", "--", "git", "merge", "side"]).status, 0);
    desk.refused(1, &[]).says(&["merge"]);
    desk.git(&["merge", "--abort"]);
    // Commits that would be missed.
    desk.git(&["switch", "--quiet", "--detach", "HEAD~1"]);
    desk.refused(3, &[]).says(&["on no branch", "issue-7"]);
    desk.git(&["switch", "--quiet", "issue-7"]);
    // The branch of another workspace.
    desk.story().make(&["--issue", "9"]);
    let other = desk.story().show("issue-9").path();
    desk.offered.workshop.git(&other, &["switch", "--quiet", "--detach"]);
    desk.git(&["switch", "--quiet", "issue-9"]);
    desk.refused(3, &[]).says(&["the branch of issue-9"]);
    desk.git(&["switch", "--quiet", "issue-7"]);
    assert_eq!(desk.offered.workshop.pushed(), ["main"]);
    desk.refused(2, &["--no-such"]);
    refused(&desk.offered.workshop.cli, 4, &["deliver", "no-such"]);
    desk.offered.workshop.cli.run(&["rm", "issue-9", "--force"]).ok();
    refused(&desk.offered.workshop.cli, 4, &["deliver", "issue-9"]);
}

#[cfg(feature = "fail-points")]
#[test]
fn a_death_at_any_step_makes_nothing_twice() {
    use spinney_engine::fail::POINTS;

    let desk = Desk::new();
    let workshop = &desk.offered.workshop;
    for (step, point) in POINTS.iter().filter(|point| point.starts_with("deliver.")).enumerate() {
        println!("dies at {point}");
        let name = format!("issue-{}", 20 + step);
        let path = desk.story().make(&["--issue", &name["issue-".len()..]]).path();
        fs::write(path.join("a.txt"), &name).unwrap();
        workshop.cli.with_variable("SPINNEY_FAIL", *point).run(&["deliver", &name]).exits(134);
        let told = workshop.cli.run(&["deliver", &name, "--json"]).ok().json();
        let commits = desk.story().remote().git(&["rev-list", "--count", &format!("main..{name}")]);
        assert_eq!(commits, "1", "{point}");
        assert_eq!(desk.offered.heads().iter().filter(|head| **head == name).count(), 1, "{point}");
        let row = desk.story().show(&name).0;
        assert_eq!((&row["pushed"], &row["pull_request"]), (&json!(true), &told["pull_request"]), "{point}");
        desk.story().assert_nothing_left_over();
        // An error is no death: the workspace is free at once.
        fs::write(path.join("b.txt"), &name).unwrap();
        workshop.cli.with_variable("SPINNEY_FAIL", format!("{point}=denied")).run(&["deliver", &name]);
        workshop.cli.run(&["deliver", &name]).ok();
        let commits = desk.story().remote().git(&["rev-list", "--count", &format!("main..{name}")]);
        assert_eq!(commits, "2", "{point}");
        assert_eq!(desk.offered.heads().iter().filter(|head| **head == name).count(), 1, "{point}");
        desk.story().assert_nothing_left_over();
    }
}

#[test]
fn the_api_delivers_too_and_the_log_says_who() {
    let served = Served::new("");
    let workspace = served.issue(7);
    let (id, path) = (workspace["id"].as_str().unwrap(), PathBuf::from(workspace["path"].as_str().unwrap()));
    let place = format!("/api/v1/workspaces/{id}/deliver");
    fs::write(path.join("a.txt"), "a").unwrap();
    let keyed = served.client.with_header("Idempotency-Key", "one");
    let told = keyed.post(&place, &json!({ "message": "By the API" })).expects(200).json();
    assert_eq!((&told["push"], &told["workspace"]["pushed"]), (&json!("pushed"), &json!(true)));
    assert!(told["no_pull_request"].as_str().unwrap().contains("no forge"), "{told}");
    assert_eq!(keyed.post(&place, &json!({ "message": "By the API" })).expects(200).json(), told);
    assert_eq!(served.workshop.story.remote().git(&["log", "-1", "--format=%s", "issue-7"]), "By the API");
    let events = served.get("/api/v1/audit");
    let events: Vec<_> = events["events"].as_array().unwrap().iter().collect();
    let delivered: Vec<_> = events.iter().filter(|event| event["kind"] == "workspace.delivered").collect();
    assert_eq!((delivered.len(), delivered[0]["detail"]["pushed"].clone()), (1, told["commit"].clone()));
    assert_eq!(delivered[0]["actor"]["kind"], "token", "{:#}", delivered[0]);
    for wrong in [
        json!({ "else": 1 }),
        json!({ "accept_held": "x" }),
        json!({ "title": "" }),
        json!({ "message": "\0" }),
        json!({ "pull_request": false, "draft": true }),
        json!({ "pull_request": true }),
    ] {
        refused_by_api(&served.client.post(&place, &wrong), 400, "usage");
    }
    refused_by_api(&served.stranger().post(&place, &json!({})), 404, "not_found");
}
