//! Pushing: one commit to one branch, nothing else, and nothing of anybody else's is dropped.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::common::{Sandbox, branch, environment};
use spinney_core::CommitId;
use spinney_git::{Changes, Credential, Error, Git, GitOptions, Lease, Pushed, Repository};
use spinney_testkit::{HttpRemote, write_program};

async fn push(repository: &Repository, commit: &CommitId, lease: Lease) -> Result<Pushed, Error> {
    repository.push("origin", commit, &branch("agent/coder/x"), &lease, None).await
}

fn tip(sandbox: &Sandbox, name: &str) -> Option<String> {
    let (found, commit, _) = sandbox.try_run(&sandbox.path("app.git"), &["rev-parse", "--verify", "-q", name]);
    found.then_some(commit)
}

fn refs(sandbox: &Sandbox) -> String {
    sandbox.run(&sandbox.path("app.git"), &["for-each-ref", "--format=%(refname)"])
}

fn hook(sandbox: &Sandbox, repository: &str, name: &str, body: &str) {
    let hooks = sandbox.path(repository).join("hooks");
    fs::create_dir_all(&hooks).unwrap();
    let script = sandbox.script("hook", body);
    fs::rename(script, hooks.join(name)).unwrap();
}

/// A clone of `app.git`, with a worktree on `work`.
async fn cloned(sandbox: &Sandbox) -> (Repository, PathBuf) {
    let repository = sandbox.open(&sandbox.init_cloned("app")).await;
    let worktree = sandbox.add(&repository, "work").await;
    (repository, worktree.path().to_owned())
}

#[tokio::test]
async fn a_commit_goes_to_its_branch_and_nothing_else_goes() {
    let sandbox = Sandbox::new().await;
    let (repository, tree) = cloned(&sandbox).await;
    let root = sandbox.path("app");
    let ran = sandbox.path("ran");
    hook(&sandbox, "app/.git", "pre-push", &format!("touch '{}'\nexit 1\n", ran.display()));
    for (key, value) in [
        ("push.followTags", "true"),
        ("push.gpgSign", "true"),
        ("push.default", "matching"),
        ("push.autoSetupRemote", "true"),
        ("push.useForceIfIncludes", "true"),
        ("push.recurseSubmodules", "only"),
        ("push.pushOption", "x"),
        ("remote.origin.push", "refs/heads/*:refs/heads/*"),
        ("remote.origin.mirror", "true"),
        ("remote.pushDefault", "nowhere"),
    ] {
        sandbox.run(&root, &["config", key, value]);
    }
    let config = fs::read(root.join(".git/config")).unwrap();
    let first = sandbox.commit(&tree, "a", "1");
    sandbox.run(&tree, &["tag", "-a", "-m", "x", "v1"]);
    assert_eq!(push(&repository, &first, Lease::Absent).await.unwrap(), Pushed::New);
    assert_eq!(refs(&sandbox), "refs/heads/agent/coder/x\nrefs/heads/main");
    assert_eq!(push(&repository, &first, Lease::Absent).await.unwrap(), Pushed::UpToDate);
    let second = sandbox.commit(&tree, "a", "2");
    assert_eq!(push(&repository, &second, Lease::At(first.clone())).await.unwrap(), Pushed::Updated);
    // It arrived, and the one who asked never heard of it.
    assert_eq!(push(&repository, &second, Lease::At(first)).await.unwrap(), Pushed::UpToDate);
    assert_eq!(tip(&sandbox, "agent/coder/x"), Some(second.to_string()));
    assert!(!ran.exists());
    assert_eq!(fs::read(root.join(".git/config")).unwrap(), config);
    let base = repository.load_branch(&branch("main")).await.unwrap().unwrap();
    assert_eq!(repository.count_unpushed(&second, &base).await.unwrap().count, 0);
}

#[tokio::test]
async fn what_was_pushed_from_here_may_be_replaced_and_nothing_else() {
    let sandbox = Sandbox::new().await;
    let (repository, tree) = cloned(&sandbox).await;
    let first = sandbox.commit(&tree, "a", "1");
    push(&repository, &first, Lease::Absent).await.unwrap();
    sandbox.run(&tree, &["commit", "-q", "--amend", "-m", "rewritten"]);
    let rewritten = sandbox.head(&tree);
    let error = push(&repository, &rewritten, Lease::Absent).await.unwrap_err();
    assert!(matches!(&error, Error::PushRejected { detail, .. } if detail == "non-fast-forward"), "{error:?}");
    assert!(!error.is_temporary());
    assert_eq!(push(&repository, &rewritten, Lease::At(first.clone())).await.unwrap(), Pushed::Updated);

    // Somebody else pushes on top.
    let other = sandbox.path("other");
    sandbox
        .run(&sandbox.path(""), &["clone", "-q", sandbox.path("app.git").to_str().unwrap(), other.to_str().unwrap()]);
    sandbox.run(&other, &["switch", "-q", "agent/coder/x"]);
    let theirs = sandbox.commit(&other, "b", "theirs");
    sandbox.run(&other, &["push", "-q", "origin", "agent/coder/x"]);
    let ours = sandbox.commit(&tree, "a", "3");
    for lease in [Lease::Absent, Lease::At(rewritten.clone()), Lease::At(first.clone())] {
        let error = push(&repository, &ours, lease).await.unwrap_err();
        assert!(matches!(&error, Error::PushRejected { .. }), "{error:?}");
    }
    assert_eq!(tip(&sandbox, "agent/coder/x"), Some(theirs.to_string()));
    // Who took theirs in needs no leave, though the lease is old by now.
    sandbox.run(&tree, &["pull", "-q", "--rebase", "origin", "agent/coder/x"]);
    let together = sandbox.head(&tree);
    assert_eq!(push(&repository, &together, Lease::At(rewritten)).await.unwrap(), Pushed::Updated);
    // Where the branch is gone, nothing can be dropped.
    sandbox.run(&sandbox.path("app.git"), &["branch", "-q", "-D", "agent/coder/x"]);
    assert_eq!(push(&repository, &together, Lease::At(first)).await.unwrap(), Pushed::New);
}

#[tokio::test]
async fn a_remote_that_refuses_is_quoted_in_plain_words() {
    let sandbox = Sandbox::new().await;
    let (repository, tree) = cloned(&sandbox).await;
    let commit = sandbox.commit(&tree, "a", "1");
    hook(
        &sandbox,
        "app.git",
        "pre-receive",
        "printf '\\033[31mGH006: Protected branch\\033[0m\\n\\nhttps://me:s3cret@host/x %01000d\\n' 0 >&2\nexit 1\n",
    );
    let error = push(&repository, &commit, Lease::Absent).await.unwrap_err();
    let Error::PushRefused { detail } = &error else { panic!("{error:?}") };
    assert!(detail.starts_with("pre-receive hook declined: GH006: Protected branch https://***@host/x 0"), "{detail}");
    assert!(detail.chars().count() <= 601, "{detail}");
    assert!(!error.is_temporary() && !format!("{error:?}").contains("s3cret"));
    assert_eq!(tip(&sandbox, "agent/coder/x"), None);
    assert_eq!(repository.load_remote_branch("origin", &branch("agent/coder/x")).await.unwrap(), None);
}

#[tokio::test]
async fn a_remote_that_is_out_of_reach_may_come_back() {
    let sandbox = Sandbox::new().await;
    let (repository, tree) = cloned(&sandbox).await;
    let commit = sandbox.commit(&tree, "a", "1");
    let root = sandbox.path("app");
    sandbox.run(&root, &["remote", "set-url", "origin", "http://127.0.0.1:1/app.git"]);
    let error = push(&repository, &commit, Lease::Absent).await.unwrap_err();
    assert!(matches!(&error, Error::Network { .. }) && error.is_temporary(), "{error:?}");
    sandbox.run(&root, &["remote", "set-url", "origin", sandbox.path("nowhere").to_str().unwrap()]);
    let error = push(&repository, &commit, Lease::Absent).await.unwrap_err();
    assert!(matches!(&error, Error::RemoteNotFound { .. }) && !error.is_temporary(), "{error:?}");
    let error = repository.push("--receive-pack=x", &commit, &branch("x"), &Lease::Absent, None).await.unwrap_err();
    assert!(matches!(&error, Error::Refused { .. }), "{error:?}");
    // Its own address for pushes is used.
    sandbox.run(&root, &["remote", "set-url", "--push", "origin", sandbox.path("app.git").to_str().unwrap()]);
    assert_eq!(push(&repository, &commit, Lease::Absent).await.unwrap(), Pushed::New);
}

#[tokio::test]
async fn a_remote_that_says_nothing_of_the_branch_may_have_taken_it() {
    let sandbox = Sandbox::new().await;
    let (repository, tree) = cloned(&sandbox).await;
    let commit = sandbox.commit(&tree, "a", "1");
    let refs = format!("{} refs/heads/main", sandbox.head(&sandbox.path("app")));
    // `\0` and what it can do are behind the first ref; four digits say how long the line is.
    let listed = format!("{:04x}{refs}\\000report-status", refs.len() + "\0report-status".len() + 4);
    let script = sandbox.script(
        "receive-pack",
        &format!("printf '{listed}0000000eunpack ok\\n0000'\ncat > '{}'\n", sandbox.path("sent").display()),
    );
    sandbox.run(&tree, &["config", "remote.origin.receivepack", &format!("'{}'", script.display())]);
    let error = push(&repository, &commit, Lease::Absent).await.unwrap_err();
    assert!(matches!(&error, Error::Network { .. }) && error.is_temporary(), "{error:?}");
    sandbox.run(&tree, &["config", "--unset", "remote.origin.receivepack"]);
    assert_eq!(push(&repository, &commit, Lease::Absent).await.unwrap(), Pushed::New);
}

#[tokio::test]
async fn it_is_known_here_although_only_some_branches_are_fetched() {
    let sandbox = Sandbox::new().await;
    let (repository, tree) = cloned(&sandbox).await;
    let root = sandbox.path("app");
    sandbox.run(&root, &["config", "remote.origin.fetch", "+refs/heads/main:refs/remotes/origin/main"]);
    let commit = sandbox.commit(&tree, "a", "1");
    push(&repository, &commit, Lease::Absent).await.unwrap();
    let name = branch("agent/coder/x");
    let known = || repository.load_remote_branch("origin", &name);
    assert_eq!(known().await.unwrap(), Some(commit));
    // What stands in the way of the name here is gone at the remote.
    sandbox.run(&root, &["config", "remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"]);
    sandbox.run(&root, &["update-ref", "-d", "refs/remotes/origin/agent/coder/x"]);
    sandbox.run(&root, &["update-ref", "refs/remotes/origin/agent", "main"]);
    let commit = sandbox.commit(&tree, "a", "2");
    push(&repository, &commit, Lease::Absent).await.unwrap();
    assert_eq!(known().await.unwrap(), Some(commit));
}

#[tokio::test]
async fn a_token_opens_the_remote_and_is_told_nobody() {
    let kit = spinney_testkit::Sandbox::new();
    let app = kit.repository("app").with_remote();
    let server = HttpRemote::with_token(&kit, "s3cretT0ken");
    let name = app.remote().path().strip_prefix(kit.remotes()).unwrap().display().to_string();
    app.git(&["remote", "set-url", "origin", &server.url(&name)]);
    let options = GitOptions { program: crate::common::program(), ..GitOptions::new(environment(&kit.home())) };
    let repository = Repository::discover(&Git::open(options).await.unwrap(), app.path()).await.unwrap();
    let commit: CommitId = app.git(&["commit-tree", "-p", "HEAD", "-m", "x", "HEAD^{tree}"]).parse().unwrap();
    let repository = repository.with_known_url(Some(&server.url(&name)));
    let push = |credential: Option<Credential>| {
        let (repository, commit) = (repository.clone(), commit.clone());
        async move { repository.push("origin", &commit, &branch("x"), &Lease::Absent, credential.as_ref()).await }
    };
    for credential in [None, Some(Credential::token("wrong"))] {
        let error = push(credential).await.unwrap_err();
        assert!(matches!(&error, Error::Auth { .. }) && !error.is_temporary(), "{error:?}");
    }
    let hooks = app.remote().path().join("hooks");
    fs::create_dir_all(&hooks).unwrap();
    let script = "#!/bin/sh\necho 'I heard s3cretT0ken' >&2\nexit 1\n";
    write_program(hooks.join("update"), script);
    let error = push(Some(Credential::token("s3cretT0ken"))).await.unwrap_err();
    assert!(matches!(&error, Error::PushRefused { detail } if detail.contains("I heard ***")), "{error:?}");
    fs::remove_file(hooks.join("update")).unwrap();
    assert_eq!(push(Some(Credential::token("s3cretT0ken"))).await.unwrap(), Pushed::New);
    assert!(!fs::read_to_string(app.path().join(".git/config")).unwrap().contains("s3cret"));
    // It goes where is pushed to, though that is not where is fetched from.
    app.git(&["remote", "set-url", "--push", "origin", &server.url(&name)]);
    app.git(&["remote", "set-url", "origin", app.remote().path().to_str().unwrap()]);
    assert_eq!(push(Some(Credential::token("s3cretT0ken"))).await.unwrap(), Pushed::UpToDate);
}

/// Answers each request on its own connection, and hands on what came.
fn serve(answer: impl Fn(&str) -> String + Send + 'static) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let requests = Arc::clone(&heard);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                if stream.read(&mut byte).unwrap_or(0) == 0 {
                    break;
                }
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap();
            let answer = answer(&head);
            requests.lock().unwrap().push(head);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (port, heard)
}

#[tokio::test]
async fn a_token_does_not_follow_a_remote_to_another_host() {
    let sandbox = Sandbox::new().await;
    let refs = format!("{} capabilities^{{}}\0report-status\n", "0".repeat(40));
    let (theirs, heard) = serve(move |head| {
        let listed = format!("001f# service=git-receive-pack\n0000{:04x}{refs}0000", refs.len() + 4);
        let listed = if head.starts_with("GET") { listed } else { String::new() };
        let kind = "Content-Type: application/x-git-receive-pack-advertisement";
        format!("HTTP/1.1 200 OK\r\n{kind}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{listed}", listed.len())
    });
    let (ours, known) = serve(move |head| {
        if !head.contains("Authorization:") {
            let wants = "WWW-Authenticate: Basic realm=\"x\"";
            return format!("HTTP/1.1 401 No\r\n{wants}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
        }
        let target = head.split_whitespace().nth(1).unwrap();
        let to = format!("Location: http://localhost:{theirs}{target}");
        format!("HTTP/1.1 301 Moved\r\n{to}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
    });
    let root = sandbox.init("app");
    let url = format!("http://127.0.0.1:{ours}/acme/app.git");
    sandbox.run(&root, &["remote", "add", "origin", &url]);
    // Nor is the person's own helper asked, or told to keep it.
    let asked = sandbox.path("asked");
    let helper = sandbox.script("helper", &format!("echo \"$@\" >> '{}'\n", asked.display()));
    for key in ["credential.helper", &format!("credential.http://127.0.0.1:{ours}.helper")] {
        sandbox.run(&root, &["config", "--global", key, helper.to_str().unwrap()]);
    }
    let repository = sandbox.open(&root).await.with_known_url(Some(&url));
    let token = Credential::token("s3cretT0ken");
    let pushed = repository.push("origin", &sandbox.head(&root), &branch("x"), &Lease::Absent, Some(&token)).await;
    assert!(pushed.is_err(), "{pushed:?}");
    let told = |heard: &Mutex<Vec<String>>| heard.lock().unwrap().join("");
    assert!(told(&known).contains("Authorization: Basic "), "{}", told(&known));
    assert!(told(&heard).contains("GET ") && !told(&heard).contains("Authorization"), "{}", told(&heard));
    assert!(!asked.exists());
}

#[tokio::test]
async fn contents_that_lfs_keeps_go_first() {
    let sandbox = Sandbox::new().await;
    let (_, tree) = cloned(&sandbox).await;
    let commit = sandbox.commit(&tree, "a", "1");
    let root = sandbox.path("app");
    let log = sandbox.path("lfs.log");
    let programs = sandbox.path("programs");
    fs::create_dir(&programs).unwrap();
    let lfs =
        sandbox.script("git-lfs", &format!("echo \"$@\" >> '{}'\n[ ! -e '{}.down' ]\n", log.display(), log.display()));
    fs::rename(lfs, programs.join("git-lfs")).unwrap();
    let mut given = crate::common::options(&sandbox.home());
    let path = given.environment.iter_mut().find(|(key, _)| key == "PATH").unwrap();
    path.1 = std::env::join_paths(std::iter::once(programs).chain(std::env::split_paths(&path.1))).unwrap();
    let repository = Repository::discover(&Git::open(given).await.unwrap(), &root).await.unwrap();
    let calls = || fs::read_to_string(&log).unwrap_or_default();

    push(&repository, &commit, Lease::Absent).await.unwrap();
    assert_eq!(calls(), "", "nothing was ever added by it");
    fs::create_dir_all(root.join(".git/lfs/objects/aa")).unwrap();
    let next = sandbox.commit(&tree, "a", "2");
    push(&repository, &next, Lease::Absent).await.unwrap();
    assert_eq!(calls(), format!("push origin {next}\n"));
    fs::write(Path::new(&format!("{}.down", log.display())), "").unwrap();
    let last = sandbox.commit(&tree, "a", "3");
    assert!(matches!(push(&repository, &last, Lease::Absent).await, Err(Error::PushRefused { .. })));
    assert_eq!(tip(&sandbox, "agent/coder/x"), Some(next.to_string()));
    // Where it is not installed, the commits go alone.
    let repository = sandbox.open(&root).await;
    push(&repository, &last, Lease::Absent).await.unwrap();
}

#[tokio::test]
async fn a_patch_is_the_branchs_own_and_ends_at_its_limit() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let repository = sandbox.open(&root).await;
    let base = sandbox.commit(&root, "a", "one\n");
    let worktree = sandbox.add(&repository, "work").await;
    let tip = sandbox.commit(worktree.path(), "b", &"line\n".repeat(100_000));
    let newer = sandbox.commit(&root, "elsewhere", "x\n");
    let whole = repository.load_patch(&newer, &tip, 1 << 20).await.unwrap();
    assert!(!whole.truncated && whole.text.lines().count() > 100_000 && !whole.text.contains("elsewhere"));
    let part = repository.load_patch(&base, &tip, 1000).await.unwrap();
    assert!(part.truncated && part.text.len() <= 1000 && part.text.ends_with("+line\n"), "{part:?}");
    // What the repository's own configuration names is not run.
    sandbox.run(&root, &["config", "diff.external", "false"]);
    assert_eq!(repository.load_patch(&base, &tip, 1000).await.unwrap(), part);
}

#[tokio::test]
async fn changes_are_those_of_the_branch() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let repository = sandbox.open(&root).await;
    let base = sandbox.commit(&root, "old name", &"line\n".repeat(20));
    let worktree = sandbox.add(&repository, "work").await;
    let tree = worktree.path();
    assert_eq!(repository.load_changes(&base, &base).await.unwrap(), Changes::default());
    sandbox.run(tree, &["mv", "old name", "new\tname"]);
    sandbox.commit(tree, "README.md", "one\ntwo\n");
    let tip = sandbox.commit(tree, "binary", "\0\0");
    let own = Changes { commits: 2, files: 3, insertions: 2, deletions: 1 };
    assert_eq!(repository.load_changes(&base, &tip).await.unwrap(), own);
    // What came from base is not its own, and what base has alone is nobody's loss.
    let newer = sandbox.commit(&root, "elsewhere", "x\n");
    sandbox.run(tree, &["merge", "-q", "-m", "merge", "main"]);
    let merged = sandbox.head(tree);
    assert_eq!(repository.load_changes(&newer, &merged).await.unwrap(), Changes { commits: 3, ..own });
    let newest = sandbox.commit(&root, "elsewhere", "y\n");
    assert_eq!(repository.load_changes(&newest, &merged).await.unwrap(), Changes { commits: 3, ..own });
    sandbox.run(tree, &["switch", "-q", "--orphan", "unrelated"]);
    let unrelated = sandbox.commit(tree, "alone", "x\n");
    assert_eq!(repository.load_changes(&base, &unrelated).await.unwrap().commits, 1);
}
