//! Giving members up: what nobody touched goes, what somebody put there is kept, whatever the store says.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::common::{Story, files_below, names, refused};
use crate::support::lost::Work;
use crate::support::pool::{Member, Pool, SIZE, read};
use spinney_testkit::{Sandbox, wait_until};

/// What a person or a tool does in a member, from the outside.
type Deed = fn(&Pool, &Path);

/// A member as the workspace that it becomes once it is restored.
fn as_work(pool: &Pool, member: &Member) -> Work {
    let document = serde_json::json!({
        "name": member.name,
        "id": member.name.strip_prefix("warm-").unwrap(),
        "path": member.path,
    });
    Work::of(&pool.story, &crate::support::common::Workspace(document))
}

/// Takes a member's directory away, as a person does who tidies up.
fn vanish(pool: &Pool, member: &Member) {
    fs::rename(&member.path, pool.story.sandbox().path().join("vanished")).unwrap();
}

fn trash(pool: &Pool) -> Vec<PathBuf> {
    files_below(&pool.story.sandbox().spinney_home().join("trash"), 0)
}

#[test]
fn what_nobody_touched_is_deleted_with_what_set_up_made() {
    let pool = Pool::new(2);
    pool.set_up_with("mkdir -p target out; touch target/a out/b.local new.txt; echo more >> README.md; rm run.sh");
    pool.fill();
    let members = pool.members();
    // Looking is not touching.
    for member in &members {
        pool.git(&member.path, &["status"]);
        pool.git(&member.path, &["log", "-1"]);
        read(&member.path, "README.md");
    }
    let drained = pool.drain();
    assert_eq!(drained["deleted"], 2, "{drained}");
    assert_eq!((pool.states().len(), trash(&pool)), (0, vec![]));
    assert!(members.iter().all(|member| !member.path.exists()));
    pool.story.assert_nothing_made();
    assert_eq!(pool.drain()["deleted"], 0, "a second time there is nothing to do");
}

#[track_caller]
fn goes_to_the_trash_and_comes_back(deed: Deed) {
    let pool = Pool::new(2);
    pool.set_up_with("mkdir -p target out; touch target/a out/b.local new.txt; echo more >> README.md");
    fs::create_dir(pool.story.sandbox().path().join("mine")).unwrap();
    fs::write(pool.story.sandbox().path().join("mine/notes.txt"), "mine").unwrap();
    pool.fill();
    let member = pool.members()[0].clone();
    deed(&pool, &member.path);
    let work = as_work(&pool, &member);
    let before = work.snapshot();

    let drained = pool.drain();
    assert_eq!((&drained["deleted"], &drained["trashed"][0]), (&1.into(), &member.name.clone().into()), "{drained}");
    assert_eq!(pool.states().len(), 0);
    assert!(!member.path.exists());
    pool.story.cli.run(&["restore", &member.name]).ok();
    before.assert_same(&work.snapshot(), "restored");
    // It is somebody's from now on: no filling takes it, and nobody is given it.
    assert_eq!(names(&pool.story.cli), [member.name]);
    pool.fill();
    pool.claim(&["--issue", "1"]);
    pool.drain();
    before.assert_same(&work.snapshot(), "restored, and beside a pool");
}

/// One test for each deed.
macro_rules! kept {
    ($($name:ident: $deed:expr;)*) => {
        $(#[test]
        fn $name() {
            goes_to_the_trash_and_comes_back($deed);
        })*
    };
}

kept! {
    a_commit_is_kept: |pool, tree| {
        fs::write(tree.join("mine.txt"), "mine").unwrap();
        pool.git(tree, &["add", "mine.txt"]);
        pool.git(tree, &["commit", "--quiet", "--message", "mine"]);
    };
    an_edit_of_a_tracked_file_is_kept: |_, tree| fs::write(tree.join("src/lib.rs"), "edited").unwrap();
    an_edit_of_what_set_up_edited_is_kept: |_, tree| fs::write(tree.join("README.md"), "edited").unwrap();
    a_deletion_is_kept: |_, tree| fs::remove_file(tree.join("run.sh")).unwrap();
    an_untracked_file_is_kept: |_, tree| fs::write(tree.join("notes.txt"), "notes").unwrap();
    an_untracked_file_deep_down_is_kept: |_, tree| {
        fs::create_dir_all(tree.join("a/b/c")).unwrap();
        fs::write(tree.join("a/b/c/notes.txt"), "notes").unwrap();
    };
    a_directory_that_was_moved_in_is_kept: |pool, tree| {
        // Its files are older than the member.
        fs::rename(pool.story.sandbox().path().join("mine"), tree.join("mine")).unwrap();
    };
    what_is_staged_and_nowhere_else_is_kept: |pool, tree| {
        let object = pool.git(tree, &["hash-object", "-w", "--", "run.sh"]);
        pool.git(tree, &["update-index", "--cacheinfo", &format!("100644,{object},README.md")]);
    };
    an_ignored_file_is_kept: |_, tree| fs::write(tree.join(".env"), "SECRET=1").unwrap();
    a_file_in_an_ignored_directory_is_kept: |_, tree| fs::write(tree.join("out/c.local"), "notes").unwrap();
    a_hidden_edit_is_kept: |pool, tree| {
        pool.git(tree, &["update-index", "--assume-unchanged", "src/lib.rs"]);
        fs::write(tree.join("src/lib.rs"), "edited").unwrap();
    };
    what_is_staged_is_kept: |pool, tree| {
        fs::write(tree.join("mine.txt"), "mine").unwrap();
        pool.git(tree, &["add", "mine.txt"]);
        fs::remove_file(tree.join("mine.txt")).unwrap();
    };
    a_branch_is_kept: |pool, tree| drop(pool.git(tree, &["switch", "--quiet", "-c", "mine"]));
    a_bisect_is_kept: |pool, tree| drop(pool.git(tree, &["bisect", "start"]));
    a_repository_in_a_cache_is_kept: |pool, tree| {
        let nested = tree.join("target/nested");
        fs::create_dir_all(&nested).unwrap();
        pool.git(&nested, &["init", "--quiet"]);
        fs::write(nested.join("mine.txt"), "mine").unwrap();
        pool.git(&nested, &["add", "mine.txt"]);
        pool.git(&nested, &["commit", "--quiet", "--message", "mine"]);
    };
    a_commit_that_only_the_log_names_is_kept: |pool, tree| {
        pool.git(tree, &["commit", "--quiet", "--allow-empty", "--message", "mine"]);
        pool.git(tree, &["checkout", "--quiet", "--detach", "HEAD^"]);
    };
}

/// Whether git still has a commit after it collected garbage.
fn is_safe(pool: &Pool, commit: &str) -> bool {
    pool.story.repository.git(&["reflog", "expire", "--expire=now", "--all"]);
    pool.story.repository.git(&["gc", "--quiet", "--prune=now"]);
    pool.story.repository.try_git(&["cat-file", "-e", commit]).status == 0
}

#[test]
fn commits_of_a_member_whose_directory_was_deleted_are_kept() {
    let pool = Pool::new(1);
    pool.fill();
    let member = pool.member();
    let commit = as_work(&pool, &member).commit("mine.txt", "mine");
    vanish(&pool, &member);
    pool.fill();
    assert!(is_safe(&pool, &commit));
    assert_eq!(pool.states(), ["ready"]);
    assert_ne!(pool.member().name, member.name);
}

#[test]
fn a_member_whose_directory_was_deleted_is_forgotten_by_the_next_filling() {
    let pool = Pool::new(2);
    pool.fill();
    let gone = pool.members()[0].clone();
    vanish(&pool, &gone);
    // Nobody is given it meanwhile.
    assert_ne!(pool.claim(&["--issue", "1"]).path(), gone.path);
    pool.make_cold(&["--issue", "2"]);
    assert_eq!(pool.fill()["made"], 2);
    assert!(pool.members().iter().all(|member| member.name != gone.name));
    assert_eq!(pool.story.worktrees().len(), 4);
    pool.story.assert_nothing_left_over();
}

#[test]
fn the_background_moves_nobodys_work_to_the_trash() {
    let pool = Pool::new(2);
    pool.fill();
    let members = pool.members();
    let works: Vec<Work> = members.iter().map(|member| as_work(&pool, member)).collect();
    works[0].commit("mine.txt", "mine");
    works[1].write("notes.txt", "notes");
    let before: Vec<_> = works.iter().map(Work::snapshot).collect();
    pool.move_base("moved.txt");
    pool.cli.run(&["pool", "fill", "--background"]).ok();
    for (before, work) in before.iter().zip(&works) {
        before.assert_same(&work.snapshot(), "after a filling that nobody asked for");
    }
    // Told, not counted, and replaced.
    let told: Vec<_> = pool.members().into_iter().filter(|member| member.error.is_some()).collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].error.as_ref().unwrap().contains("it contains changes"), "{told:?}");
    assert_eq!(pool.status()["ready"], 2);
    // A person is told where it went.
    let said = pool.cli.run(&["pool", "fill"]).ok().stderr;
    for (before, work) in before.iter().zip(&works) {
        assert!(said.contains(&format!("spinney restore {}", work.name)), "{said}");
        pool.story.cli.run(&["restore", &work.name]).ok();
        before.assert_same(&work.snapshot(), "restored");
    }
}

#[test]
fn a_commit_in_a_submodule_is_kept() {
    let sandbox = Sandbox::new();
    let library = sandbox.repository("library");
    let repository = sandbox.repository("app").with_remote();
    repository.add_submodule("libs/one", &library);
    repository.push();
    let pool = Pool::of(Story::of(repository), 1);
    pool.configure("submodules = true");
    pool.fill();
    let member = pool.member();
    let inside = member.path.join("libs/one");
    pool.git(&inside, &["commit", "--quiet", "--allow-empty", "--message", "mine"]);
    let commit = pool.git(&inside, &["rev-parse", "HEAD"]);
    pool.git(&inside, &["checkout", "--quiet", "HEAD^"]);
    pool.git(&inside, &["branch", "mine", &commit]);
    assert_eq!(pool.drain()["trashed"][0], member.name.as_str());
    pool.story.cli.run(&["restore", &member.name]).ok();
    assert_eq!(pool.git(&inside, &["rev-parse", "mine"]), commit);
}

#[test]
fn a_member_in_use_stays_and_the_reason_is_told() {
    let pool = Pool::new(1);
    pool.fill();
    let member = pool.member();
    let inside =
        pool.story.sandbox().cli("/bin/sh").in_directory(member.path.join("src")).spawn(&["-c", "exec sleep 1000"]);
    let cwd = format!("/proc/{}/cwd", inside.id());
    wait_until(|| fs::read_link(&cwd).is_ok_and(|place| place.starts_with(&member.path)), crate::support::pool::LONG);
    let drained = pool.drain();
    assert!(drained["kept"][0][1].as_str().unwrap().contains("in_use"), "{drained}");
    assert!(member.path.join("README.md").is_file());
    assert_eq!(pool.states(), ["ready"]);
    // A repository is not forgotten over it either.
    refused(&pool.cli, 3, &["repo", "rm", "local/app"]);
    drop(inside);
    assert_eq!(pool.drain()["deleted"], 1);
}

#[test]
fn a_member_with_a_mount_inside_stays() {
    let pool = Pool::new(1);
    pool.set_up_with("mkdir data.local");
    pool.fill();
    let member = pool.member();
    let outside = pool.story.sandbox().path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept.txt"), "kept").unwrap();
    let Some(mount) =
        crate::support::lost::mount::bind(pool.story.sandbox(), &outside, &member.path.join("data.local"))
    else {
        return;
    };
    let drained = pool.drain();
    assert!(drained["kept"][0][1].as_str().unwrap().contains("mount_inside"), "{drained}");
    assert!(outside.join("kept.txt").is_file());
    drop(mount);
    assert!(outside.join("kept.txt").is_file());
    assert_eq!(pool.drain()["deleted"], 1);
    assert!(outside.join("kept.txt").is_file());
}

#[test]
fn what_can_not_be_judged_stays() {
    let pool = Pool::new(1);
    pool.fill();
    let member = pool.member();
    fs::write(member.path.join("mine.txt"), "mine").unwrap();
    let pointer = fs::read_to_string(member.path.join(".git")).unwrap();
    fs::write(member.path.join(".git"), "gitdir: /nowhere\n").unwrap();
    let drained = pool.drain();
    assert_eq!((&drained["deleted"], drained["kept"].as_array().unwrap().len()), (&0.into(), 1), "{drained}");
    assert_eq!(read(&member.path, "mine.txt").as_deref(), Some("mine"));
    // It is not given to anybody, and another one is made in its place.
    pool.make_cold(&["--issue", "1"]);
    pool.fill();
    pool.claim(&["--issue", "2"]);
    fs::write(member.path.join(".git"), pointer).unwrap();
}

#[test]
fn a_store_older_than_a_claim_takes_nothing_of_it() {
    let pool = Pool::new(1);
    pool.fill();
    let old = pool.copy_database();
    let claimed = pool.claim(&["--issue", "1"]);
    let work = Work::of(&pool.story, &claimed);
    let commit = work.commit("mine.txt", "mine");
    work.write("notes.txt", "notes");
    let before = work.snapshot();
    pool.bring_old_database(&old);
    assert_eq!(pool.states(), ["ready"], "as the old store has it");

    assert_ne!(pool.make_cold(&["--issue", "2"]).path(), work.path);
    before.assert_same(&work.snapshot(), "after new");
    pool.fill();
    before.assert_same(&work.snapshot(), "after fill");
    pool.move_base("moved.txt");
    pool.cli.run(&["pool", "fill"]);
    before.assert_same(&work.snapshot(), "after a refresh");
    pool.drain();
    before.assert_same(&work.snapshot(), "after drain");
    pool.story.cli.run(&["pool", "fill"]).ok();
    before.assert_same(&work.snapshot(), "after a fill to nothing");
    pool.story.cli.run(&["cleanup"]).ok();
    before.assert_same(&work.snapshot(), "after cleanup");

    pool.story.cli.run(&["cleanup", "orphans"]).ok();
    let shown = pool.story.show("issue-1");
    assert_eq!((shown.text("status"), shown.path()), ("active", work.path.clone()));
    assert_eq!(pool.story.make(&["--issue", "1"]).path(), work.path);
    before.assert_same(&work.snapshot(), "after all");
    assert_eq!(work.head(), commit);
    let again = pool.story.cli.run(&["cleanup", "orphans", "--json"]).ok().json();
    assert!(again["findings"].as_array().unwrap().iter().all(|finding| finding["done"].is_null()), "{again}");
}

#[test]
fn with_an_old_store_what_was_handed_out_is_known_by_its_own_mark() {
    let pool = Pool::new(1);
    pool.fill();
    let old = pool.copy_database();
    let work = Work::of(&pool.story, &pool.claim(&["--issue", "1"]));
    // It stands just as a member does.
    work.git(&["switch", "--quiet", "--detach"]);
    work.write("notes.txt", "notes");
    let before = work.snapshot();
    pool.bring_old_database(&old);
    pool.make_cold(&["--issue", "2"]);
    let drained = pool.drain();
    assert!(drained["kept"][0][1].as_str().unwrap().contains("orphans"), "{drained}");
    pool.move_base("moved.txt");
    pool.fill();
    before.assert_same(&work.snapshot(), "after new, drain and fill");
    pool.story.cli.run(&["cleanup", "orphans"]).ok();
    assert_eq!(pool.story.show("issue-1").path(), work.path);
    before.assert_same(&work.snapshot(), "after all");
}

#[test]
fn with_an_old_store_the_same_work_is_told_or_found() {
    let pool = Pool::new(1);
    pool.fill();
    let old = pool.copy_database();
    let work = Work::of(&pool.story, &pool.claim(&["--issue", "1"]));
    work.write("notes.txt", "notes");
    let before = work.snapshot();
    pool.bring_old_database(&old);
    let ran = pool.story.cli.run(&["new", "--issue", "1"]);
    before.assert_same(&work.snapshot(), "asked for again");
    assert!(ran.status == 0 || ran.stderr.contains("cleanup orphans"), "{}", ran.told());
    pool.story.cli.run(&["cleanup", "orphans"]).ok();
    assert_eq!(pool.story.make(&["--issue", "1"]).path(), work.path);
    before.assert_same(&work.snapshot(), "found again");
}

#[test]
fn after_a_lost_database_members_are_taken_back_and_replaced() {
    let pool = Pool::new(2);
    pool.set_up_with("touch new.txt");
    pool.fill();
    let members = pool.members();
    fs::write(members[0].path.join("mine.txt"), "mine").unwrap();
    pool.lose_database();
    pool.story.cli.run(&["repo", "add", "."]).ok();
    pool.story.cli.run(&["cleanup", "orphans"]).ok();
    assert_eq!(pool.states(), ["failed", "failed"]);
    // How they were prepared is not known any more: nobody is given one.
    pool.make_cold(&["--issue", "1"]);
    assert_eq!(pool.fill()["made"], 2);
    assert_eq!(pool.states(), ["ready", "ready"]);
    pool.drain();
    assert_eq!(pool.states().len(), 0);
    pool.story.cli.run(&["restore", &members[0].name]).ok();
    assert_eq!(read(&members[0].path, "mine.txt").as_deref(), Some("mine"));
    assert_eq!(pool.story.worktrees().len(), 2);
}

#[test]
fn a_repository_is_forgotten_with_its_pool() {
    let pool = Pool::new(2);
    pool.configure("ports = [\"web\"]");
    pool.fill();
    pool.story.cli.run(&["repo", "rm", "local/app"]).ok();
    pool.story.assert_nothing_left_over();
    assert_eq!(pool.story.worktrees(), Vec::<PathBuf>::new());
    let trees = files_below(&pool.story.sandbox().spinney_home().join("trees"), 3);
    assert_eq!(trees, Vec::<PathBuf>::new());
    pool.story.cli.with_variable(SIZE, "1").run(&["pool", "fill"]).ok();
    pool.claim(&["--issue", "1"]);
}

#[test]
fn a_branch_that_somebody_made_in_a_member_is_not_handed_out_twice() {
    let pool = Pool::new(1);
    pool.fill();
    let member = pool.member();
    let work = as_work(&pool, &member);
    work.git(&["switch", "--quiet", "-c", "topic"]);
    work.commit("mine.txt", "mine");
    let before = work.snapshot();
    let ran = pool.story.cli.run(&["new", "--branch", "topic"]);
    assert_ne!(ran.status, 0, "{}", ran.told());
    assert!(ran.stderr.contains("topic") && ran.stderr.contains(member.path.to_str().unwrap()), "{}", ran.told());
    let adopted = pool.story.cli.run(&["adopt", member.path.to_str().unwrap()]);
    before.assert_same(&work.snapshot(), &format!("after adopt: {}", adopted.told()));
    pool.drain();
    pool.story.cli.run(&["restore", &member.name]).ok();
    before.assert_same(&work.snapshot(), "restored");
}
