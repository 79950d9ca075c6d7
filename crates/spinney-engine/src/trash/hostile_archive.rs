//! Archives that we did not write: what each entry of one could do, and does not.

use std::fs;
use std::path::{Path, PathBuf};

use tar::{Builder, EntryType, Header};

use super::archive::{unpack_tree, verify};

/// An archive with one entry in its tree.
fn crafted(directory: &Path, name: &str, kind: EntryType, link: Option<&Path>) -> PathBuf {
    let place = directory.join("crafted");
    let mut tar = Builder::new(zstd::Encoder::new(fs::File::create(&place).unwrap(), 1).unwrap());
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_size(0);
    // Past the checks that the writer makes.
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    if let Some(link) = link {
        header.set_link_name(link).unwrap();
    }
    header.set_cksum();
    tar.append(&header, std::io::empty()).unwrap();
    tar.into_inner().unwrap().finish().unwrap();
    place
}

#[test]
fn only_what_we_write_is_unpacked() {
    let directory = tempfile::tempdir().unwrap();
    let host = directory.path().join("host file");
    fs::write(&host, "of the host").unwrap();
    for (kind, link) in [
        (EntryType::Link, Some(host.as_path())),
        (EntryType::Char, None),
        (EntryType::Block, None),
        (EntryType::Continuous, None),
        (EntryType::new(b'9'), None),
    ] {
        let place = crafted(directory.path(), "tree/entry", kind, link);
        let to = directory.path().join("to");
        let refused = unpack_tree(&place, &to).unwrap_err().to_string();
        assert!(refused.contains("`tree/entry`") && refused.contains("kind"), "{kind:?}: {refused}");
        assert!(to.join("entry").symlink_metadata().is_err(), "{kind:?}");
        assert!(verify(&place).unwrap_err().to_string().contains("kind"), "{kind:?}");
    }
    assert_eq!(fs::read(&host).unwrap(), b"of the host");
}

#[test]
fn no_entry_leaves_its_place() {
    let directory = tempfile::tempdir().unwrap();
    for name in ["tree/../../out", "tree//../out", "tree/a/../../../out"] {
        let place = crafted(directory.path(), name, EntryType::Regular, None);
        let refused = unpack_tree(&place, &directory.path().join("to")).unwrap_err().to_string();
        assert!(refused.contains("leaves its place"), "{name}: {refused}");
    }
    assert!(!directory.path().join("out").exists());
}
