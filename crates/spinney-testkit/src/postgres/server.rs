//! A PostgreSQL of one test's own, to be stopped and started under what uses it.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::programs::needs::left_out_without;
use crate::programs::process::{Ran, start};

/// Debian keeps each version's programs in a directory of its own, off `PATH`.
const DEBIAN_DIRECTORY: &str = "/usr/lib/postgresql";
/// Short, because the path of a Unix socket is limited; and not below the home, which another user can't enter.
const TEMPORARY: &str = "/tmp";
/// Debian's package makes this user; the server refuses to be root's.
const USER: &str = "postgres";

/// A server on a Unix socket in a directory of its own. Dropped, it is ended.
#[derive(Debug)]
pub struct PostgresServer {
    directory: TempDir,
    programs: PathBuf,
    is_root: bool,
}

impl PostgresServer {
    /// Makes and starts one; panics where PostgreSQL is not installed.
    #[must_use]
    #[track_caller]
    pub fn start() -> Self {
        let directory = tempfile::Builder::new().prefix("spinney-pg-").tempdir_in(TEMPORARY).expect("a directory");
        let is_root = number(&["-u"]) == 0;
        if is_root {
            chown(directory.path(), Some(number(&["-u", USER])), Some(number(&["-g", USER]))).expect("root may");
        }
        let server = Self { directory, programs: programs(), is_root };
        let data = server.data();
        server.run("initdb", &["-D", &data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-locale", "--no-sync"]);
        server.start_again();
        server
    }

    /// The URL of its only database.
    #[must_use]
    pub fn url(&self) -> String {
        format!("postgres://postgres@localhost/postgres?host={}", self.directory.path().display())
    }

    /// Stops it: whoever is connected is sent away.
    #[track_caller]
    pub fn stop(&self) {
        self.control(&["stop", "-m", "fast"]);
    }

    /// Ends it without a word, as a power cut does.
    #[track_caller]
    pub fn crash(&self) {
        self.control(&["stop", "-m", "immediate"]);
    }

    /// Starts it after it was stopped.
    #[track_caller]
    pub fn start_again(&self) {
        let place = self.directory.path().display();
        let settings = format!("-c listen_addresses='' -c unix_socket_directories={place} -c fsync=off");
        let log = format!("{place}/log");
        self.control(&["start", "-l", &log, "-o", &settings]);
    }

    #[track_caller]
    fn control(&self, arguments: &[&str]) {
        self.run("pg_ctl", &[&["-D", &self.data(), "-w", "-s"], arguments].concat());
    }

    fn data(&self) -> String {
        self.directory.path().join("data").display().to_string()
    }

    #[track_caller]
    fn run(&self, program: &str, arguments: &[&str]) -> Ran {
        self.try_run(program, arguments).ok()
    }

    fn try_run(&self, program: &str, arguments: &[&str]) -> Ran {
        let program = self.programs.join(program);
        let mut command = match self.is_root {
            true => {
                let mut command = Command::new("runuser");
                command.args(["-u", USER, "--"]).arg(program);
                command
            }
            false => Command::new(program),
        };
        start(command.args(arguments).current_dir("/")).wait()
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        // It may be stopped already.
        self.try_run("pg_ctl", &["-D", &self.data(), "-w", "-s", "-m", "immediate", "stop"]);
    }
}

#[track_caller]
fn number(arguments: &[&str]) -> u32 {
    let ran = start(Command::new("id").args(arguments)).wait().ok();
    ran.stdout.trim().parse().expect("`id` prints a number")
}

/// The newest version's programs, else those on `PATH`.
#[track_caller]
fn programs() -> PathBuf {
    let versions = fs::read_dir(DEBIAN_DIRECTORY).into_iter().flatten().flatten();
    let programs = versions.map(|version| version.path().join("bin")).filter(|place| place.join("pg_ctl").is_file());
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).find(|place| place.join("pg_ctl").is_file());
    let found = programs.max_by_key(|place| version(place)).or(on_path);
    found.unwrap_or_else(|| left_out_without("PostgreSQL"))
}

fn version(programs: &Path) -> u32 {
    let name = programs.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    name.and_then(|name| name.parse().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_and_comes_back_with_what_it_had() {
        let server = PostgresServer::start();
        let psql = |sql: &str| start(Command::new("psql").args(["-At", "-c", sql, &server.url()])).wait();
        psql("create table t as select 4711 as n").ok();
        server.stop();
        assert_ne!(psql("select n from t").status, 0);
        server.start_again();
        assert_eq!(psql("select n from t").ok().stdout.trim(), "4711");
        server.crash();
        server.start_again();
        assert_eq!(psql("select n from t").ok().stdout.trim(), "4711");
    }
}
