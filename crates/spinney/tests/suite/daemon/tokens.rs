//! Accounts and tokens: shown once, kept as a hash, each account's own.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::common::{BINARY, Story, files_with, refused};
use serde_json::Value;
use spinney_testkit::{Cli, Sandbox, scripted_agent};

fn sandbox() -> (Sandbox, Cli) {
    let sandbox = Sandbox::new();
    let cli = sandbox.cli(BINARY);
    (sandbox, cli)
}

#[track_caller]
fn create(cli: &Cli, arguments: &[&str]) -> Value {
    cli.run(&[&["token", "create", "--json"], arguments].concat()).ok().json()
}

#[track_caller]
fn names(cli: &Cli, arguments: &[&str]) -> Vec<String> {
    let listed = cli.run(&[&["token", "ls", "--json"], arguments].concat()).ok().json();
    let name = |token: &Value| token["name"].as_str().unwrap().to_owned();
    listed["tokens"].as_array().unwrap().iter().map(name).collect()
}

#[test]
fn a_token_is_shown_once_and_kept_as_a_hash() {
    let (sandbox, cli) = sandbox();
    let created = create(&cli, &["--name", "ci", "--scope", "write", "--expires", "30d"]);
    let secret = created["token"].as_str().unwrap();
    assert!(secret.starts_with("spn_") && secret.len() == 68, "{secret}");
    assert_eq!((created["name"].as_str(), created["account"].as_str()), (Some("ci"), Some("local")));
    assert_eq!(created["scope"], "write");
    assert!(created["expires_at"].as_str() > created["created_at"].as_str(), "{created}");

    let listed = cli.run(&["token", "ls", "--json"]).ok();
    assert!(!listed.stdout.contains(secret) && !listed.stdout.contains("hash"), "{}", listed.stdout);
    let token = listed.json()["tokens"][0].clone();
    assert_eq!(token["id"], created["id"]);
    assert_eq!((&token["last_used_at"], &token["expires_at"]), (&Value::Null, &created["expires_at"]));
    assert!(!cli.run(&["token", "ls"]).ok().stdout.contains(secret));

    assert_eq!(files_with(&sandbox.spinney_home(), secret), Vec::<PathBuf>::new());
    assert!(!sandbox.store_holds(secret));
    // The search finds what is there: the row itself, and the hash in it.
    let parsed: spinney_core::TokenSecret = secret.parse().unwrap();
    assert!(sandbox.store_holds(created["id"].as_str().unwrap()) && sandbox.store_holds(&parsed.hash()));

    // A person reads about it, a program reads it.
    let plain = cli.run(&["token", "create", "--name", "other", "--scope", "read"]).ok();
    assert!(plain.stdout.trim_end().parse::<spinney_core::TokenSecret>().is_ok(), "{}", plain.stdout);
    assert!(plain.stderr.contains("never expires; it is shown this once"), "{}", plain.stderr);
    assert_eq!(names(&cli, &[]), ["ci", "other"]);
}

#[test]
fn a_token_is_revoked_by_its_name_or_id() {
    let (_sandbox, cli) = sandbox();
    cli.run(&["account", "add", "acme"]).ok();
    let first = create(&cli, &["--name", "ci", "--scope", "read"]);
    create(&cli, &["--name", "ci", "--scope", "read", "--account", "acme"]);
    let error = refused(&cli, 2, &["token", "create", "--name", "ci", "--scope", "read"]);
    error.says(&["has a token `ci` already"]);
    refused(&cli, 4, &["token", "revoke", first["id"].as_str().unwrap(), "--account", "acme"]);
    cli.run(&["token", "revoke", "ci", "--account", "acme"]).ok();
    assert_eq!((names(&cli, &[]), names(&cli, &["--account", "acme"])), (vec!["ci".to_owned()], vec![]));
    let revoked = cli.run(&["token", "revoke", first["id"].as_str().unwrap(), "--json"]).ok().json();
    assert_eq!(revoked["name"], "ci");
    refused(&cli, 4, &["token", "revoke", "ci"]);
    create(&cli, &["--name", "ci", "--scope", "read"]);
}

#[test]
fn an_expired_token_is_told_so_and_its_name_is_free() {
    let (_sandbox, cli) = sandbox();
    create(&cli, &["--name", "ci", "--scope", "read", "--expires", "1ms"]);
    let listed = cli.run(&["token", "ls"]).ok().stdout;
    assert!(listed.contains("expired"), "{listed}");
    create(&cli, &["--name", "ci", "--scope", "admin"]);
    assert_eq!(names(&cli, &[]), ["ci"]);
}

#[test]
fn wrong_names_scopes_times_and_accounts_are_refused() {
    let (_sandbox, cli) = sandbox();
    let create = |name, scope, more: &[&str]| {
        let arguments = [&["token", "create", "--name", name, "--scope", scope], more].concat();
        cli.run(&arguments).status
    };
    for name in ["", " ci", "a\nb", "\u{202e}ci"] {
        assert_eq!(create(name, "read", &[]), 2, "{name:?}");
    }
    assert_eq!(create("ci", "root", &[]), 2);
    assert_eq!(create("ci", "read", &["--expires", "soon"]), 2);
    assert_eq!(create("ci", "read", &["--expires", "0"]), 2);
    assert_eq!(create("ci", "read", &["--account", "nobody"]), 4);
    assert_eq!(cli.run(&["ls", "--account", "nobody"]).status, 4);
    for account in ["..", "../etc", "A", "-a", "a/b", ""] {
        assert_eq!(create("ci", "read", &["--account", account]), 2, "{account}");
        assert_eq!(cli.run(&["account", "add", "--", account]).status, 2, "{account}");
    }
    assert_eq!(names(&cli, &[]), Vec::<String>::new());
    assert_eq!(cli.run(&["account", "add", "local"]).status, 2);
    let accounts = cli.run(&["account", "ls", "--json"]).ok().json();
    assert_eq!(accounts["accounts"].as_array().unwrap().len(), 1, "{accounts}");
}

#[test]
fn a_login_link_leads_to_the_daemon() {
    let (sandbox, cli) = sandbox();
    let link = cli.run(&["token", "link"]).ok().stdout;
    let key = link.trim_end().strip_prefix("http://127.0.0.1:7420/login?key=").unwrap();
    assert!(key.parse::<spinney_core::TokenSecret>().is_ok(), "{link}");
    assert_eq!(names(&cli, &[]), Vec::<String>::new(), "it is no token for programs");

    sandbox.write_config("[server]\npublic_url = \"https://spinney.example.org/\"\n");
    cli.run(&["account", "add", "acme"]).ok();
    let link = cli.run(&["token", "link", "--account", "acme", "--scope", "read", "--json"]).ok().json();
    assert!(link["url"].as_str().unwrap().starts_with("https://spinney.example.org/login?key=spn_"), "{link}");
    assert_eq!((link["account"].as_str(), link["scope"].as_str()), (Some("acme"), Some("read")));
}

/// A repository of account `acme`, by a URL that git is told to find on the disk, beside the one of the home's owner. Its
/// agent `coder` does what its prompt says.
fn two_accounts(lines: &str) -> (Story, Cli) {
    let story = Story::new();
    let sandbox = story.sandbox();
    let (config, remotes) = (sandbox.home().join(".gitconfig"), sandbox.remotes());
    let text = fs::read_to_string(&config).unwrap();
    let there = format!("[url \"file://{}/\"]\n\tinsteadOf = https://example.org/\n", remotes.display());
    fs::write(&config, format!("{text}\n{there}")).unwrap();
    let program = serde_json::to_string(&scripted_agent()).unwrap();
    sandbox.write_config(&format!("[agents.coder]\nruntime = \"command\"\ncommand = [{program}]\n{lines}\n"));
    let acme = sandbox.cli(BINARY).in_directory(sandbox.path());
    acme.run(&["account", "add", "acme"]).ok();
    let url = format!("https://example.org/{}", story.remote().path().strip_prefix(&remotes).unwrap().display());
    let added = acme.run(&["repo", "add", &url, "--name", "acme/app", "--account", "acme", "--json"]).ok().json();
    let clone = sandbox.spinney_home().join("repos/acme/acme/app.git");
    assert_eq!((added["account"].as_str(), added["common_dir"].as_str()), (Some("acme"), clone.to_str()));
    (story, acme)
}

#[test]
fn a_job_of_another_account_runs_in_that_accounts_directory() {
    let (story, acme) = two_accounts("");
    let run = ["run", "--json", "--account", "acme", "--repo", "acme/app", "--issue", "7", "write made.txt hello"];
    let job = acme.run(&run[..]).json();
    assert_eq!((job["status"].as_str(), job["error"].as_str()), (Some("completed"), None), "{job}");
    let show = acme.run(&["show", "issue-7", "--account", "acme", "--json"]).ok().json();
    let trees = story.sandbox().spinney_home().join("trees/acme/acme/app");
    assert!(Path::new(show["path"].as_str().unwrap()).starts_with(&trees), "{show}");

    // The owner of the home has none of it, by whatever name.
    let id = job["id"].as_str().unwrap();
    for arguments in [&["logs", id][..], &["cancel", id], &["retry", id], &["show", "issue-7"], &["path", "issue-7"]] {
        assert_eq!(story.cli.run(arguments).status, 4, "{arguments:?}");
    }
    assert_eq!(story.cli.run(&["show", show["id"].as_str().unwrap()]).status, 4);
    assert_eq!(story.cli.run(&["jobs", "--all", "--json"]).ok().json()["jobs"].as_array().unwrap().len(), 0);
    // Nor does a tree of theirs make their repository one's own.
    let inside = story.cli.in_directory(show["path"].as_str().unwrap());
    let error = refused(&inside, 4, &["new", "--issue", "8"]);
    error.says(&["another account's"]);
}

#[test]
fn an_account_adds_what_it_reaches_by_itself() {
    let (story, acme) = two_accounts("");
    let own = story.repository.path().to_str().unwrap();
    let file = format!("file://{own}");
    let clone = story.sandbox().spinney_home().join("repos/acme/acme/app.git").display().to_string();
    for place in [own, ".", &file, "http://example.org/app.git", &clone] {
        let error = refused(&story.cli, 2, &["repo", "add", place, "--account", "acme"]);
        error.says(&["not an `https` or `ssh` URL"]);
    }
    let error =
        refused(&acme, 2, &["repo", "add", "https://example.org/x", "--token-env", "HOME", "--account", "acme"]);
    error.says(&["account `acme` can't use the variable `HOME`", "only the owner of the home"]);
    // By a path it has none either, nor by the directory it is in.
    assert_eq!(story.cli.run(&["new", "--issue", "1", "--account", "acme"]).status, 4);
    assert_eq!(story.cli.run(&["new", "--issue", "1", "--account", "acme", "--repo", own]).status, 4);
    assert_eq!(story.cli.run(&["repo", "add", &clone]).status, 4, "nor has the owner of the home");
    let listed = acme.run(&["repo", "ls", "--account", "acme", "--json"]).ok().json();
    assert_eq!(listed["repositories"].as_array().unwrap().len(), 1, "{listed}");
}

#[test]
fn the_owners_directory_is_no_place_for_others_jobs() {
    let (story, acme) = two_accounts("workspace.strategy = \"static\"");
    let error = refused(&acme, 2, &["run", "--account", "acme", "--repo", "acme/app", "write x y"]);
    error.says(&["works in a directory of the home's owner"]);
    story.cli.run(&["run", "print done"]).ok();
}

#[test]
fn what_died_in_one_account_is_finished_by_the_next_command_of_any() {
    let (story, acme) = two_accounts("");
    let make = ["new", "--issue", "7", "--repo", "acme/app", "--account", "acme"];
    acme.run(&make).ok();
    let dying = acme.with_variable("SPINNEY_FAIL", "remove.moved");
    dying.run(&["rm", "issue-7", "--account", "acme"]);
    let status = || {
        let removed = acme.run(&["ls", "--all", "--account", "acme", "--json"]).ok().json();
        removed["workspaces"][0]["status"].as_str().unwrap().to_owned()
    };
    let told = story.cli.run(&["ls"]).ok().stderr;
    assert!(told.contains("issue-7") && told.contains("finished"), "{told}");
    assert_eq!(status(), "trashed");
    story.assert_nothing_left_over();
}
