//! Secrets: only what crosses the network has them, and no program or place that an agent named.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::common::{branch, environment, program};
use spinney_core::{BranchName, CommitId};
use spinney_git::{
    AddWorktree, Credential, Error, Git, GitOptions, Identity, Known, Lease, Pushed, Repository, Start, StatusOptions,
    Wanted, Worktree,
};
use spinney_testkit::{HttpRemote, Sandbox, TestRepository, write_program};

const TOKEN: &str = "s3cretT0ken";
const REMOTE: &str = "acme/app.git";

struct Place {
    kit: Sandbox,
    app: TestRepository,
    repository: Repository,
    /// Where the programs of an agent write what they see.
    seen: PathBuf,
}

/// A repository whose caller has a token and another variable.
async fn place() -> Place {
    let kit = Sandbox::new();
    let app = kit.repository("app").with_remote();
    let mut given = environment(&kit.home());
    given.extend([("MY_TOKEN".into(), TOKEN.into()), ("MY_NAME".into(), "plain".into())]);
    let options = GitOptions { program: program(), secrets: vec!["MY_TOKEN".into()], ..GitOptions::new(given) };
    let repository = Repository::discover(&Git::open(options).await.unwrap(), app.path()).await.unwrap();
    let seen = kit.path().join("seen");
    Place { kit, app, repository, seen }
}

impl Place {
    /// A shell line that notes its environment.
    fn spy(&self) -> String {
        format!("env >> '{}'; :", self.seen.display())
    }

    /// What the spies saw; they ran, and saw no secret.
    fn assert_blind(&self, what: &str) {
        let seen = fs::read_to_string(&self.seen).unwrap_or_else(|_| panic!("{what}: nobody looked"));
        assert!(seen.contains("MY_NAME=plain") && !seen.contains(TOKEN), "{what}: {seen}");
        fs::remove_file(&self.seen).unwrap();
    }

    fn serve(&mut self) -> HttpRemote {
        let server = HttpRemote::with_token(&self.kit, TOKEN);
        let url = server.url(REMOTE);
        self.app.git(&["remote", "set-url", "origin", &url]);
        self.repository = self.repository.clone().with_known_url(Some(&url));
        server
    }

    async fn push(&self, credential: Option<&Credential>) -> Result<Pushed, Error> {
        let commit: CommitId = self.app.git(&["commit-tree", "-p", "HEAD", "-m", "x", "HEAD^{tree}"]).parse().unwrap();
        self.repository.push("origin", &commit, &branch("x"), &Lease::At(commit.clone()), credential).await
    }

    async fn fetch(&self, credential: Option<&Credential>) -> Result<Known, Error> {
        let wanted = Wanted { branches: vec![branch("main")], ..Wanted::default() };
        self.repository.fetch("origin", &wanted, Duration::ZERO, credential).await
    }

    async fn worktree(&self) -> Worktree {
        let path = self.kit.path().join("tree");
        let (name, commit): (BranchName, CommitId) = (branch("work"), self.app.head().parse().unwrap());
        let lock = self.repository.lock("a test").await.unwrap();
        let start = Start::NewBranch { name: &name, commit: &commit };
        let add = AddWorktree { path: &path, start, lock_reason: "spinney:test" };
        self.repository.add_worktree(&lock, &add).await.unwrap();
        Worktree::open(&self.repository, &path).unwrap()
    }
}

fn assert_withheld(result: Result<impl std::fmt::Debug, Error>, why: &str) {
    let error = result.unwrap_err();
    assert!(matches!(&error, Error::Auth { detail } if detail.contains(why)), "{why}: {error:?}");
}

fn write(tree: &Path, file: &str, text: &str) {
    fs::write(tree.join(file), text).unwrap();
}

/// Whether a program lies where programs lie.
fn is_installed(name: &str) -> bool {
    ["/bin", "/usr/bin", "/usr/local/bin"].iter().any(|place| PathBuf::from(place).join(name).exists())
}

#[tokio::test]
async fn a_filter_that_an_agent_wrote_sees_none() {
    let place = place().await;
    place.app.write(".gitattributes", "* filter=spy\n").write("a.txt", "a\n").commit("attributes");
    for part in ["clean", "smudge"] {
        place.app.git(&["config", &format!("filter.spy.{part}"), &format!("{}; cat", place.spy())]);
    }
    let worktree = place.worktree().await;
    for lfs in [false, true] {
        fs::remove_file(worktree.path().join("a.txt")).ok();
        worktree.checkout(lfs).await.unwrap();
        place.assert_blind("checkout");
    }
    write(worktree.path(), "a.txt", "b\n");
    worktree.load_status(&StatusOptions { untracked: true, ignored: false }).await.unwrap();
    place.assert_blind("status");
    let identity = Identity { name: "A".to_owned(), email: "a@example.invalid".to_owned() };
    let files = worktree.load_left_over().await.unwrap();
    let wanted: Vec<_> = files.changed.keys().cloned().collect();
    assert!(worktree.commit_files(&files, &wanted, "x", &identity).await.unwrap().is_some());
    place.assert_blind("add");
    fs::remove_file(worktree.path().join("a.txt")).unwrap();
    worktree.checkout_index().await.unwrap();
    place.assert_blind("checkout-index");
    let [old, new] = ["main", "work"].map(|name| place.app.git(&["rev-parse", name]).parse().unwrap());
    worktree.detach_head(&place.repository.lock("a test").await.unwrap(), &new).await.unwrap();
    for (commit, lfs) in [(old, false), (new, true)] {
        worktree.move_to(&commit, lfs).await.unwrap();
        place.assert_blind("switch");
    }
    // An alias counts only where git-lfs is not installed.
    place.app.git(&["config", "alias.lfs", &format!("!{}", place.spy())]);
    if !is_installed("git-lfs") {
        worktree.pull_lfs().await.unwrap();
        place.assert_blind("lfs pull");
    }
}

#[tokio::test]
async fn a_persons_helper_has_the_token_and_an_agents_has_not() {
    let mut place = place().await;
    let _server = place.serve();
    assert!(matches!(place.fetch(None).await, Err(Error::Auth { .. })));
    let helper = "!f() { echo username=x-access-token; echo \"password=$MY_TOKEN\"; }; f";
    place.kit.git(place.kit.path(), &["config", "--global", "credential.helper", helper]);
    place.fetch(None).await.unwrap();
    assert_eq!(place.push(None).await.unwrap(), Pushed::New);

    let spy = format!("!{}", place.spy());
    place.app.git(&["config", "credential.helper", &spy]);
    assert_withheld(place.push(None).await, "own configuration sets `credential.helper`");
    place.assert_blind("push");
    assert_withheld(place.fetch(None).await, "own configuration sets `credential.helper`");
    place.assert_blind("fetch");
    place.app.git(&["config", "--unset", "credential.helper"]);
    // In a file that it includes, it is the repository's too.
    write(&place.app.path().join(".git"), "more", &format!("[credential]\n\thelper = \"{spy}\"\n"));
    place.app.git(&["config", "include.path", "more"]);
    assert_withheld(place.push(None).await, "own configuration sets `credential.helper`");
    place.assert_blind("push");
    place.app.git(&["config", "--unset", "include.path"]);
    place.fetch(None).await.unwrap();
}

#[tokio::test]
async fn what_a_remote_runs_here_sees_none() {
    let place = place().await;
    let ssh = format!("{}; exit 1; #", place.spy());
    place.app.git(&["config", "core.sshCommand", &ssh]);
    place.app.git(&["remote", "set-url", "origin", "ssh://git@host.invalid/acme/app.git"]);
    place.fetch(None).await.unwrap_err();
    place.assert_blind("ssh");
    place.app.git(&["config", "--unset", "core.sshCommand"]);
    place.app.git(&["remote", "set-url", "origin", place.app.remote().path().to_str().unwrap()]);
    let hooks = place.app.remote().path().join("hooks");
    fs::create_dir_all(&hooks).unwrap();
    write_program(hooks.join("update"), format!("#!/bin/sh\n{}\n", place.spy()));
    assert_eq!(place.push(None).await.unwrap(), Pushed::New);
    place.assert_blind("a hook");
}

#[tokio::test]
async fn a_token_goes_to_the_known_origin_wherever_the_remote_leads() {
    let mut place = place().await;
    let server = place.serve();
    let evil = HttpRemote::with_token(&place.kit, TOKEN);
    let credential = Credential::token(TOKEN);
    place.fetch(Some(&credential)).await.unwrap();
    assert_eq!(place.push(Some(&credential)).await.unwrap(), Pushed::New);
    let heard_nothing = |what: &str| {
        let requests = evil.requests();
        assert!(!requests.is_empty() && requests.iter().all(|line| line.starts_with("401 ")), "{what}: {requests:?}");
    };

    place.app.git(&["config", "remote.origin.pushurl", &evil.url(REMOTE)]);
    assert_withheld(place.push(Some(&credential)).await, "the remote points to");
    heard_nothing("pushurl");
    // One address that is right, and one that is not.
    place.app.git(&["config", "--add", "remote.origin.pushurl", &server.url(REMOTE)]);
    place.push(Some(&credential)).await.unwrap_err();
    heard_nothing("a second pushurl");
    place.app.git(&["config", "--unset-all", "remote.origin.pushurl"]);
    let rewrite = format!("url.{}.insteadOf", evil.url(""));
    place.app.git(&["config", &rewrite, &server.url("")]);
    assert_withheld(place.fetch(Some(&credential)).await, "the remote points to");
    assert_withheld(place.push(Some(&credential)).await, "the remote points to");
    heard_nothing("insteadOf");
    place.app.git(&["config", "--unset", &rewrite]);
    place.app.git(&["config", "http.proxy", evil.url("").trim_end_matches('/')]);
    assert_withheld(place.fetch(Some(&credential)).await, "own configuration sets `http.proxy`");
    heard_nothing("a proxy");
    place.app.git(&["config", "--unset", "http.proxy"]);
    place.fetch(Some(&credential)).await.unwrap();
}

#[tokio::test]
async fn a_persons_own_names_for_remotes_are_followed() {
    let mut place = place().await;
    let server = place.serve();
    place.kit.git(place.kit.path(), &["config", "--global", &format!("url.{}.insteadOf", server.url("")), "work:"]);
    place.app.git(&["remote", "set-url", "origin", "work:acme/app.git"]);
    place.repository = place.repository.clone().with_known_url(Some("work:acme/app.git"));
    place.fetch(Some(&Credential::token(TOKEN))).await.unwrap();
}
