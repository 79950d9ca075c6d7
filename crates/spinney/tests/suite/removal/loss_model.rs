//! A model of loss: a random tree, with every kind of entry that a file system and git know, is removed in a random way,
//! interfered with, purged and restored; every byte that can't be made again must be back.
//!
//! `cargo xtask fuzz` runs thousands of cases (`SPINNEY_LOSS_CASES`); the suite runs some.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{FileExt, FileTypeExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::support::common::Story;
use crate::support::lost::Work;
use crate::support::lost::work::odd_path;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use spinney_testkit::Sandbox;

/// Cases of one ordinary run.
const CASES: u32 = 24;

/// What somebody does in a tree. The number makes names and contents differ.
type Deed = fn(&Work, usize);

const DEEDS: &[(&str, Deed)] = &[
    ("untracked", |work, n| work.write(format!("new-{n}.txt"), format!("untracked {n}"))),
    ("untracked in a directory", |work, n| work.write(format!("new/{n}/deep.txt"), format!("deep {n}"))),
    ("a private file", |work, n| {
        work.write(format!("private-{n}"), "secret");
        fs::set_permissions(work.path.join(format!("private-{n}")), Permissions::from_mode(0o600)).unwrap();
    }),
    ("ignored", |work, n| work.write(format!("{n}.local"), format!("ignored {n}"))),
    ("ignored directory", |work, n| work.write(format!("build/{n}/out"), format!("ignored {n}"))),
    ("a cache", |work, n| work.write(format!("target/{n}/object"), "made again")),
    ("an edit", |work, n| work.write("src/a.txt", format!("edited {n}\n"))),
    ("an edit of the same size", |work, n| work.write("src/b.txt", format!("b{}\n", n % 10))),
    ("staged", |work, n| {
        work.write(format!("staged-{n}.txt"), format!("staged {n}"));
        work.git(&["add", &format!("staged-{n}.txt")]);
    }),
    ("staged and edited again", |work, n| {
        work.write("src/a.txt", format!("staged {n}\n"));
        work.try_git(&["add", "src/a.txt"]);
        work.write("src/a.txt", format!("edited after {n}\n"));
    }),
    ("announced only", |work, n| {
        work.write(format!("announced-{n}"), format!("announced {n}"));
        work.git(&["add", "--intent-to-add", &format!("announced-{n}")]);
    }),
    ("deleted", |work, _| drop(fs::remove_file(work.path.join("src/c.txt")))),
    ("executable", |work, _| {
        let path = work.path.join("run.sh");
        drop(fs::set_permissions(path, Permissions::from_mode(0o755)));
    }),
    ("a link", |work, n| symlink(format!("../nowhere-{n}"), work.path.join(format!("link-{n}"))).unwrap()),
    ("a link to a directory outside", |work, n| symlink("/etc", work.path.join(format!("etc-{n}"))).unwrap()),
    ("a file that became a directory", |work, n| {
        drop(fs::remove_file(work.path.join("swap")));
        work.write(format!("swap/{n}"), format!("inside {n}"));
    }),
    ("a directory that became a link", |work, _| {
        if fs::rename(work.path.join("swapped"), work.sandbox().path().join("swapped")).is_ok() {
            symlink("src", work.path.join("swapped")).unwrap();
        }
    }),
    ("a pipe", |work, n| {
        let mode = rustix::fs::Mode::from_raw_mode(0o644);
        let path = work.path.join(format!("pipe-{n}"));
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    }),
    ("an empty directory", |work, n| fs::create_dir_all(work.path.join(format!("empty/{n}"))).unwrap()),
    ("a name that is no text", |work, n| work.write(odd_path(&format!("odd-{n}")), "odd")),
    ("a name with a line end", |work, n| work.write(format!("line\n{n}"), "odd")),
    ("a nested repository", |work, n| nested(work, &format!("nested-{n}"))),
    ("a nested repository in a cache", |work, n| nested(work, &format!("target/nested-{n}"))),
    ("a nested repository in an ignored directory", |work, n| nested(work, &format!("build/nested-{n}"))),
    ("a repository beside tracked files", |work, _| nested(work, "src")),
    ("a mere `.git` directory", |work, n| work.write(format!("lib/.git/notes-{n}"), "work")),
    ("a bare repository in a cache", |work, n| {
        work.git(&["init", "--quiet", "--bare", &format!("target/{n}.git")]);
        work.write(format!("target/{n}.git/notes"), format!("bare {n}"));
    }),
    ("a repository added as a file", |work, n| {
        nested(work, &format!("embedded-{n}"));
        work.try_git(&["add", &format!("embedded-{n}")]);
    }),
    ("below a gitlink", |work, n| work.write(format!("sub/{n}.txt"), format!("below {n}"))),
    ("another case", |work, n| work.write("README.MD", format!("case {n}"))),
    ("a directory of another case", |work, n| work.write("SRC/a.txt", format!("case {n}"))),
    ("a lossy filter", |work, n| {
        work.write("note.nb", format!("cell # output {n}\n"));
        work.try_git(&["add", "note.nb"]);
    }),
    ("line ends", |work, n| {
        work.write("text.txt", "\r\n".repeat(n % 5 + 1));
        work.try_git(&["add", "text.txt"]);
    }),
    ("an ident", |work, n| {
        work.write("ident.c", format!("/* $Id: by hand {n} $ */\n"));
        work.try_git(&["add", "ident.c"]);
    }),
    ("assumed unchanged", |work, n| {
        work.try_git(&["update-index", "--assume-unchanged", "src/d.txt"]);
        work.write("src/d.txt", format!("hidden {n}"));
    }),
    ("skipped", |work, n| {
        work.try_git(&["update-index", "--skip-worktree", "src/e.txt"]);
        work.write("src/e.txt", format!("hidden {n}"));
    }),
    ("a file with holes", |work, n| {
        let file = fs::File::create(work.path.join(format!("holes-{n}"))).unwrap();
        file.set_len(20 << 20).unwrap();
        file.write_all_at(b"content", 10 << 20).unwrap();
    }),
    ("an attribute", |work, n| {
        let path = work.path.join(format!("attribute-{n}"));
        fs::write(&path, "x").unwrap();
        rustix::fs::lsetxattr(&path, "user.model", b"kept", rustix::fs::XattrFlags::empty()).unwrap();
    }),
    ("a commit", |work, n| {
        work.try_git(&["commit", "--quiet", "--allow-empty", "--message", &format!("commit {n}")]);
    }),
    ("a commit that was amended", |work, n| {
        work.try_git(&["commit", "--quiet", "--allow-empty", "--message", &format!("first {n}")]);
        work.try_git(&["commit", "--quiet", "--allow-empty", "--amend", "--message", &format!("amended {n}")]);
    }),
    ("no branch", |work, _| drop(work.try_git(&["checkout", "--quiet", "--detach"]))),
    ("another form of index", |work, n| {
        let version = ["2", "3", "4"][n % 3];
        work.try_git(&["update-index", "--index-version", version]);
    }),
    ("a split index", |work, _| drop(work.try_git(&["update-index", "--split-index"]))),
];

/// What happens between the removal and the way back, in the main checkout.
const INTERFERENCE: &[&[&[&str]]] = &[
    &[],
    &[&["gc", "--quiet", "--prune=now"]],
    &[&["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"], &["gc", "--quiet", "--prune=now"]],
    &[&["worktree", "prune"], &["branch", "-D", "issue-1"], &["gc", "--quiet", "--prune=now"]],
];

/// Where the removal is killed, and another command finishes or undoes it.
const DEATHS: &[&str] = &["", "", "", "remove.pinned", "remove.tree-moved", "remove.moved"];

#[derive(Debug, Clone)]
struct Case {
    deeds: Vec<usize>,
    ignore_case: bool,
    autocrlf: bool,
    death: usize,
    interference: usize,
    purge: bool,
}

fn cases() -> impl Strategy<Value = Case> {
    let deeds = proptest::collection::vec(0..DEEDS.len(), 1..7);
    (deeds, any::<bool>(), any::<bool>(), 0..DEATHS.len(), 0..INTERFERENCE.len(), proptest::bool::weighted(0.8))
        .prop_map(|(deeds, ignore_case, autocrlf, death, interference, purge)| Case {
            deeds,
            ignore_case,
            autocrlf,
            death,
            interference,
            purge,
        })
}

fn nested(work: &Work, directory: &str) {
    let place = work.path.join(directory);
    fs::create_dir_all(&place).unwrap();
    if place.join(".git").exists() {
        return;
    }
    work.git(&["-C", directory, "init", "--quiet"]);
    let author = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
    work.git(
        &[&["-C", directory][..], &author, &["commit", "--quiet", "--allow-empty", "--message", "nested"]].concat(),
    );
}

/// A repository in which every kind of entry has its place.
fn story(case: &Case) -> Story {
    let sandbox = Sandbox::new();
    let library = sandbox.repository("library");
    let repository = sandbox.repository("app").with_remote();
    for name in ["a", "b", "c", "d", "e"] {
        repository.write(format!("src/{name}.txt"), format!("{name}0\n"));
    }
    repository.write("lib/a.txt", "a\n").write("run.sh", "#!/bin/sh\n").write("swap", "x").write("swapped/x", "x");
    repository.write("note.nb", "cell\n").write("text.txt", "\n").write("ident.c", "/* $Id$ */\n");
    repository.write(".gitattributes", "*.nb filter=strip\ntext.txt text\n*.c ident\n");
    repository.write(".gitignore", "target/\nbuild/\n*.local\n");
    repository.add_submodule("sub", &library);
    repository.write("spinney.toml", "[workspace]\nsubmodules = false\n");
    repository.commit("every kind");
    repository.git(&["config", "--global", "filter.strip.clean", "sed 's/ *#.*//'"]);
    repository.git(&["config", "--global", "core.safecrlf", "false"]);
    if case.autocrlf {
        repository.git(&["config", "--global", "core.autocrlf", "input"]);
    }
    if case.ignore_case {
        repository.git(&["config", "core.ignorecase", "true"]);
    }
    repository.push();
    Story::of(repository)
}

/// What must come back of a path: its kind, content, whether it may be run, and its attribute.
type Held = BTreeMap<PathBuf, (char, Vec<u8>, bool, Vec<u8>)>;

fn held(directory: &Path) -> Held {
    let mut found = Held::new();
    let mut places = vec![PathBuf::new()];
    while let Some(place) = places.pop() {
        for entry in fs::read_dir(directory.join(&place)).unwrap() {
            let path = place.join(entry.unwrap().file_name());
            let (whole, in_cache) = (directory.join(&path), path.starts_with("target"));
            let metadata = fs::symlink_metadata(&whole).unwrap();
            let in_repository = path.ancestors().any(|part| {
                part != Path::new("")
                    && (directory.join(part).join(".git").exists() || part.extension().is_some_and(|end| end == "git"))
            });
            if metadata.is_dir() {
                places.push(path.clone());
            }
            if path == Path::new(".git") || (in_cache && !in_repository) {
                continue;
            }
            let (kind, content) = if metadata.is_symlink() {
                ('l', fs::read_link(&whole).unwrap().into_os_string().into_encoded_bytes())
            } else if metadata.is_dir() {
                ('d', Vec::new())
            } else if metadata.file_type().is_fifo() {
                ('p', Vec::new())
            } else {
                ('f', fs::read(&whole).unwrap())
            };
            let mut value = vec![0; 100];
            let length = rustix::fs::lgetxattr(&whole, "user.model", &mut value).unwrap_or(0);
            value.truncate(length);
            let executable = kind == 'f' && metadata.permissions().mode() & 0o100 != 0;
            found.insert(path, (kind, content, executable, value));
        }
    }
    found
}

fn in_git(work: &Work) -> (String, String) {
    (work.git(&["ls-files", "--stage"]), work.git(&["rev-parse", "HEAD"]))
}

fn try_case(case: &Case) -> Result<(), String> {
    let story = story(case);
    let work = Work::new(&story, "1");
    for (number, deed) in case.deeds.iter().enumerate() {
        DEEDS[*deed].1(&work, number);
    }
    let (before, git_before) = (held(&work.path), in_git(&work));
    // Without any force, whatever the verdict lets go.
    let plain = story.cli.run(&["rm", "issue-1"]);
    if plain.status != 0 {
        let death = DEATHS[case.death];
        let armed = story.cli.with_variable("SPINNEY_FAIL", death);
        let ran = if death.is_empty() {
            story.cli.run(&["rm", "issue-1", "--force"])
        } else {
            armed.run(&["rm", "issue-1", "--force"])
        };
        if !death.is_empty() {
            story.cli.run(&["ls"]).ok();
            story.cli.run(&["rm", "issue-1", "--force"]);
        } else if ran.status != 0 {
            return Err(format!("it can't be removed: {}", ran.told()));
        }
    }
    for arguments in INTERFERENCE[case.interference] {
        story.repository.try_git(arguments);
    }
    if case.purge {
        story.cli.run(&["trash", "purge", "issue-1"]).ok();
        story.repository.try_git(&["gc", "--quiet", "--prune=now"]);
    }
    let restored = story.cli.run(&["restore", "issue-1"]);
    let back = if restored.stderr.contains("had no files to archive") {
        // Then all of it is what git gives.
        let fresh = work.moved(&story.sandbox().path().join("fresh"));
        story.repository.git(&["worktree", "add", "--quiet", "--detach", fresh.path.to_str().unwrap(), &git_before.1]);
        fresh
    } else {
        restored.ok();
        work
    };
    let (after, git_after) = (held(&back.path), in_git(&back));
    let mut lost = Vec::new();
    for (path, content) in &before {
        match after.get(path) {
            None => lost.push(format!("{} is gone", path.display())),
            Some(found) if found != content => lost.push(format!("{} differs", path.display())),
            Some(_) => {}
        }
    }
    lost.extend(
        after.keys().filter(|path| !before.contains_key(*path)).map(|path| format!("{} is new", path.display())),
    );
    if git_before != git_after {
        lost.push(format!("git had\n{git_before:?}\nand has\n{git_after:?}"));
    }
    if lost.is_empty() { Ok(()) } else { Err(lost.join("\n")) }
}

#[test]
fn nothing_that_can_not_be_made_again_is_lost() {
    #[expect(clippy::disallowed_methods, reason = "a test is told by its runner")]
    let cases_wanted = std::env::var("SPINNEY_LOSS_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(CASES);
    let config = Config { cases: cases_wanted, failure_persistence: None, max_shrink_iters: 60, ..Config::default() };
    let mut runner = TestRunner::new(config);
    let outcome = runner.run(&cases(), |case| {
        try_case(&case).map_err(|lost| {
            let names: Vec<&str> = case.deeds.iter().map(|deed| DEEDS[*deed].0).collect();
            TestCaseError::fail(format!("{names:?}\n{lost}"))
        })
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

/// Each kind of entry alone, so that no run of the suite leaves one out.
#[test]
fn each_kind_alone_comes_back() {
    let mut lost = Vec::new();
    for (number, (name, _)) in DEEDS.iter().enumerate() {
        let ignore_case = name.contains("case");
        let case = Case { deeds: vec![number], ignore_case, autocrlf: false, death: 0, interference: 2, purge: true };
        lost.extend(try_case(&case).err().map(|error| format!("{name}: {error}")));
    }
    assert!(lost.is_empty(), "{}", lost.join("\n"));
}
