//! What happened in the main checkout while a job ran elsewhere: all changes belong in the job's workspace, none there.
//!
//! The first look may come late, beside the agent: what changed after the job's start and before it is found by the time
//! that the file system keeps for each file. Nothing is written.

use std::cmp::Ordering;
use std::ffi::OsString;
use std::fs;
use std::num::NonZero;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::SystemTime;

use async_recursion::async_recursion as boxed;
use spinney_core::names::cut_for_message;
use spinney_core::{BranchName, CommitId};
use spinney_git::{CheckoutFile, Repository};

use crate::verdict::plural;
use crate::{Error, Result};

/// How many paths are told; of more, only how many.
const MOST_PATHS: usize = 1000;
pub(crate) const MOST_PATH_CHARACTERS: usize = 400;
/// How many paths a sentence names.
const NAMED: usize = 10;
/// What can be said of a file.
const WAYS: [&str; 4] = [CHANGED, NEW, DELETED, STAGED];
pub(crate) const CHANGED: &str = "changed";
pub(crate) const NEW: &str = "new";
pub(crate) const DELETED: &str = "deleted";
const STAGED: &str = "staged";
/// As few files as one thread looks at in the time that starting another takes.
const WORTH_A_THREAD: usize = 1000;
const MOST_THREADS: usize = 4;

/// A repository's main checkout, and what all its workspaces share.
#[derive(Debug, Clone)]
pub struct MainCheckout {
    git: Repository,
}

impl MainCheckout {
    pub(crate) fn new(git: Repository) -> Self {
        Self { git }
    }

    pub(crate) fn git(&self) -> &Repository {
        &self.git
    }
}

/// What a main checkout was like at one moment.
#[derive(Debug)]
pub struct CheckoutPrint {
    /// By path, sorted.
    files: Vec<FilePrint>,
    branch: Option<BranchName>,
    commit: Option<CommitId>,
    /// Whether HEAD moved after the start and before the look.
    head_moved: bool,
    /// The stashes that were made on its branch; the stack is every worktree's.
    stashes: Vec<CommitId>,
}

#[derive(Debug, Default)]
struct FilePrint {
    path: OsString,
    /// What the index has of it.
    staged: Vec<u8>,
    /// None where there is no such file.
    found: Option<PathState>,
    /// Whether it changed after the start and before the look.
    late: bool,
}

/// What the file system says of a file; of a directory, which is another repository, only that it is one.
#[derive(Debug, PartialEq, Eq)]
enum PathState {
    Directory,
    File { mode: u32, size: u64, inode: u64, modified: (i64, i64), changed: (i64, i64) },
}

impl CheckoutPrint {
    /// Looks at the main checkout of a repository; none where it has none. What changed after `since`, the start of the
    /// job, counts as its change.
    #[boxed]
    pub async fn look(checkout: &MainCheckout, since: SystemTime) -> Result<Option<Self>> {
        let git = checkout.git();
        let Some(root) = git.root().map(Path::to_owned) else { return Ok(None) };
        let (listed, branch, commit) =
            tokio::join!(git.load_checkout_files(), git.load_head_branch(), git.load_commit("HEAD"));
        let (listed, branch) = (listed?, branch?);
        let stashes = match &branch {
            Some(branch) => own_stashes(git, branch).await?,
            None => Vec::new(),
        };
        let looked = tokio::task::spawn_blocking(move || look_at_files(&root, listed, since)).await;
        let files = looked.map_err(|error| Error::Internal { what: error.to_string() })?;
        let head_moved = fs::metadata(git.common_dir().join("logs/HEAD")).is_ok_and(|log| is_after(&log, since));
        Ok(Some(Self { files, branch, commit: commit?, head_moved, stashes }))
    }

    /// What differs in a later print, by path: `src/a.rs (changed)`, `HEAD (main → 3f2a91c)`.
    #[must_use]
    pub fn compare(&self, later: &Self) -> Vec<String> {
        let mut told = Vec::new();
        let (mut before, mut after) = (self.files.iter().peekable(), later.files.iter().peekable());
        loop {
            let (old, new) = match (before.peek(), after.peek()) {
                (None, None) => break,
                (Some(old), Some(new)) => match old.path.cmp(&new.path) {
                    Ordering::Less => (before.next(), None),
                    Ordering::Equal => (before.next(), after.next()),
                    Ordering::Greater => (None, after.next()),
                },
                _ => (before.next(), after.next()),
            };
            let path = old.or(new).map(|file| file.path.to_string_lossy()).unwrap_or_default();
            told.extend(
                compare_file(old, new).map(|what| format!("{} ({what})", cut_for_message(&path, MOST_PATH_CHARACTERS))),
            );
        }
        told.sort();
        if told.len() > MOST_PATHS {
            let more = told.len() - MOST_PATHS;
            told.truncate(MOST_PATHS);
            told.push(format!("and {more} more"));
        }
        let before = self.compare_head(later).into_iter().chain(self.compare_stashes(later));
        before.chain(told).collect()
    }

    fn compare_head(&self, later: &Self) -> Option<String> {
        let name = |print: &Self| match (&print.branch, &print.commit) {
            (Some(branch), _) => branch.to_string(),
            (None, Some(commit)) => commit.short().to_owned(),
            (None, None) => "nothing".to_owned(),
        };
        let tip = |print: &Self| print.commit.as_ref().map_or("nothing", CommitId::short).to_owned();
        if self.branch != later.branch {
            return Some(format!("HEAD ({} → {})", name(self), name(later)));
        }
        if self.commit != later.commit {
            return Some(format!("HEAD ({} → {})", name(self), tip(later)));
        }
        self.head_moved.then(|| "HEAD (moved)".to_owned())
    }

    fn compare_stashes(&self, later: &Self) -> Option<String> {
        let branch = self.branch.as_ref()?;
        (self.branch == later.branch && self.stashes != later.stashes).then(|| format!("stash (of {branch})"))
    }
}

/// What changed in a main checkout, for a sentence: how many files, what else, and the first few by name.
#[must_use]
pub fn escapes_in_words(told: &[String]) -> String {
    let is_file = |text: &&String| WAYS.iter().any(|way| text.ends_with(&format!(" ({way})")));
    let more = told.last().and_then(|text| text.strip_prefix("and ")?.strip_suffix(" more")?.parse().ok());
    let (files, more) = (told.iter().filter(is_file).count(), more.unwrap_or(0));
    let others = told.iter().filter(|text| !is_file(text)).take(told.len() - files - usize::from(more > 0));
    let mut named: Vec<&str> = others.map(String::as_str).collect();
    let room = NAMED.saturating_sub(named.len());
    named.extend(told.iter().filter(is_file).take(room).map(String::as_str));
    let left_out = (files + more).saturating_sub(room);
    let mut words = named.join(", ");
    if left_out > 0 {
        words.push_str(&format!(", {left_out} more"));
    }
    if files > 0 { format!("{}: {words}", plural(files + more, "file")) } else { words }
}

async fn own_stashes(git: &Repository, branch: &BranchName) -> Result<Vec<CommitId>> {
    let stashes = git.load_stashes().await?.into_iter();
    Ok(stashes.filter(|stash| stash.branch.as_deref() == Some(branch.as_str())).map(|stash| stash.commit).collect())
}

fn compare_file(before: Option<&FilePrint>, after: Option<&FilePrint>) -> Option<&'static str> {
    let nothing = FilePrint::default();
    let (before, after) = (before.unwrap_or(&nothing), after.unwrap_or(&nothing));
    match (&before.found, &after.found) {
        (Some(_), None) => Some(DELETED),
        (None, Some(_)) => Some(NEW),
        (None, None) if before.late => Some(DELETED),
        (Some(old), Some(new)) if old != new || before.late => Some(CHANGED),
        _ => (before.staged != after.staged).then_some(STAGED),
    }
}

fn look_at_files(root: &Path, listed: Vec<CheckoutFile>, since: SystemTime) -> Vec<FilePrint> {
    let mut files: Vec<FilePrint> = Vec::with_capacity(listed.len());
    for CheckoutFile { path, staged } in listed {
        files.push(FilePrint { path: path.into(), staged: staged.unwrap_or_default(), ..FilePrint::default() });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    // A path in conflict comes once for each side.
    files.dedup_by(|side, first| {
        let same = side.path == first.path;
        if same {
            first.staged.append(&mut side.staged);
        }
        same
    });
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    let share = files.len().div_ceil(threads).max(WORTH_A_THREAD);
    std::thread::scope(|scope| {
        for part in files.chunks_mut(share) {
            scope.spawn(move || part.iter_mut().for_each(|print| look_at_file(root, print, since)));
        }
    });
    files
}

fn look_at_file(root: &Path, print: &mut FilePrint, since: SystemTime) {
    let path = root.join(&print.path);
    match fs::symlink_metadata(&path) {
        Ok(metadata) => {
            print.late = !metadata.is_dir() && is_after(&metadata, since);
            print.found = Some(found(&metadata));
        }
        // A file that is gone left its trace in the directory that had it.
        Err(_) => print.late = is_changed_above(root, &path, since),
    }
}

fn found(metadata: &fs::Metadata) -> PathState {
    if metadata.is_dir() {
        return PathState::Directory;
    }
    PathState::File {
        mode: metadata.mode(),
        size: metadata.size(),
        inode: metadata.ino(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    }
}

/// Whether the nearest directory that there is above a path changed after a time.
fn is_changed_above(root: &Path, path: &Path, since: SystemTime) -> bool {
    let above = path.ancestors().skip(1).take_while(|above| above.starts_with(root));
    above.into_iter().find_map(|above| fs::symlink_metadata(above).ok()).is_some_and(|above| is_after(&above, since))
}

fn is_after(metadata: &fs::Metadata, since: SystemTime) -> bool {
    let Ok(since) = since.duration_since(SystemTime::UNIX_EPOCH) else { return true };
    let since = (i64::try_from(since.as_secs()).unwrap_or(i64::MAX), i64::from(since.subsec_nanos()));
    (metadata.ctime(), metadata.ctime_nsec()) > since
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_counts_files_and_names_the_first() {
        let told = |texts: &[&str]| escapes_in_words(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        assert_eq!(told(&["a.txt (changed)"]), "1 file: a.txt (changed)");
        assert_eq!(
            told(&["HEAD (main → x)", "a (new)", "b (staged)"]),
            "2 files: HEAD (main → x), a (new), b (staged)"
        );
        assert_eq!(told(&["HEAD (moved)", "stash (of main)"]), "HEAD (moved), stash (of main)");
        let mut many: Vec<String> = (0..MOST_PATHS).map(|number| format!("{number:04} (new)")).collect();
        many.push("and 500 more".to_owned());
        let words = escapes_in_words(&many);
        assert!(words.starts_with("1500 files: 0000 (new), ") && words.ends_with("0009 (new), 1490 more"), "{words}");
    }
}
