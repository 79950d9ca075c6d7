//! Commits are signed as the person's own are, and made without a signature where that fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::common::{Sandbox, options};
use spinney_git::{Committed, Git, GitOptions, Identity, Repository, Unsigned, Worktree};

async fn commit(worktree: &Worktree) -> Committed {
    fs::write(worktree.path().join("new"), format!("{:?}", Instant::now())).unwrap();
    let files = worktree.load_left_over().await.unwrap();
    let wanted: Vec<PathBuf> = files.changed.keys().cloned().collect();
    let nobody = Identity { name: "Spinney".into(), email: "spinney@localhost".into() };
    worktree.commit_files(&files, &wanted, "agent: done", &nobody).await.unwrap().unwrap()
}

async fn tree(sandbox: &Sandbox, options: GitOptions) -> Worktree {
    let root = sandbox.init("app");
    let repository = Repository::discover(&Git::open(options).await.unwrap(), &root).await.unwrap();
    sandbox.add(&repository, "work").await
}

/// A key of the person's, who signs with it; none of theirs is protected by an empty passphrase.
#[expect(clippy::disallowed_methods, reason = "a person makes a key")]
fn with_ssh_key(sandbox: &Sandbox, passphrase: &str) -> PathBuf {
    let key = sandbox.home().join("id_ed25519");
    let made =
        Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-C", "", "-N", passphrase, "-f"]).arg(&key).status();
    assert!(made.unwrap().success());
    let public = fs::read_to_string(key.with_extension("pub")).unwrap();
    let signers = sandbox.home().join("allowed_signers");
    fs::write(&signers, format!("person@example.invalid {public}")).unwrap();
    for (name, value) in [
        ("commit.gpgSign", "true"),
        ("gpg.format", "ssh"),
        ("user.signingKey", key.to_str().unwrap()),
        ("gpg.ssh.allowedSignersFile", signers.to_str().unwrap()),
    ] {
        set(sandbox, name, value);
    }
    key
}

fn set(sandbox: &Sandbox, name: &str, value: &str) {
    sandbox.run(&sandbox.path(""), &["config", "--global", name, value]);
}

fn is_signed(sandbox: &Sandbox, path: &Path) -> bool {
    sandbox.run(path, &["cat-file", "commit", "HEAD"]).contains("gpgsig")
}

#[tokio::test]
async fn a_commit_is_signed_with_the_persons_own_key() {
    let sandbox = Sandbox::new().await;
    let worktree = tree(&sandbox, options(&sandbox.home())).await;
    assert_eq!(commit(&worktree).await.unsigned, None);
    assert!(!is_signed(&sandbox, worktree.path()), "nobody asked for it");
    with_ssh_key(&sandbox, "");
    // What the repository says changes neither the key nor the program, nor whether.
    let ran = sandbox.path("ran");
    let evil = sandbox.script("evil", &format!("echo ran >> '{}'\n", ran.display()));
    for name in ["gpg.program", "gpg.ssh.program", "gpg.openpgp.program", "gpg.ssh.defaultKeyCommand"] {
        sandbox.run(worktree.path(), &["config", name, evil.to_str().unwrap()]);
    }
    sandbox.run(worktree.path(), &["config", "user.signingKey", "/nowhere"]);
    sandbox.run(worktree.path(), &["config", "gpg.format", "openpgp"]);
    sandbox.run(worktree.path(), &["config", "commit.gpgSign", "false"]);
    let done = commit(&worktree).await;
    assert_eq!((done.unsigned, ran.exists()), (None, false));
    let mine = ["-c", "gpg.ssh.program=ssh-keygen", "verify-commit", "-v", "HEAD"];
    let (verified, _, said) = sandbox.try_run(worktree.path(), &mine);
    assert!(verified && said.contains("Good \"git\" signature for person@example.invalid"), "{said}");
    assert_eq!(sandbox.head(worktree.path()), done.commit);
}

#[tokio::test]
async fn what_the_repository_alone_wants_is_told_and_not_done() {
    let sandbox = Sandbox::new().await;
    let worktree = tree(&sandbox, options(&sandbox.home())).await;
    sandbox.run(worktree.path(), &["config", "commit.gpgSign", "true"]);
    assert_eq!(commit(&worktree).await.unsigned, Some(Unsigned::OfRepository { key: "commit.gpgSign" }));
    set(&sandbox, "commit.gpgSign", "true");
    sandbox.run(worktree.path(), &["config", "user.signingKey", "/nowhere"]);
    assert_eq!(commit(&worktree).await.unsigned, Some(Unsigned::OfRepository { key: "user.signingKey" }));
    assert!(!is_signed(&sandbox, worktree.path()));
}

#[tokio::test]
async fn a_key_that_asks_for_a_passphrase_makes_nobody_wait() {
    let sandbox = Sandbox::new().await;
    let worktree = tree(&sandbox, options(&sandbox.home())).await;
    with_ssh_key(&sandbox, "a passphrase");
    let started = Instant::now();
    let why = commit(&worktree).await.unsigned.unwrap().to_string();
    assert!(why.starts_with("`ssh-keygen` gave no signature: ") && why.contains("passphrase"), "{why}");
    assert!(started.elapsed() < Duration::from_secs(10));
    assert!(!is_signed(&sandbox, worktree.path()));
}

#[tokio::test]
async fn a_program_that_fails_or_hangs_costs_the_signature_alone() {
    let sandbox = Sandbox::new().await;
    let limit = Duration::from_millis(300);
    let worktree = tree(&sandbox, GitOptions { signing_timeout: limit, ..options(&sandbox.home()) }).await;
    with_ssh_key(&sandbox, "");
    let failing = sandbox.script("failing", "echo 'no card is in the reader' >&2\nexit 2\n");
    set(&sandbox, "gpg.ssh.program", failing.to_str().unwrap());
    let why = commit(&worktree).await.unsigned.unwrap().to_string();
    assert!(why.contains("failing` gave no signature: no card is in the reader"), "{why}");
    let pid = sandbox.path("pid");
    let hanging = sandbox.script("hanging", &format!("echo $$ > '{}'\nexec sleep 1000\n", pid.display()));
    set(&sandbox, "gpg.ssh.program", hanging.to_str().unwrap());
    let program = hanging.to_str().unwrap().to_owned();
    assert_eq!(commit(&worktree).await.unsigned, Some(Unsigned::NoAnswer { program, after: limit }));
    let pid = fs::read_to_string(pid).unwrap();
    let stat = PathBuf::from(format!("/proc/{}/stat", pid.trim()));
    let is_gone = || fs::read_to_string(&stat).map_or(true, |stat| stat.contains(") Z "));
    crate::common::until("the program is ended", is_gone).await;
    set(&sandbox, "gpg.ssh.program", "/no/such/program");
    let why = commit(&worktree).await.unsigned.unwrap().to_string();
    assert!(why.contains("/no/such/program"), "{why}");
    assert!(!is_signed(&sandbox, worktree.path()));
}
