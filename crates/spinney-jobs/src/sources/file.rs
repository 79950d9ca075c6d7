//! A directory of Markdown files, each a task: `fix-login.md`. The first heading is the title.
//!
//! A file moves by renames, which one of many wins: into `in-progress/` with its job's id before its name, from there into
//! `done/`, or back. No name leads out of the directory: files are reached from it, link by link never followed.

use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;
use spinney_core::config::FileSource as Config;
use spinney_core::{Job, JobId, Work};
use spinney_engine::{Context, Engine};

use super::{Doing, Item, SourceFault, Ticket, WorkSource};
use crate::told::GivenBack;
use crate::{Error, Result};

const IN_PROGRESS: &str = "in-progress";
const DONE: &str = "done";
const EXTENSION: &str = ".md";
/// More than a task that a person wrote; less than a prompt may be.
const MAX_BYTES: u64 = 512 << 10;

#[derive(Debug)]
pub struct FileSource {
    name: String,
    path: PathBuf,
}

impl FileSource {
    /// Looks at a directory. One in the main checkout must be ignored by git: nothing else is changed there.
    pub async fn open(engine: &Engine, context: &Context, config: &Config) -> Result<Self> {
        let root = context.place();
        let path = root.join(&config.path);
        let path = path.canonicalize().map_err(|source| Error::files(&path, "found", source))?;
        if let Some(root) = context.root()
            && path.starts_with(root)
            && !context.is_ignored(&path.join("x.md")).await?
        {
            return Err(Error::Source(SourceFault::NotIgnored { path }));
        }
        Ok(Self::at(&path, engine.home().node().as_str()))
    }

    fn at(path: &Path, node: &str) -> Self {
        Self { name: format!("file {node} {}", path.display()), path: path.to_owned() }
    }

    fn directory(&self) -> Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(&self.path, flags, Mode::empty()).map_err(|error| self.fault("opened", error))
    }

    /// A directory in it, made where it is missing.
    fn below(&self, directory: &OwnedFd, name: &str) -> Result<OwnedFd> {
        match rustix::fs::mkdirat(directory, name, Mode::RWXU | Mode::RGRP | Mode::XGRP) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(self.fault("made", error)),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        rustix::fs::openat(directory, name, flags, Mode::empty()).map_err(|error| self.fault("opened", error))
    }

    fn fault(&self, doing: &'static str, error: Errno) -> Error {
        Error::files(&self.path, doing, error.into())
    }

    fn ready(&self) -> Result<Vec<Item>> {
        let directory = self.directory()?;
        let entries = Dir::read_from(&directory).map_err(|error| self.fault("read", error))?;
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|error| self.fault("read", error))?;
            if let Ok(name) = entry.file_name().to_str()
                && is_task(name)
                && self.is_file(&directory, name)
            {
                names.push(name.to_owned());
            }
        }
        names.sort();
        // One that can't be read is nothing to work on.
        Ok(names.iter().filter_map(|name| Some(item(name, &read(&directory, name)?))).collect())
    }

    fn is_file(&self, directory: &OwnedFd, name: &str) -> bool {
        let found = rustix::fs::statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
        found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile)
    }

    fn take(&self, item: &Item, ticket: &Ticket) -> Result<bool> {
        let name = task(&item.key)?;
        let directory = self.directory()?;
        let in_progress = self.below(&directory, IN_PROGRESS)?;
        if !self.is_file(&directory, name) {
            return Ok(false);
        }
        let held = held(&ticket.job, name);
        match rustix::fs::renameat_with(&directory, name, &in_progress, &held, RenameFlags::NOREPLACE) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(self.fault("moved in", error)),
        }
    }

    /// Moves a file out of `in-progress/`, under its own name where that is free. One that is not there was moved before.
    fn put(&self, item: &str, ticket: &Ticket, into: Option<&str>) -> Result<()> {
        let name = task(item)?;
        let directory = self.directory()?;
        let in_progress = self.below(&directory, IN_PROGRESS)?;
        let into = into.map(|into| self.below(&directory, into)).transpose()?;
        let into = into.as_ref().unwrap_or(&directory);
        let held = held(&ticket.job, name);
        for name in [name, &held] {
            match rustix::fs::renameat_with(&in_progress, &held, into, name, RenameFlags::NOREPLACE) {
                Ok(()) | Err(Errno::NOENT) => return Ok(()),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(self.fault("moved in", error)),
            }
        }
        Err(self.fault("moved in", Errno::EXIST))
    }
}

impl WorkSource for FileSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn load_ready(&self) -> Doing<'_, Vec<Item>> {
        Box::pin(async move { self.ready() })
    }

    fn claim<'a>(&'a self, item: &'a Item, ticket: &'a Ticket) -> Doing<'a, bool> {
        Box::pin(async move { self.take(item, ticket) })
    }

    fn release<'a>(&'a self, item: &'a str, ticket: &'a Ticket, _why: GivenBack) -> Doing<'a, ()> {
        Box::pin(async move { self.put(item, ticket, None) })
    }

    fn finish<'a>(&'a self, item: &'a str, ticket: &'a Ticket, _job: &'a Job) -> Doing<'a, ()> {
        Box::pin(async move { self.put(item, ticket, Some(DONE)) })
    }
}

/// Whether a file of this name is a task: hidden ones are not.
fn is_task(name: &str) -> bool {
    name.ends_with(EXTENSION) && !name.starts_with('.') && !name.contains(|c: char| c == '/' || c.is_control())
}

/// A name that stays in its directory.
fn task(name: &str) -> Result<&str> {
    if is_task(name) { Ok(name) } else { Err(Error::Source(SourceFault::NoTask { name: name.to_owned() })) }
}

fn held(job: &JobId, name: &str) -> String {
    format!("{job}.{name}")
}

fn read(directory: &OwnedFd, name: &str) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(directory, name, flags, Mode::empty()).ok()?);
    let mut text = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// The first heading is the title; without one, the file's name.
fn item(name: &str, text: &str) -> Item {
    let is_heading = |line: &&str| line.starts_with('#') && line.trim_start_matches('#').starts_with(' ');
    let heading = text.lines().find(is_heading);
    let title = heading.map_or("", |line| line.trim_start_matches('#').trim());
    let title = if title.is_empty() { name.trim_end_matches(EXTENSION) } else { title };
    let mut dropped = false;
    let is_rest = |line: &&str| dropped || Some(*line) != heading || std::mem::replace(&mut dropped, true);
    let rest: Vec<_> = text.lines().filter(is_rest).collect();
    Item {
        key: name.to_owned(),
        title: title.to_owned(),
        text: rest.join("\n").trim().to_owned(),
        work: Work::task(title).ok(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn ticket() -> Ticket {
        Ticket {
            job: JobId::generate(),
            agent: "coder".parse().unwrap(),
            schedule: "tasks".parse().unwrap(),
            link: None,
        }
    }

    fn source(files: &[(&str, &str)]) -> (tempfile::TempDir, FileSource) {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            fs::write(directory.path().join(name), text).unwrap();
        }
        let source = FileSource::at(directory.path(), "node");
        (directory, source)
    }

    /// The files below, by path.
    fn files(directory: &Path) -> Vec<String> {
        let mut found = Vec::new();
        for below in ["", IN_PROGRESS, DONE] {
            for entry in fs::read_dir(directory.join(below)).into_iter().flatten().flatten() {
                if !entry.file_type().unwrap().is_dir() {
                    found.push(Path::new(below).join(entry.file_name()).display().to_string());
                }
            }
        }
        found.sort();
        found
    }

    #[test]
    fn the_first_heading_is_the_title() {
        for (text, title, rest) in [
            ("# Fix it\n\nPlease.\n", "Fix it", "Please."),
            ("intro\n## Fix it\n# Other\n", "Fix it", "intro\n# Other"),
            ("#hash is no heading", "a", "#hash is no heading"),
            ("", "a", ""),
            ("# \n", "a", ""),
        ] {
            let item = item("a.md", text);
            assert_eq!((item.title.as_str(), item.text.as_str()), (title, rest), "{text}");
        }
        assert_eq!(item("a.md", "# Fix it\n\nPlease.\n").prompt(), "Fix it\n\nPlease.");
        assert_eq!(item("a.md", "# Fix it").work, Some(Work::task("Fix it").unwrap()));
    }

    #[test]
    fn tasks_are_files_of_the_directory_itself() {
        let (directory, source) = source(&[("b.md", "# B"), ("a.md", "# A"), ("c.txt", "# C"), (".d.md", "# D")]);
        let outside = directory.path().with_extension("secret.md");
        fs::write(&outside, "# Secret").unwrap();
        symlink(&outside, directory.path().join("link.md")).unwrap();
        fs::create_dir(directory.path().join("dir.md")).unwrap();
        let titles: Vec<_> = source.ready().unwrap().into_iter().map(|item| item.title).collect();
        fs::remove_file(outside).unwrap();
        assert_eq!(titles, ["A", "B"]);
    }

    #[test]
    fn a_task_moves_and_one_of_many_gets_it() {
        let (directory, source) = source(&[("a.md", "# A")]);
        let item = source.ready().unwrap().remove(0);
        let tickets: Vec<_> = (0..8).map(|_| ticket()).collect();
        let won: Vec<_> = std::thread::scope(|scope| {
            let take = |ticket| {
                scope.spawn({
                    let (source, item) = (&source, &item);
                    move || source.take(item, ticket).unwrap()
                })
            };
            let taking: Vec<_> = tickets.iter().map(take).collect();
            taking.into_iter().map(|taking| taking.join().unwrap()).collect()
        });
        assert_eq!(won.iter().filter(|won| **won).count(), 1);
        let winner = &tickets[won.iter().position(|won| *won).unwrap()];
        let loser = &tickets[won.iter().position(|won| !*won).unwrap()];
        assert_eq!(files(directory.path()), [format!("in-progress/{}.a.md", winner.job)]);
        assert!(source.ready().unwrap().is_empty());

        source.put("a.md", loser, None).unwrap();
        assert_eq!(files(directory.path()).len(), 1, "who does not have it gives nothing back");
        assert!(files(directory.path())[0].starts_with("in-progress/"));
        source.put("a.md", winner, None).unwrap();
        source.put("a.md", winner, None).unwrap();
        assert_eq!(files(directory.path()), ["a.md"]);

        let ticket = ticket();
        assert!(source.take(&item, &ticket).unwrap());
        fs::write(directory.path().join("a.md"), "# Another").unwrap();
        source.put("a.md", &ticket, Some(DONE)).unwrap();
        assert_eq!(files(directory.path()), ["a.md", "done/a.md"]);
    }

    #[test]
    fn nothing_is_overwritten() {
        let (directory, source) = source(&[("a.md", "# A")]);
        let (ticket, item) = (ticket(), source.ready().unwrap().remove(0));
        assert!(source.take(&item, &ticket).unwrap());
        fs::write(directory.path().join("a.md"), "# Another").unwrap();
        source.put("a.md", &ticket, None).unwrap();
        let mut expected = [format!("{}.a.md", ticket.job), "a.md".to_owned()];
        expected.sort();
        assert_eq!(files(directory.path()), expected);
        assert_eq!(fs::read_to_string(directory.path().join("a.md")).unwrap(), "# Another");
    }

    #[test]
    fn no_name_leads_out() {
        let (directory, source) = source(&[("a.md", "# A")]);
        let ticket = ticket();
        for name in ["../a.md", "/etc/x.md", "in-progress/a.md", "..", "", "a.txt", "a\n.md", ".a.md"] {
            let item = Item { key: name.to_owned(), title: String::new(), text: String::new(), work: None };
            assert!(source.take(&item, &ticket).is_err(), "{name}");
            assert!(source.put(name, &ticket, None).is_err(), "{name}");
        }
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), directory.path().join(IN_PROGRESS)).unwrap();
        let item = source.ready().unwrap().remove(0);
        assert!(source.take(&item, &ticket).is_err(), "a link instead of a directory is not followed");
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }
}
