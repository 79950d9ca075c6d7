//! Somebody moved a workspace with git, or changed where its git directory leads: its work is found, or the way back is told.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::support::common::Story;
use spinney_testkit::{Plant, Tokens};

/// A workspace with work of every plain kind.
struct Work {
    story: Story,
    tree: PathBuf,
    tokens: Tokens,
    status: String,
}

impl Work {
    fn new() -> Self {
        let story = Story::new();
        let tree = story.make(&["--issue", "1"]).path();
        let tokens = Tokens::plant(story.sandbox(), &tree, Plant::PLAIN);
        let status = status(&story, &tree);
        Self { story, tree, tokens, status }
    }

    fn admin_dir(&self) -> PathBuf {
        PathBuf::from(self.story.sandbox().git(&self.tree, &["rev-parse", "--absolute-git-dir"]))
    }

    /// Refuses to go; removed by force it comes back from the trash, and from the archive.
    #[track_caller]
    fn assert_comes_back(&self, tamper: impl Fn()) {
        let (story, main) = (&self.story, self.story.repository.path());
        for purge in [false, true] {
            tamper();
            story.cli.run(&["rm", "issue-1"]).exits(3);
            story.cli.run(&["rm", "issue-1", "--force"]).ok();
            story.sandbox().git(main, &["reflog", "expire", "--expire=now", "--all"]);
            story.sandbox().git(main, &["gc", "--quiet", "--prune=now"]);
            if purge {
                story.cli.run(&["trash", "purge", "issue-1"]).ok();
            }
            story.cli.run(&["restore", "issue-1"]).ok();
            self.tokens.assert_safe(&story.repository, &[]);
            assert_eq!(status(story, &self.tree), self.status, "purged: {purge}");
        }
    }
}

fn status(story: &Story, tree: &Path) -> String {
    let status = ["status", "--porcelain=v2", "--branch", "--untracked-files=all", "--ignored"];
    let told = story.sandbox().git(tree, &status);
    // What stood in the place of its `.git` file is kept beside it.
    told.lines().filter(|line| !line.contains(".git.found-")).fold(String::new(), |told, line| told + line + "\n")
}

#[test]
fn a_workspace_that_was_moved_with_git_stays_where_it_is() {
    let story = Story::new();
    // Nothing holds it but where it is.
    let tree = story.make(&["--issue", "1"]).path();
    let to = story.sandbox().path().join("elsewhere");
    let [from, to_text] = [&tree, &to].map(|path| path.to_str().unwrap());
    let main = story.repository.path();
    story.sandbox().git(main, &["worktree", "move", "--force", "--force", from, to_text]);
    for line in [&["rm", "issue-1"][..], &["rm", "issue-1", "--force"], &["new", "--issue", "1"]] {
        let ran = story.cli.run(line);
        assert!(matches!(ran.status, 3 | 5), "{line:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(to_text), "{line:?}: {}", ran.stderr);
        assert!(to.join("README.md").exists());
    }
    assert!(story.cli.run(&["rm", "issue-1", "--force"]).stderr.contains("git worktree move"));
    for line in [&["why", "issue-1"][..], &["show", "issue-1"], &["doctor"]] {
        let ran = story.cli.run(line);
        assert!(format!("{}{}", ran.stdout, ran.stderr).contains(to_text), "{line:?}: {}{}", ran.stdout, ran.stderr);
    }
    // Brought back, it is as before.
    story.sandbox().git(main, &["worktree", "move", "--force", "--force", to_text, from]);
    story.cli.run(&["rm", "issue-1"]).ok();
    story.cli.run(&["restore", "issue-1"]).ok();
    assert!(tree.join("README.md").exists());
    // Where it is wanted there, that is told once.
    story.sandbox().git(main, &["worktree", "move", "--force", "--force", from, to_text]);
    story.cli.run(&["cleanup", "orphans"]).ok();
    assert_eq!(story.cli.run(&["path", "issue-1"]).ok().stdout.trim_end(), to_text);
    story.cli.run(&["rm", "issue-1"]).ok();
    assert!(!to.exists());
    story.cli.run(&["restore", "issue-1"]).ok();
    assert!(to.join("README.md").exists());
}

#[test]
fn a_git_file_that_became_a_link_loses_nothing() {
    let work = Work::new();
    work.assert_comes_back(|| {
        let admin_dir = work.admin_dir();
        fs::remove_file(work.tree.join(".git")).unwrap();
        symlink(&admin_dir, work.tree.join(".git")).unwrap();
    });
}

#[test]
fn a_git_directory_that_leads_elsewhere_loses_nothing() {
    let work = Work::new();
    work.assert_comes_back(|| fs::write(work.admin_dir().join("gitdir"), "/nowhere/.git\n").unwrap());
    let other = work.story.make(&["--issue", "2"]).path();
    let to = format!("{}\n", other.join(".git").display());
    work.assert_comes_back(|| fs::write(work.admin_dir().join("gitdir"), &to).unwrap());
    assert!(other.join("README.md").exists());
}
