//! A repository with a warm pool.
//!
//! Only commands about the pool are told its size: nothing else then fills it behind a test's back.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use spinney_testkit::{Cli, Ran};

use crate::support::common::{Story, Workspace, make};

pub const SIZE: &str = "SPINNEY_POOL__SIZE";
pub const LONG: Duration = Duration::from_secs(120);

const DATABASE: [&str; 3] = ["spinney.db", "spinney.db-wal", "spinney.db-shm"];

pub struct Pool {
    pub story: Story,
    /// Told the size of the pool.
    pub cli: Cli,
}

/// A warm workspace as `pool status` tells it.
#[derive(Debug, Clone)]
pub struct Member {
    pub name: String,
    pub state: String,
    pub path: PathBuf,
    pub error: Option<String>,
}

impl Pool {
    pub fn new(size: usize) -> Self {
        Self::of(Story::new(), size)
    }

    pub fn of(story: Story, size: usize) -> Self {
        let cli = story.cli.with_variable(SIZE, size.to_string());
        Self { story, cli }
    }

    /// Sets the person's `[workspace]` settings.
    pub fn configure(&self, settings: &str) {
        self.story.sandbox().write_config(&format!("[workspace]\n{settings}\n"));
    }

    /// Sets one set-up line.
    pub fn set_up_with(&self, line: &str) {
        self.configure(&format!("setup = [{}]", serde_json::to_string(line).unwrap()));
    }

    /// `pool fill`, which must succeed.
    #[track_caller]
    pub fn fill(&self) -> Value {
        self.cli.run(&["pool", "fill", "--json"]).ok().json()
    }

    /// `pool fill`, which must fail.
    #[track_caller]
    pub fn fill_in_vain(&self) -> Ran {
        self.cli.run(&["pool", "fill"]).exits(1)
    }

    #[track_caller]
    pub fn drain(&self) -> Value {
        self.cli.run(&["pool", "drain", "--json"]).ok().json()
    }

    #[track_caller]
    pub fn status(&self) -> Value {
        self.cli.run(&["pool", "status", "--json"]).ok().json()["pools"][0].take()
    }

    #[track_caller]
    pub fn members(&self) -> Vec<Member> {
        let text = |row: &Value, key: &str| row[key].as_str().map(str::to_owned);
        let status = self.status();
        let rows = status["members"].as_array().unwrap();
        rows.iter()
            .map(|row| Member {
                name: text(row, "name").unwrap(),
                state: text(row, "state").unwrap(),
                path: text(row, "path").unwrap().into(),
                error: text(row, "error"),
            })
            .collect()
    }

    /// The only member.
    #[track_caller]
    pub fn member(&self) -> Member {
        let members = self.members();
        assert_eq!(members.len(), 1, "{members:?}");
        members[0].clone()
    }

    #[track_caller]
    pub fn states(&self) -> Vec<String> {
        self.members().into_iter().map(|member| member.state).collect()
    }

    /// `new`, which must be given a warm one.
    #[track_caller]
    pub fn claim(&self, arguments: &[&str]) -> Workspace {
        let workspace = self.story.make(arguments);
        assert_eq!(workspace.0["warm"], true, "{arguments:?}: {}", workspace.0);
        workspace
    }

    /// `new`, which must be made anew.
    #[track_caller]
    pub fn make_cold(&self, arguments: &[&str]) -> Workspace {
        let workspace = self.story.make(arguments);
        assert_eq!(workspace.0["warm"], false, "{arguments:?}: {}", workspace.0);
        workspace
    }

    /// `new` by somebody who has a pool: it is filled in the background afterwards.
    #[track_caller]
    pub fn make_and_refill(&self, arguments: &[&str]) -> Workspace {
        make(&self.cli, arguments)
    }

    /// Somebody else changes a file of base, and Spinney learns of it; gives the commit.
    #[track_caller]
    pub fn move_base(&self, file: &str) -> String {
        let commit = self.story.remote().advance(file);
        self.story.cli.run(&["repo", "sync"]).ok();
        commit
    }

    #[track_caller]
    pub fn git(&self, tree: &Path, arguments: &[&str]) -> String {
        self.story.sandbox().git(tree, arguments)
    }

    /// A file that set-up lines can write to.
    pub fn log(&self) -> PathBuf {
        self.story.sandbox().path().join("log")
    }

    pub fn logged(&self) -> usize {
        fs::read_to_string(self.log()).unwrap_or_default().lines().count()
    }

    /// Keeps a copy of the database, to be brought back later.
    pub fn copy_database(&self) -> PathBuf {
        let place = self.story.sandbox().path().join("old-database");
        fs::create_dir_all(&place).unwrap();
        for name in DATABASE {
            let _ = fs::copy(self.story.sandbox().spinney_home().join(name), place.join(name));
        }
        place
    }

    pub fn lose_database(&self) {
        for name in DATABASE {
            let _ = fs::remove_file(self.story.sandbox().spinney_home().join(name));
        }
    }

    pub fn bring_old_database(&self, place: &Path) {
        self.lose_database();
        for name in DATABASE {
            let _ = fs::copy(place.join(name), self.story.sandbox().spinney_home().join(name));
        }
    }

    /// The processes of this test's own that fill the pool in the background.
    pub fn fillers(&self) -> Vec<u32> {
        let home = self.story.sandbox().spinney_home();
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str().and_then(|name| name.parse().ok()));
        ids.filter(|id: &u32| {
            let line = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).into_owned();
            line.contains(home.to_str().unwrap()) && line.contains("--background")
        })
        .collect()
    }

    /// Waits until nobody fills any more.
    #[track_caller]
    pub fn wait_for_fillers(&self) {
        spinney_testkit::wait_until(|| self.fillers().is_empty(), LONG);
    }
}

#[track_caller]
pub fn read(tree: &Path, file: &str) -> Option<String> {
    fs::read_to_string(tree.join(file)).ok()
}

/// What changes when a file is written anew.
#[track_caller]
pub fn stamp(path: &Path) -> (u64, i64, i64) {
    let found = fs::metadata(path).unwrap();
    (found.ino(), found.mtime(), found.mtime_nsec())
}
