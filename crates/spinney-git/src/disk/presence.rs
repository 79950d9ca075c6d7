//! Whether something stands at a path. What this user may not look at is neither there nor gone.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::regular::{SETTINGS_BYTES, read_regular_text};

/// The list of a machine's users.
const USERS: &str = "/etc/passwd";

#[derive(Debug)]
pub enum Presence {
    There,
    Gone,
    /// A directory on the way may not be entered, or the disk gives no answer.
    Hidden(io::Error),
}

impl Presence {
    /// Looks for whatever a path leads to.
    #[must_use]
    pub fn of(path: &Path) -> Self {
        match fs::metadata(path) {
            Ok(_) => Self::There,
            Err(error) if is_absence(&error) => Self::Gone,
            Err(error) => Self::Hidden(error),
        }
    }

    #[must_use]
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Gone)
    }

    /// Whether it is sure that something stands there, or that nothing does.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !matches!(self, Self::Hidden(_))
    }
}

/// Whether a failed look says for sure that nothing is there.
fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The user to whom belongs what keeps others from a path: the nearest place on the way that can be looked at.
#[must_use]
pub fn owner_on_the_way(path: &Path) -> Option<String> {
    let found = path.ancestors().find_map(|place| fs::symlink_metadata(place).ok())?;
    if found.uid() == rustix::process::geteuid().as_raw() {
        return None;
    }
    Some(user_of(found.uid()).unwrap_or_else(|| format!("user {}", found.uid())))
}

fn user_of(uid: u32) -> Option<String> {
    let users = read_regular_text(Path::new(USERS), SETTINGS_BYTES).ok()?;
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, id) = (fields.next()?, fields.nth(1)?);
        (id.parse() == Ok(uid) && !name.is_empty()).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("file"), "").unwrap();
        assert!(matches!(Presence::of(&directory.path().join("file")), Presence::There));
        for gone in ["nothing", "nothing/deeper", "file/deeper"] {
            assert!(Presence::of(&directory.path().join(gone)).is_gone(), "{gone}");
        }
        let long = "x".repeat(5000);
        assert!(matches!(Presence::of(&directory.path().join(long)), Presence::Hidden(_)), "nobody could tell");
    }

    #[test]
    fn an_owner_has_a_name() {
        assert_eq!(user_of(0).as_deref(), Some("root"));
        assert_eq!(user_of(u32::MAX - 7), None);
    }
}
