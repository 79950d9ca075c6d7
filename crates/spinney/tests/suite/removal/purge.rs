//! Purging the trash: what only a tree held goes into an archive that was read back, and `restore` works from it.

use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::support::common::{Story, refused};
use crate::support::lost::Work;
use crate::support::lost::kinds::TREE;
use crate::support::lost::tokens::Tokens;
use serde_json::Value;
use spinney_testkit::{Cli, GitWrapper, wait_until};

const LONG: Duration = Duration::from_secs(60);

fn archive(story: &Story, work: &Work) -> PathBuf {
    story.sandbox().spinney_home().join("archives").join(format!("{}.tar.zst", work.id))
}

fn trash(story: &Story, work: &Work) -> PathBuf {
    story.sandbox().spinney_home().join("trash").join(&work.id)
}

fn rescue(story: &Story, work: &Work) -> bool {
    story.repository.try_git(&["rev-parse", "--verify", "--quiet", &format!("refs/spinney/rescue/{}", work.id)]).status
        == 0
}

fn status(story: &Story, name: &str) -> String {
    story.show(name).text("status").to_owned()
}

/// Names of what is in the trash.
fn trashed(cli: &Cli) -> Vec<String> {
    let list = cli.run(&["trash", "ls", "--json"]).ok().json();
    list["trash"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
}

/// A workspace with untracked work, in the trash.
fn removed(story: &Story, issue: &str) -> Work {
    let work = Work::new(story, issue);
    work.write("new.txt", issue);
    story.cli.run(&["rm", &work.name, "--force"]).ok();
    work
}

#[test]
fn archive_and_rescue_ref_alone_bring_everything_back() {
    let story = Story::new();
    story.change(|repository| {
        repository.write("lib/a.txt", "a").write("plain", "plain").write("plain.sh", "#!/bin/sh\n");
        repository.commit("more");
        repository.push().head()
    });
    let work = Work::new(&story, "1");
    let mut tokens = Tokens::default();
    work.stop_at_a_conflict("rebase", "ours", "theirs");
    for kind in TREE {
        (kind.plant)(&work, &mut tokens);
    }
    let before = work.snapshot();
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    story.repository.git(&["branch", "-D", "issue-1"]);
    let purged = story.cli.run(&["trash", "purge", "issue-1", "--json"]).ok().json();
    let place = archive(&story, &work);
    assert_eq!(purged["purged"][0]["archive"], place.to_str().unwrap());
    assert!(purged["purged"][0]["freed"].as_u64().unwrap() > 0);
    assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(place.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(!trash(&story, &work).exists() && !work.path.exists());
    assert!(!story.repository.path().join(".git/spinney").join(&work.id).exists());
    story.repository.git(&["reflog", "expire", "--expire=now", "--all"]);
    story.repository.git(&["worktree", "prune"]);
    story.repository.git(&["gc", "--quiet", "--prune=now"]);
    story.cli.run(&["restore", "issue-1"]).ok();
    before.assert_same(&work.snapshot(), "restored from the archive");
    assert_eq!(story.repository.git(&["fsck", "--connectivity-only", "--no-dangling"]), "");
    // What was under way goes on: back to where the branch was.
    work.git(&["rebase", "--abort"]);
    assert_eq!(fs::read_to_string(work.path.join("conflict.txt")).unwrap(), "ours");
    assert_eq!(work.git(&["symbolic-ref", "--short", "HEAD"]), "issue-1");
    assert_eq!(status(&story, "issue-1"), "active");
}

#[test]
fn an_archive_that_can_not_be_written_keeps_the_trash() {
    let story = Story::new();
    let work = removed(&story, "1");
    let archives = story.sandbox().spinney_home().join("archives");
    fs::write(&archives, "in the way").unwrap();
    refused(&story.cli, 1, &["trash", "purge", "issue-1"]);
    assert_eq!(status(&story, "issue-1"), "trashed");
    assert!(trash(&story, &work).join("new.txt").is_file());
    fs::remove_file(&archives).unwrap();
    // A directory in the place of the archive itself: written, but it can't get its name.
    fs::create_dir_all(archive(&story, &work).join("full")).unwrap();
    refused(&story.cli, 1, &["trash", "purge", "issue-1"]);
    assert!(trash(&story, &work).join("new.txt").is_file());
    assert_eq!(fs::read_dir(&archives).unwrap().count(), 1, "no half archive stays");
    fs::rename(archive(&story, &work), story.sandbox().path().join("aside")).unwrap();
    story.cli.run(&["trash", "purge", "issue-1"]).ok();
    assert_eq!(status(&story, "issue-1"), "purged");
}

#[test]
fn an_archive_that_reads_back_wrong_keeps_the_trash() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    // Too much to be written at once, and nothing that gets smaller.
    let mut noise = vec![0; 8 << 20];
    File::open("/dev/urandom").unwrap().read_exact(&mut noise).unwrap();
    work.write("noise.bin", &noise);
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    let partial = archive(&story, &work).with_extension("partial");
    let mut purge = story.cli.spawn(&["trash", "purge", "issue-1"]);
    // A disk that forgets: what was written already becomes a hole.
    while purge.is_running() {
        if let Ok(file) = File::options().write(true).open(&partial) {
            file.set_len(10).unwrap();
        }
    }
    let told = purge.wait().exits(1).stderr;
    assert!(told.contains("read back"), "{told}");
    assert_eq!(status(&story, "issue-1"), "trashed");
    assert!(!archive(&story, &work).exists() && !partial.exists());
    story.cli.run(&["restore", "issue-1"]).ok();
    assert!(fs::read(work.path.join("noise.bin")).unwrap() == noise);
}

#[test]
fn a_damaged_archive_is_told_and_nothing_is_made_of_it() {
    let story = Story::new();
    let work = removed(&story, "1");
    story.cli.run(&["trash", "purge", "--all"]).ok();
    let place = archive(&story, &work);
    let whole = fs::read(&place).unwrap();
    fs::write(&place, &whole[..whole.len() / 2]).unwrap();
    refused(&story.cli, 1, &["restore", "issue-1"]).says(&[place.to_str().unwrap()]);
    assert!(!work.path.exists());
    assert_eq!(status(&story, "issue-1"), "purged");
    fs::write(&place, whole).unwrap();
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(fs::read_to_string(work.path.join("new.txt")).unwrap(), "1");
}

#[test]
fn what_is_due_goes_in_the_background() {
    let story = Story::new();
    let (one, two) = (removed(&story, "1"), Work::new(&story, "2"));
    let eager = story.cli.with_variable("SPINNEY_CLEANUP__TRASH_FOR", "1ms");
    let answered = eager.run(&["rm", &two.name]).ok();
    assert!(answered.stderr.contains("issue-2 is in the trash"), "{}", answered.told());
    wait_until(|| trashed(&story.cli).is_empty(), LONG);
    assert!(archive(&story, &one).is_file() && !trash(&story, &one).exists());
    assert!(!archive(&story, &two).exists(), "it held nothing");
    wait_until(|| story.cli.run(&["trash", "purge"]).status == 0, LONG);
    story.cli.run(&["restore", "issue-1"]).ok();
}

/// The `nice` of a process.
fn nice(pid: &str) -> i32 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.split(' ').nth(16).unwrap().parse().unwrap()
}

#[test]
fn in_the_background_everybody_else_goes_first() {
    let story = Story::new();
    removed(&story, "1");
    // A git that tells who started it, and waits until that was looked at.
    let git = GitWrapper::new(
        r#"if tr '\0' ' ' < /proc/$PPID/cmdline | grep -q -e 'trash purge'; then
    echo $PPID > "$HERE/new"; mv "$HERE/new" "$HERE/purger"
    while [ ! -e "$HERE/go" ] && [ -e "$0" ]; do sleep 0.02; done
fi
exec "$GIT" "$@"
"#,
    );
    let purger = || fs::read_to_string(git.directory().join("purger")).unwrap_or_default().trim().to_owned();
    let watched = story.cli.with_path_first(git.directory());
    let other = Work::new(&story, "2");
    watched.with_variable("SPINNEY_CLEANUP__TRASH_FOR", "1ms").run(&["rm", &other.name]).ok();
    wait_until(|| !purger().is_empty(), LONG);
    assert_eq!(nice(&purger()), 19);
    fs::write(git.directory().join("go"), "").unwrap();
    wait_until(|| trashed(&story.cli).is_empty(), LONG);
    wait_until(|| story.cli.run(&["trash", "purge"]).status == 0, LONG);
    // Who is waited for does not wait for others.
    for file in ["go", "purger"] {
        fs::remove_file(git.directory().join(file)).unwrap();
    }
    let third = removed(&story, "3");
    let waited_for = watched.spawn(&["trash", "purge", third.name.as_str()]);
    wait_until(|| !purger().is_empty(), LONG);
    assert_eq!(nice(&purger()), nice("self"));
    fs::write(git.directory().join("go"), "").unwrap();
    waited_for.wait().ok();
}

#[test]
fn over_the_quota_the_oldest_go_first() {
    let story = Story::new();
    for issue in ["1", "2", "3"] {
        let work = Work::new(&story, issue);
        work.write("big.bin", vec![7; 3 << 20]);
        story.cli.run(&["rm", &work.name, "--force"]).ok();
    }
    let sized = story.cli.run(&["trash", "ls", "--size", "--json"]).ok().json();
    let sizes: Vec<u64> = sized["trash"].as_array().unwrap().iter().map(|row| row["bytes"].as_u64().unwrap()).collect();
    assert!(sizes.iter().all(|size| (3 << 20..4 << 20).contains(size)), "{sizes:?}");
    let listed = story.cli.run(&["trash", "ls", "--size"]).ok().stdout;
    assert!(listed.contains("SIZE") && listed.contains("3.") && listed.contains("MB"), "{listed}");
    story.cli.run(&["trash", "purge"]).ok();
    assert_eq!(trashed(&story.cli).len(), 3, "nothing is due");
    let small = story.cli.with_variable("SPINNEY_CLEANUP__TRASH_QUOTA", "8MiB");
    let purged = small.run(&["trash", "purge", "--json"]).ok().json();
    let names: Vec<_> = purged["purged"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["issue-1"], "the oldest, and no more than needed");
    let tiny = story.cli.with_variable("SPINNEY_CLEANUP__TRASH_QUOTA", "1MiB");
    tiny.run(&["trash", "purge"]).ok();
    assert_eq!(trashed(&story.cli), Vec::<String>::new());
}

#[test]
fn names_or_all() {
    let story = Story::new();
    for issue in ["1", "2", "3"] {
        removed(&story, issue);
    }
    story.cli.run(&["trash", "purge", "issue-1", "issue-3"]).ok();
    assert_eq!(trashed(&story.cli), ["issue-2"]);
    refused(&story.cli, 4, &["trash", "purge", "issue-1"]);
    story.make(&["--issue", "9"]);
    refused(&story.cli, 4, &["trash", "purge", "issue-9"]);
    story.cli.run(&["trash", "purge", "--all"]).ok();
    assert_eq!(trashed(&story.cli), Vec::<String>::new());
    assert_eq!(status(&story, "issue-9"), "active");
}

#[test]
fn nothing_is_deleted_through_a_link() {
    let story = Story::new();
    let outside = story.sandbox().path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept.txt"), "kept").unwrap();
    let work = Work::new(&story, "1");
    symlink(&outside, work.path.join("link")).unwrap();
    // A tracked directory gave way to a link to a place that has a file of the same name.
    fs::write(outside.join("lib.rs"), "outside").unwrap();
    fs::rename(work.path.join("src"), story.sandbox().path().join("src-before")).unwrap();
    symlink(&outside, work.path.join("src")).unwrap();
    fs::create_dir_all(work.path.join("target/deep")).unwrap();
    symlink(&outside, work.path.join("target/deep/link")).unwrap();
    let before = work.snapshot();
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    story.cli.run(&["trash", "purge", "--all"]).ok();
    let unpacked = crate::support::lost::tokens::unpack(&story, &archive(&story, &work));
    assert!(!unpacked.join("tree/src").is_dir() || unpacked.join("tree/src").is_symlink(), "read through a link");
    fs::write(outside.join("lib.rs"), "outside, later").unwrap();
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(fs::read_to_string(outside.join("lib.rs")).unwrap(), "outside, later");
    assert_eq!(fs::read_to_string(outside.join("kept.txt")).unwrap(), "kept");
    fs::write(outside.join("lib.rs"), "outside").unwrap();
    // The cache is not kept, and was said to be none.
    fs::create_dir_all(work.path.join("target/deep")).unwrap();
    symlink(&outside, work.path.join("target/deep/link")).unwrap();
    before.assert_same(&work.snapshot(), "restored");
}

#[test]
fn nothing_is_deleted_across_a_mount() {
    let story = Story::new();
    let outside = story.sandbox().path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("kept.txt"), "kept").unwrap();
    let work = Work::new(&story, "1");
    fs::create_dir(work.path.join("data.local")).unwrap();
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    let inside = trash(&story, &work).join("data.local");
    let Some(mount) = crate::support::lost::mount::bind(story.sandbox(), &outside, &inside) else { return };
    let told = story.cli.run(&["trash", "purge", "issue-1"]).exits(1).stderr;
    assert!(told.contains("mounted") && told.contains(inside.to_str().unwrap()), "{told}");
    assert_eq!(status(&story, "issue-1"), "trashed");
    assert!(outside.join("kept.txt").is_file() && trash(&story, &work).join("README.md").is_file());
    drop(mount);
    story.cli.run(&["trash", "purge", "issue-1"]).ok();
    assert!(outside.join("kept.txt").is_file());
}

#[test]
fn what_was_merged_and_clean_leaves_nothing_behind() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    work.commit("a.txt", "a");
    work.push();
    story.remote().merge("issue-1");
    work.write("target/debug/app", "built");
    fs::create_dir_all(work.path.join("target/empty")).unwrap();
    story.cli.run(&["cleanup", "merged"]).ok();
    assert!(rescue(&story, &work));
    // Asked again after the removal, the remote has it still.
    story.cli.run(&["repo", "sync"]).ok();
    let purged = story.cli.run(&["trash", "purge", "--all", "--json"]).ok().json();
    assert_eq!(purged["purged"][0]["archive"], Value::Null);
    assert!(!archive(&story, &work).exists() && !rescue(&story, &work));
    assert_eq!(story.branches(), ["main"]);
    refused(&story.cli, 1, &["restore", "issue-1"]).says(&["had no files to archive"]);
}

#[test]
fn a_rescue_ref_stays_as_long_as_its_commits_are_nowhere_else() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    work.commit("a.txt", "a");
    let tip = work.commit("b.txt", "b");
    work.push();
    story.remote().squash_merge("issue-1");
    story.remote().git(&["update-ref", "-d", "refs/heads/issue-1"]);
    story.cli.run(&["cleanup", "merged"]).ok();
    story.repository.git(&["fetch", "--quiet", "--prune"]);
    story.cli.run(&["trash", "purge", "--all"]).ok();
    assert!(rescue(&story, &work), "the squash has the changes, not the commits");
    story.repository.git(&["reflog", "expire", "--expire=now", "--all"]);
    story.repository.git(&["gc", "--quiet", "--prune=now"]);
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(work.head(), tip);
    assert_eq!(work.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_second_purge_is_not_undone_by_the_first_ones_archive() {
    let story = Story::new();
    let work = removed(&story, "1");
    story.cli.run(&["trash", "purge", "--all"]).ok();
    story.cli.run(&["restore", "issue-1"]).ok();
    fs::remove_file(work.path.join("new.txt")).unwrap();
    work.commit("later.txt", "later");
    work.push();
    story.cli.run(&["rm", "issue-1"]).ok();
    story.cli.run(&["trash", "purge", "--all"]).ok();
    story.cli.run(&["restore", "issue-1"]).ok();
    assert!(!work.path.join("new.txt").exists() && work.path.join("later.txt").is_file());
}

#[test]
fn a_tree_whose_pointer_became_a_repository_keeps_it() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    let mut tokens = Tokens::default();
    fs::rename(work.path.join(".git"), story.sandbox().path().join("pointer")).unwrap();
    work.nested_repository(".", &tokens.make("own-repository"));
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    story.cli.run(&["trash", "purge", "--all"]).ok();
    tokens.assert_readable(&story, &crate::support::lost::tokens::EVERYWHERE, "purged");
    let unpacked = crate::support::lost::tokens::unpack(&story, &archive(&story, &work));
    assert!(unpacked.join("tree/.git/HEAD").is_file());
}

#[test]
fn only_the_owner_can_read_what_was_archived() {
    let story = Story::new();
    let work = removed(&story, "1");
    fs::create_dir(story.sandbox().spinney_home().join("archives")).unwrap();
    fs::set_permissions(story.sandbox().spinney_home().join("archives"), Permissions::from_mode(0o755)).unwrap();
    let shell = story.sandbox().cli("/bin/sh").in_directory(story.repository.path());
    shell.run(&["-c", "umask 000; exec \"$0\" trash purge --all", crate::support::common::BINARY]).ok();
    assert_eq!(fs::metadata(archive(&story, &work)).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_change_in_the_very_moment_of_its_add_is_kept() {
    let story = Story::new();
    let second = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let work = Work::new(&story, "1");
    // Same size, same second: git tells them apart by the age of its index alone.
    let (kept, hidden) = (work.path.join("src/lib.rs"), work.path.join("README.md"));
    for (path, mark) in [(&kept, None), (&hidden, Some("--assume-unchanged"))] {
        fs::write(path, "staged!!").unwrap();
        let shown = path.to_str().unwrap();
        work.git(&["add", shown]);
        if let Some(mark) = mark {
            work.git(&["update-index", mark, shown]);
        }
        fs::write(path, "unstaged").unwrap();
    }
    let planted = second();
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    wait_until(|| second() > planted, LONG);
    story.cli.run(&["trash", "purge", "--all"]).ok();
    story.cli.run(&["restore", "issue-1"]).ok();
    for path in [&kept, &hidden] {
        assert_eq!(fs::read_to_string(path).unwrap(), "unstaged", "{}", path.display());
    }
}

/// Runs lines of a shell as `docs/SAFETY.md` gives them.
#[track_caller]
fn by_hand(story: &Story, work: &Work, lines: &str) {
    let shell = story.sandbox().cli("/bin/sh").in_directory(story.repository.path());
    let shell = shell.with_variable("ID", &work.id).with_variable("DIR", &work.path);
    shell.with_variable("H", story.sandbox().spinney_home()).run(&["-euc", lines]).ok();
}

#[test]
fn work_comes_back_by_hand_with_git_alone() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    let tip = work.commit("committed.txt", "committed");
    work.write("staged.txt", "staged");
    work.git(&["add", "staged.txt"]);
    work.write("README.md", "edited");
    work.write("new.txt", "untracked");
    let before = work.snapshot();
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    // From the trash.
    let look = "git --git-dir=.git/spinney/$ID --work-tree=$H/trash/$ID status --porcelain";
    by_hand(&story, &work, &format!("{look} | grep -q '^A  staged.txt'"));
    let back = "mkdir -p .git/worktrees; mv .git/spinney/$ID .git/worktrees/$ID; mv $H/trash/$ID $DIR";
    by_hand(&story, &work, back);
    before.assert_same(&work.snapshot(), "moved back by hand");
    story.cli.run(&["cleanup", "orphans"]).ok();
    assert_eq!(status(&story, "issue-1"), "active", "and Spinney sees that it is back");
    // From rescue ref and archive, the branch gone and git's garbage collected.
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    story.cli.run(&["trash", "purge", "--all"]).ok();
    story.repository.git(&["branch", "-D", "issue-1"]);
    story.repository.git(&["reflog", "expire", "--expire=now", "--all"]);
    story.repository.git(&["gc", "--quiet", "--prune=now"]);
    by_hand(
        &story,
        &work,
        "mkdir back; tar --zstd -xf $H/archives/$ID.tar.zst -C back
         TIP=$(sed -n 's/.*\"tip\": \"\\([0-9a-f]*\\)\".*/\\1/p' back/admin/spinney-removal.json)
         git log --format=%H refs/spinney/rescue/$ID | grep -q $TIP
         git branch mine $TIP
         git worktree add --quiet ../mine mine
         cp -a back/tree/. ../mine/
         test \"$(GIT_INDEX_FILE=$PWD/back/admin/index git show :staged.txt)\" = staged
         rm -r back",
    );
    let mine = work.moved(&story.sandbox().path().join("repositories/mine"));
    assert_eq!(mine.head(), tip);
    assert_eq!(mine.git(&["status", "--porcelain"]), " M README.md\n?? new.txt");
    assert_eq!(fs::read_to_string(mine.path.join("new.txt")).unwrap(), "untracked");
}
