//! Committing what is left over: all of it, nothing else, whatever the configuration and the message say.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::common::{Sandbox, options, set_modified};
use spinney_core::CommitId;
use spinney_git::{Error, Git, GitOptions, Head, Identity, Repository, Worktree};

fn spinney() -> Identity {
    Identity { name: "Spinney".into(), email: "spinney@localhost".into() }
}

/// What became of what was left over.
#[derive(Debug, Default, PartialEq)]
struct CommitAll {
    commit: Option<CommitId>,
    left: Vec<PathBuf>,
}

async fn commit_all_as(worktree: &Worktree, message: &str) -> spinney_git::Result<CommitAll> {
    let files = worktree.load_left_over().await?;
    let wanted: Vec<PathBuf> = files.changed.keys().cloned().collect();
    let commit = worktree.commit_files(&files, &wanted, message, &spinney()).await?;
    Ok(CommitAll { commit: commit.map(|made| made.commit), left: files.repositories })
}

async fn commit_all(worktree: &Worktree) -> CommitAll {
    commit_all_as(worktree, "agent: done").await.unwrap()
}

/// A worktree on the branch `work`, of a repository with one commit.
async fn tree(sandbox: &Sandbox) -> Worktree {
    let repository = sandbox.open(&sandbox.init("app")).await;
    sandbox.add(&repository, "work").await
}

fn write(worktree: &Worktree, path: &str, content: &str) {
    let path = worktree.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

fn files(sandbox: &Sandbox, worktree: &Worktree) -> Vec<String> {
    let listed = sandbox.run(worktree.path(), &["ls-tree", "-r", "-z", "--name-only", "HEAD"]);
    listed.split_terminator('\0').map(str::to_owned).collect()
}

fn status(sandbox: &Sandbox, worktree: &Worktree) -> String {
    sandbox.run(worktree.path(), &["status", "--porcelain", "-uall"])
}

#[tokio::test]
async fn everything_is_committed_but_what_is_nobodys() {
    let sandbox = Sandbox::new().await;
    let worktree = tree(&sandbox).await;
    sandbox.commit(worktree.path(), "gone.txt", "x");
    let before = sandbox.commit(worktree.path(), ".gitignore", "*.log\n");
    fs::remove_file(worktree.path().join("gone.txt")).unwrap();
    write(&worktree, "README.md", "changed\n");
    write(&worktree, "new/größe und maß", "x");
    write(&worktree, "build.log", "ignored");
    write(&worktree, "STATE.json", "{}");
    write(&worktree, "sub/STATE.json", "{}");
    write(&worktree, "staged", "x");
    sandbox.run(worktree.path(), &["add", "staged"]);
    sandbox.init("trees/work/vendor/tool");
    sandbox.run(&sandbox.path(""), &["init", "-q", worktree.path().join("empty").to_str().unwrap()]);
    let done = commit_all(&worktree).await;
    assert_eq!(done.left, [PathBuf::from("empty"), PathBuf::from("vendor/tool")]);
    assert_eq!(done.commit, Some(sandbox.head(worktree.path())));
    assert_eq!(sandbox.run(worktree.path(), &["rev-parse", "HEAD^"]), before.to_string());
    assert_eq!(sandbox.run(worktree.path(), &["symbolic-ref", "HEAD"]), "refs/heads/work");
    let expected = [".gitignore", "README.md", "new/größe und maß", "staged", "sub/STATE.json"];
    assert_eq!(files(&sandbox, &worktree), expected);
    assert_eq!(status(&sandbox, &worktree), "?? STATE.json\n?? empty/\n?? vendor/tool/");
    let log = sandbox.run(worktree.path(), &["log", "-1", "--format=%an <%ae> %cn <%ce>%n%B"]);
    assert_eq!(log.trim_end(), "A Person <person@example.invalid> A Person <person@example.invalid>\nagent: done");
    assert_eq!(
        sandbox.run(worktree.path(), &["log", "-g", "-1", "--format=%gs", "work"]),
        "commit: what was left over"
    );
}

#[tokio::test]
async fn nothing_left_over_is_no_commit() {
    let sandbox = Sandbox::new().await;
    let worktree = tree(&sandbox).await;
    let before = sandbox.head(worktree.path());
    assert_eq!(commit_all(&worktree).await, CommitAll::default());
    write(&worktree, "STATE.json", "{}");
    assert_eq!(commit_all(&worktree).await, CommitAll::default());
    // A file that was only touched differs in nothing.
    set_modified(&worktree.path().join("README.md"), 1_000_000_000, 0);
    assert_eq!(commit_all(&worktree).await, CommitAll::default());
    assert_eq!(sandbox.head(worktree.path()), before);
    assert_eq!(status(&sandbox, &worktree), "?? STATE.json");
}

#[tokio::test]
async fn a_tracked_state_file_is_a_file_like_any_other() {
    let sandbox = Sandbox::new().await;
    let worktree = tree(&sandbox).await;
    sandbox.commit(worktree.path(), "STATE.json", "{}");
    write(&worktree, "STATE.json", "{\"x\":1}");
    assert!(commit_all(&worktree).await.commit.is_some());
    assert_eq!(status(&sandbox, &worktree), "");
}

#[tokio::test]
async fn no_hook_no_signature_and_no_setting_is_in_the_way() {
    let sandbox = Sandbox::new().await;
    let worktree = tree(&sandbox).await;
    let ran = sandbox.path("ran");
    let hooks = sandbox.path("app/.git/hooks");
    let program = sandbox.script("program", &format!("echo \"$0\" >> '{}'\nexit 1\n", ran.display()));
    for hook in
        ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit", "reference-transaction", "post-index-change"]
    {
        let _ = fs::remove_file(hooks.join(hook));
        symlink(&program, hooks.join(hook)).unwrap();
    }
    for (key, value) in [
        ("commit.gpgSign", "true"),
        ("gpg.program", program.to_str().unwrap()),
        ("commit.template", "/nowhere"),
        ("commit.cleanup", "strip"),
        ("core.editor", program.to_str().unwrap()),
        ("core.hooksPath", hooks.to_str().unwrap()),
        ("core.ignoreStat", "true"),
        ("status.showUntrackedFiles", "no"),
        ("i18n.commitEncoding", "ISO-8859-1"),
    ] {
        sandbox.run(&sandbox.path("app"), &["config", key, value]);
    }
    write(&worktree, "new", "x");
    let message = "#42: größe\r\n\n# kept\0\u{1b}[31m\n\n-- \n";
    let done = commit_all_as(&worktree, message).await.unwrap();
    assert!(done.commit.is_some());
    assert_eq!(fs::read_to_string(ran).unwrap_or_default(), "");
    let raw = sandbox.run(worktree.path(), &["cat-file", "commit", "HEAD"]);
    assert!(raw.ends_with("\n\n#42: größe\n\n# kept[31m\n\n--"), "{raw}");
    assert!(!raw.contains("gpgsig") && !raw.contains("encoding"), "{raw}");
    let empty = |message: &'static str| {
        write(&worktree, "new", &format!("{message:?}"));
        let worktree = worktree.clone();
        async move { commit_all_as(&worktree, message).await.unwrap().commit.unwrap() }
    };
    empty("").await;
    empty(" \n\0").await;
    assert_eq!(sandbox.run(worktree.path(), &["log", "-2", "--format=%s"]), ["work that was left over"; 2].join("\n"));
}

#[tokio::test]
async fn it_is_by_whom_git_knows_and_never_a_guess() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let by = |worktree: &Worktree| sandbox.run(worktree.path(), &["log", "-1", "--format=%an <%ae>, %cn <%ce>"]);
    let worktree = sandbox.add(&sandbox.open(&root).await, "work").await;
    let again = async |given: GitOptions, path: PathBuf| {
        let repository = Repository::discover(&Git::open(given).await.unwrap(), &root).await.unwrap();
        Worktree::open(&repository, &path).unwrap()
    };
    fs::write(sandbox.home().join(".gitconfig"), "").unwrap();
    write(&worktree, "a", "1");
    commit_all(&worktree).await;
    assert_eq!(by(&worktree), "Spinney <spinney@localhost>, Spinney <spinney@localhost>");
    // Half an identity is none.
    fs::write(sandbox.home().join(".gitconfig"), "[user]\n\tname = Half\n[author]\n\temail = a@example.invalid\n")
        .unwrap();
    write(&worktree, "a", "2");
    commit_all(&worktree).await;
    assert_eq!(by(&worktree), "Half <a@example.invalid>, Spinney <spinney@localhost>");
    // Nor is what the machine calls its user.
    fs::write(sandbox.home().join(".gitconfig"), "").unwrap();
    let mut given = options(&sandbox.home());
    given.environment.push(("EMAIL".into(), "machine@example.invalid".into()));
    let worktree = again(given.clone(), worktree.path().to_owned()).await;
    write(&worktree, "a", "3");
    commit_all(&worktree).await;
    assert_eq!(by(&worktree), "Spinney <spinney@localhost>, Spinney <spinney@localhost>");
    for (role, name) in [("AUTHOR", "Ada"), ("COMMITTER", "Grace")] {
        given.environment.push((format!("GIT_{role}_NAME").into(), name.into()));
        given.environment.push((format!("GIT_{role}_EMAIL").into(), "e@example.invalid".into()));
    }
    given.environment.push(("GIT_AUTHOR_DATE".into(), "2001-01-01".into()));
    let worktree = again(given, worktree.path().to_owned()).await;
    write(&worktree, "a", "4");
    commit_all(&worktree).await;
    assert_eq!(by(&worktree), "Ada <e@example.invalid>, Grace <e@example.invalid>");
}

#[tokio::test]
async fn head_may_be_on_no_branch_or_on_one_without_commits() {
    let sandbox = Sandbox::new().await;
    let worktree = tree(&sandbox).await;
    sandbox.run(worktree.path(), &["switch", "-q", "--detach"]);
    write(&worktree, "a", "1");
    let commit = commit_all(&worktree).await.commit.unwrap();
    let head = worktree.load_head().await.unwrap();
    assert_eq!(head, Head::Detached { commit: commit.clone(), rebasing: None });
    assert_ne!(sandbox.run(worktree.path(), &["rev-parse", "work"]), commit.to_string());
    sandbox.run(worktree.path(), &["switch", "-q", "--orphan", "fresh"]);
    write(&worktree, "b", "1");
    assert!(commit_all(&worktree).await.commit.is_some());
    assert_eq!(sandbox.run(worktree.path(), &["log", "--format=%s", "fresh"]), "agent: done");
    assert_eq!(files(&sandbox, &worktree), ["b"]);
}

#[tokio::test]
async fn what_is_unfinished_is_refused_and_left_as_it_is() {
    let sandbox = Sandbox::new().await;
    let worktree = tree(&sandbox).await;
    let path = worktree.path();
    sandbox.run(path, &["switch", "-q", "-c", "other"]);
    sandbox.commit(path, "README.md", "theirs\n");
    sandbox.run(path, &["switch", "-q", "work"]);
    let before = sandbox.commit(path, "README.md", "ours\n");
    for (start, name) in [("merge", "merge"), ("cherry-pick", "cherry-pick"), ("rebase", "rebase")] {
        assert!(!sandbox.try_run(path, &[start, "other"]).0);
        let error = commit_all_as(&worktree, "x").await.unwrap_err();
        assert!(matches!(&error, Error::OperationInProgress { operation, .. } if *operation == name), "{error:?}");
        sandbox.run(path, &[start, "--abort"]);
    }
    write(&worktree, "README.md", "stashed\n");
    sandbox.run(path, &["stash", "-q"]);
    sandbox.commit(path, "README.md", "ours again\n");
    let before_pop = sandbox.head(path);
    assert!(!sandbox.try_run(path, &["stash", "pop"]).0);
    let error = commit_all_as(&worktree, "x").await.unwrap_err();
    assert!(matches!(&error, Error::Conflicted { path } if path == Path::new("README.md")), "{error:?}");
    assert_ne!(before, before_pop);
    assert_eq!(sandbox.head(path), before_pop);
    assert!(status(&sandbox, &worktree).starts_with("UU README.md"));
}

#[tokio::test]
async fn a_lock_that_a_dead_git_left_is_cleared_away() {
    let sandbox = Sandbox::new().await;
    let worktree = tree(&sandbox).await;
    let lock = worktree.admin_dir().join("index.lock");
    fs::write(&lock, "").unwrap();
    set_modified(&lock, 1_000_000_000, 0);
    write(&worktree, "new", "x");
    assert!(commit_all(&worktree).await.commit.is_some());
    assert!(!lock.exists());
}

#[tokio::test]
async fn kinds_may_change_and_all_may_go() {
    let sandbox = Sandbox::new().await;
    let worktree = tree(&sandbox).await;
    let path = worktree.path();
    sandbox.commit(path, "directory/file", "x");
    sandbox.commit(path, "file", "x");
    fs::remove_file(path.join("directory/file")).unwrap();
    fs::remove_dir(path.join("directory")).unwrap();
    symlink("README.md", path.join("directory")).unwrap();
    fs::remove_file(path.join("file")).unwrap();
    write(&worktree, "file/inside", "x");
    commit_all(&worktree).await.commit.unwrap();
    assert_eq!(files(&sandbox, &worktree), ["README.md", "directory", "file/inside"]);
    assert_eq!(status(&sandbox, &worktree), "");
    for name in ["README.md", "directory", "file/inside"] {
        fs::remove_file(path.join(name)).unwrap();
    }
    commit_all(&worktree).await.commit.unwrap();
    assert_eq!(files(&sandbox, &worktree), Vec::<String>::new());
}

#[tokio::test]
async fn many_files_with_names_that_mean_something() {
    let sandbox = Sandbox::new().await;
    let worktree = tree(&sandbox).await;
    let odd = ["-f", ":(top)x", ":!README.md", "*", "a\nb", "[x]", "\\", "!not", "#hash", " "];
    for name in odd {
        write(&worktree, name, "x");
    }
    for number in 0..3000 {
        write(&worktree, &format!("many/{number}"), "x");
    }
    sandbox.init("trees/work/:(glob)*");
    let done = commit_all(&worktree).await;
    assert_eq!(done.left, [PathBuf::from(":(glob)*")]);
    let files = files(&sandbox, &worktree);
    assert_eq!(files.len(), 1 + odd.len() + 3000);
    assert!(odd.iter().all(|name| files.iter().any(|file| file == name)), "{:?}", &files[..20]);
}

#[tokio::test]
async fn a_sparse_tree_loses_nothing_that_is_not_there() {
    let sandbox = Sandbox::new().await;
    let worktree = tree(&sandbox).await;
    sandbox.commit(worktree.path(), "far/away", "x");
    sandbox.run(worktree.path(), &["sparse-checkout", "set", "--no-cone", "/README.md"]);
    assert!(!worktree.path().join("far").exists());
    write(&worktree, "outside/new", "x");
    write(&worktree, "README.md", "changed");
    commit_all(&worktree).await.commit.unwrap();
    assert_eq!(files(&sandbox, &worktree), ["README.md", "far/away", "outside/new"]);
}
