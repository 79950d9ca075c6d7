//! Kinds of content that a removal could lose, each with how it is made and what the verdict calls it.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use super::Work;
use super::tokens::Tokens;
use super::work::odd_path;

pub struct Kind {
    pub name: &'static str,
    /// The reason that holds a workspace back from a sweep; none where a sweep may take it.
    pub code: Option<&'static str>,
    /// Whether git's own directory has it, so that it outlives the tree.
    pub in_git: bool,
    pub plant: fn(&Work, &mut Tokens),
}

const fn kind(name: &'static str, code: &'static str, in_git: bool, plant: fn(&Work, &mut Tokens)) -> Kind {
    Kind { name, code: Some(code), in_git, plant }
}

const fn unseen(name: &'static str, plant: fn(&Work, &mut Tokens)) -> Kind {
    Kind { name, code: None, in_git: true, plant }
}

/// What lies in commits, the stash and repositories; made while the tree is clean and on its branch.
pub const HISTORY: &[Kind] = &[
    unseen("worktree-ref", |work, tokens| {
        work.commit("own-ref.txt", &tokens.make("worktree-ref"));
        work.git(&["update-ref", "refs/worktree/own", "HEAD"]);
        work.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
        let branch = work.git(&["branch", "--show-current"]);
        work.git(&["reflog", "expire", "--expire=now", "HEAD", &branch]);
    }),
    kind("pushed-unmerged", "unmerged", true, |work, tokens| {
        work.commit("pushed.txt", &tokens.make("pushed-unmerged"));
        work.push();
    }),
    kind("committed-unpushed", "unpushed", true, |work, tokens| {
        work.commit("committed.txt", &tokens.make("committed-unpushed"));
    }),
    unseen("amended-away", |work, tokens| {
        work.git(&["commit", "--quiet", "--allow-empty", "--message", &tokens.make("amended-away")]);
        work.git(&["commit", "--quiet", "--allow-empty", "--amend", "--message", "amended"]);
        work.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    }),
    unseen("reset-away", |work, tokens| {
        work.commit("reset.txt", &tokens.make("reset-away"));
        work.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    }),
    kind("stash", "stash", true, |work, tokens| {
        for number in 0..2 {
            work.write("README.md", tokens.make(&format!("stash-{number}")));
            work.git(&["stash", "push", "--quiet"]);
        }
    }),
    kind("gitlink-to-nested", "nested_repository", false, |work, tokens| {
        // What `git add --all` makes of a repository in a directory: its content is saved nowhere.
        work.nested_repository("embedded", &tokens.make("gitlink-to-nested"));
        work.git(&["-c", "advice.addEmbeddedRepo=false", "add", "embedded"]);
        work.git(&["commit", "--quiet", "--message", "embedded"]);
        work.push();
    }),
];

/// What lies in the tree and the index; made last.
pub const TREE: &[Kind] = &[
    kind("staged-only", "dirty", true, |work, tokens| {
        work.write("staged.txt", tokens.make("staged-only"));
        work.git(&["add", "staged.txt"]);
        fs::remove_file(work.path.join("staged.txt")).unwrap();
    }),
    kind("unstaged-edit", "dirty", false, |work, tokens| work.write("README.md", tokens.make("unstaged-edit"))),
    kind("staged-and-unstaged", "dirty", false, |work, tokens| {
        work.write("src/lib.rs", tokens.make("staged-and-unstaged"));
        work.git(&["add", "src/lib.rs"]);
        work.write("src/lib.rs", tokens.make("staged-and-unstaged"));
    }),
    kind("intent-to-add", "dirty", false, |work, tokens| {
        work.write("intended.txt", tokens.make("intent-to-add"));
        work.git(&["add", "--intent-to-add", "intended.txt"]);
    }),
    kind("untracked", "untracked", false, |work, tokens| work.write("new.txt", tokens.make("untracked"))),
    kind("untracked-in-new-directory", "untracked", false, |work, tokens| {
        work.write("new/deep/er.txt", tokens.make("untracked-in-new-directory"));
    }),
    kind("odd-file-name", "untracked", false, |work, tokens| {
        work.write(odd_path("odd"), tokens.make("odd-file-name"));
    }),
    kind("ignored-precious", "precious_ignored", false, |work, tokens| {
        work.write(".env", tokens.make("ignored-precious"));
        work.write("data.local", tokens.make("ignored-precious"));
    }),
    kind("ignored-nested-repository", "nested_repository", false, |work, tokens| {
        work.nested_repository("target/nested", &tokens.make("ignored-nested-repository"));
    }),
    kind("nested-repository", "nested_repository", false, |work, tokens| {
        let nested = work.nested_repository("vendor/tool", &tokens.make("nested-repository"));
        fs::write(nested.join("loose.txt"), tokens.make("nested-repository")).unwrap();
    }),
    kind("nested-repository-unborn", "nested_repository", false, |work, tokens| {
        let path = work.path.join("vendor/unborn");
        fs::create_dir_all(&path).unwrap();
        work.sandbox().git(&path, &["init", "--quiet"]);
        fs::write(path.join("staged.txt"), tokens.make("nested-repository-unborn")).unwrap();
        work.sandbox().git(&path, &["add", "--all"]);
    }),
    kind("nested-worktree", "nested_repository", true, |work, tokens| {
        let path = work.path.join("inner");
        work.git(&["worktree", "add", "--quiet", "--detach", path.to_str().unwrap(), "origin/main"]);
        let git = |arguments: &[&str]| work.sandbox().git(&path, arguments);
        fs::write(path.join("a.txt"), tokens.make("nested-worktree")).unwrap();
        git(&["add", "a.txt"]);
        git(&["commit", "--quiet", "--message", "inside"]);
        fs::write(path.join("b.txt"), tokens.make("nested-worktree")).unwrap();
        git(&["add", "b.txt"]);
    }),
    kind("assume-unchanged", "dirty", false, |work, tokens| {
        work.git(&["update-index", "--assume-unchanged", "run.sh"]);
        work.write("run.sh", tokens.make("assume-unchanged"));
    }),
    kind("skip-worktree", "dirty", false, |work, tokens| {
        work.git(&["update-index", "--skip-worktree", ".gitignore"]);
        let text = format!("/target/\nnode_modules/\n.env\n*.local\n# {}\n", tokens.make("skip-worktree"));
        work.write(".gitignore", text);
    }),
    kind("conflict-stages", "dirty", true, |work, tokens| {
        let mut lines = String::new();
        for stage in 1..=3 {
            work.write("stage", tokens.make("conflict-stages"));
            let blob = work.git(&["hash-object", "-w", "stage"]);
            lines.push_str(&format!("100644 {blob} {stage}\tboth.txt\n"));
        }
        fs::remove_file(work.path.join("stage")).unwrap();
        work.write("both.txt", tokens.make("conflict-in-tree"));
        let list = work.path.with_extension("stages");
        fs::write(&list, lines).unwrap();
        let script = "exec git update-index --index-info < \"$0\"";
        let shell = work.sandbox().cli("/bin/sh").in_directory(&work.path);
        shell.run(&["-c", script, list.to_str().unwrap()]).ok();
        fs::remove_file(list).unwrap();
    }),
    kind("deleted-in-the-tree", "dirty", false, |work, _| {
        fs::remove_file(work.path.join("docs/größe und maß.txt")).unwrap();
        fs::remove_dir(work.path.join("docs")).unwrap();
    }),
    kind("directory-became-link", "dirty", false, |work, tokens| {
        // Not in git's place: what lies behind the link is not the workspace's.
        fs::rename(work.path.join("lib"), work.path.join("lib-before")).unwrap();
        symlink(work.path.join("lib-before"), work.path.join("lib")).unwrap();
        work.write("lib-before/more.txt", tokens.make("directory-became-link"));
    }),
    kind("file-became-directory", "dirty", false, |work, tokens| {
        fs::remove_file(work.path.join("plain")).unwrap();
        work.write("plain/inside.txt", tokens.make("file-became-directory"));
    }),
    Kind {
        name: "empty-directory",
        code: None,
        in_git: false,
        plant: |work, tokens| fs::create_dir_all(work.path.join("empty").join(tokens.make("empty-directory"))).unwrap(),
    },
    kind("link", "untracked", false, |work, tokens| {
        symlink(format!("/nowhere/{}", tokens.make("link")), work.path.join("dangling")).unwrap();
    }),
    Kind {
        // Git does not see one; the tree keeps it, and so does the archive.
        name: "pipe",
        code: None,
        in_git: false,
        plant: |work, tokens| {
            let path = work.path.join(tokens.make("pipe"));
            let mode = rustix::fs::Mode::from_raw_mode(0o640);
            rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        },
    },
    kind("modes", "untracked", false, |work, tokens| {
        work.write("tool.sh", tokens.make("modes"));
        fs::set_permissions(work.path.join("tool.sh"), Permissions::from_mode(0o750)).unwrap();
        work.write("fixed/secret.txt", tokens.make("modes"));
        fs::set_permissions(work.path.join("fixed/secret.txt"), Permissions::from_mode(0o400)).unwrap();
        fs::set_permissions(work.path.join("fixed"), Permissions::from_mode(0o500)).unwrap();
    }),
    kind("tracked-mode", "dirty", false, |work, _| {
        fs::set_permissions(work.path.join("plain.sh"), Permissions::from_mode(0o755)).unwrap();
    }),
    Kind {
        name: "state-file",
        code: None,
        in_git: false,
        plant: |work, tokens| work.write("STATE.json", tokens.make("state-file")),
    },
];
