//! Whether anything that a pin is made of has changed since.
//!
//! A removal pins and then moves; whoever works in the tree meanwhile may commit or stage. The files that a pin reads are
//! stamped before it and after the move: the same stamps mean that the pin still holds everything, without any process.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use spinney_core::BranchName;

use crate::disk::stamp::Stamp;
use crate::repository::opened::Repository;
use crate::{Error, Result};

/// The state of every file that a pin is made of, wherever the admin dir lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinStamp {
    admin: BTreeMap<PathBuf, Option<Stamp>>,
    shared: BTreeMap<PathBuf, Option<Stamp>>,
}

impl Repository {
    /// Stamps what a pin of this admin dir and these branches is made of.
    pub fn pin_stamp(&self, admin_dir: &Path, branches: &[&BranchName]) -> Result<PinStamp> {
        let mut admin = BTreeMap::new();
        stamp_files(admin_dir, Path::new(""), &mut admin)?;
        let mut names = vec!["packed-refs".to_owned(), "logs/refs/stash".to_owned(), "reftable/tables.list".to_owned()];
        for branch in branches {
            names.extend([branch.local_ref(), format!("logs/{}", branch.local_ref())]);
        }
        let stamped = names.into_iter().map(|name| (PathBuf::from(&name), Stamp::of(&self.common_dir().join(&name))));
        Ok(PinStamp { admin, shared: stamped.collect() })
    }
}

fn stamp_files(top: &Path, inside: &Path, stamps: &mut BTreeMap<PathBuf, Option<Stamp>>) -> Result<()> {
    let directory = top.join(inside);
    let failed = |source| Error::io("read", &directory, source);
    for entry in fs::read_dir(&directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        // Submodules' repositories keep themselves; what is ours says nothing about the work.
        let at_top = inside.as_os_str().is_empty();
        if at_top && (name == "modules" || name.to_string_lossy().starts_with("spinney")) {
            continue;
        }
        let path = inside.join(name);
        if entry.file_type().map_err(failed)?.is_dir() {
            stamp_files(top, &path, stamps)?;
        } else {
            stamps.insert(path, Stamp::of(&entry.path()));
        }
    }
    Ok(())
}
