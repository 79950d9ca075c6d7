//! An agent's own git in a box, with what the host wrote for it. The box is a plain bubblewrap with the mounts of one.

use std::fs;
use std::process::{Command, Output, Stdio};

use spinney_git::BoxPlaces;

use super::fixture::{ALL, Boxed};
use crate::common::real_program;

/// Runs a script of the agent.
fn run(boxed: &Boxed, script: &str) -> Output {
    let pointer = boxed.sandbox.path("boxes/1/dotgit");
    BoxPlaces::default().write_pointer(&pointer).unwrap();
    let script = format!("alias git='{}'; set -e; {script}", real_program().display());
    #[expect(clippy::disallowed_methods, reason = "the agent's box")]
    let mut command = Command::new("bwrap");
    command.args([
        "--unshare-all",
        "--die-with-parent",
        "--ro-bind",
        "/usr",
        "/usr",
        "--dev",
        "/dev",
        "--tmpfs",
        "/tmp",
    ]);
    for place in ["bin", "lib", "lib64"] {
        command.args(["--symlink", &format!("usr/{place}"), &format!("/{place}")]);
    }
    command.arg("--bind").args([boxed.path(), "/workspace".as_ref()]);
    command.arg("--ro-bind").args([&pointer, &"/workspace/.git".into()]);
    command.arg("--bind").args([boxed.git_dir(), "/.spinney/git".as_ref()]);
    command.arg("--ro-bind").args([boxed.mirror.path(), "/.spinney/base.git".as_ref()]);
    let who = [("GIT_AUTHOR_NAME", "An Agent"), ("GIT_AUTHOR_EMAIL", "agent@example.invalid")];
    for (key, value) in who {
        command.args(["--setenv", key, value, "--setenv", &key.replace("AUTHOR", "COMMITTER"), value]);
    }
    command.args(["--chdir", "/workspace", "--", "/bin/sh", "-c", &script]).stdin(Stdio::null());
    command.output().unwrap()
}

#[track_caller]
fn run_well(boxed: &Boxed, script: &str) -> String {
    let output = run(boxed, script);
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

#[tokio::test]
async fn an_agent_commits_and_fetches_without_a_token() {
    let boxed = Boxed::new().await;
    assert_eq!(run_well(&boxed, "git status --porcelain"), "");
    assert_eq!(run_well(&boxed, "git rev-parse --abbrev-ref HEAD"), "work");
    let clone = boxed.repository.root().unwrap().to_owned();
    let pushed = boxed.sandbox.commit(&clone, "pushed", "pushed\n");
    boxed.sandbox.run(&clone, &["push", "-q", "origin", "HEAD:topic"]);
    boxed.mirror.update(&boxed.repository, Some("origin"), &[]).await.unwrap();
    run_well(&boxed, "git fetch -q origin; git merge -q origin/topic; echo x > new; git add new; git commit -qm new");
    assert_eq!(run_well(&boxed, "git rev-parse origin/topic HEAD~1"), format!("{pushed}\n{pushed}"));
    assert!(boxed.tree.load_status(&ALL).await.unwrap().is_clean());
    let imported = boxed.import().await.unwrap();
    assert_eq!(imported.commits, 1, "what came from the remote is not the agent's");
    boxed.assert_repository_is_whole();
}

#[tokio::test]
async fn the_pointer_and_the_mirror_stay_as_they_are() {
    let boxed = Boxed::new().await;
    let pointer = fs::read(boxed.path().join(".git")).unwrap();
    for script in [
        "rm .git",
        "mv .git x",
        "echo x > .git",
        "echo x > /.spinney/base.git/config",
        "git -C /.spinney/base.git update-ref refs/heads/x HEAD",
        "git push -q origin HEAD:refs/heads/x",
    ] {
        assert!(!run(&boxed, script).status.success(), "{script}");
    }
    assert_eq!(fs::read(boxed.path().join(".git")).unwrap(), pointer);
    boxed.ask_everything().await.assert_answered();
}
