//! A repository to measure on, with a remote, a home and a git configuration of its own.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Files of the generated trees.
pub const LARGE: usize = 30_000;
pub const SMALL: usize = 10;
const FILES_PER_DIRECTORY: usize = 50;
/// How many workspaces are made at once while setting up.
const AT_ONCE: usize = 8;

pub struct Bench {
    spinney: PathBuf,
    root: tempfile::TempDir,
}

impl Bench {
    /// A generated repository with this many files.
    pub fn generated(spinney: &Path, files: usize) -> Result<Self> {
        let bench = Self::empty(spinney)?;
        let remote = bench.root.path().join("remote.git");
        bench.run(Command::new("git").args(["init", "--quiet", "--bare", "--initial-branch=main"]).arg(&remote))?;
        bench.import(&remote, files)?;
        bench.clone_from(&remote)?;
        Ok(bench)
    }

    /// A clone of somebody's repository, which is only read.
    pub fn of(spinney: &Path, repository: &Path) -> Result<Self> {
        let bench = Self::empty(spinney)?;
        bench.clone_from(repository)?;
        Ok(bench)
    }

    fn empty(spinney: &Path) -> Result<Self> {
        let bench = Self { spinney: spinney.to_owned(), root: tempfile::tempdir()? };
        let home = bench.root.path().join("home");
        fs::create_dir(&home)?;
        fs::write(home.join(".gitconfig"), "[user]\n\tname = Bench\n\temail = bench@localhost\n")?;
        Ok(bench)
    }

    fn clone_from(&self, remote: &Path) -> Result<()> {
        self.run(Command::new("git").args(["clone", "--quiet", "--shared"]).arg(remote).arg(self.checkout()))
    }

    /// Writes the files as one commit, through git's own importer.
    fn import(&self, remote: &Path, files: usize) -> Result<()> {
        let mut command = Command::new("git");
        self.command(command.arg("-C").arg(remote).args(["fast-import", "--quiet"]));
        let mut child = command.stdin(Stdio::piped()).spawn().context("can't start git fast-import")?;
        let mut stream = String::from("commit refs/heads/main\ncommitter Bench <bench@localhost> 1700000000 +0000\n");
        stream.push_str("data 5\nstart\n");
        for number in 0..files {
            let path = format!("src/part{:03}/file{number:05}.rs", number / FILES_PER_DIRECTORY);
            let mut text = String::new();
            for line in 0..20 + number % 60 {
                let _ = writeln!(text, "pub fn item_{number}_{line}() -> u64 {{ {} }}", number * 31 + line * 7);
            }
            let _ = write!(stream, "M 100644 inline {path}\ndata {}\n{text}\n", text.len());
        }
        child.stdin.take().context("git fast-import has no input")?.write_all(stream.as_bytes())?;
        if !child.wait()?.success() {
            bail!("git fast-import failed");
        }
        Ok(())
    }

    fn checkout(&self) -> PathBuf {
        self.root.path().join("app")
    }

    /// A path beside the checkout.
    pub fn place(&self, name: &str) -> String {
        self.root.path().join(name).display().to_string()
    }

    pub fn git(&self, arguments: &[&str]) -> Result<()> {
        self.run(Command::new("git").current_dir(self.checkout()).args(arguments))
    }

    pub fn spinney(&self, arguments: &[&str]) -> Result<()> {
        self.run(Command::new(&self.spinney).current_dir(self.checkout()).args(arguments))
    }

    /// Makes workspaces for issues of these numbers (from one on), several processes at a time.
    pub fn make_workspaces(&self, numbers: Range<usize>) -> Result<()> {
        for chunk in numbers.collect::<Vec<_>>().chunks(AT_ONCE) {
            let mut running = Vec::new();
            for number in chunk {
                let issue = (number + 1).to_string();
                let mut command = Command::new(&self.spinney);
                command.current_dir(self.checkout()).args(["new", "--issue", &issue]);
                running.push(self.command(&mut command).spawn()?);
            }
            for mut child in running {
                if !child.wait()?.success() {
                    bail!("a workspace could not be made");
                }
            }
        }
        Ok(())
    }

    pub fn files(&self) -> Result<usize> {
        let output = Command::new("git").current_dir(self.checkout()).args(["ls-files", "-z"]).output()?;
        Ok(output.stdout.iter().filter(|byte| **byte == 0).count())
    }

    pub fn git_version(&self) -> Result<String> {
        Ok(String::from_utf8(Command::new("git").arg("version").output()?.stdout)?.trim().to_owned())
    }

    /// The file system that is measured on.
    pub fn file_system(&self) -> Result<String> {
        let output = Command::new("stat").args(["--file-system", "--format=%T"]).arg(self.root.path()).output()?;
        Ok(String::from_utf8(output.stdout)?.trim().to_owned())
    }

    pub fn cores(&self) -> String {
        std::thread::available_parallelism().map_or("? cores".to_owned(), |cores| format!("{cores} cores"))
    }

    fn run(&self, command: &mut Command) -> Result<()> {
        let output = self.command(command).stdout(Stdio::null()).stderr(Stdio::piped()).output()?;
        if !output.status.success() {
            bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }

    /// Gives a command the environment of the bench and nothing else.
    fn command<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let home = self.root.path().join("home");
        command.env_clear().env("PATH", path).env("HOME", home).env("SPINNEY_HOME", self.root.path().join("spinney"));
        command.env("SPINNEY_LIMITS__MAX_WORKSPACES", "2000").env("GIT_CONFIG_NOSYSTEM", "1");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null())
    }
}
