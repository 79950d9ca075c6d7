//! The homes that have workspaces in a repository: `spinney/homes/<node>` in its git dir says where each is.
//!
//! A workspace belongs to the home whose node its marker names, wherever it lies. Another home leaves it alone, and takes it
//! over only when a person asks for it and that home is gone.

use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use spinney_core::NodeId;
use spinney_git::{POINTER_BYTES, read_regular};

use super::marker::Marker;
use crate::home::disk;
use crate::home::layout::{make_private_directory, read_node};
use crate::repositories::context::Context;
use crate::{Engine, Error, Result};

/// The node of the other home whose marker an admin dir carries. One without a word about the home is ours.
pub(crate) fn other_home(context: &Context, admin_dir: &Path) -> Option<NodeId> {
    Marker::load(admin_dir).and_then(|marker| marker.node).filter(|node| *node != context.node)
}

/// Refuses an admin dir that carries the marker of another home.
pub(crate) fn check_home(context: &Context, path: &Path, admin_dir: &Path) -> Result<()> {
    match other_home(context, admin_dir) {
        Some(node) => Err(Error::OtherHome { path: path.to_owned(), place: place_of(context, &node), node }),
        None => Ok(()),
    }
}

impl Engine {
    /// Says in the repository where this home is. Where that can't be written, another home finds ours by its trees.
    pub(crate) fn note_home(&self, context: &Context) {
        let record = record(context, self.home.node());
        let place = self.home.root().as_os_str().as_bytes();
        if read_regular(&record, POINTER_BYTES).is_ok_and(|noted| noted == place) {
            return;
        }
        let noted: io::Result<()> =
            record.parent().map_or(Ok(()), make_private_directory).and_then(|()| disk::write_durably(&record, place));
        if let Err(error) = noted {
            tracing::debug!(%error, "the home can't be noted");
        }
    }

    /// Where another home is, if it is there still: its directory carries its id, or may not be looked at. `markers` name trees
    /// of it.
    pub(crate) fn find_home(&self, context: &Context, node: &NodeId, markers: &[Marker]) -> Option<PathBuf> {
        let noted = place_of(context, node).into_iter();
        // A home of an older version noted nothing; by default its trees lie in it.
        let above = markers.iter().flat_map(|marker| marker.path.ancestors().skip(1).map(Path::to_owned));
        let mut hidden = None;
        for place in noted.chain(above) {
            match read_node(&place.join("node")) {
                Ok(Some(found)) if found == *node => return Some(place),
                // The outermost of what is hidden is the home, or holds it.
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => hidden = Some(place),
                _ => {}
            }
        }
        hidden
    }
}

fn record(context: &Context, node: &NodeId) -> PathBuf {
    context.git().state_dir().join("homes").join(node.as_str())
}

/// Where a home said that it is.
pub(crate) fn place_of(context: &Context, node: &NodeId) -> Option<PathBuf> {
    let text = read_regular(&record(context, node), POINTER_BYTES).ok()?;
    let place = PathBuf::from(std::ffi::OsString::from_vec(text));
    place.is_absolute().then_some(place)
}
