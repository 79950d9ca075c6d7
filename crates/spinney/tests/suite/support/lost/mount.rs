//! Bind mounts, where the tests may make them.

use std::fs;
use std::path::Path;

use spinney_testkit::Sandbox;

/// A bind mount in a sandbox, undone when dropped, wherever it was moved to by then.
pub struct Mount {
    sandbox: Sandbox,
}

/// Shows a directory at another place; none, loudly, where that is not allowed.
pub fn bind(sandbox: &Sandbox, directory: &Path, place: &Path) -> Option<Mount> {
    let ran = sandbox.cli("/bin/mount").run(&["--bind".as_ref(), directory.as_os_str(), place.as_os_str()]);
    if ran.status != 0 {
        eprintln!("SKIPPED: nothing can be mounted here, so mounts inside a workspace are not tested: {}", ran.stderr);
        return None;
    }
    Some(Mount { sandbox: sandbox.clone() })
}

impl Drop for Mount {
    fn drop(&mut self) {
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let points = mounts.lines().filter_map(|line| line.split(' ').nth(4));
        for point in points.filter(|point| Path::new(point).starts_with(self.sandbox.path())) {
            let ran = self.sandbox.cli("/bin/umount").run(&["--lazy", point]);
            if ran.status != 0 {
                eprintln!("`{point}` is still mounted: {}", ran.stderr);
            }
        }
    }
}
