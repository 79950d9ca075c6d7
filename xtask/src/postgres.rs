//! A throw-away PostgreSQL for the tests: installed if need be, on a Unix socket in a temporary directory, never as root.
//!
//! The server runs under a small shell that waits for the end of its input, which is a pipe that this process holds.
//! However this process ends (done, failed, Ctrl-C, killed), the pipe closes, and the shell stops the server and removes
//! its directory.

use std::env;
use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::packages::{self, is_root, quiet};

/// Debian keeps each version's programs in a directory of its own, off `PATH`.
const DEBIAN_DIRECTORY: &str = "/usr/lib/postgresql";
const NEEDED: [&str; 4] = ["initdb", "postgres", "pg_isready", "psql"];
/// Short, because the path of a Unix socket is limited; and not below the home, which another user can't enter.
const TEMPORARY: &str = "/tmp";
/// Debian's package makes this user.
const SERVER_USER: &str = "postgres";
const START_TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(30);

const SUPERVISOR: &str = r#"
cd "$2"
"$1/initdb" -D "$2/data" -A trust -U postgres -E UTF8 --no-locale --no-sync >"$2/log" 2>&1 || exit 1
"$1/postgres" -D "$2/data" -c listen_addresses= -c unix_socket_directories="$2" -c max_connections=200 \
  -c fsync=off -c synchronous_commit=off -c full_page_writes=off </dev/null >>"$2/log" 2>&1 &
server=$!
read -r _
# A server that is still starting ignores INT, as the shell's background processes do, and ends by TERM; one that runs
# would wait for its clients at TERM and sends them away at INT.
kill -TERM "$server"
kill -INT "$server" 2>/dev/null
wait "$server"
cd /
rm -rf "$2"
"#;

/// Where the server's programs are.
#[derive(Debug)]
pub struct Programs {
    pub directory: PathBuf,
}

impl Programs {
    /// Looks for them, and installs Debian's package where they are missing and that is possible.
    pub fn find_or_install() -> Result<Self> {
        if let Some(found) = Self::find() {
            return Ok(found);
        }
        packages::install("PostgreSQL", &["postgresql"])?;
        Self::find().context("PostgreSQL is installed, but its programs are not to be found")
    }

    pub fn are_there() -> bool {
        Self::find().is_some()
    }

    pub fn find() -> Option<Self> {
        let path = env::var_os("PATH").unwrap_or_default();
        Self::newest_below(Path::new(DEBIAN_DIRECTORY))
            .or_else(|| env::split_paths(&path).find(|directory| is_complete(directory)))
            .map(|directory| Self { directory })
    }

    fn newest_below(directory: &Path) -> Option<PathBuf> {
        let versions = fs::read_dir(directory).ok()?.filter_map(|entry| {
            let version: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let programs = directory.join(version.to_string()).join("bin");
            is_complete(&programs).then_some((version, programs))
        });
        versions.max().map(|(_, programs)| programs)
    }
}

fn is_complete(directory: &Path) -> bool {
    NEEDED.iter().all(|name| directory.join(name).is_file())
}

/// A running server. Dropped, it is stopped and its directory removed.
#[derive(Debug)]
pub struct Cluster {
    directory: PathBuf,
    supervisor: Child,
}

impl Cluster {
    pub fn start(programs: &Programs) -> Result<Self> {
        let mut cluster = Self::spawn(Path::new(TEMPORARY), programs)?;
        cluster.wait_until_ready(programs)?;
        Ok(cluster)
    }

    fn spawn(parent: &Path, programs: &Programs) -> Result<Self> {
        let directory = tempfile::Builder::new()
            .prefix("spinney-pg-")
            .tempdir_in(parent)
            .context("no temporary directory for PostgreSQL")?;
        let mut command = if is_root()? {
            let (user, group) = server_user()?;
            chown(directory.path(), Some(user), Some(group)).context("can't give PostgreSQL its directory")?;
            let mut command = Command::new("runuser");
            command.args(["-u", SERVER_USER, "--", "sh"]);
            command
        } else {
            Command::new("sh")
        };
        // A process group of its own: Ctrl-C on the terminal must not reach it before its input ends.
        command.args(["-c", SUPERVISOR, "sh"]).arg(&programs.directory).arg(directory.path()).process_group(0);
        let supervisor = command.stdin(Stdio::piped()).spawn().context("can't start PostgreSQL")?;
        Ok(Self { directory: directory.keep(), supervisor })
    }

    fn wait_until_ready(&mut self, programs: &Programs) -> Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        let mut ready = Command::new(programs.directory.join("pg_isready"));
        ready.args(["--quiet", "--username=postgres", "--dbname=postgres", "--host"]).arg(&self.directory);
        while !quiet(&mut ready) {
            let ended = self.supervisor.try_wait().context("can't wait for PostgreSQL")?.is_some();
            if ended || Instant::now() > deadline {
                let log = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
                bail!("PostgreSQL did not start\n{}", log.trim_end());
            }
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// The URL of the server's own database.
    pub fn url(&self) -> String {
        format!("postgres://postgres@localhost/postgres?host={}", self.directory.display())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        self.supervisor.wait().ok();
        // The supervisor does this too; if initdb failed, it did not come so far.
        fs::remove_dir_all(&self.directory).ok();
    }
}

/// User and group id of the one who runs the server when we are root.
fn server_user() -> Result<(u32, u32)> {
    let id = |flag: &str| -> Result<u32> {
        let output = Command::new("id").args([flag, SERVER_USER]).output().context("can't start `id`")?;
        let text = String::from_utf8_lossy(&output.stdout);
        text.trim().parse().with_context(|| format!("there is no user `{SERVER_USER}` to run PostgreSQL"))
    };
    Ok((id("-u")?, id("-g")?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    use spinney_testkit::{left_out_without, write_program};

    use super::*;

    /// A directory that the server's user may write too, as `/tmp` is.
    fn public_directory() -> tempfile::TempDir {
        let directory = tempfile::tempdir_in(TEMPORARY).unwrap();
        fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
        directory
    }

    fn wait_until(condition: impl Fn() -> bool) {
        let deadline = Instant::now() + START_TIMEOUT / 2;
        while !condition() {
            assert!(Instant::now() < deadline, "it takes too long");
            thread::sleep(PAUSE);
        }
    }

    /// Does what the kernel does when this process is killed: it closes the pipe.
    fn assert_ends(mut cluster: Cluster) {
        drop(cluster.supervisor.stdin.take());
        wait_until(|| !cluster.directory.exists());
    }

    #[test]
    fn the_newest_complete_version_is_taken() {
        let directory = tempfile::tempdir().unwrap();
        for (version, names) in [("9", &NEEDED[..]), ("15", &NEEDED[..]), ("17", &NEEDED[..2]), ("extra", &NEEDED[..])]
        {
            let programs = directory.path().join(version).join("bin");
            fs::create_dir_all(&programs).unwrap();
            names.iter().for_each(|name| fs::write(programs.join(name), "").unwrap());
        }
        assert_eq!(Programs::newest_below(directory.path()), Some(directory.path().join("15/bin")));
        assert_eq!(Programs::newest_below(&directory.path().join("none")), None);
    }

    #[test]
    fn a_server_starts_answers_and_leaves_nothing_behind() {
        let programs = Programs::find().unwrap_or_else(|| left_out_without("PostgreSQL"));
        let cluster = Cluster::start(&programs).unwrap();
        let (directory, url) = (cluster.directory.clone(), cluster.url());
        let psql =
            || Command::new(programs.directory.join("psql")).args(["-Atc", "select 6 * 7", &url]).output().unwrap();
        assert_eq!(psql().stdout, b"42\n");
        assert_ne!(directory.join("data").metadata().unwrap().uid(), 0, "the server does not run as root");
        drop(cluster);
        assert!(!directory.exists() && !psql().status.success());
    }

    #[test]
    fn a_server_ends_with_the_one_who_started_it() {
        let programs = Programs::find().unwrap_or_else(|| left_out_without("PostgreSQL"));
        assert_ends(Cluster::start(&programs).unwrap());
    }

    #[test]
    fn a_server_that_is_still_starting_ends_too() {
        let parent = public_directory();
        let programs = Programs { directory: parent.path().join("bin") };
        fs::create_dir(&programs.directory).unwrap();
        // Like the real one before it has set up its signals.
        for (name, script) in [("initdb", "exit 0"), ("postgres", ": > \"$2.started\"; exec sleep 100")] {
            let program = programs.directory.join(name);
            write_program(&program, format!("#!/bin/sh\n{script}\n"));
        }
        let cluster = Cluster::spawn(parent.path(), &programs).unwrap();
        wait_until(|| cluster.directory.join("data.started").exists());
        assert_ends(cluster);
    }

    #[test]
    fn a_server_that_can_not_start_says_why_and_leaves_nothing_behind() {
        let parent = public_directory();
        let missing = Programs { directory: parent.path().join("none") };
        let mut cluster = Cluster::spawn(parent.path(), &missing).unwrap();
        let message = cluster.wait_until_ready(&missing).unwrap_err().to_string();
        drop(cluster);
        assert!(message.contains("PostgreSQL did not start") && message.contains("initdb"), "{message}");
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }
}
