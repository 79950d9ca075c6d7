//! What the file system says of a file, in the form in which git keeps it: the low 32 bits of each number.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

/// How many bytes of an entry hold it, the mode among them.
pub(crate) const STAT_BYTES: usize = 40;
/// The mode's place in these bytes: what kind of file the index wants, not what the file system says.
pub(crate) const MODE_AT: usize = 24;

/// A time of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileTime {
    pub seconds: u32,
    pub nanoseconds: u32,
}

impl FileTime {
    pub(crate) fn new(seconds: i64, nanoseconds: i64) -> Self {
        Self { seconds: low_bits(seconds.cast_unsigned()), nanoseconds: low_bits(nanoseconds.cast_unsigned()) }
    }

    /// Whether a change after `later` was noted could not have left this time as it is.
    fn is_certainly_before(self, later: Self) -> bool {
        const COARSE: u32 = 1_000_000;
        if self.nanoseconds.is_multiple_of(COARSE) {
            // The file system may count in whole seconds, or in two of them.
            return self.seconds.checked_add(2).is_some_and(|seconds| seconds < later.seconds);
        }
        self < later
    }
}

/// What git remembers of a file, to know later without reading it whether it changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct FileStat {
    pub changed: FileTime,
    pub modified: FileTime,
    pub device: u32,
    pub inode: u32,
    pub user: u32,
    pub group: u32,
    pub size: u32,
}

impl FileStat {
    /// What git would write down of a file, by its `lstat`. None of one that is larger than git's numbers.
    #[must_use]
    pub fn of(metadata: &Metadata) -> Option<Self> {
        Some(Self {
            changed: FileTime::new(metadata.ctime(), metadata.ctime_nsec()),
            modified: FileTime::new(metadata.mtime(), metadata.mtime_nsec()),
            device: low_bits(metadata.dev()),
            inode: low_bits(metadata.ino()),
            user: metadata.uid(),
            group: metadata.gid(),
            size: metadata.size().try_into().ok()?,
        })
    }

    /// The same, by what `fstat` or `fstatat` tell.
    #[cfg(target_os = "linux")]
    #[must_use]
    pub fn of_stat(stat: &rustix::fs::Stat) -> Option<Self> {
        let time = |seconds: i64, nanoseconds: u64| FileTime::new(seconds, nanoseconds.cast_signed());
        Some(Self {
            changed: time(stat.st_ctime, stat.st_ctime_nsec),
            modified: time(stat.st_mtime, stat.st_mtime_nsec),
            device: low_bits(stat.st_dev),
            inode: low_bits(stat.st_ino),
            user: stat.st_uid,
            group: stat.st_gid,
            size: stat.st_size.try_into().ok()?,
        })
    }

    /// Whether two looks at a file found the same. Its device may have got another number since, as after a restart.
    #[must_use]
    pub fn is_same_file(&self, other: &Self) -> bool {
        Self { device: 0, ..*self } == Self { device: 0, ..*other }
    }

    pub(crate) fn is_settled(&self, index: FileTime) -> bool {
        self.modified.is_certainly_before(index) && self.changed.is_certainly_before(index)
    }

    pub(crate) fn read(bytes: &[u8; STAT_BYTES]) -> Self {
        let number = |at: usize| u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Self {
            changed: FileTime { seconds: number(0), nanoseconds: number(4) },
            modified: FileTime { seconds: number(8), nanoseconds: number(12) },
            device: number(16),
            inode: number(20),
            user: number(28),
            group: number(32),
            size: number(36),
        }
    }

    /// Writes it over an entry's bytes; the mode stays.
    pub(crate) fn write(&self, bytes: &mut [u8; STAT_BYTES]) {
        let before = [
            self.changed.seconds,
            self.changed.nanoseconds,
            self.modified.seconds,
            self.modified.nanoseconds,
            self.device,
            self.inode,
        ];
        let after = [self.user, self.group, self.size];
        for (at, number) in (0..).step_by(4).zip(before).chain((MODE_AT + 4..).step_by(4).zip(after)) {
            bytes[at..at + 4].copy_from_slice(&number.to_be_bytes());
        }
    }
}

/// Git keeps no more of a number, and no more is compared.
fn low_bits(number: u64) -> u32 {
    (number & u64::from(u32::MAX)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_the_mode_stays() {
        let time = |seconds| FileTime { seconds, nanoseconds: seconds + 1 };
        let stat = FileStat { changed: time(1), modified: time(3), device: 5, inode: 6, user: 7, group: 8, size: 9 };
        let mut bytes = [0xaa; STAT_BYTES];
        stat.write(&mut bytes);
        assert_eq!(FileStat::read(&bytes), stat);
        assert_eq!(bytes[MODE_AT..MODE_AT + 4], [0xaa; 4]);
    }

    #[test]
    fn a_time_counts_as_before_only_where_the_clock_is_fine_enough() {
        let time = |seconds, nanoseconds| FileTime { seconds, nanoseconds };
        assert!(time(10, 5).is_certainly_before(time(10, 6)));
        assert!(!time(10, 5).is_certainly_before(time(10, 5)));
        assert!(!time(10, 0).is_certainly_before(time(11, 6)), "it may be a file system without parts of seconds");
        assert!(!time(10, 20_000_000).is_certainly_before(time(12, 6)));
        assert!(time(10, 0).is_certainly_before(time(13, 0)));
    }
}
