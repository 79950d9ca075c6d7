//! Reads refs from git's own files, without a process: the answer to "where is this branch?" must not cost milliseconds.
//!
//! Only what is plain is answered here. A repository that keeps its refs in another store, a ref whose file holds
//! something else than an object or another ref, and tags (which may have to be peeled) are git's to answer.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use spinney_core::CommitId;

use crate::disk::regular::read_regular_text;
use crate::disk::stamp::Stamp;

/// How many symbolic refs lead to one another before git gives up.
const MAX_DEPTH: usize = 5;
/// More than any loose ref holds.
const MAX_LOOSE: u64 = 4096;
/// More than some ten million packed refs take.
const MAX_PACKED: u64 = 1 << 30;
/// Where refs lead straight to commits.
const COMMITS: [&str; 3] = ["refs/heads/", "refs/remotes/", "refs/spinney/"];
const STASH: &str = "refs/stash";
const HEAD: &str = "HEAD";

/// An answer from the files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Commit(CommitId),
    /// There is no such ref.
    None,
    /// Git must be asked.
    Unknown,
}

/// The packed refs of one repository, kept as long as their file is the same: git replaces it, and never writes into it.
#[derive(Debug, Default)]
pub(crate) struct PackedRefs {
    kept: Mutex<Option<(Stamp, Arc<str>)>>,
}

impl PackedRefs {
    fn load(&self, common_dir: &Path) -> io::Result<Arc<str>> {
        let path = common_dir.join("packed-refs");
        let metadata = match fs::metadata(&path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Arc::from("")),
            Err(error) => return Err(error),
        };
        let stamp = Stamp::from_metadata(&metadata);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, text)) = &*kept
            && *known == stamp
        {
            return Ok(Arc::clone(text));
        }
        let text: Arc<str> = Arc::from(read_regular_text(&path, MAX_PACKED)?);
        *kept = Some((stamp, Arc::clone(&text)));
        Ok(text)
    }
}

/// The files of one repository.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RefFiles<'a> {
    common_dir: &'a Path,
    packed: &'a PackedRefs,
}

impl<'a> RefFiles<'a> {
    /// None where the refs are kept otherwise.
    pub(crate) fn open(common_dir: &'a Path, packed: &'a PackedRefs) -> Option<Self> {
        let elsewhere = fs::symlink_metadata(common_dir.join("reftable")).is_ok();
        (!elsewhere && common_dir.join("refs").is_dir()).then_some(Self { common_dir, packed })
    }

    /// Where a ref of a full name leads.
    pub(crate) fn read(&self, name: &str) -> Answer {
        let mut name = name.to_owned();
        for _ in 0..MAX_DEPTH {
            if name != STASH && !COMMITS.iter().any(|prefix| name.starts_with(prefix)) {
                return Answer::Unknown;
            }
            match self.read_loose(&name) {
                Some(Loose::Object(commit)) => return Answer::Commit(commit),
                Some(Loose::Ref(target)) if crate::refs::update::require_ref(&target).is_ok() => name = target,
                Some(_) => return Answer::Unknown,
                None => return self.read_packed(&name),
            }
        }
        Answer::Unknown
    }

    /// The ref that a symbolic one names; none where it is not symbolic. `Err` when git must be asked.
    pub(crate) fn target(&self, name: &str) -> Result<Option<String>, ()> {
        if name != HEAD && crate::refs::update::require_ref(name).is_err() {
            return Err(());
        }
        match self.read_loose(name) {
            Some(Loose::Ref(target)) if crate::refs::update::require_ref(&target).is_ok() => {
                match self.read_loose(&target) {
                    Some(Loose::Object(_)) | None => Ok(Some(target)),
                    // Git follows it to its end.
                    Some(_) => Err(()),
                }
            }
            Some(Loose::Ref(_) | Loose::Other) => Err(()),
            // What is packed is never symbolic.
            Some(Loose::Object(_)) | None => Ok(None),
        }
    }

    /// A ref that the given one can't stand beside: one of its own parents, or one below it. `Err` when git must be asked.
    pub(crate) fn conflict(&self, name: &str) -> Result<Option<String>, ()> {
        let parents = name.match_indices('/').map(|(index, _)| &name[..index]);
        for parent in parents.filter(|parent| parent.starts_with("refs/heads/")) {
            match self.read(parent) {
                Answer::None => {}
                Answer::Commit(_) => return Ok(Some(parent.to_owned())),
                Answer::Unknown => return Err(()),
            }
        }
        let below = format!("{name}/");
        let packed = self.packed.load(self.common_dir).map_err(drop)?;
        let names = packed.lines().filter_map(|line| line.split_once(' ').map(|(_, name)| name));
        if let Some(found) = names.into_iter().find(|packed| packed.starts_with(&below)) {
            return Ok(Some(found.to_owned()));
        }
        // Empty directories are left behind by git, and taken away by it when they are in the way.
        let found = first_file(&self.common_dir.join(name)).map_err(drop)?;
        let found = found.as_deref().and_then(|path| path.strip_prefix(self.common_dir).ok());
        Ok(found.map(|path| path.to_string_lossy().into_owned()))
    }

    /// Whether there is a branch, here or of a remote; `false` means that git must be asked.
    pub(crate) fn any(&self) -> bool {
        let packed =
            self.packed.load(self.common_dir).is_ok_and(|text| text.lines().any(|line| line.contains(" refs/")));
        packed || matches!(first_file(&self.common_dir.join("refs/heads")), Ok(Some(_)))
    }

    fn read_loose(&self, name: &str) -> Option<Loose> {
        let path = self.common_dir.join(name);
        let metadata = match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_dir() => return None,
            Ok(metadata) => metadata,
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return None;
            }
            Err(_) => return Some(Loose::Other),
        };
        if !metadata.is_file() || metadata.len() > MAX_LOOSE {
            return Some(Loose::Other);
        }
        match read_regular_text(&path, MAX_LOOSE) {
            Ok(text) => Some(parse_loose(&text)),
            // Packed away meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(_) => Some(Loose::Other),
        }
    }

    fn read_packed(&self, name: &str) -> Answer {
        match self.packed.load(self.common_dir) {
            Ok(text) => find_packed(&text, name),
            Err(_) => Answer::Unknown,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Loose {
    Object(CommitId),
    Ref(String),
    Other,
}

fn parse_loose(text: &str) -> Loose {
    let line = text.strip_suffix('\n').unwrap_or(text);
    if let Some(target) = line.strip_prefix("ref: ") {
        return Loose::Ref(target.trim().to_owned());
    }
    line.parse().map_or(Loose::Other, Loose::Object)
}

/// Finds a name among lines of `<object> <name>`; `^<object>` after one is what its tag leads to.
fn find_packed(text: &str, name: &str) -> Answer {
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some((object, found)) = line.split_once(' ') else { continue };
        if found != name || line.starts_with('#') {
            continue;
        }
        let object = lines.next().and_then(|next| next.strip_prefix('^')).unwrap_or(object);
        return object.parse().map_or(Answer::Unknown, Answer::Commit);
    }
    Answer::None
}

/// The first file at or below a place that a ref can have; none where there are only directories.
fn first_file(place: &Path) -> io::Result<Option<PathBuf>> {
    let entries = match fs::read_dir(place) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "lock") {
            continue;
        }
        if !path.is_dir() {
            return Ok(Some(path));
        }
        if let Some(found) = first_file(&path)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile;

    fn commit(digit: char) -> CommitId {
        digit.to_string().repeat(40).parse().unwrap()
    }

    fn directory() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("refs/heads")).unwrap();
        directory
    }

    fn read(directory: &tempfile::TempDir, name: &str) -> Answer {
        RefFiles::open(directory.path(), &PackedRefs::default()).unwrap().read(name)
    }

    #[test]
    fn a_loose_ref_hides_the_packed_one() {
        let directory = directory();
        let (a, b) = (commit('a'), commit('b'));
        fs::write(directory.path().join("packed-refs"), format!("# pack-refs\n{a} refs/heads/x\n{a} refs/heads/y\n"))
            .unwrap();
        fs::write(directory.path().join("refs/heads/x"), format!("{b}\n")).unwrap();
        assert_eq!(read(&directory, "refs/heads/x"), Answer::Commit(b));
        assert_eq!(read(&directory, "refs/heads/y"), Answer::Commit(a));
        assert_eq!(read(&directory, "refs/heads/z"), Answer::None);
        assert_eq!(read(&directory, "refs/heads/x/below"), Answer::None);
    }

    #[test]
    fn what_is_not_plain_is_left_to_git() {
        let directory = directory();
        fs::write(directory.path().join("refs/heads/odd"), "nonsense\n").unwrap();
        fs::write(directory.path().join("refs/heads/loop"), "ref: refs/heads/loop\n").unwrap();
        fs::write(directory.path().join("refs/heads/out"), "ref: ../../etc\n").unwrap();
        for name in ["refs/heads/odd", "refs/heads/loop", "refs/heads/out", "refs/tags/v1", "HEAD"] {
            assert_eq!(read(&directory, name), Answer::Unknown, "{name}");
        }
        fs::create_dir(directory.path().join("reftable")).unwrap();
        assert!(RefFiles::open(directory.path(), &PackedRefs::default()).is_none());
    }

    #[test]
    fn a_symbolic_ref_is_followed_by_one_step() {
        let directory = directory();
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        let target = |name: &str| RefFiles::open(directory.path(), &PackedRefs::default()).unwrap().target(name);
        write("HEAD", "ref: refs/heads/unborn\n");
        write("refs/heads/plain", &format!("{}\n", commit('a')));
        write("refs/heads/one", "ref: refs/heads/plain\n");
        write("refs/heads/two", "ref: refs/heads/one\n");
        write("refs/heads/odd", "nonsense\n");
        write("refs/heads/out", "ref: ../../etc\n");
        write("packed-refs", &format!("{} refs/heads/packed\n", commit('a')));
        assert_eq!(target("HEAD"), Ok(Some("refs/heads/unborn".to_owned())));
        assert_eq!(target("refs/heads/one"), Ok(Some("refs/heads/plain".to_owned())));
        for none in ["refs/heads/plain", "refs/heads/packed", "refs/heads/nothing"] {
            assert_eq!(target(none), Ok(None), "{none}");
        }
        for asked in ["refs/heads/two", "refs/heads/odd", "refs/heads/out", "refs/../HEAD", "config"] {
            assert_eq!(target(asked), Err(()), "{asked}");
        }
    }

    #[test]
    fn a_packed_tag_is_its_commit() {
        let text = format!("{} refs/heads/t\n^{}\n{} refs/heads/u\n", commit('a'), commit('b'), commit('c'));
        assert_eq!(find_packed(&text, "refs/heads/t"), Answer::Commit(commit('b')));
        assert_eq!(find_packed(&text, "refs/heads/u"), Answer::Commit(commit('c')));
    }

    #[test]
    fn packed_refs_that_were_replaced_are_read_again() {
        let directory = directory();
        let packed = PackedRefs::default();
        let files = RefFiles::open(directory.path(), &packed).unwrap();
        let write = |commit: &CommitId| {
            let aside = directory.path().join("packed-refs.new");
            fs::write(&aside, format!("{commit} refs/heads/x\n")).unwrap();
            fs::rename(aside, directory.path().join("packed-refs")).unwrap();
        };
        write(&commit('a'));
        assert_eq!(files.read("refs/heads/x"), Answer::Commit(commit('a')));
        write(&commit('b'));
        assert_eq!(files.read("refs/heads/x"), Answer::Commit(commit('b')));
    }

    #[test]
    fn conflicts_are_found_above_and_below_loose_and_packed() {
        let directory = directory();
        let packed = PackedRefs::default();
        fs::write(directory.path().join("packed-refs"), format!("{} refs/heads/p/q\n", commit('a'))).unwrap();
        fs::create_dir_all(directory.path().join("refs/heads/l/empty")).unwrap();
        fs::write(directory.path().join("refs/heads/m"), format!("{}\n", commit('a'))).unwrap();
        let conflict = |name: &str| RefFiles::open(directory.path(), &packed).unwrap().conflict(name).unwrap();
        assert_eq!(conflict("refs/heads/p").as_deref(), Some("refs/heads/p/q"));
        assert_eq!(conflict("refs/heads/p/q/r").as_deref(), Some("refs/heads/p/q"));
        assert_eq!(conflict("refs/heads/m/n").as_deref(), Some("refs/heads/m"));
        assert_eq!(conflict("refs/heads/l"), None);
        fs::write(directory.path().join("refs/heads/l/x"), format!("{}\n", commit('a'))).unwrap();
        assert_eq!(conflict("refs/heads/l").as_deref(), Some("refs/heads/l/x"));
    }

    proptest! {
        #[test]
        fn no_content_makes_it_panic(text in "(?s).{0,200}", name in "refs/heads/.{0,10}") {
            let _ = parse_loose(&text);
            let _ = find_packed(&text, &name);
        }
    }

    #[test]
    fn much_is_read_in_time() {
        hostile::assert_fast(&["ref: ", "^", "# pack"], |stdout| {
            let text = String::from_utf8_lossy(stdout);
            let _ = (parse_loose(&text), find_packed(&text, "refs/heads/x"));
        });
    }
}
