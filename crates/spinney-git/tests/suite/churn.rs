//! Many pieces of work that come and go at once, beside a remote that moves: nobody may notice the others.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::{Sandbox, branch};
use spinney_core::BranchName;
use spinney_git::{Error, Repository, StatusOptions, Wanted};

const AT_ONCE: usize = 40;

/// The whole life of a worktree, as the engine leads it.
async fn come_and_go(sandbox: &Sandbox, repository: &Repository, number: usize) -> Result<(), Error> {
    let name: BranchName = branch(&format!("agent/{number}"));
    let worktree = sandbox.add(repository, name.as_str()).await;
    worktree.load_status(&StatusOptions { untracked: true, ignored: true }).await?;
    worktree.load_hidden_edits().await?;
    repository.sync("origin", None).await?;
    repository.load_worktrees().await?;
    let lock = repository.lock("remove").await?;
    let tip = repository.load_branch(&name).await?.unwrap();
    let rescue = format!("refs/spinney/rescue/{number}");
    repository.pin(&lock, worktree.admin_dir(), Some(&name), &rescue, "pin").await?;
    std::fs::rename(worktree.path(), sandbox.path(&format!("trash-{number}"))).unwrap();
    std::fs::rename(worktree.admin_dir(), repository.state_dir().join(number.to_string())).unwrap();
    repository.delete_ref(&lock, &name.local_ref(), &tip).await?;
    drop(lock);
    let wanted = Wanted { default_branch: true, branches: vec![branch("main")], pulls: vec![] };
    repository.fetch("origin", &wanted, Duration::ZERO, None).await?;
    repository.load_worktrees().await.map(drop)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_notices_the_others() {
    let sandbox = Arc::new(Sandbox::new().await);
    let root = sandbox.init_cloned("app");
    let repository = sandbox.open(&root).await;
    let done = Arc::new(AtomicBool::new(false));
    let pusher = tokio::task::spawn_blocking({
        let (sandbox, done) = (sandbox.clone(), done.clone());
        move || {
            let other = sandbox.path("other");
            sandbox.run(&sandbox.path(""), &["clone", "-q", sandbox.path("app.git").to_str().unwrap(), "other"]);
            for number in 0.. {
                sandbox.commit(&other, "moving", &number.to_string());
                sandbox.run(&other, &["push", "-q"]);
                if done.load(Ordering::SeqCst) {
                    break;
                }
            }
        }
    });
    let tasks: Vec<_> = (0..AT_ONCE)
        .map(|number| {
            let (sandbox, repository) = (sandbox.clone(), repository.clone());
            tokio::spawn(async move { come_and_go(&sandbox, &repository, number).await })
        })
        .collect();
    let mut failures = Vec::new();
    for task in tasks {
        failures.extend(task.await.unwrap().err());
    }
    done.store(true, Ordering::SeqCst);
    pusher.await.unwrap();
    assert!(failures.is_empty(), "{failures:?}");
    assert_eq!(repository.load_worktrees().await.unwrap().len(), 1);
    assert_eq!(sandbox.run(&root, &["for-each-ref", "refs/heads"]).lines().count(), 1);
    assert_eq!(sandbox.run(&root, &["for-each-ref", "refs/spinney/rescue"]).lines().count(), AT_ONCE);
}
