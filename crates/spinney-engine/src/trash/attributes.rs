//! Extended attributes of a person's (`user.*`), in the form in which GNU tar keeps them.
//!
//! Those of the system (capabilities, labels, access lists) are left out: an archive must not be able to give a file more
//! rights than its owner could.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use spinney_core::names::content_hash;
use tar::Entry;

/// The key of an attribute, before its name.
const PREFIX: &[u8] = b"SCHILY.xattr.";
const PERSONS: &[u8] = b"user.";
/// As much as Linux keeps of one attribute, and of all names.
const MAX_BYTES: usize = 64 << 10;

/// Finds the files of a tree that have any, but for those in some of its directories.
pub(super) fn files_with_attributes(tree: &Path, but_in: &[PathBuf]) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut places = vec![PathBuf::new()];
    while let Some(place) = places.pop() {
        for entry in fs::read_dir(tree.join(&place))? {
            let entry = entry?;
            let (path, kind) = (place.join(entry.file_name()), entry.file_type()?);
            if kind.is_dir() && !but_in.contains(&path) {
                places.push(path);
            } else if kind.is_file() && path != Path::new(".git") && !Attributes::load(&entry.path())?.is_empty() {
                found.push(path);
            }
        }
    }
    Ok(found)
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Attributes(BTreeMap<Vec<u8>, Vec<u8>>);

impl Attributes {
    /// Reads those of a file or directory; a file system without any has none.
    pub fn load(path: &Path) -> io::Result<Self> {
        let mut attributes = Self::default();
        // Most have none, and asking for that is quick.
        match rustix::fs::llistxattr_query(path) {
            Ok(0) | Err(Errno::OPNOTSUPP | Errno::NODATA) => return Ok(attributes),
            _ => {}
        }
        let mut names = vec![0; MAX_BYTES];
        let length = match rustix::fs::llistxattr(path, &mut names) {
            Err(Errno::OPNOTSUPP | Errno::NODATA) => return Ok(attributes),
            length => length?,
        };
        for name in names[..length].split(|byte| *byte == 0).filter(|name| name.starts_with(PERSONS)) {
            let mut value = vec![0; MAX_BYTES];
            let length = rustix::fs::lgetxattr(path, OsStr::from_bytes(name), &mut value)?;
            value.truncate(length);
            attributes.0.insert(name.to_vec(), value);
        }
        Ok(attributes)
    }

    /// Reads those that an entry of an archive brings.
    pub fn of_entry(entry: &mut Entry<'_, impl Read>) -> io::Result<Self> {
        let mut attributes = Self::default();
        let Some(extensions) = entry.pax_extensions()? else { return Ok(attributes) };
        for extension in extensions {
            let extension = extension?;
            let name = extension.key_bytes().strip_prefix(PREFIX).filter(|name| name.starts_with(PERSONS));
            if let Some(name) = name {
                attributes.0.insert(name.to_vec(), extension.value_bytes().to_vec());
            }
        }
        Ok(attributes)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Sets them. Where the file system has none, the content is worth more than they are.
    pub fn set(&self, path: &Path) -> io::Result<()> {
        for (name, value) in &self.0 {
            match rustix::fs::lsetxattr(path, OsStr::from_bytes(name), value, rustix::fs::XattrFlags::empty()) {
                Err(Errno::OPNOTSUPP) => return Ok(()),
                set => set?,
            }
        }
        Ok(())
    }

    /// As records of an extended header: each begins with its own length.
    pub fn to_records(&self) -> Vec<u8> {
        let mut records = Vec::new();
        for (name, value) in &self.0 {
            let rest = [b" ", PREFIX, name, b"=", value, b"\n"].concat();
            let mut length = rest.len() + 1;
            while length != rest.len() + length.to_string().len() {
                length = rest.len() + length.to_string().len();
            }
            records.extend_from_slice(length.to_string().as_bytes());
            records.extend_from_slice(&rest);
        }
        records
    }

    pub fn hash(&self) -> String {
        content_hash(&self.to_records())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_set_is_read_and_written_down() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        fs::write(&path, "x").unwrap();
        assert!(Attributes::load(&path).unwrap().is_empty());
        let attributes = Attributes([(b"user.a".to_vec(), b"one\n=two".to_vec())].into());
        attributes.set(&path).unwrap();
        assert_eq!(Attributes::load(&path).unwrap(), attributes);
        assert_eq!(attributes.to_records(), b"32 SCHILY.xattr.user.a=one\n=two\n");
    }
}
