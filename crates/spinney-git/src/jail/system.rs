//! What of the system is in the jail: its programs and libraries, read-only, at their own places.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Where programs and libraries are, beside `/usr` itself. On most systems these are links into it.
const PLACES: [&str; 6] = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"];
/// Where libraries are found; without it only the usual places count.
const LIBRARIES: &str = "/etc/ld.so.cache";

/// Git takes the names of its temporary files from the second.
const DEVICES: [&str; 2] = ["/dev/null", "/dev/urandom"];

/// The options that show the system as it is. `extra` are paths outside of `/usr` that git is made of.
pub(crate) fn options(extra: &[PathBuf]) -> Vec<OsString> {
    let mut options: Vec<OsString> = ["--ro-bind", "/usr", "/usr"].map(OsString::from).into();
    for place in PLACES {
        match (std::fs::read_link(place), Path::new(place).is_dir()) {
            (Ok(target), _) => options.extend(["--symlink".into(), target.into(), place.into()]),
            (Err(_), true) => options.extend(["--ro-bind", place, place].map(OsString::from)),
            (Err(_), false) => {}
        }
    }
    options.extend(["--ro-bind-try", LIBRARIES, LIBRARIES].map(OsString::from));
    for device in DEVICES {
        options.extend(["--dev-bind", device, device].map(OsString::from));
    }
    for path in extra {
        options.extend(["--ro-bind".into(), path.into(), path.into()]);
    }
    options
}
