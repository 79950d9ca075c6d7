//! Names of objects, in either of git's formats.

use std::fmt;

use sha1::Sha1;
use sha2::{Digest, Sha256};
use spinney_core::CommitId;

/// How a repository names its objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ObjectFormat {
    Sha1,
    Sha256,
}

impl ObjectFormat {
    /// The format of the repository that a commit is in.
    #[must_use]
    pub fn of(commit: &CommitId) -> Self {
        if commit.as_str().len() == 2 * Self::Sha1.size() { Self::Sha1 } else { Self::Sha256 }
    }

    /// How many bytes a name has.
    #[must_use]
    pub const fn size(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    pub(crate) fn hash(self, bytes: &[u8]) -> ObjectId {
        let mut name = [0; 32];
        match self {
            Self::Sha1 => name[..20].copy_from_slice(&Sha1::digest(bytes)),
            Self::Sha256 => name.copy_from_slice(&Sha256::digest(bytes)),
        }
        ObjectId { format: self, name }
    }

    /// A file's content that git names without a filter: the empty one.
    pub(crate) fn empty_blob(self) -> ObjectId {
        self.hash(b"blob 0\0")
    }
}

/// Names a blob whose content comes in pieces.
#[derive(Debug)]
pub(crate) enum BlobHasher {
    Sha1(Sha1),
    Sha256(Sha256),
}

impl BlobHasher {
    /// Begins a blob of so many bytes.
    pub(crate) fn new(format: ObjectFormat, bytes: u64) -> Self {
        let mut hasher = match format {
            ObjectFormat::Sha1 => Self::Sha1(Sha1::new()),
            ObjectFormat::Sha256 => Self::Sha256(Sha256::new()),
        };
        hasher.update(format!("blob {bytes}\0").as_bytes());
        hasher
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha1(hasher) => hasher.update(bytes),
            Self::Sha256(hasher) => hasher.update(bytes),
        }
    }

    pub(crate) fn finish(self) -> ObjectId {
        let mut name = [0; 32];
        let format = match self {
            Self::Sha1(hasher) => {
                name[..20].copy_from_slice(&hasher.finalize());
                ObjectFormat::Sha1
            }
            Self::Sha256(hasher) => {
                name.copy_from_slice(&hasher.finalize());
                ObjectFormat::Sha256
            }
        };
        ObjectId { format, name }
    }
}

/// The name of an object; shown in hexadecimal.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ObjectId {
    format: ObjectFormat,
    name: [u8; 32],
}

impl ObjectId {
    /// Reads a name from as many bytes as the format has.
    pub(crate) fn from_bytes(bytes: &[u8], format: ObjectFormat) -> Option<Self> {
        let mut name = [0; 32];
        name.get_mut(..format.size())?.copy_from_slice(bytes.get(..format.size())?);
        (bytes.len() == format.size()).then_some(Self { format, name })
    }

    pub(crate) fn format(&self) -> ObjectFormat {
        self.format
    }

    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.name[..self.format.size()]
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}
