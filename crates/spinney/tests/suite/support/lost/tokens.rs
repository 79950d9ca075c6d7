//! Unique texts, and the search for them wherever work may be kept.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::common::Story;

static COUNTER: AtomicUsize = AtomicUsize::new(0);

/// Each token with the kind of content that it stands for.
#[derive(Debug, Clone, Default)]
pub struct Tokens(BTreeMap<String, String>);

/// Where to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Trees,
    /// What git keeps for a live worktree: its index, logs and own refs.
    Live,
    Trash,
    Archives,
    /// What a ref leads to, rescue refs among them, and the trash's own git directories.
    Refs,
}

pub const EVERYWHERE: [Place; 5] = [Place::Trees, Place::Live, Place::Trash, Place::Archives, Place::Refs];

impl Tokens {
    /// A new token for a kind of content.
    pub fn make(&mut self, kind: &str) -> String {
        let token = format!("token-{}-{}-{kind}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        self.0.insert(token.clone(), kind.to_owned());
        token
    }

    /// One that was never written after all.
    pub fn forget(&mut self, token: &str) {
        self.0.remove(token);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The tokens of some kinds.
    pub fn of(&self, kinds: impl Fn(&str) -> bool) -> Self {
        Self(self.0.iter().filter(|(_, kind)| kinds(kind)).map(|(a, b)| (a.clone(), b.clone())).collect())
    }

    /// Asserts that every token can be read in one of these places; prints a table of all when one is missing.
    #[track_caller]
    pub fn assert_readable(&self, story: &Story, places: &[Place], when: &str) {
        let mut found: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
        for (place, text) in haystacks(story, places) {
            // Told apart by what follows a common beginning, up to the first character that is in no token.
            for rest in String::from_utf8_lossy(&text).split("token-").skip(1) {
                let end = rest.find(|next: char| !next.is_ascii_alphanumeric() && next != '-').unwrap_or(rest.len());
                found.entry(format!("token-{}", &rest[..end])).or_default().insert(place);
            }
        }
        let missing = self.0.keys().filter(|token| !found.contains_key(*token)).count();
        let mut table = String::new();
        for (token, kind) in &self.0 {
            let places = found.get(token);
            let places = places.map_or("MISSING".to_owned(), |at| at.iter().copied().collect::<Vec<_>>().join(", "));
            table.push_str(&format!("{kind:32} {token:60} {places}\n"));
        }
        assert!(missing == 0, "{when}: {missing} of {} tokens can't be read\n{table}", self.0.len());
    }
}

/// All that can be read in some places, each with its name.
fn haystacks(story: &Story, places: &[Place]) -> Vec<(&'static str, Vec<u8>)> {
    let home = story.sandbox().spinney_home();
    let state = story.repository.path().join(".git/spinney");
    let mut found = Vec::new();
    for place in places {
        match place {
            Place::Trees => found.push(("tree", read_all(story, &home.join("trees")))),
            Place::Trash => {
                found.push(("trash", read_all(story, &home.join("trash"))));
                found.push(("trashed git dir", read_all(story, &state)));
            }
            Place::Archives => found.push(("archive", read_archives(story, &home.join("archives")))),
            Place::Live => {
                found.push(("live git dir", read_live(story)));
                found.push(("live git dir", read_all(story, &story.repository.path().join(".git/worktrees"))));
                // Of a git dir of its own, what refs lead to; its objects alone would be the repository's too.
                for entry in fs::read_dir(state.join("clones")).into_iter().flatten() {
                    found.push(("live git dir", read_all(story, &entry.unwrap().path().join("modules"))));
                }
            }
            Place::Refs => found.push(("ref", read_refs(story, &story.repository.path().join(".git"), &[]))),
        }
    }
    found
}

/// The content of every file below a directory, the names of all, where links lead, and what repositories hold.
fn read_all(story: &Story, directory: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    let mut open = vec![directory.to_owned()];
    while let Some(place) = open.pop() {
        let Ok(entries) = fs::read_dir(&place) else { continue };
        if place.join("objects").is_dir() && place.join("HEAD").is_file() {
            text.extend(read_objects(story, &place));
        }
        for entry in entries {
            let path = entry.unwrap().path();
            text.extend_from_slice(path.as_os_str().as_bytes());
            text.push(b'\n');
            let metadata = fs::symlink_metadata(&path).unwrap();
            if metadata.is_dir() {
                open.push(path);
            } else if metadata.is_symlink() {
                text.extend_from_slice(fs::read_link(&path).unwrap().as_os_str().as_bytes());
                text.push(b'\n');
            } else if metadata.is_file() {
                text.extend(fs::read(&path).unwrap());
                text.push(b'\n');
            }
        }
    }
    text
}

/// Every object of a repository that lies in a tree, in the trash or in an archive.
fn read_objects(story: &Story, git_dir: &Path) -> Vec<u8> {
    let git_dir = format!("--git-dir={}", git_dir.display());
    raw(
        story,
        Path::new("/"),
        &[&git_dir, "--work-tree=.", "cat-file", "--batch-all-objects", "--batch", "--unordered"],
        None,
    )
}

/// Every object that a ref of the repository leads to.
fn read_refs(story: &Story, git_dir: &Path, more: &[&str]) -> Vec<u8> {
    let git_dir = format!("--git-dir={}", git_dir.display());
    let git = [&git_dir, "--work-tree=."];
    let list = [&git[..], &["rev-list", "--objects", "--no-object-names", "--all"], more].concat();
    let listed = raw(story, Path::new("/"), &list, None);
    raw(story, Path::new("/"), &[&git[..], &["cat-file", "--batch"]].concat(), Some(listed))
}

/// What git keeps for the live worktrees of the repository.
fn read_live(story: &Story) -> Vec<u8> {
    let git_dir = story.repository.path().join(".git");
    let live = ["worktrees", "spinney/clones"].map(|place| git_dir.join(place));
    let entries = live.iter().flat_map(fs::read_dir).flatten();
    entries.flat_map(|entry| read_refs(story, &entry.unwrap().path(), &["--reflog", "--indexed-objects"])).collect()
}

/// What the archives hold, unpacked as a person would by hand.
fn read_archives(story: &Story, directory: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    for entry in fs::read_dir(directory).into_iter().flatten() {
        let archive = entry.unwrap().path();
        let place = unpack(story, &archive);
        text.extend(read_all(story, &place));
    }
    text
}

/// Unpacks an archive beside everything else, with tar alone; gives the directory.
#[track_caller]
pub fn unpack(story: &Story, archive: &Path) -> PathBuf {
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let place = story.sandbox().path().join(format!("unpacked-{number}"));
    fs::create_dir(&place).unwrap();
    let (archive, place_text) = (archive.to_str().unwrap(), place.to_str().unwrap());
    story.sandbox().cli("/bin/sh").run(&["-c", "exec tar --zstd -xf \"$0\" -C \"$1\"", archive, place_text]).ok();
    place
}

fn raw(story: &Story, directory: &Path, arguments: &[&str], input: Option<Vec<u8>>) -> Vec<u8> {
    // A file: what is written to a pipe while nobody reads the answer would block.
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let file = story.sandbox().path().join(format!("input-{number}"));
    fs::write(&file, input.unwrap_or_default()).unwrap();
    let mut command = story.sandbox().command("git");
    command.args(arguments).current_dir(directory).stdin(fs::File::open(&file).unwrap());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "git {arguments:?} in {}: {said}", directory.display());
    fs::remove_file(file).unwrap();
    output.stdout
}
