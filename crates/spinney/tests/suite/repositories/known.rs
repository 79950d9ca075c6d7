//! Repositories: known on first use, added by path and by URL, synced, forgotten; and never mixed up.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::common::{BINARY, Story, files_below, files_with, make, refused};
use serde_json::Value;
use spinney_testkit::{Cli, GitWrapper, HttpRemote, Remote, Sandbox, wait_until};

const TOKEN: &str = "s3cr3t-t0ken-0123456789";

/// A sandbox with a remote `acme/app.git`, and the program run outside of any repository.
fn with_remote() -> (Sandbox, Remote, Cli) {
    let sandbox = Sandbox::new();
    let remote = sandbox.repository("source").with_remote().remote().clone();
    let place = sandbox.remotes().join("acme/app.git");
    fs::rename(remote.path(), &place).unwrap();
    // The kit opens what is there already.
    let remote = Remote::make(&sandbox, "acme/app.git");
    let cli = sandbox.cli(BINARY);
    (sandbox, remote, cli)
}

fn file_url(remote: &Remote) -> String {
    format!("file://{}", remote.url())
}

#[track_caller]
fn repositories(cli: &Cli) -> Vec<Value> {
    cli.run(&["repo", "ls", "--json"]).ok().json()["repositories"].as_array().unwrap().clone()
}

#[track_caller]
fn known(cli: &Cli) -> Vec<String> {
    let mut names: Vec<_> =
        repositories(cli).iter().map(|repository| repository["name"].as_str().unwrap().to_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_repository_is_known_after_its_first_use() {
    let story = Story::new();
    assert_eq!(known(&story.cli), Vec::<String>::new());
    let workspace = story.make(&["--issue", "1"]);
    assert_eq!(known(&story.cli), ["local/app"]);
    // By a worktree of it, by a path, by a link to it: the same repository.
    make(&story.cli.in_directory(workspace.path()), &["--issue", "2"]);
    story.cli.run(&["repo", "add", "."]).ok();
    std::os::unix::fs::symlink(story.repository.path(), story.sandbox().path().join("link")).unwrap();
    make(&story.cli.in_directory(story.sandbox().path()), &["--issue", "3", "--repo", "link"]);
    assert_eq!(known(&story.cli), ["local/app"]);
    assert_eq!(repositories(&story.cli)[0]["workspaces"], 3);
}

#[test]
fn a_repository_added_by_url_is_one_bare_clone_that_can_fetch() {
    let (sandbox, remote, cli) = with_remote();
    let added = cli.run(&["repo", "add", &file_url(&remote), "--name", "acme/app", "--json"]).ok().json();
    assert_eq!((added["name"].as_str(), added["managed"].as_bool()), (Some("acme/app"), Some(true)));
    let clone = sandbox.spinney_home().join("repos/local/acme/app.git");
    assert_eq!(added["common_dir"], clone.to_str().unwrap());
    assert_eq!(sandbox.git(&clone, &["rev-parse", "--is-bare-repository"]), "true");
    assert_eq!(sandbox.git(&clone, &["for-each-ref", "--format=%(refname)", "refs/heads"]), "");
    assert_eq!(sandbox.git(&clone, &["rev-parse", "refs/remotes/origin/main"]), remote.head());
    // Git's own fetch works in it too, and brings what is new.
    let tip = remote.advance("new.txt");
    sandbox.git(&clone, &["fetch", "--quiet"]);
    assert_eq!(sandbox.git(&clone, &["rev-parse", "refs/remotes/origin/main"]), tip);
    let workspace = make(&cli, &["--repo", "acme/app", "--issue", "1"]);
    assert_eq!(workspace.text("base_commit"), tip);
    assert!(workspace.path().join("new.txt").is_file());
    // Asked from within, it is the same repository.
    assert_eq!(make(&cli.in_directory(workspace.path()), &["--issue", "1"]).text("id"), workspace.text("id"));
    // A second add finds it.
    let again = cli.run(&["repo", "add", &file_url(&remote), "--name", "acme/app", "--json"]).ok().json();
    assert_eq!(again["id"], added["id"]);
    assert_eq!(known(&cli), ["acme/app"]);
}

#[test]
fn a_repository_is_added_over_http_and_named_after_its_address() {
    let (sandbox, remote, cli) = with_remote();
    let server = HttpRemote::open(&sandbox);
    cli.run(&["repo", "add", &server.url("acme/app.git")]).ok();
    assert_eq!(known(&cli), ["acme/app"]);
    remote.fork_pull_request(9, "fork.txt");
    let tip = remote.advance("new.txt");
    let fresh = cli.with_variable("SPINNEY_WORKSPACE__FETCH_MAX_AGE", "0");
    assert_eq!(make(&fresh, &["--repo", "acme/app", "--issue", "1"]).text("base_commit"), tip);
    assert_eq!(make(&fresh, &["--repo", "acme/app", "--pr", "9", "--fork"]).text("branch"), "pr-9-review");
}

/// Asserts that the token is nowhere on disk: not in the home, the clones, the trees, nor anybody's configuration.
#[track_caller]
fn assert_token_is_nowhere(sandbox: &Sandbox) {
    for place in [sandbox.spinney_home(), sandbox.home(), sandbox.remotes()] {
        assert_eq!(files_with(&place, TOKEN), Vec::<PathBuf>::new());
    }
}

#[test]
fn a_named_token_is_used_and_never_written_down() {
    let (sandbox, remote, cli) = with_remote();
    let server = HttpRemote::with_token(&sandbox, TOKEN);
    let url = server.url("acme/app.git");
    let git = GitWrapper::recording();
    let cli = cli.with_path_first(git.directory());
    refused(&cli, 1, &["repo", "add", &url]).hints(&["--token-env"]);
    refused(&cli, 2, &["repo", "add", &url, "--token-env", "APP_TOKEN"]).says(&["`APP_TOKEN`"]);
    refused(&cli.with_variable("APP_TOKEN", "wrong"), 1, &["repo", "add", &url, "--token-env", "APP_TOKEN"]);
    assert_eq!(known(&cli), Vec::<String>::new());

    let with_token = cli.with_variable("APP_TOKEN", TOKEN).with_variable("SPINNEY_WORKSPACE__FETCH_MAX_AGE", "0");
    let mut said = Vec::new();
    said.push(with_token.run(&["-v", "repo", "add", &url, "--token-env", "APP_TOKEN"]).ok());
    let tip = remote.advance("new.txt");
    said.push(with_token.run(&["-v", "new", "--json", "--repo", "acme/app", "--issue", "1"]).ok());
    assert_eq!(said[1].json()["base_commit"], tip);
    said.push(with_token.run(&["-v", "repo", "sync", "acme/app"]).ok());
    said.push(with_token.run(&["repo", "ls", "--json"]).ok());
    for ran in &said {
        assert!(!ran.told().contains(TOKEN), "{}", ran.told());
    }
    assert!(!git.calls().is_empty());
    assert!(!git.calls().iter().any(|call| call.contains(TOKEN)), "{:?}", git.calls());
    assert_token_is_nowhere(&sandbox);
    // The name is remembered, so that a later command knows which variable it needs.
    refused(&cli, 2, &["repo", "sync", "acme/app"]).says(&["`APP_TOKEN`", "acme/app"]);
}

#[test]
fn a_remote_that_a_person_moved_is_said_again() {
    let (sandbox, _remote, cli) = with_remote();
    let [old, new] = [(); 2].map(|()| HttpRemote::with_token(&sandbox, TOKEN));
    let [here, there] = [&old, &new].map(|server| server.url("acme/app.git"));
    let clone = sandbox.path().join("mine");
    sandbox.git(sandbox.path(), &["clone", "--quiet", &old.url_with_token("acme/app.git"), clone.to_str().unwrap()]);
    let git = |arguments: &[&str]| sandbox.git(&clone, arguments);
    git(&["remote", "set-url", "origin", &here]);
    let cli = cli.in_directory(&clone).with_variable("APP_TOKEN", TOKEN);
    cli.run(&["repo", "add", ".", "--token-env", "APP_TOKEN"]).ok();
    cli.run(&["repo", "sync"]).ok();
    git(&["remote", "set-url", "origin", &there]);
    refused(&cli, 1, &["repo", "sync"]).says(&["no token was sent", &there[..there.len() - "acme/app.git".len()]]);
    assert_eq!(cli.run(&["repo", "add", ".", "--json"]).ok().json()["url"], there);
    cli.run(&["repo", "sync"]).ok();
}

#[test]
fn credentials_in_an_address_are_used_once_and_not_written_down() {
    let (sandbox, _remote, cli) = with_remote();
    let server = HttpRemote::with_token(&sandbox, TOKEN);
    let git = GitWrapper::recording();
    let ran = cli
        .with_path_first(git.directory())
        .run(&["-v", "repo", "add", &server.url_with_token("acme/app.git"), "--json"])
        .ok();
    assert_eq!(ran.json()["url"], server.url("acme/app.git"));
    // The command line itself had it, and nothing else.
    assert!(!ran.stdout.contains(TOKEN) && !ran.stderr.contains(TOKEN), "{}", ran.stderr);
    assert!(!git.calls().iter().any(|call| call.contains(TOKEN)), "{:?}", git.calls());
    assert_token_is_nowhere(&sandbox);
}

#[test]
fn two_adds_at_once_make_one_clone() {
    let (sandbox, remote, cli) = with_remote();
    let url = file_url(&remote);
    let running: Vec<_> = (0..4).map(|_| cli.spawn(&["repo", "add", &url, "--name", "acme/app", "--json"])).collect();
    let mut ids: Vec<_> = running.into_iter().map(|one| one.wait().ok().json()["id"].to_string()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 1, "{ids:?}");
    assert_eq!(known(&cli), ["acme/app"]);
    assert_eq!(all_files(&sandbox.spinney_home().join("repos/local/acme")), ["app.git"]);
}

/// The names in a directory, hidden ones too.
fn all_files(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn an_interrupted_add_leaves_nothing_in_the_way() {
    let (sandbox, remote, cli) = with_remote();
    let url = file_url(&remote);
    let wait = r#"touch "$HERE/reached"; while [ ! -e "$HERE/go" ]; do sleep 0.02; done"#;
    let git = GitWrapper::new(&format!(
        "case \" $* \" in *' fetch '*) \"$GIT\" \"$@\"; {wait} ;; *) exec \"$GIT\" \"$@\" ;; esac\n"
    ));
    let running = cli.with_path_first(git.directory()).spawn(&["repo", "add", &url, "--name", "acme/app"]);
    wait_until(|| git.directory().join("reached").exists(), Duration::from_secs(60));
    running.kill();
    fs::write(git.directory().join("go"), "").unwrap();
    assert_eq!(known(&cli), Vec::<String>::new());
    cli.run(&["repo", "add", &url, "--name", "acme/app"]).ok();
    assert_eq!(known(&cli), ["acme/app"]);
    assert_eq!(all_files(&sandbox.spinney_home().join("repos/local/acme")), ["app.git"]);
    make(&cli, &["--repo", "acme/app", "--issue", "1"]);
}

#[test]
fn an_add_that_fails_leaves_nothing() {
    let (sandbox, _remote, cli) = with_remote();
    let nowhere = format!("file://{}/acme/nowhere.git", sandbox.remotes().display());
    refused(&cli, 4, &["repo", "add", &nowhere]).says(&["nowhere.git"]);
    refused(&cli, 4, &["repo", "add", "no/such/directory"]).says(&["`no/such/directory`"]);
    refused(&cli, 4, &["repo", "add", sandbox.path().to_str().unwrap()]);
    assert_eq!(known(&cli), Vec::<String>::new());
    assert_eq!(files_below(&sandbox.spinney_home().join("repos"), 2), Vec::<PathBuf>::new());
}

#[test]
fn repositories_of_one_name_and_different_owners_never_mix() {
    let (sandbox, acme, cli) = with_remote();
    let other = sandbox.repository("unrelated").with_remote();
    let place = sandbox.remotes().join("other/app.git");
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    fs::rename(other.remote().path(), &place).unwrap();
    let other = Remote::make(&sandbox, "other/app.git");
    let (theirs, ours) = (other.advance("other.txt"), acme.advance("acme.txt"));
    let server = HttpRemote::open(&sandbox);
    cli.run(&["repo", "add", &server.url("acme/app.git")]).ok();
    cli.run(&["repo", "add", &server.url("other/app.git")]).ok();
    let one = make(&cli, &["--repo", "acme/app", "--issue", "1"]);
    let two = make(&cli, &["--repo", "other/app", "--issue", "1"]);
    assert_eq!((one.text("base_commit"), two.text("base_commit")), (ours.as_str(), theirs.as_str()));
    assert_ne!(one.path(), two.path());
    assert_ne!(one.text("link"), two.text("link"));
    // A name alone is ambiguous outside of both, and an error lists them.
    refused(&cli, 4, &["show", "issue-1"]).says(&["acme/app", "other/app"]);
}

#[test]
fn the_same_owner_and_name_at_two_addresses_never_mix() {
    let (sandbox, _remote, cli) = with_remote();
    let (one, two) = (HttpRemote::open(&sandbox), HttpRemote::open(&sandbox));
    let add = |server: &HttpRemote| cli.run(&["repo", "add", &server.url("acme/app.git"), "--json"]).ok().json();
    let (first, second) = (add(&one), add(&two));
    assert_eq!((first["name"].as_str(), second["name"].as_str()), (Some("acme/app"), Some("acme/app-2")));
    assert_ne!(first["common_dir"], second["common_dir"]);
    assert_eq!(add(&two)["id"], second["id"]);
    // A name that a person gives is taken as it is, or refused.
    let url = two.url("acme/app.git");
    refused(&cli, 2, &["repo", "add", &url, "--name", "acme/app"])
        .says(&["acme/app is known already"])
        .hints(&["--name"]);
}

#[test]
fn two_clones_of_one_remote_have_their_own_workspaces() {
    let (sandbox, _remote, cli) = with_remote();
    let server = HttpRemote::open(&sandbox);
    let clone = |name: &str| {
        let path = sandbox.path().join("repositories").join(name);
        sandbox.git(sandbox.path(), &["clone", "--quiet", &server.url("acme/app.git"), path.to_str().unwrap()]);
        path
    };
    let (one, two) = (cli.in_directory(clone("one")), cli.in_directory(clone("two")));
    let first = make(&one, &["--issue", "1"]);
    let second = make(&two, &["--issue", "1"]);
    assert_eq!((first.text("repository"), second.text("repository")), ("acme/app", "acme/app-2"));
    assert_eq!((first.text("method"), second.text("method")), ("created", "created"));
    assert_ne!(first.path(), second.path());
    let common_dir = |tree: PathBuf| sandbox.git(tree, &["rev-parse", "--path-format=absolute", "--git-common-dir"]);
    assert!(common_dir(first.path()).contains("/one/") && common_dir(second.path()).contains("/two/"));
    // Neither sees, shares or removes what the other has.
    assert_eq!(make(&two, &["--issue", "2", "--links", "1"]).text("repository"), "acme/app-2");
    assert_eq!(crate::support::common::names(&one), ["issue-1"]);
    assert_eq!(one.run(&["show", "issue-1", "--json"]).ok().json()["id"], first.text("id"));
    one.run(&["rm", "issue-1"]).ok();
    assert!(second.path().is_dir() && !first.path().exists());
}

#[test]
fn a_sync_brings_what_is_new_and_drops_what_is_gone() {
    let (sandbox, remote, cli) = with_remote();
    remote.advance_branch("old", "old.txt");
    cli.run(&["repo", "add", &file_url(&remote), "--name", "acme/app"]).ok();
    let clone = sandbox.spinney_home().join("repos/local/acme/app.git");
    let branches = || sandbox.git(&clone, &["for-each-ref", "--format=%(refname:lstrip=3)", "refs/remotes/origin"]);
    assert_eq!(branches().lines().collect::<Vec<_>>(), ["main", "old"]);
    remote.advance_branch("new", "new.txt");
    remote.git(&["update-ref", "-d", "refs/heads/old"]);
    remote.git(&["symbolic-ref", "HEAD", "refs/heads/new"]);
    let synced = cli.run(&["repo", "sync", "acme/app", "--json"]).ok().json();
    assert_eq!(synced["default_branch"], "new");
    assert_eq!(branches().lines().collect::<Vec<_>>(), ["main", "new"]);
    assert_eq!(make(&cli, &["--repo", "acme/app", "--issue", "1"]).text("base_branch"), "new");
}

#[test]
fn a_sync_in_a_persons_repository_touches_neither_branches_nor_checkout() {
    let story = Story::new();
    let tip = story.remote().advance("new.txt");
    let (branches, main) = (story.branches(), story.repository.head());
    story.cli.run(&["repo", "sync"]).ok();
    assert_eq!(story.repository.git(&["rev-parse", "refs/remotes/origin/main"]), tip);
    assert_eq!((story.branches(), story.repository.git(&["rev-parse", "main"])), (branches, main));
    fs::rename(story.remote().path(), story.sandbox().path().join("away")).unwrap();
    refused(&story.cli, 1, &["repo", "sync"]).says(&["could not fetch from `origin`"]);
}

#[test]
fn a_repository_with_live_workspaces_is_not_forgotten() {
    let (sandbox, remote, cli) = with_remote();
    cli.run(&["repo", "add", &file_url(&remote), "--name", "acme/app"]).ok();
    let clone = sandbox.spinney_home().join("repos/local/acme/app.git");
    let workspace = make(&cli, &["--repo", "acme/app", "--issue", "1"]);
    for force in [&[][..], &["--force"]] {
        let refusal = refused(&cli, 3, &[&["repo", "rm", "acme/app"], force].concat());
        refusal.says(&["acme/app has 1 live workspace"]).hints(&["spinney ls"]);
        assert!(!refusal.0.stderr.contains("--force"), "what is there is not forgotten by force: {}", refusal.0.told());
    }
    assert!(workspace.path().is_dir() && clone.is_dir());
    assert_eq!(known(&cli), ["acme/app"]);
}

#[test]
fn a_repository_without_workspaces_is_forgotten_and_its_clone_kept_aside() {
    let (sandbox, remote, cli) = with_remote();
    let url = file_url(&remote);
    cli.run(&["repo", "add", &url, "--name", "acme/app"]).ok();
    let clone = sandbox.spinney_home().join("repos/local/acme/app.git");
    let ran = cli.run(&["repo", "rm", "acme/app"]).ok();
    assert!(!clone.exists());
    let kept: Vec<_> = files_below(&sandbox.spinney_home().join("trash"), 0);
    assert_eq!(kept.len(), 1);
    assert!(ran.stderr.contains(kept[0].to_str().unwrap()), "{}", ran.stderr);
    assert_eq!(sandbox.git(&kept[0], &["rev-parse", "refs/remotes/origin/main"]), remote.head());
    assert_eq!(known(&cli), Vec::<String>::new());
    refused(&cli, 4, &["repo", "rm", "acme/app"]);
    cli.run(&["repo", "add", &url, "--name", "acme/app"]).ok();
    make(&cli, &["--repo", "acme/app", "--issue", "1"]);
}

#[test]
fn forgetting_a_persons_repository_touches_nothing_on_disk() {
    let story = Story::new();
    story.cli.run(&["repo", "add", "."]).ok();
    story.cli.run(&["repo", "rm"]).ok();
    assert_eq!(known(&story.cli), Vec::<String>::new());
    assert_eq!(story.branches(), ["main"]);
}

#[test]
fn a_repository_that_is_gone_with_something_in_the_trash_can_be_forgotten_by_the_advice() {
    let story = Story::new();
    make(&story.cli, &["--issue", "1"]);
    story.cli.run(&["rm", "issue-1"]).ok();
    let name = known(&story.cli).remove(0);
    refused(&story.cli, 3, &["repo", "rm", &name]).says(&["1 workspace in the trash"]).hints(&["spinney trash purge"]);
    fs::rename(story.repository.path(), story.sandbox().path().join("gone")).unwrap();
    let cli = story.cli.in_directory(story.sandbox().path());
    let advice = format!("spinney repo rm {name} --force");
    refused(&cli, 3, &["repo", "rm", &name]).says(&["1 workspace in the trash"]).hints(&[&advice]);
    cli.run(&["repo", "rm", &name, "--force"]).ok();
    assert_eq!(known(&cli), Vec::<String>::new());
    fs::rename(story.sandbox().path().join("gone"), story.repository.path()).unwrap();
}

#[test]
fn a_repository_inside_a_workspace_is_none_of_its_own() {
    let story = Story::new();
    let path = story.make(&["--issue", "1"]).path();
    let inner = path.join("lib");
    fs::create_dir(&inner).unwrap();
    story.sandbox().git(&inner, &["init", "--quiet"]);
    fs::write(inner.join("f"), "f").unwrap();
    fs::write(inner.join(".gitattributes"), "* filter=x\n").unwrap();
    story.sandbox().git(&inner, &["add", "."]);
    story.sandbox().git(&inner, &["commit", "--quiet", "--message", "inner"]);
    let mark = story.sandbox().path().join("ran");
    for key in ["filter.x.smudge", "filter.x.clean", "core.sshCommand"] {
        story.sandbox().git(&inner, &["config", key, &format!("touch '{}'; cat", mark.display())]);
    }
    let before = known(&story.cli);
    let inside = story.cli.in_directory(&inner);
    // Who stands in it means the repository of the workspace.
    for arguments in [&["status"][..], &["ls", "-l"], &["repo", "sync"], &["new", "--issue", "2"]] {
        inside.run(arguments).ok();
    }
    story.cli.run(&["--repo", inner.to_str().unwrap(), "ls"]).ok();
    assert_eq!(story.show("issue-2").text("repository"), before[0]);
    refused(&story.cli, 2, &["repo", "add", inner.to_str().unwrap()])
        .says(&["lies in the workspace issue-1"])
        .hints(&["a clone of it that stands elsewhere"]);
    assert_eq!(known(&story.cli), before);
    assert!(!inner.join(".git/spinney").exists(), "something was written into it");
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    refused(&story.cli, 2, &["repo", "add", &trashed_in(&story, "lib")]).says(&["lies in the workspace issue-1"]);
    assert!(!mark.exists(), "a setting of it ran");
}

/// A path in the only tree in the trash.
fn trashed_in(story: &Story, path: &str) -> String {
    let mut trees = fs::read_dir(story.sandbox().spinney_home().join("trash")).unwrap();
    trees.next().unwrap().unwrap().path().join(path).to_str().unwrap().to_owned()
}

#[test]
fn a_managed_clones_own_file_is_read_from_its_base_commit() {
    let (sandbox, remote, cli) = with_remote();
    let commit = |text: &str| {
        let clone = sandbox.path().join("clones/editor");
        if !clone.exists() {
            sandbox.git(sandbox.path(), &["clone", "--quiet", remote.url(), clone.to_str().unwrap()]);
        }
        fs::write(clone.join("spinney.toml"), text).unwrap();
        sandbox.git(&clone, &["add", "."]);
        sandbox.git(&clone, &["commit", "--quiet", "--message", "configure"]);
        sandbox.git(&clone, &["push", "--quiet"]);
    };
    commit("[workspace]\nports = [\"web\"]\nsetup = [\"touch made.txt\"]\n");
    cli.run(&["repo", "add", &file_url(&remote), "--name", "acme/app"]).ok();
    let cli = cli.with_variable("SPINNEY_WORKSPACE__FETCH_MAX_AGE", "0");
    let first = make(&cli, &["--repo", "acme/app", "--issue", "1"]);
    let show = |name: &str| cli.run(&["show", name, "--json"]).ok().json();
    assert!(show("issue-1")["ports"]["web"].is_u64());
    assert!(!first.path().join("made.txt").exists(), "nobody trusted it yet");
    cli.run(&["trust", "--yes", "--repo", "acme/app"]).ok();
    assert!(make(&cli, &["--repo", "acme/app", "--issue", "2"]).path().join("made.txt").is_file());
    // What a workspace holds configures nothing; what the base holds by now does.
    fs::write(first.path().join("spinney.toml"), "[workspace]\nports = [\"mine\"]\n").unwrap();
    commit("[workspace]\nports = [\"api\"]\n");
    make(&cli.in_directory(first.path()), &["--issue", "3"]);
    assert!(show("issue-3")["ports"]["api"].is_u64(), "{}", show("issue-3"));
    assert!(show("issue-3")["ports"]["mine"].is_null());
    // A mistake in it is told with its place.
    commit("[workspace]\nport = [\"api\"]\n");
    refused(&cli, 2, &["new", "--repo", "acme/app", "--issue", "4"]).says(&["spinney.toml", "workspace.port"]);
}
