//! Bind mounts, where the tests may make them.

use std::path::{Path, PathBuf};

use spinney_testkit::Sandbox;

/// A bind mount, undone when dropped.
pub struct Mount {
    sandbox: Sandbox,
    place: PathBuf,
}

/// Shows a directory at another place; none, loudly, where that is not allowed.
pub fn bind(sandbox: &Sandbox, directory: &Path, place: &Path) -> Option<Mount> {
    let ran = sandbox.cli("/bin/mount").run(&["--bind".as_ref(), directory.as_os_str(), place.as_os_str()]);
    if ran.status != 0 {
        eprintln!("SKIPPED: nothing can be mounted here, so mounts inside a workspace are not tested: {}", ran.stderr);
        return None;
    }
    Some(Mount { sandbox: sandbox.clone(), place: place.to_owned() })
}

impl Mount {
    /// The mount was moved along with a directory above it.
    pub fn moved_to(&mut self, place: PathBuf) {
        self.place = place;
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let ran = self.sandbox.cli("/bin/umount").run(&["--lazy".as_ref(), self.place.as_os_str()]);
        if ran.status != 0 {
            eprintln!("`{}` is still mounted: {}", self.place.display(), ran.stderr);
        }
    }
}
