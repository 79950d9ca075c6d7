//! Carries ignored files (`.env` and the like) from the main checkout into a new tree.
//!
//! Only files that git ignores are taken, and nothing is read or written through a link: a link is carried over as a
//! link, and only when it stays within the tree.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use sha2::{Digest, Sha256};
use spinney_core::{Workspace, path_text, text_path};
use spinney_git::{ObjectFormat, SETTINGS_BYTES, open_regular_beneath, read_regular, read_regular_text};

use super::include;
use crate::notice::{Notice, Observer, Phase, Warning};
use crate::repositories::context::Context;
use crate::{Error, Result};

/// Patterns in git's ignore syntax, one a line, in the main checkout.
const INCLUDE_FILE: &str = ".worktreeinclude";

/// How much of a file is copied at once.
const PIECE_BYTES: usize = 128 * 1024;

/// Of a copied file that is larger, other line ends are not thought of.
const MAX_CONTENT_BYTES: u64 = 64 << 20;

/// Each file that was carried over, with a stamp of its source and one of the copy.
pub(crate) type Stamps = BTreeMap<String, String>;

/// What was carried over.
#[derive(Debug, Default)]
pub(crate) struct Carried {
    /// All of it, also what was there from before.
    pub stamps: Stamps,
    /// Digests of what was copied just now.
    pub digests: BTreeMap<String, String>,
    /// The same by git's names, each with its path.
    pub contents: BTreeMap<String, String>,
}

/// What becomes of a copy whose source has changed since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Replace {
    /// Replaced: what `setup` made of it, `setup` makes again.
    Always,
    /// Replaced, unless somebody made something else of it.
    Unchanged,
}

/// Carries the files over; those that were `before` only where their source has changed since.
pub(crate) async fn carry_over(
    context: &Context,
    workspace: &Workspace,
    before: &Stamps,
    replace: Replace,
    observer: &dyn Observer,
) -> Result<Carried> {
    let mut carried = Carried::default();
    let (tree, format) = (workspace.path.as_path(), ObjectFormat::of(&workspace.base_commit));
    let Some(root) = context.root() else { return Ok(carried) };
    let patterns = load_patterns(context, root)?;
    if patterns.is_empty() {
        return Ok(carried);
    }
    let files = context.load_ignored(&patterns).await?;
    observer(Notice::Phase(Phase::CopyingFiles { count: files.len() }));
    for file in files {
        let (name, copy) = (path_text(&file), tree.join(&file));
        let source = stamp_of(&root.join(&file));
        match before.get(&name).and_then(|known| Some((known, known.split_once(' ')?))) {
            Some((known, (known_source, _))) if known_source == source => {
                carried.stamps.insert(name, known.clone());
                continue;
            }
            Some((_, (_, known_copy))) if !passes_link(tree, &file) => {
                if replace == Replace::Unchanged && stamp_of(&copy) != known_copy {
                    return Err(Error::CopyChanged { path: file });
                }
                drop_outdated(&copy)?;
            }
            _ => {}
        }
        match carry_over_one(root, tree, &file)? {
            Err(reason) => observer(Notice::Warning(Warning::NotCopied { path: file, reason })),
            Ok(digest) => {
                carried.stamps.insert(name.clone(), format!("{source} {}", stamp_of(&copy)));
                carried.contents.extend(contents_of(tree, [&name], format));
                carried.digests.insert(name, digest);
            }
        }
    }
    Ok(carried)
}

/// Changes whenever a source does, as far as its metadata tell; nothing where it can't be read.
fn stamp_of(source: &Path) -> String {
    fs::symlink_metadata(source).map_or_else(
        |_| String::new(),
        |found| format!("{}:{}.{:09}:{}", found.size(), found.mtime(), found.mtime_nsec(), found.ino()),
    )
}

/// Drops a file that was carried over before, to be replaced by what its source is now.
fn drop_outdated(file: &Path) -> Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::files(file, "replaced")(error)),
        _ => Ok(()),
    }
}

pub(crate) fn load_patterns(context: &Context, root: &Path) -> Result<Vec<String>> {
    let mut patterns = context.config().workspace.copy.clone();
    for path in [root.join(INCLUDE_FILE), include::place(context)] {
        match read_regular_text(&path, SETTINGS_BYTES) {
            Ok(text) => patterns.extend(text.lines().map(ToOwned::to_owned)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(Error::files(&path, "read")(error)),
        }
    }
    patterns.retain(|pattern| !pattern.trim().is_empty() && !pattern.starts_with('#'));
    Ok(patterns)
}

/// Copies one file and gives its digest; says why it was left out, if it was.
fn carry_over_one(root: &Path, tree: &Path, file: &Path) -> Result<Result<String, &'static str>> {
    if file.components().any(|component| !matches!(component, Component::Normal(_))) {
        return Ok(Err("its path leaves the tree"));
    }
    if passes_link(root, file) || passes_link(tree, file) {
        return Ok(Err("a directory in its path is a symbolic link"));
    }
    let (from, to) = (root.join(file), tree.join(file));
    let metadata = match fs::symlink_metadata(&from) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Err("it vanished meanwhile")),
        Err(error) => return Err(Error::files(&from, "read")(error)),
    };
    if fs::symlink_metadata(&to).is_ok() {
        return Ok(Err("the workspace already has this file"));
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(Error::files(parent, "made"))?;
    }
    if metadata.is_symlink() {
        let target = fs::read_link(&from).map_err(Error::files(&from, "read"))?;
        if leaves_tree(file, &target) {
            return Ok(Err("it is a symbolic link that leads out of the repository"));
        }
        std::os::unix::fs::symlink(&target, &to).map_err(Error::files(&to, "made"))?;
        Ok(Ok(digest_of_link(&target)))
    } else if metadata.is_file() {
        copy_file(root, file, &to).map(Ok).map_err(Error::files(&to, "written"))
    } else {
        Ok(Err("it is neither a file nor a link"))
    }
}

/// Copies a regular file to a place where nothing is, and gives the digest of what was written; what took its place
/// meanwhile is not followed.
fn copy_file(root: &Path, file: &Path, to: &Path) -> io::Result<String> {
    let from = open_regular_beneath(root, file)?;
    let permissions = from.metadata()?.permissions();
    let mut copy = fs::File::create_new(to)?;
    let digest = digest_of_content(from, |piece| copy.write_all(piece))?;
    copy.set_permissions(permissions)?;
    Ok(digest)
}

/// The digest of a file's content, which is handed on piece by piece: it may be large.
fn digest_of_content(file: fs::File, mut hand_on: impl FnMut(&[u8]) -> io::Result<()>) -> io::Result<String> {
    let mut file = io::BufReader::with_capacity(PIECE_BYTES, file);
    let mut hash = Sha256::new();
    loop {
        let piece = file.fill_buf()?;
        if piece.is_empty() {
            return Ok(format!("file {}", hex(&hash.finalize())));
        }
        hash.update(piece);
        hand_on(piece)?;
        let length = piece.len();
        file.consume(length);
    }
}

fn digest_of_link(target: &Path) -> String {
    format!("link {}", hex(&Sha256::digest(target.as_os_str().as_encoded_bytes())))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a file in a tree is still as it was copied. What can't be read is not.
pub(crate) fn is_as_copied(tree: &Path, file: &Path, digest: &str) -> bool {
    let now = match fs::symlink_metadata(tree.join(file)) {
        Ok(found) if found.is_symlink() => fs::read_link(tree.join(file)).map(|target| digest_of_link(&target)),
        Ok(found) if found.is_file() => {
            open_regular_beneath(tree, file).and_then(|file| digest_of_content(file, |_| Ok(())))
        }
        _ => return false,
    };
    now.is_ok_and(|now| now == digest)
}

/// Git's names for what is in files, each with its path. What is empty, or can't be read, tells nothing.
pub(crate) fn contents_of<'a>(
    root: &Path,
    paths: impl IntoIterator<Item = &'a String>,
    format: ObjectFormat,
) -> BTreeMap<String, String> {
    let mut contents = BTreeMap::new();
    for path in paths {
        let file = root.join(text_path(path));
        let Ok(found) = fs::symlink_metadata(&file) else { continue };
        let names = match found.len() {
            0 => continue,
            _ if !found.is_file() => continue,
            bytes if bytes <= MAX_CONTENT_BYTES => {
                read_regular(&file, MAX_CONTENT_BYTES).map(|bytes| format.names_of_copy(&bytes))
            }
            _ => format.names_of_large_copy(&file),
        };
        contents.extend(names.into_iter().flatten().map(|name| (name, path.clone())));
    }
    contents
}

/// Whether a directory between `root` and the file is a link.
pub(crate) fn passes_link(root: &Path, file: &Path) -> bool {
    let parents = file.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty());
    parents.into_iter().any(|parent| fs::symlink_metadata(root.join(parent)).is_ok_and(|found| found.is_symlink()))
}

/// Whether a link at `file` (relative to the tree) would point outside.
pub(crate) fn leaves_tree(file: &Path, target: &Path) -> bool {
    let mut place: Vec<Component<'_>> = file.parent().map(|parent| parent.components().collect()).unwrap_or_default();
    for component in target.components() {
        match component {
            Component::Normal(_) => place.push(component),
            Component::CurDir => {}
            Component::ParentDir => {
                if place.pop().is_none() {
                    return true;
                }
            }
            Component::RootDir | Component::Prefix(_) => return true,
        }
    }
    false
}

/// Whether a file in a tree is the very one that the main checkout has now, and so is no loss.
pub(crate) fn is_same_as_in_main_checkout(context: &Context, tree: &Path, file: &Path) -> bool {
    let Some(root) = context.root() else { return false };
    let (original, copied): (PathBuf, PathBuf) = (root.join(file), tree.join(file));
    let both = (fs::symlink_metadata(&original), fs::symlink_metadata(&copied));
    match both {
        (Ok(a), Ok(b)) if a.is_file() && b.is_file() && a.len() == b.len() => {
            let compare = || is_same_content(open_regular_beneath(root, file)?, open_regular_beneath(tree, file)?);
            compare().unwrap_or(false)
        }
        (Ok(a), Ok(b)) if a.is_symlink() && b.is_symlink() => {
            fs::read_link(original).ok() == fs::read_link(copied).ok()
        }
        _ => false,
    }
}

/// Compares two files piece by piece: they may be large.
fn is_same_content(a: fs::File, b: fs::File) -> io::Result<bool> {
    let (mut a, mut b) = (io::BufReader::new(a), io::BufReader::new(b));
    loop {
        let (left, right) = (a.fill_buf()?, b.fill_buf()?);
        let length = left.len().min(right.len());
        if left[..length] != right[..length] || (length == 0 && left.len() != right.len()) {
            return Ok(false);
        }
        if length == 0 {
            return Ok(true);
        }
        a.consume(length);
        b.consume(length);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_judged_by_where_they_lead() {
        for (file, target, leaves) in [
            ("a/link", "b", false),
            ("a/link", "../b", false),
            ("a/link", "../../b", true),
            ("link", "/etc/passwd", true),
            ("link", "a/../..", true),
            ("a/b/link", "./../c", false),
        ] {
            assert_eq!(leaves_tree(Path::new(file), Path::new(target)), leaves, "{file} -> {target}");
        }
    }
}
