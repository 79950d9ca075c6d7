//! What concerns a workspace in git goes through `tree/`: nothing else in the engine or above it opens a worktree or reaches
//! the repository's git. Checked on the sources, since inside a crate the compiler can't.

use std::fs;
use std::path::{Path, PathBuf};

/// The crates that may ask only a tree, and not git itself.
const CRATES: [&str; 6] =
    ["spinney-engine", "spinney-jobs", "spinney-app", "spinney-platforms", "spinney-server", "spinney"];
/// What is written where somebody goes round the door; compared without white space.
const ROUND_THE_DOOR: [&str; 3] = ["worktree::", "Worktree", "context.git"];

fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The code of a file without comments and white space.
fn code(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.flat_map(str::chars).filter(|character| !character.is_whitespace()).collect()
}

fn round_the_door(text: &str) -> Vec<&'static str> {
    let code = code(text);
    let is_name = |character: char| character == '_' || character.is_alphanumeric();
    let is_used = |pattern: &str| {
        // A longer name is another one, as `context.git_options` or `DamagedWorktree`.
        let is_whole = |at: usize| {
            let (before, after) = (&code[..at], &code[at + pattern.len()..]);
            let is_longer = pattern.ends_with(is_name) && after.starts_with(is_name);
            !before.ends_with(is_name) && !is_longer
        };
        let is_another_s_word = |at: usize| code[..at].ends_with("Provider::") || code[..at].ends_with('/');
        code.match_indices(pattern).any(|(at, _)| is_whole(at) && !is_another_s_word(at))
    };
    ROUND_THE_DOOR.into_iter().filter(|pattern| is_used(pattern)).collect()
}

#[test]
fn nobody_asks_git_about_a_workspace_but_its_tree() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let tree = crates.join("spinney-engine/src/tree");
    let mut files = Vec::new();
    for name in CRATES {
        sources(&crates.join(name).join("src"), &mut files);
    }
    assert!(files.iter().any(|file| file.starts_with(&tree)), "the sources are not where they were");
    let mut told = Vec::new();
    for file in files.iter().filter(|file| !file.starts_with(&tree)) {
        let found = round_the_door(&fs::read_to_string(file).unwrap());
        told.extend(found.into_iter().map(|pattern| format!("{}: `{pattern}`", file.display())));
    }
    assert!(told.is_empty(), "ask the workspace's `Tree`, or `Context` about the repository:\n{}", told.join("\n"));
}

#[test]
fn a_way_round_is_seen() {
    assert_eq!(round_the_door("let tip = context\n    .git\n    .load_branch(&branch)"), ["context.git"]);
    assert_eq!(round_the_door("use spinney_git::{Head, Worktree};"), ["Worktree"]);
    assert_eq!(round_the_door("worktree::open(context, path)"), ["worktree::"]);
    assert_eq!(round_the_door("Provider::Worktree, Error::DamagedWorktree { .. }"), Vec::<&str>::new());
    assert_eq!(round_the_door("ask(self.context.git(), path)"), ["context.git"]);
    assert_eq!(round_the_door("// context.git.root()\ncontext.git_options()"), Vec::<&str>::new());
}
