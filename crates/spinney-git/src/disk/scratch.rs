//! Directories for the length of one question, in the repository's state dir; gone when dropped.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::process::command::Command;
use crate::{Error, Result};

pub(crate) const INDEX: &str = "index-";
pub(crate) const PACK: &str = "pack-";
pub(crate) const IMPORT: &str = "import-";
const OBJECTS: &str = "objects-";

/// Makes a scratch directory, whose name tells what it is for and whose it is.
pub(crate) fn directory(state_dir: &Path, what: &str) -> Result<TempDir> {
    let made = tempfile::Builder::new().prefix(&format!("{what}{}-", std::process::id())).tempdir_in(state_dir);
    made.map_err(|source| Error::io("make a directory in", state_dir, source))
}

/// Whether a directory in the state dir is scratch of a process that died over it.
#[must_use]
pub fn is_abandoned_scratch(name: &str) -> bool {
    let owner = [INDEX, PACK, IMPORT, OBJECTS].iter().find_map(|what| name.strip_prefix(what));
    owner
        .and_then(|rest| rest.split('-').next()?.parse().ok())
        .and_then(rustix::process::Pid::from_raw)
        .is_some_and(|pid| matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH)))
}

/// A place for objects that nobody keeps, beside the repository's own, which are read as before.
#[derive(Debug)]
pub(crate) struct ScratchObjects {
    directory: TempDir,
    own: PathBuf,
}

impl ScratchObjects {
    pub(crate) fn make(common_dir: &Path, state_dir: &Path) -> Result<Self> {
        Ok(Self { directory: directory(state_dir, OBJECTS)?, own: common_dir.join("objects") })
    }

    pub(crate) fn used_by(&self, command: Command) -> Command {
        command
            .env("GIT_OBJECT_DIRECTORY", self.directory.path())
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", quoted(self.own.as_os_str()))
    }
}

/// A path as one entry of a list that colons separate: git reads an entry in quotes as a string of C.
pub(crate) fn quoted(path: &OsStr) -> OsString {
    let mut quoted = vec![b'"'];
    for byte in path.as_bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend([b'\\', *byte]),
            b'\n' => quoted.extend(b"\\n"),
            _ => quoted.push(*byte),
        }
    }
    quoted.push(b'"');
    OsString::from_vec(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_any_name_is_one_entry() {
        assert_eq!(quoted(OsStr::new("/a:b/c d")), "\"/a:b/c d\"");
        assert_eq!(quoted(OsStr::new("/a\"b\\c\nd")), "\"/a\\\"b\\\\c\\nd\"");
    }

    #[test]
    fn what_a_living_process_uses_is_not_abandoned() {
        let own = format!("{OBJECTS}{}-x", std::process::id());
        assert!(!is_abandoned_scratch(&own) && !is_abandoned_scratch("fetched.json"));
        // No process has the highest number that a pid can be.
        let dead = i32::MAX;
        assert!([INDEX, PACK, IMPORT, OBJECTS].iter().all(|what| is_abandoned_scratch(&format!("{what}{dead}-x"))));
    }
}
