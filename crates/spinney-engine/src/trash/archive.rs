//! The archive of a purged workspace: what its tree and admin dir alone held, as one compressed tar file.
//!
//! Layout: `admin/…` is git's admin dir, `tree/…` what differs from the index, `manifest.json` comes last and names every
//! entry with the hash of its content. An archive counts only after it was read back against its own manifest and against
//! the files it was made from. Links are stored as links; nothing is read through one.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use tar::{Archive, Builder, EntryType, Header};

use super::attributes::Attributes;
use super::sparse;
use crate::tree::marker::{MARKER_FILE, Marker, REMOVAL_FILE, Removal};

const MANIFEST: &str = "manifest.json";
const ADMIN: &str = "admin";
const TREE: &str = "tree";
const COMPRESSION: i32 = 3;

/// What an archive holds, by its own word.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// Paths in the archive, escaped, with the hash of what they hold; empty for directories, links and pipes.
    pub entries: BTreeMap<String, String>,
    /// Of files and directories with attributes of a person, the hash of those.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// Tracked files that had been deleted in the tree, escaped.
    pub deleted: Vec<String>,
    /// Tracked files that were there with the content that git-lfs has, escaped.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub large: Vec<String>,
    /// Whether the tree's part is all of the tree, and not only what differs from the index.
    #[serde(default)]
    pub whole: bool,
    /// The mode of the tree's own directory; none where it was gone before.
    pub mode: Option<u32>,
}

impl Manifest {
    /// Whether the admin dir's part has a file of this name.
    pub fn has_of_admin_dir(&self, name: &str) -> bool {
        self.entries.contains_key(&escape(Path::new(ADMIN).join(name).as_os_str()))
    }

    /// The paths of the tree's part.
    pub fn files_of_tree(&self) -> BTreeSet<PathBuf> {
        let inside = |name: &String| unescape(name).strip_prefix(TREE).map(Path::to_owned).ok();
        self.entries.keys().filter_map(inside).collect()
    }

    /// The same without the directories.
    pub fn contents_of_tree(&self) -> Vec<PathBuf> {
        let all = self.files_of_tree();
        let parents: BTreeSet<&Path> = all.iter().flat_map(|path| path.ancestors().skip(1)).collect();
        let is_directory = |path: &PathBuf| {
            let name = escape(Path::new(TREE).join(path).as_os_str());
            parents.contains(path.as_path()) && self.entries.get(&name).is_some_and(String::is_empty)
        };
        all.iter().filter(|path| !path.as_os_str().is_empty() && !is_directory(path)).cloned().collect()
    }
}

/// More than the manifest of a tree with some million files takes.
const MOST_MANIFEST: u64 = 1 << 30;

/// What goes into an archive.
pub(super) struct Contents<'a> {
    pub admin_dir: &'a Path,
    pub tree: &'a Path,
    /// Paths in the tree: files, links, or directories with all that is in them.
    pub kept: &'a [PathBuf],
    /// Tracked files that are not in the tree; none where `kept` is all of it.
    pub deleted: Option<&'a [PathBuf]>,
    /// Tracked files whose content git-lfs has.
    pub large: &'a [PathBuf],
}

/// Writes an archive, flushed to the disk, for its owner only.
pub(super) fn write(place: &Path, contents: &Contents<'_>) -> io::Result<()> {
    let file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(place)?;
    let mut writer = Writer {
        tar: Builder::new(zstd::Encoder::new(file, COMPRESSION)?),
        manifest: Manifest {
            deleted: contents.deleted.into_iter().flatten().map(|path| escape(path.as_os_str())).collect(),
            large: contents.large.iter().map(|path| escape(path.as_os_str())).collect(),
            whole: contents.deleted.is_none(),
            mode: mode(contents.tree)?,
            ..Manifest::default()
        },
    };
    writer.tar.follow_symlinks(false);
    writer.all(contents.admin_dir, Path::new(ADMIN))?;
    for path in contents.kept {
        writer.directories_above(contents.tree, path)?;
        writer.all(&contents.tree.join(path), &Path::new(TREE).join(path))?;
    }
    let manifest = serde_json::to_vec(&writer.manifest)?;
    let mut header = Header::new_gnu();
    header.set_size(manifest.len() as u64);
    header.set_mode(0o600);
    writer.tar.append_data(&mut header, MANIFEST, manifest.as_slice())?;
    let file = writer.tar.into_inner()?.finish()?;
    file.sync_all()
}

fn mode(tree: &Path) -> io::Result<Option<u32>> {
    match fs::metadata(tree) {
        Ok(metadata) => Ok(Some(metadata.permissions().mode())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

struct Writer {
    tar: Builder<zstd::Encoder<'static, File>>,
    manifest: Manifest,
}

impl Writer {
    /// Adds a path and, for a directory, all below it; what vanished meanwhile is an error, not an omission.
    fn all(&mut self, from: &Path, name: &Path) -> io::Result<()> {
        let metadata = fs::symlink_metadata(from)?;
        let kind = metadata.file_type();
        if kind.is_dir() {
            self.attributes(from, name)?;
            self.tar.append_path_with_name(from, name)?;
            self.note(name, String::new());
            let mut entries = fs::read_dir(from)?.collect::<io::Result<Vec<_>>>()?;
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                self.all(&entry.path(), &name.join(entry.file_name()))?;
            }
        } else if kind.is_symlink() {
            self.tar.append_path_with_name(from, name)?;
            self.note(name, String::new());
        } else if kind.is_file() {
            self.attributes(from, name)?;
            if sparse::is_sparse(&metadata) {
                let mut file = File::open(from)?;
                let hash = sparse::hash_file(&file)?;
                self.tar.append_file(name, &mut file)?;
                self.note(name, hash);
                return Ok(());
            }
            let mut file = HashingReader::new(File::open(from)?);
            let mut header = Header::new_gnu();
            header.set_metadata(&metadata);
            self.tar.append_data(&mut header, name, &mut file)?;
            self.note(name, file.finish());
        } else if kind.is_fifo() {
            let mut header = Header::new_gnu();
            header.set_entry_type(EntryType::Fifo);
            header.set_mode(metadata.permissions().mode());
            header.set_mtime(u64::try_from(metadata.mtime()).unwrap_or(0));
            header.set_size(0);
            self.tar.append_data(&mut header, name, io::empty())?;
            self.note(name, String::new());
        }
        // A socket is nothing without the process that listens on it.
        Ok(())
    }

    /// Adds the directories that lead to a path, for their modes.
    fn directories_above(&mut self, tree: &Path, path: &Path) -> io::Result<()> {
        let parents: Vec<&Path> = path.ancestors().skip(1).filter(|parent| *parent != Path::new("")).collect();
        for parent in parents.into_iter().rev() {
            let name = Path::new(TREE).join(parent);
            if !self.manifest.entries.contains_key(&escape(name.as_os_str())) {
                self.attributes(&tree.join(parent), &name)?;
                self.tar.append_path_with_name(tree.join(parent), &name)?;
                self.note(&name, String::new());
            }
        }
        Ok(())
    }

    /// Adds the attributes of the path that comes next.
    fn attributes(&mut self, from: &Path, name: &Path) -> io::Result<()> {
        let attributes = Attributes::load(from)?;
        if attributes.is_empty() {
            return Ok(());
        }
        let records = attributes.to_records();
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::XHeader);
        header.set_size(records.len() as u64);
        header.set_mode(0o600);
        self.tar.append_data(&mut header, "attributes", records.as_slice())?;
        self.manifest.attributes.insert(escape(name.as_os_str()), attributes.hash());
        Ok(())
    }

    fn note(&mut self, name: &Path, hash: String) {
        self.manifest.entries.insert(escape(name.as_os_str()), hash);
    }
}

/// Reads an archive back: every entry of the manifest must be there with its content, and nothing else.
pub(super) fn verify(place: &Path) -> io::Result<Manifest> {
    let damaged = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    let (mut found, mut told) = (BTreeMap::new(), BTreeMap::new());
    let mut manifest = None;
    for entry in open(place)?.entries()? {
        let mut entry = entry?;
        let name = entry.path()?.into_owned();
        check_kind(entry.header().entry_type(), &name)?;
        if name == Path::new(MANIFEST) {
            let mut text = Vec::new();
            entry.take(MOST_MANIFEST).read_to_end(&mut text)?;
            manifest = Some(serde_json::from_slice::<Manifest>(&text)?);
            continue;
        }
        let attributes = Attributes::of_entry(&mut entry)?;
        if !attributes.is_empty() {
            told.insert(escape(trim(&name).as_os_str()), attributes.hash());
        }
        let hash = if entry.header().entry_type().is_gnu_sparse() {
            sparse::hash_stream(&mut entry)?
        } else if entry.header().entry_type().is_file() {
            let mut content = HashingReader::new(&mut entry);
            io::copy(&mut content, &mut io::sink())?;
            content.finish()
        } else {
            String::new()
        };
        found.insert(escape(trim(&name).as_os_str()), hash);
    }
    let manifest = manifest.ok_or_else(|| damaged("it has no manifest: it was not written to its end".to_owned()))?;
    match manifest.entries.iter().find(|(name, hash)| found.get(*name) != Some(hash)) {
        Some((name, _)) => Err(damaged(format!("`{name}` is not in it as it was"))),
        None if told != manifest.attributes => Err(damaged("attributes are not in it as they were".to_owned())),
        None if found.len() != manifest.entries.len() => {
            Err(damaged("it holds what its manifest does not name".to_owned()))
        }
        None => Ok(manifest),
    }
}

/// Reads what a workspace was off its archive, without the store.
pub(crate) fn load_marker(place: &Path) -> Option<Marker> {
    load_of_admin_dir(place, MARKER_FILE).filter(Marker::is_sound)
}

/// Reads what a removal noted off an archive.
pub(super) fn load_removal(place: &Path) -> Option<Removal> {
    load_of_admin_dir(place, REMOVAL_FILE)
}

fn load_of_admin_dir<T: for<'de> Deserialize<'de>>(place: &Path, name: &str) -> Option<T> {
    let name = Path::new(ADMIN).join(name);
    let mut archive = open(place).ok()?;
    let entry = archive.entries().ok()?.flatten().find(|entry| entry.path().is_ok_and(|path| path == name))?;
    let mut text = Vec::new();
    entry.take(spinney_git::SETTINGS_BYTES).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}

/// Refuses what we write into no archive: a hard link would lead to any file of this machine.
fn check_kind(kind: EntryType, name: &Path) -> io::Result<()> {
    match kind {
        EntryType::Regular | EntryType::GNUSparse | EntryType::Directory | EntryType::Symlink | EntryType::Fifo => {
            Ok(())
        }
        _ => {
            let name = spinney_core::names::for_message(&name.to_string_lossy());
            Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("`{name}` is of a kind that no archive has ({kind:?})"),
            ))
        }
    }
}

/// Whether a path names something in the place that it is relative to, and not outside of it.
pub(super) fn stays_inside(path: &Path) -> bool {
    path.components().all(|component| matches!(component, Component::Normal(_)))
}

/// Unpacks the admin dir's part.
pub(super) fn unpack_admin_dir(place: &Path, to: &Path) -> io::Result<()> {
    unpack(place, ADMIN, to)
}

/// Unpacks the tree's part over files that are there already.
pub(super) fn unpack_tree(place: &Path, to: &Path) -> io::Result<()> {
    unpack(place, TREE, to)
}

fn unpack(place: &Path, part: &str, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let mut directories = Vec::new();
    for entry in open(place)?.entries()? {
        let mut entry = entry?;
        let name = entry.path()?.into_owned();
        let Ok(inside) = name.strip_prefix(part) else { continue };
        check_kind(entry.header().entry_type(), &name)?;
        if !stays_inside(inside) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("`{}` leaves its place", name.display())));
        }
        let target = to.join(inside);
        if inside.ancestors().skip(1).any(|parent| parent != Path::new("") && to.join(parent).is_symlink()) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("`{}` lies behind a link", name.display())));
        }
        let (header, attributes) = (entry.header().clone(), Attributes::of_entry(&mut entry)?);
        match header.entry_type() {
            EntryType::Directory => {
                replace_unless_directory(&target)?;
                fs::create_dir_all(&target)?;
                attributes.set(&target)?;
                // Modes and times come last: a read-only directory would refuse its own content.
                directories.push((target, header.mode()?, header.mtime()?));
            }
            kind => {
                if let Some(parent) = target.parent() {
                    fs::create_dir_all(parent)?;
                }
                match fs::symlink_metadata(&target) {
                    Ok(found) if found.is_dir() => fs::remove_dir(&target)?,
                    Ok(_) => fs::remove_file(&target)?,
                    Err(_) => {}
                }
                if kind == EntryType::Fifo {
                    let mode = rustix::fs::Mode::from_raw_mode(header.mode()?);
                    rustix::fs::mknodat(rustix::fs::CWD, &target, rustix::fs::FileType::Fifo, mode, 0)?;
                } else {
                    entry.unpack(&target)?;
                    attributes.set(&target)?;
                }
            }
        }
    }
    for (directory, mode, mtime) in directories.into_iter().rev() {
        fs::set_permissions(&directory, fs::Permissions::from_mode(mode))?;
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(mtime);
        File::open(&directory)?.set_times(fs::FileTimes::new().set_modified(time))?;
    }
    Ok(())
}

fn replace_unless_directory(target: &Path) -> io::Result<()> {
    match fs::symlink_metadata(target) {
        Ok(found) if !found.is_dir() => fs::remove_file(target),
        _ => Ok(()),
    }
}

fn open(place: &Path) -> io::Result<Archive<zstd::Decoder<'static, io::BufReader<File>>>> {
    let mut archive = Archive::new(zstd::Decoder::new(File::open(place)?)?);
    archive.set_preserve_permissions(true);
    archive.set_preserve_mtime(true);
    archive.set_overwrite(true);
    Ok(archive)
}

/// A directory's name without the slash that tar gives it.
fn trim(path: &Path) -> PathBuf {
    path.components().collect()
}

/// A path as text, whatever bytes it has: `%` and bytes that are not UTF-8 become `%xx`.
fn escape(path: &OsStr) -> String {
    let mut text = String::new();
    for chunk in path.as_bytes().utf8_chunks() {
        text.push_str(&chunk.valid().replace('%', "%25"));
        for byte in chunk.invalid() {
            text.push_str(&format!("%{byte:02x}"));
        }
    }
    text
}

/// Undoes [`escape`].
pub(super) fn unescape(text: &str) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let hex = (byte == b'%').then(|| tail.get(..2)).flatten().and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(value) => {
                bytes.push(value);
                rest = &tail[2..];
            }
            None => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    PathBuf::from(OsStr::from_bytes(&bytes))
}

/// Hashes what passes through it.
struct HashingReader<R> {
    inner: R,
    hash: spinney_core::names::Hasher,
}

impl<R: Read> HashingReader<R> {
    fn new(inner: R) -> Self {
        Self { inner, hash: spinney_core::names::Hasher::default() }
    }

    fn finish(self) -> String {
        self.hash.finish()
    }
}

impl<R: Read> Read for HashingReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.hash.update(&buffer[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(directory: &Path) -> (PathBuf, PathBuf) {
        let (admin_dir, tree) = (directory.join("admin-dir"), directory.join("tree-dir"));
        fs::create_dir_all(admin_dir.join("logs")).unwrap();
        fs::write(admin_dir.join("index"), b"index").unwrap();
        fs::create_dir_all(tree.join("deep/empty")).unwrap();
        let odd = tree.join(OsStr::from_bytes(b"odd %41 \xff name"));
        fs::write(&odd, b"odd").unwrap();
        fs::write(tree.join("deep/script"), b"#!/bin/sh\n").unwrap();
        fs::set_permissions(tree.join("deep/script"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(tree.join("x".repeat(200)), vec![7; 300_000]).unwrap();
        std::os::unix::fs::symlink("/nowhere", tree.join("link")).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o644);
        rustix::fs::mknodat(rustix::fs::CWD, tree.join("pipe"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
        (admin_dir, tree)
    }

    fn write_sample(directory: &Path) -> (PathBuf, PathBuf) {
        let (admin_dir, tree) = sample(directory);
        let kept: Vec<PathBuf> = fs::read_dir(&tree).unwrap().map(|entry| entry.unwrap().file_name().into()).collect();
        let place = directory.join("archive");
        let deleted = [PathBuf::from("gone")];
        write(
            &place,
            &Contents { admin_dir: &admin_dir, tree: &tree, kept: &kept, deleted: Some(&deleted), large: &[] },
        )
        .unwrap();
        (place, tree)
    }

    #[test]
    fn everything_comes_back_as_it_was() {
        let directory = tempfile::tempdir().unwrap();
        let (place, tree) = write_sample(directory.path());
        assert_eq!(verify(&place).unwrap().deleted, ["gone"]);
        assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o600);
        let back = directory.path().join("back");
        unpack_tree(&place, &back).unwrap();
        for entry in fs::read_dir(&tree).unwrap() {
            let name = entry.unwrap().file_name();
            let (a, b) =
                (fs::symlink_metadata(tree.join(&name)).unwrap(), fs::symlink_metadata(back.join(&name)).unwrap());
            assert_eq!((a.file_type(), a.mode()), (b.file_type(), b.mode()), "{name:?}");
            if a.is_file() {
                assert_eq!(fs::read(tree.join(&name)).unwrap(), fs::read(back.join(&name)).unwrap());
            }
        }
        assert!(back.join("deep/empty").is_dir());
        assert_eq!(fs::metadata(back.join("deep/script")).unwrap().mode() & 0o777, 0o755);
        assert_eq!(fs::read_link(back.join("link")).unwrap(), Path::new("/nowhere"));
        unpack_admin_dir(&place, &directory.path().join("admin-back")).unwrap();
        assert_eq!(fs::read(directory.path().join("admin-back/index")).unwrap(), b"index");
    }

    #[test]
    fn a_damaged_or_cut_archive_does_not_pass() {
        let directory = tempfile::tempdir().unwrap();
        let (place, _) = write_sample(directory.path());
        let whole = fs::read(&place).unwrap();
        fs::write(&place, &whole[..whole.len() / 2]).unwrap();
        assert!(verify(&place).is_err());
        let mut changed = whole;
        let middle = changed.len() / 2;
        changed[middle] ^= 0xff;
        fs::write(&place, changed).unwrap();
        assert!(verify(&place).is_err());
    }

    #[test]
    fn names_survive_being_text() {
        for name in [&b"plain"[..], b"50% \xff\xfe", b"%41", "größe".as_bytes()] {
            assert_eq!(unescape(&escape(OsStr::from_bytes(name))), Path::new(OsStr::from_bytes(name)));
        }
    }
}
