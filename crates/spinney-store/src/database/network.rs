//! Telling file systems on which SQLite's write-ahead log is unsafe.

use std::path::Path;

/// Whether a path lies on a file system of another machine, where locks and shared memory can't be relied on.
///
/// `false` where the operating system doesn't tell.
#[must_use]
pub fn is_network_file_system(path: &Path) -> bool {
    imp::is_network_file_system(path)
}

#[cfg(target_os = "linux")]
mod imp {
    use std::path::Path;

    /// The magic numbers of `statfs(2)`: NFS, SMB, CIFS, SMB2, 9P, AFS, Ceph, Lustre, Coda.
    const NETWORK: &[u32] = &[
        0x0000_6969,
        0x0000_517b,
        0xff53_4d42,
        0xfe53_4d42,
        0x0102_1997,
        0x5346_414f,
        0x00c3_6400,
        0x0bd0_0bd0,
        0x7375_7245,
    ];

    pub(super) fn is_network_file_system(path: &Path) -> bool {
        // The type is 32 bits in a wider field whose width and sign differ between architectures.
        rustix::fs::statfs(path)
            .is_ok_and(|stat| NETWORK.iter().any(|magic| *magic as i64 as i32 == stat.f_type as i32))
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    pub(super) fn is_network_file_system(_: &std::path::Path) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_local_directory_is_no_network_file_system() {
        assert!(!is_network_file_system(Path::new("/proc")));
        assert!(!is_network_file_system(Path::new("/nowhere/at/all")));
    }
}
