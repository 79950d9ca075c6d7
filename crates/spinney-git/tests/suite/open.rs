//! Finding git, and what its processes are given.

use std::path::PathBuf;
use std::time::Duration;

use crate::common::{Sandbox, environment, options, real_program, until};
use spinney_git::{Error, Git, GitOptions, Repository};

#[tokio::test]
async fn a_missing_git_is_said_so() {
    let sandbox = Sandbox::new().await;
    let program = PathBuf::from("no-such-git");
    let error = Git::open(GitOptions { program, ..options(&sandbox.home()) }).await.unwrap_err();
    assert!(matches!(&error, Error::GitMissing { .. }), "{error:?}");
    assert!(error.to_string().contains("`no-such-git`"), "{error}");
}

#[tokio::test]
async fn an_old_git_is_refused_with_both_versions() {
    let sandbox = Sandbox::new().await;
    let program = sandbox.script("old-git", "echo git version 2.37.9\n");
    let error = Git::open(GitOptions { program, ..options(&sandbox.home()) }).await.unwrap_err();
    assert_eq!(error.to_string(), "git 2.37.9 is too old: at least 2.38.0 is needed");
    let program = sandbox.script("no-git", "echo hello\n");
    let error = Git::open(GitOptions { program, ..options(&sandbox.home()) }).await.unwrap_err();
    assert!(matches!(error, Error::Unexpected { .. }), "{error:?}");
}

#[tokio::test]
async fn the_callers_git_variables_lead_nowhere() {
    let sandbox = Sandbox::new().await;
    let (here, elsewhere) = (sandbox.init("here"), sandbox.init("elsewhere"));
    let mut given = environment(&sandbox.home());
    given.push(("GIT_DIR".into(), elsewhere.join(".git").into()));
    given.push(("GIT_WORK_TREE".into(), elsewhere.clone().into()));
    let git = Git::open(GitOptions { environment: given, ..options(&sandbox.home()) }).await.unwrap();
    let found = git.command(&here).args(["rev-parse", "--show-toplevel"]).text().await.unwrap();
    assert_eq!(PathBuf::from(found), here);
}

#[tokio::test]
async fn hooks_and_monitors_of_the_repository_do_not_run() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let mark = sandbox.path("ran");
    let body = format!("touch '{}'\n", mark.display());
    let hook = sandbox.script("hook", &body);
    for name in ["post-checkout", "reference-transaction", "post-index-change"] {
        std::fs::copy(&hook, root.join(".git/hooks").join(name)).unwrap();
    }
    sandbox.run(&root, &["config", "core.fsmonitor", hook.to_str().unwrap()]);
    let _ = std::fs::remove_file(&mark);
    let repository = sandbox.open(&root).await;
    let worktree = sandbox.add(&repository, "topic").await;
    let options = spinney_git::StatusOptions { untracked: true, ignored: true };
    worktree.load_status(&options).await.unwrap();
    assert!(!mark.exists(), "a program of the repository ran");
}

#[tokio::test]
async fn a_process_that_takes_too_long_is_ended_with_all_it_started() {
    let sandbox = Sandbox::new().await;
    let mark = sandbox.path("pid");
    let alias = format!("alias.slow=!sleep 60 & echo $! > '{}'; wait", mark.display());
    let command = sandbox.git.command(&sandbox.home()).args(["-c", &alias, "slow"]);
    let error = command.timeout(Duration::from_millis(1500)).run().await.unwrap_err();
    assert!(matches!(&error, Error::Timeout { .. }), "{error:?}");
    assert_eq!(error.to_string(), "`git slow` did not end within 1s");
    let pid = std::fs::read_to_string(&mark).unwrap();
    until("the end of the grandchild", || is_gone(&pid)).await;
}

#[tokio::test]
async fn a_process_whose_caller_goes_away_is_ended_too() {
    let sandbox = Sandbox::new().await;
    let mark = sandbox.path("pid");
    let alias = format!("alias.slow=!sleep 60 & echo $! > '{}'; wait", mark.display());
    let command = sandbox.git.command(&sandbox.home()).args(["-c", &alias, "slow"]);
    let task = tokio::spawn(command.run());
    until("the start", || std::fs::read_to_string(&mark).is_ok_and(|pid| pid.ends_with('\n'))).await;
    task.abort();
    let pid = std::fs::read_to_string(&mark).unwrap();
    until("the end of the grandchild", || is_gone(&pid)).await;
}

fn is_gone(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    // Where nobody reaps orphans a dead one stays as a zombie.
    stat.is_err() || stat.is_ok_and(|stat| stat.contains(") Z "))
}

#[tokio::test]
async fn much_output_on_both_pipes_is_read_and_the_end_of_the_messages_kept() {
    let sandbox = Sandbox::new().await;
    let alias =
        "alias.loud=!yes out | head -c 3000000; yes noise | head -c 3000000 >&2; echo fatal: the end >&2; exit 3";
    let error = sandbox.git.command(&sandbox.home()).args(["-c", alias, "loud"]).run().await.unwrap_err();
    let Error::Failed { status, stderr, .. } = &error else { panic!("{error:?}") };
    assert_eq!(*status, 3);
    assert!(stderr.len() < 200_000 && stderr.ends_with("fatal: the end"));
}

#[tokio::test]
async fn no_secret_of_a_url_is_told() {
    let sandbox = Sandbox::new().await;
    let alias = "alias.fail=!echo fatal: no https://me:s3cret@host/a here >&2; exit 9";
    let command = sandbox.git.command(&sandbox.home()).args(["-c", alias, "fail", "https://me:s3cret@host/b"]);
    let error = command.run().await.unwrap_err();
    let told = format!("{error} {error:?}");
    assert!(told.contains("https://***@host/a") && told.contains("https://***@host/b"), "{told}");
    assert!(!told.contains("s3cret"), "{told}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn no_process_takes_all_of_the_memory() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let seen = sandbox.path("seen");
    // The limit is set once the process runs.
    let script = format!(
        "case $* in *rev-parse*) while [ $(ulimit -d) = unlimited ]; do :; done; ulimit -d > '{}' ;; esac\nexec '{}' \"$@\"\n",
        seen.display(),
        real_program().display()
    );
    let program = sandbox.script("limited-git", &script);
    let git = Git::open(GitOptions { program, ..options(&sandbox.home()) }).await.unwrap();
    Repository::discover(&git, &root).await.unwrap();
    let kilobytes: u64 = std::fs::read_to_string(seen).unwrap().trim().parse().unwrap();
    assert!((2 << 20..=16 << 20).contains(&kilobytes), "{kilobytes}");
}
