//! What git does not look at is work too: it is named by the verdict, kept by the archive, and given up by nobody.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::support::common::Story;
use crate::support::lost::Work;
use crate::support::lost::work::codes;
use crate::support::pool::Pool;
use serde_json::Value;
use spinney_testkit::{Sandbox, TestRepository};

/// A clean filter that loses what stands after `#`, and gives nothing back.
const LOSSY: &[&str] = &["config", "--global", "filter.strip.clean", "sed 's/ *#.*//'"];

fn why(story: &Story, name: &str) -> Value {
    story.cli.run(&["why", name, "--json"]).json()
}

/// A workspace of a repository with a submodule that is not checked out.
fn with_gitlink() -> (Story, Work) {
    let sandbox = Sandbox::new();
    let library = sandbox.repository("library");
    let repository = sandbox.repository("app").with_remote();
    add_gitlink(&repository, &library);
    let story = Story::of(repository);
    let work = Work::new(&story, "1");
    (story, work)
}

fn add_gitlink(repository: &TestRepository, library: &TestRepository) {
    repository.add_submodule("sub", library);
    repository.write("spinney.toml", "[workspace]\nsubmodules = false\n");
    repository.commit("a submodule");
    repository.push();
}

/// The verdict names the code, a plain removal is refused unless the code blocks nobody, and all comes back from the
/// archive alone.
#[track_caller]
fn is_named_and_comes_back(story: &Story, work: &Work, code: &str) {
    let verdict = why(story, &work.name);
    assert!(codes(&verdict["reasons"]).contains(&code.to_owned()), "{verdict}");
    assert_eq!(verdict["removable"], code == "converted", "{verdict}");
    if code != "converted" {
        let refused = story.cli.run(&["rm", &work.name]).exits(3);
        assert!(refused.stderr.contains(code), "{}", refused.told());
        assert!(work.path.is_dir());
    }
    comes_back(story, work);
}

#[track_caller]
fn comes_back(story: &Story, work: &Work) {
    let before = work.snapshot();
    story.cli.run(&["rm", &work.name, "--force"]).ok();
    let purged = story.cli.run(&["trash", "purge", &work.name]).ok();
    assert!(!purged.stderr.contains("no files to archive"), "{}", purged.told());
    story.repository.git(&["reflog", "expire", "--expire=now", "--all"]);
    story.repository.git(&["gc", "--quiet", "--prune=now"]);
    story.cli.run(&["restore", &work.name]).ok();
    before.assert_same(&work.snapshot(), "from archive and rescue ref");
}

#[test]
fn files_below_a_submodule_that_was_never_checked_out() {
    let (story, work) = with_gitlink();
    assert_eq!(codes(&why(&story, "issue-1")["reasons"]), [] as [&str; 0], "an empty directory is no reason");
    work.write("sub/notes.txt", "a day of work");
    work.write("sub/deep/more.txt", "another");
    is_named_and_comes_back(&story, &work, "untracked");
}

#[test]
fn files_of_a_submodule_whose_pointer_was_deleted() {
    let sandbox = Sandbox::new();
    let library = sandbox.repository("library");
    library.write("lib.txt", "library").commit("library");
    let repository = sandbox.repository("app").with_remote();
    repository.add_submodule("sub", &library);
    repository.push();
    let story = Story::of(repository);
    let work = Work::new(&story, "1");
    assert!(work.path.join("sub/.git").is_file(), "the test needs a submodule that is checked out");
    fs::remove_file(work.path.join("sub/.git")).unwrap();
    work.write("sub/lib.txt", "changed");
    is_named_and_comes_back(&story, &work, "untracked");
}

#[test]
fn a_drain_deletes_no_file_below_a_gitlink() {
    let pool = Pool::new(1);
    let library = pool.story.sandbox().repository("library");
    pool.story.change(|repository| add_gitlink(repository, &library));
    pool.story.cli.run(&["trust", "--yes"]);
    pool.fill();
    let member = pool.members().remove(0);
    fs::write(member.path.join("sub/notes.txt"), "a day of work").unwrap();
    let drained = pool.drain();
    assert_eq!((drained["deleted"].as_u64(), drained["trashed"].as_array().unwrap().len()), (Some(0), 1), "{drained}");
    pool.story.cli.run(&["restore", &member.name]).ok();
    assert_eq!(fs::read_to_string(member.path.join("sub/notes.txt")).unwrap(), "a day of work");
}

#[test]
fn a_repository_inside_a_tracked_directory() {
    let story = Story::new();
    story.change(|repository| {
        repository.write("src/a.txt", "a").commit("source");
        repository.push().head()
    });
    let work = Work::new(&story, "1");
    work.git(&["-C", "src", "init", "--quiet"]);
    work.git(&[
        "-C",
        "src",
        "-c",
        "user.name=x",
        "-c",
        "user.email=x@x",
        "commit",
        "--quiet",
        "--allow-empty",
        "-mwork",
    ]);
    is_named_and_comes_back(&story, &work, "nested_repository");
}

#[test]
fn a_mere_file_in_a_directory_named_like_a_repository() {
    let story = Story::new();
    story.change(|repository| {
        repository.write("src/a.txt", "a").commit("source");
        repository.push().head()
    });
    let work = Work::new(&story, "1");
    work.write("src/.git/notes.txt", "work");
    is_named_and_comes_back(&story, &work, "nested_repository");
}

#[test]
fn a_bare_repository_inside_a_cache() {
    let story = Story::new();
    story.change(|repository| {
        repository.write(".gitignore", "target/\n").commit("ignored");
        repository.push().head()
    });
    let work = Work::new(&story, "1");
    work.write("target/debug/app", "built");
    work.git(&["init", "--quiet", "--bare", "target/deep/store.git"]);
    let head = work.commit("only.txt", "x");
    work.git(&["push", "--quiet", "target/deep/store.git", &format!("{head}:refs/heads/kept")]);
    let cleaned = story.cli.run(&["cleanup", "caches", "--json"]).ok().json();
    assert_eq!(cleaned["caches"].as_array().unwrap().len(), 0, "{cleaned}");
    assert!(work.path.join("target/deep/store.git/HEAD").is_file());
    let verdict = why(&story, "issue-1");
    assert!(codes(&verdict["reasons"]).contains(&"nested_repository".to_owned()), "{verdict}");
    fs::remove_file(work.path.join("target/debug/app")).unwrap();
    fs::remove_dir(work.path.join("target/debug")).unwrap();
    comes_back(&story, &work);
}

#[test]
fn a_bare_repository_that_nobody_ignores() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    work.git(&["init", "--quiet", "--bare", "store.git"]);
    is_named_and_comes_back(&story, &work, "nested_repository");
}

#[test]
fn what_a_lossy_clean_filter_drops() {
    let story = Story::new();
    story.change(|repository| {
        repository.write("a.nb", "cell\n").write(".gitattributes", "*.nb filter=strip\n").commit("notebook");
        repository.push().head()
    });
    story.repository.git(LOSSY);
    let work = Work::new(&story, "1");
    work.write("a.nb", "cell # a day of output\n");
    work.git(&["add", "a.nb"]);
    assert_eq!(work.git(&["status", "--porcelain"]), "", "git sees nothing of it");
    is_named_and_comes_back(&story, &work, "converted");
}

#[test]
fn line_ends_that_git_does_not_keep() {
    let story = Story::new();
    story.change(|repository| {
        repository.write("a.txt", "one\ntwo\n").write(".gitattributes", "*.txt text\n").commit("text");
        repository.push().head()
    });
    let work = Work::new(&story, "1");
    work.write("a.txt", "one\r\ntwo\r\n");
    work.git(&["add", "a.txt"]);
    assert_eq!(work.git(&["status", "--porcelain"]), "", "git sees nothing of it");
    is_named_and_comes_back(&story, &work, "converted");
}

#[test]
fn line_ends_by_a_setting_of_the_person() {
    let story = Story::new();
    story.repository.git(&["config", "--global", "core.autocrlf", "input"]);
    let work = Work::new(&story, "1");
    let text = fs::read_to_string(work.path.join("README.md")).unwrap();
    work.write("README.md", text.replace('\n', "\r\n"));
    work.git(&["-c", "core.safecrlf=false", "add", "README.md"]);
    assert_eq!(work.git(&["status", "--porcelain"]), "", "git sees nothing of it");
    is_named_and_comes_back(&story, &work, "converted");
}

#[test]
fn an_ident_that_git_does_not_keep() {
    let story = Story::new();
    story.change(|repository| {
        repository.write("a.c", "/* $Id$ */\n").write(".gitattributes", "*.c ident\n").commit("ident");
        repository.push().head()
    });
    let work = Work::new(&story, "1");
    work.write("a.c", "/* $Id: by hand, a long one $ */\n");
    work.git(&["add", "a.c"]);
    assert_eq!(work.git(&["status", "--porcelain"]), "", "git sees nothing of it");
    is_named_and_comes_back(&story, &work, "converted");
}

#[test]
fn what_a_checkout_writes_itself_is_no_reason() {
    let story = Story::new();
    story.change(|repository| {
        repository.write("a.c", "/* $Id$ */\n").write("b.txt", "one\ntwo\n");
        repository.write(".gitattributes", "*.c ident\nb.txt text eol=crlf\n").commit("conversions");
        repository.push().head()
    });
    let work = Work::new(&story, "1");
    assert!(fs::read_to_string(work.path.join("b.txt")).unwrap().contains("\r\n"));
    assert_eq!(codes(&why(&story, "issue-1")["reasons"]), [] as [&str; 0]);
    story.cli.run(&["rm", "issue-1"]).ok();
    let purged = story.cli.run(&["trash", "purge", "issue-1"]).ok();
    assert!(purged.stderr.contains("no files to archive"), "{}", purged.told());
}

#[test]
fn names_that_differ_in_case_only() {
    let story = Story::new();
    story.change(|repository| {
        repository.write("src/a.txt", "a").commit("source");
        repository.git(&["config", "core.ignorecase", "true"]);
        repository.push().head()
    });
    let work = Work::new(&story, "1");
    work.write("readme.md", "beside README.md");
    work.write("SRC/a.txt", "beside src/a.txt");
    let verdict = why(&story, "issue-1");
    let untracked = verdict["reasons"].as_array().unwrap().iter().find(|reason| reason["code"] == "untracked");
    assert_eq!(untracked.unwrap()["items"], serde_json::json!(["SRC/a.txt", "readme.md"]), "{verdict}");
    is_named_and_comes_back(&story, &work, "untracked");
}

#[test]
fn a_tree_with_each_of_them_after_every_index_that_git_can_write() {
    for index in [&["update-index", "--index-version", "4"][..], &["update-index", "--split-index"]] {
        let (story, work) = with_gitlink();
        work.write("sub/notes.txt", "a day of work");
        work.write("README.md", "an edit");
        work.git(&["update-index", "--assume-unchanged", "README.md"]);
        work.git(index);
        let verdict = why(&story, "issue-1");
        let found = codes(&verdict["reasons"]);
        assert!(["dirty", "untracked"].iter().all(|code| found.contains(&(*code).to_owned())), "{index:?} {verdict}");
        comes_back(&story, &work);
    }
}

#[test]
fn links_pipes_and_modes_below_a_gitlink_come_back() {
    let (story, work) = with_gitlink();
    work.write("sub/run.sh", "#!/bin/sh\n");
    fs::set_permissions(work.path.join("sub/run.sh"), fs::Permissions::from_mode(0o750)).unwrap();
    symlink("../../nowhere", work.path.join("sub/link")).unwrap();
    fs::create_dir(work.path.join("sub/empty")).unwrap();
    comes_back(&story, &work);
}
