//! A clone of the tree with a Spinney home of its own, in which things are measured.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::measure::time;
use super::tree::Tree;

/// git at its best: some disks are so slow at creating files that its single process is a poor match.
pub const GITS: [(&str, &[&str]); 2] =
    [("`git worktree add`", &[]), ("`git worktree add`, 2 workers", &["-c", "checkout.workers=2"])];
/// How long a background process may go on.
const PATIENCE: Duration = Duration::from_secs(1200);

/// Removed with all that is in it when dropped.
#[derive(Debug)]
pub struct Site {
    directory: tempfile::TempDir,
    spinney: PathBuf,
    variables: Vec<(String, String)>,
}

/// What `spinney new --json` said.
#[derive(Debug)]
pub struct New {
    pub name: String,
    pub path: PathBuf,
    pub warm: bool,
    pub populate: String,
}

impl Site {
    /// A fresh clone within a directory.
    pub fn new(spinney: &Path, tree: &Tree, within: &Path) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("site-").tempdir_in(within)?;
        make_home(directory.path())?;
        let site = Self { directory, spinney: spinney.to_owned(), variables: Vec::new() };
        let mut clone = Command::new("git");
        output(site.clean(clone.args(["clone", "--quiet", "--shared"]).arg(&tree.remote).arg(site.checkout())))?;
        Ok(site)
    }

    /// Configures Spinney through its environment.
    pub fn set(&mut self, variable: &str, value: &str) {
        self.variables.retain(|(name, _)| name != variable);
        self.variables.push((variable.to_owned(), value.to_owned()));
    }

    /// Configures Spinney, unless this one doesn't know the key yet.
    pub fn set_if_known(&mut self, variable: &str, value: &str) {
        self.set(variable, value);
        if self.spinney(&["config", "show"]).is_err() {
            self.variables.pop();
        }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn checkout(&self) -> PathBuf {
        self.path().join("app")
    }

    pub fn home(&self) -> PathBuf {
        self.path().join("spinney")
    }

    /// A program in the environment of the site, started in the main checkout.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        self.clean(command.current_dir(self.checkout()));
        command.env("SPINNEY_HOME", self.home()).env("SPINNEY_LIMITS__MAX_WORKSPACES", "3000");
        command.env("SPINNEY_LIMITS__MIN_FREE_DISK", "1MiB");
        // Neither does `git worktree add` fetch; a pool's refill keeps what is known of the remote young.
        command.env("SPINNEY_WORKSPACE__FETCH", "never");
        command.envs(self.variables.iter().map(|(key, value)| (key, value)));
        command
    }

    fn clean<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        clean(command, self.path())
    }

    pub fn git(&self, arguments: &[&str]) -> Result<Output> {
        output(self.command("git").args(arguments))
    }

    pub fn spinney(&self, arguments: &[&str]) -> Result<Output> {
        output(self.command(&self.spinney).args(arguments))
    }

    pub fn spinney_program(&self) -> &Path {
        &self.spinney
    }

    pub fn json(&self, arguments: &[&str]) -> Result<Value> {
        let output = self.spinney(arguments)?;
        serde_json::from_slice(&output.stdout)
            .with_context(|| format!("`spinney {}` gave no JSON", arguments.join(" ")))
    }

    /// A workspace for a task, and how long the whole process took.
    pub fn new_workspace(&self, task: &str) -> Result<(f64, New)> {
        let (took, said) = time(|| self.json(&["new", "--task", task, "--json"]))?;
        let text = |key: &str| said[key].as_str().unwrap_or_default().to_owned();
        let warm = said["warm"].as_bool().unwrap_or(false);
        Ok((took, New { name: text("name"), path: text("path").into(), warm, populate: text("populate") }))
    }

    /// Fills the pool and sees that it is full.
    pub fn fill(&self) -> Result<()> {
        self.spinney(&["pool", "fill"])?;
        let said = self.json(&["pool", "status", "--json"])?;
        let pool = &said["pools"][0];
        let (size, ready) = (pool["size"].as_u64(), pool["ready"].as_u64());
        if size.is_none() || ready < size {
            bail!("`pool fill` did not fill the pool: {said}");
        }
        Ok(())
    }

    /// A worktree by git itself, and how long it took.
    pub fn git_add(&self, options: &[&str], name: &str) -> Result<(f64, PathBuf)> {
        let path = self.path().join(name);
        let mut command = self.command("git");
        command
            .args(options)
            .args(["worktree", "add", "--quiet", "--no-track", "-b", name])
            .arg(&path)
            .arg("origin/HEAD");
        let (took, _) = time(|| output(&mut command))?;
        Ok((took, path))
    }

    pub fn git_remove(&self, path: &Path) -> Result<()> {
        output(self.command("git").args(["worktree", "remove", "--force"]).arg(path)).map(drop)
    }

    /// `git status` in a worktree, and how long it took.
    pub fn git_status(&self, path: &Path) -> Result<f64> {
        let mut command = self.command("git");
        command.current_dir(path).arg("status");
        Ok(time(|| output(&mut command))?.0)
    }

    /// Removes all workspaces for good, unmeasured.
    pub fn clear(&self) -> Result<()> {
        let said = self.json(&["ls", "--json"])?;
        let listed = said["workspaces"].as_array().map(Vec::as_slice).unwrap_or_default();
        let names: Vec<&str> = listed.iter().filter_map(|workspace| workspace["name"].as_str()).collect();
        if !names.is_empty() {
            self.spinney(&[&["rm", "--force"], names.as_slice()].concat())?;
            self.spinney(&["trash", "purge", "--all"])?;
        }
        Ok(())
    }

    /// Waits until nothing of the site runs any more and all it wrote is on the disk, so that the next run pays only for
    /// itself.
    pub fn settle(&self) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while let Some(process) = self.running() {
            if Instant::now() > deadline {
                bail!("a background process goes on and on: {process}");
            }
            thread::sleep(Duration::from_millis(10));
        }
        output(self.command("sync").arg("--file-system").arg(self.path())).map(drop)
    }

    /// A process whose environment or command line names the site: a refill, a purge, a peer's helper.
    fn running(&self) -> Option<String> {
        let needle = self.path().as_os_str().as_bytes();
        let names_site = |path: PathBuf| fs::read(path).is_ok_and(|text| contains(&text, needle));
        fs::read_dir("/proc").ok()?.flatten().map(|entry| entry.path()).find_map(|process| {
            if !names_site(process.join("environ")) && !names_site(process.join("cmdline")) {
                return None;
            }
            let line = fs::read(process.join("cmdline")).unwrap_or_default();
            Some(String::from_utf8_lossy(&line).replace('\0', " "))
        })
    }
}

/// A home for git, and for whatever else keeps something there.
pub fn make_home(root: &Path) -> Result<()> {
    let home = root.join("home");
    fs::create_dir(&home)?;
    let config = "[user]\n\tname = Bench\n\temail = bench@localhost\n[safe]\n\tdirectory = *\n[gc]\n\tauto = 0\n";
    Ok(fs::write(home.join(".gitconfig"), config)?)
}

/// Gives a command the environment of the bench and nothing else.
pub fn clean<'a>(command: &'a mut Command, root: &Path) -> &'a mut Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    command.env_clear().env("PATH", path).env("HOME", root.join("home")).env("GIT_CONFIG_NOSYSTEM", "1");
    command.stdin(Stdio::null())
}

/// Runs a command to its end; a failure says what it complained of.
pub fn output(command: &mut Command) -> Result<Output> {
    let output = command.output().with_context(|| format!("can't start {:?}", command.get_program()))?;
    if !output.status.success() {
        let words: Vec<_> = std::iter::once(command.get_program()).chain(command.get_args()).map(short).collect();
        bail!("`{}`: {}", words.join(" "), complaint(&String::from_utf8_lossy(&output.stderr)));
    }
    Ok(output)
}

/// A word of a command line, without the temporary directories of a path.
fn short(word: &OsStr) -> String {
    let path = Path::new(word);
    let word = if path.is_absolute() { path.file_name().unwrap_or(word) } else { word };
    word.to_string_lossy().into_owned()
}

/// The line of an error output that says what is wrong.
fn complaint(stderr: &str) -> String {
    let mut lines = stderr.lines().filter(|line| !line.trim().is_empty());
    let last = lines.clone().next_back().unwrap_or_default();
    if let Some(message) = serde_json::from_str::<Value>(last)
        .ok()
        .and_then(|said| said["error"]["message"].as_str().map(ToOwned::to_owned))
    {
        return message;
    }
    lines.next().unwrap_or("it failed without a word").to_owned()
}

fn contains(text: &[u8], needle: &[u8]) -> bool {
    text.windows(needle.len()).any(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_tells_the_message_and_no_more() {
        assert_eq!(complaint("\nerror: no command `pool`\n\nhint: read the help\n"), "error: no command `pool`");
        assert_eq!(
            complaint("warning: x\n{\"error\": {\"kind\": \"usage\", \"message\": \"no such key\"}}\n"),
            "no such key"
        );
        assert_eq!(complaint(""), "it failed without a word");
        let error = output(Command::new("/bin/sh").args(["-c", "echo no >&2; exit 3", "/a/b"])).unwrap_err();
        assert_eq!(error.to_string(), "`sh -c echo no >&2; exit 3 b`: no");
    }

    #[test]
    fn a_process_of_the_site_is_seen_until_it_ends() {
        let directory = tempfile::tempdir().unwrap();
        let site = Site { directory, spinney: "spinney".into(), variables: Vec::new() };
        fs::create_dir(site.checkout()).unwrap();
        assert_eq!(site.running(), None);
        let mut child = site.command("sleep").arg("60").spawn().unwrap();
        while site.running().as_deref() != Some("sleep 60 ") {
            assert!(child.try_wait().unwrap().is_none(), "it is not seen while it runs");
        }
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(site.running(), None);
    }
}
