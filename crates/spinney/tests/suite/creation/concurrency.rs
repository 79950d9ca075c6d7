//! Many processes at once on one repository: nobody fails, nothing is left over.

use std::path::{Path, PathBuf};

use spinney_testkit::{Cli, Ran, Running, Sandbox, TestRepository};

const DIFFERENT_WORKS: usize = 100;
const SYNCS: usize = 10;
const SAME_WORK: usize = 50;

fn cli(repository: &TestRepository) -> Cli {
    let cli = repository.sandbox().cli(env!("CARGO_BIN_EXE_spinney")).in_directory(repository.path());
    cli.with_variable("SPINNEY_LIMITS__MAX_WORKSPACES", "500")
}

fn paths(outcomes: Vec<Ran>) -> Vec<PathBuf> {
    let mut paths: Vec<_> = outcomes.into_iter().map(|ran| PathBuf::from(ran.ok().stdout.trim())).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// Every lock file that git itself leaves behind when it dies.
fn git_locks(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            if entry.file_name() != "spinney" {
                found.extend(git_locks(&path));
            }
        } else if path.extension().is_some_and(|extension| extension == "lock") {
            found.push(path);
        }
    }
    found
}

fn operations(repository: &TestRepository) -> usize {
    std::fs::read_dir(repository.sandbox().spinney_home().join("operations")).unwrap().count()
}

fn worktrees(repository: &TestRepository) -> usize {
    let listed = repository.git(&["worktree", "list", "--porcelain"]);
    listed.lines().filter(|line| line.starts_with("worktree ")).count()
}

#[test]
fn a_hundred_processes_for_different_work_beside_syncs_all_succeed() {
    let sandbox = Sandbox::new();
    let repository = sandbox.repository("app").with_remote();
    let before = repository.fingerprint();
    let cli = cli(&repository);

    let mut running: Vec<Running> = Vec::new();
    let mut syncs: Vec<Running> = Vec::new();
    for number in 1..=DIFFERENT_WORKS {
        running.push(cli.spawn(&["new", "--issue", &number.to_string()]));
        if number % (DIFFERENT_WORKS / SYNCS) == 0 {
            // The base moves all the while.
            repository.remote().advance("moving.txt");
            syncs.push(cli.spawn(&["repo", "sync"]));
        }
    }
    let paths = paths(running.into_iter().map(Running::wait).collect());
    for sync in syncs {
        sync.wait().ok();
    }

    assert_eq!(paths.len(), DIFFERENT_WORKS);
    assert!(paths.iter().all(|path| path.join("src/lib.rs").is_file()));
    assert_eq!(worktrees(&repository), DIFFERENT_WORKS + 1);
    let branches = repository.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/issue-*"]);
    assert_eq!(branches.lines().count(), DIFFERENT_WORKS);
    assert_eq!(git_locks(&repository.path().join(".git")), Vec::<PathBuf>::new());
    assert_eq!(operations(&repository), 0);
    repository.assert_checkout_unchanged(&before);
    let listed = cli.run(&["ls", "--json"]).ok().json();
    assert_eq!(listed["workspaces"].as_array().unwrap().len(), DIFFERENT_WORKS);
}

#[test]
fn fifty_processes_for_the_same_work_get_one_workspace() {
    let sandbox = Sandbox::new();
    let repository = sandbox.repository("app").with_remote();
    let before = repository.fingerprint();
    let cli = cli(&repository);

    let running: Vec<_> = (0..SAME_WORK).map(|_| cli.spawn(&["new", "--task", "one and the same"])).collect();
    let paths = paths(running.into_iter().map(Running::wait).collect());

    assert_eq!(paths.len(), 1);
    assert_eq!(worktrees(&repository), 2);
    assert_eq!(operations(&repository), 0);
    repository.assert_checkout_unchanged(&before);
}

#[test]
fn a_workspace_without_its_readable_link_gets_it_from_who_asks_next() {
    let sandbox = Sandbox::new();
    let repository = sandbox.repository("app").with_remote();
    let cli = cli(&repository);
    let link = cli.run(&["new", "--issue", "1"]).ok().stdout;
    for command in [["new", "--issue", "1"], ["path", "--link", "issue-1"]] {
        // As between the moment in which a workspace is visible and that in which its link is.
        std::fs::remove_file(link.trim()).unwrap();
        assert_eq!(cli.run(&command).ok().stdout, link);
    }
}

#[test]
fn at_the_limit_a_crowd_gets_no_more_than_the_limit() {
    let sandbox = Sandbox::new();
    let repository = sandbox.repository("app").with_remote();
    let cli = cli(&repository).with_variable("SPINNEY_LIMITS__MAX_WORKSPACES", "5");

    let running: Vec<_> = (1..=20).map(|number| cli.spawn(&["new", "--issue", &number.to_string()])).collect();
    let outcomes: Vec<Ran> = running.into_iter().map(Running::wait).collect();

    let made = outcomes.iter().filter(|ran| ran.status == 0).count();
    let blocked = outcomes.iter().filter(|ran| ran.status == 3).count();
    assert_eq!((made, blocked), (5, 15));
    assert_eq!(operations(&repository), 0);
}
