//! What jail and import cost, in time. Each is measured several times, and the best counts. The bounds are far above what a machine
//! without other work needs, which is some 5 and some 100 ms: they tell that something grows with what it must not grow with.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::Sandbox;
use crate::jail::fixture::{ALL, Boxed, jail};

const FILES: usize = 30_000;
const COMMITS: usize = 10;

#[tokio::test]
async fn a_call_in_the_jail_costs_little() {
    let sandbox = Sandbox::new().await;
    let jail = jail(&sandbox).await;
    let mut best = [Duration::MAX; 2];
    for _ in 0..30 {
        let begun = Instant::now();
        jail.try_program(&[], Path::new("/bin/true"), &[]).await.unwrap();
        best[0] = best[0].min(begun.elapsed());
        let begun = Instant::now();
        sandbox.git.command(Path::new("/")).arg("version").run().await.unwrap();
        best[1] = best[1].min(begun.elapsed());
    }
    println!("a call in the jail: {:?}; git itself, outside: {:?}", best[0], best[1]);
    assert!(best[0] < Duration::from_millis(100), "{best:?}");
}

#[tokio::test]
async fn an_import_costs_little_in_a_large_tree() {
    let sandbox = Sandbox::new().await;
    let seed = sandbox.init("app seed");
    for index in 0..FILES {
        let directory = seed.join(format!("d{}", index / 100));
        if index % 100 == 0 {
            fs::create_dir(&directory).unwrap();
        }
        // One content for all: to write as many objects is not what is measured.
        fs::write(directory.join(format!("f{index}")), "content\n").unwrap();
    }
    sandbox.run(&seed, &["add", "-A"]);
    sandbox.run(&seed, &["commit", "-q", "-m", "all"]);
    let remote = sandbox.path("app.git");
    sandbox.run(&sandbox.path(""), &["clone", "-q", "--bare", seed.to_str().unwrap(), remote.to_str().unwrap()]);
    sandbox.run(&sandbox.path(""), &["clone", "-q", "--no-checkout", remote.to_str().unwrap(), "app"]);
    let boxed = Boxed::of_clone(sandbox, "app").await;
    let mut best = [Duration::MAX; 2];
    for round in 0..5 {
        for index in 0..COMMITS {
            let file = format!("d{index}/f{}", index * 100);
            fs::write(boxed.path().join(&file), format!("round {round}\n")).unwrap();
            boxed.agent(&["update-index", &file]);
            let tree = boxed.agent(&["write-tree"]);
            let commit = boxed.agent(&["commit-tree", "-p", "work", "-m", "work", &tree]);
            boxed.agent(&["update-ref", "refs/heads/work", &commit]);
        }
        let begun = Instant::now();
        let status = boxed.tree.load_status(&ALL).await.unwrap();
        best[0] = best[0].min(begun.elapsed());
        assert!(status.is_clean());
        let begun = Instant::now();
        let imported = boxed.import().await.unwrap();
        best[1] = best[1].min(begun.elapsed());
        assert_eq!(imported.commits as usize, COMMITS);
        boxed.agent(&["reset", "-q", "--hard", boxed.base.as_str()]);
        boxed.sandbox.run(boxed.repository.common_dir(), &["update-ref", "refs/heads/work", boxed.base.as_str()]);
    }
    println!("{FILES} files: status {:?}, import of {COMMITS} commits {:?}", best[0], best[1]);
    assert!(best[1] < Duration::from_secs(2), "{best:?}");
}
