//! A workspace of a box: a host repository with a remote, a worktree, a base mirror and a private git dir.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use spinney_core::{BranchName, CommitId};
use spinney_git::{
    BaseMirror, BoxPlaces, BoxedTree, Error, Identity, Import, ImportLimits, Imported, Jail, JailLimits,
    JailUnavailable, ObjectFormat, Repository, StatusOptions, Unverifiable, Worktree,
};
use spinney_testkit::left_out_without;

use crate::common::{Sandbox, branch, environment, program};

pub const ALL: StatusOptions = StatusOptions { untracked: true, ignored: true };
/// A question about these small trees that takes so long hangs, also on a machine with much to do.
const SOON: Duration = Duration::from_secs(60);

pub struct Boxed {
    pub sandbox: Sandbox,
    pub repository: Repository,
    pub worktree: Worktree,
    pub mirror: BaseMirror,
    pub tree: BoxedTree,
    pub branch: BranchName,
    pub base: CommitId,
    pub jail: Jail,
}

/// The jail, where there can be one.
pub async fn jail(sandbox: &Sandbox) -> Jail {
    match Jail::probe(&sandbox.git).await {
        Ok(jail) => jail.with_limits(JailLimits { time: SOON, ..JailLimits::default() }),
        Err(error @ JailUnavailable::Broken { .. }) => panic!("{error}"),
        Err(error) => left_out_without(error.package().unwrap_or("a kernel that lets bubblewrap make user namespaces")),
    }
}

impl Boxed {
    pub async fn new() -> Self {
        Self::of(Sandbox::new().await, "app").await
    }

    pub async fn of(sandbox: Sandbox, name: &str) -> Self {
        sandbox.init_cloned(name);
        Self::of_clone(sandbox, name).await
    }

    /// The same for a clone that is there.
    pub async fn of_clone(sandbox: Sandbox, name: &str) -> Self {
        let jail = jail(&sandbox).await;
        let repository = sandbox.open(&sandbox.path(name)).await;
        let worktree = sandbox.add(&repository, "work").await;
        let base = sandbox.head(worktree.path());
        let mirror_path = sandbox.path(&format!("bases/{name}.git"));
        let mirror = BaseMirror::open_or_make(&sandbox.git, &mirror_path, ObjectFormat::of(&base)).await.unwrap();
        mirror.update(&repository, Some("origin"), std::slice::from_ref(&base)).await.unwrap();
        let (git_dir, places) = (sandbox.path("boxes/1/git"), BoxPlaces::default());
        let branch = branch("work");
        worktree.write_private_git_dir(&git_dir, &mirror, &places, &branch, &base).await.unwrap();
        let tree = BoxedTree::new(&jail, worktree.path(), &git_dir, &mirror, &places);
        Self { sandbox, repository, worktree, mirror, tree, branch, base, jail }
    }

    pub fn path(&self) -> &Path {
        self.worktree.path()
    }

    pub fn git_dir(&self) -> &Path {
        self.tree.git_dir()
    }

    /// The canary, and a shell command that makes it.
    pub fn canary(&self) -> PathBuf {
        self.sandbox.path("canary")
    }

    pub fn payload(&self) -> String {
        format!("touch '{}'", self.canary().display())
    }

    /// A script of the agent that makes the canary.
    pub fn script(&self, path: &Path) -> PathBuf {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("#!/bin/sh\n{}\n", self.payload())).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        path.to_owned()
    }

    /// What git says to the agent, who sees the base mirror as its box would show it.
    pub fn agent(&self, arguments: &[&str]) -> String {
        let (ok, stdout, stderr) = self.try_agent(arguments, b"");
        assert!(ok, "git {arguments:?}: {stderr}");
        stdout
    }

    pub fn try_agent(&self, arguments: &[&str], stdin: &[u8]) -> (bool, String, String) {
        #[expect(clippy::disallowed_methods, reason = "the agent's own git")]
        let mut command = std::process::Command::new(program());
        command.args(arguments).current_dir(self.path()).env_clear().envs(environment(&self.sandbox.home()));
        command.env("GIT_DIR", self.git_dir()).env("GIT_WORK_TREE", self.path());
        let base = format!("\"{}\"", self.mirror.path().join("objects").display());
        command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", base);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), stdin).ok();
        let output = child.wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        (output.status.success(), text(&output.stdout), text(&output.stderr))
    }

    /// Writes an object of the agent's, and gives its name.
    pub fn object(&self, kind: &str, content: &[u8]) -> String {
        let hash = ["hash-object", "-t", kind, "-w", "--stdin", "--literally"];
        let (ok, name, stderr) = self.try_agent(&hash, content);
        assert!(ok, "{stderr}");
        name
    }

    /// Writes a tree of entries, each a mode, a name and an object, whatever git thinks of them.
    pub fn tree_of(&self, entries: &[(&str, &str, &str)]) -> String {
        let mut content = Vec::new();
        for (mode, name, object) in entries {
            content.extend(format!("{mode} {name}\0").bytes());
            let digits: Vec<u8> = object.bytes().map(|digit| char::from(digit).to_digit(16).unwrap() as u8).collect();
            content.extend(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]));
        }
        self.object("tree", &content)
    }

    /// Puts the agent's branch on a commit of this tree.
    pub fn commit_tree(&self, tree: &str) -> CommitId {
        let person = "An Agent <agent@example.invalid> 1700000000 +0000";
        let parent = self.agent(&["rev-parse", "refs/heads/work"]);
        let text = format!("tree {tree}\nparent {parent}\nauthor {person}\ncommitter {person}\n\nwork\n");
        let commit = self.object("commit", text.as_bytes());
        self.set_ref("refs/heads/work", &commit);
        commit.parse().unwrap()
    }

    /// Writes a ref as a file: git would look at what it leads to.
    pub fn set_ref(&self, name: &str, object: &str) {
        let path = self.git_dir().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{object}\n")).unwrap();
    }

    /// Commits a file as an honest agent would.
    pub fn commit(&self, file: &str, content: &str) -> CommitId {
        let path = self.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self.agent(&["add", "--", file]);
        self.agent(&["commit", "-q", "--no-verify", "-m", &format!("change {file}")]);
        self.agent(&["rev-parse", "refs/heads/work"]).parse().unwrap()
    }

    pub fn import_of<'a>(&'a self, protected: &'a [String]) -> Import<'a> {
        let limits = ImportLimits { pack_bytes: 8 << 20, unpacked_bytes: 32 << 20 };
        Import { tree: &self.tree, branch: &self.branch, left_over: None, protected, limits }
    }

    pub async fn import(&self) -> spinney_git::Result<Imported> {
        self.worktree.import(&self.import_of(&[])).await
    }

    /// Where the workspace's branch is on the host.
    pub async fn host_tip(&self) -> CommitId {
        self.repository.load_branch(&self.branch).await.unwrap().unwrap()
    }

    pub fn has_object(&self, object: &str) -> bool {
        self.sandbox.try_run(self.repository.common_dir(), &["cat-file", "-e", object]).0
    }

    /// Asks all that a host asks. Nothing may hang, nothing may run, and what reached the repository is whole.
    pub async fn ask_everything(&self) -> Asked {
        let asked = Asked {
            status: self.tree.load_status(&ALL).await.map(drop),
            paths: self.tree.load_changed_paths(&self.base).await.map(drop),
            patch: self.tree.load_patch(&self.base, 1 << 20).await.map(drop),
            left_over: self.commit_left_over().await,
            import: self.import().await,
        };
        assert!(!asked.has_timed_out(), "{asked:?}");
        assert!(!self.canary().exists(), "the payload ran");
        self.assert_repository_is_whole();
        assert!(!self.canary().exists(), "the payload ran in the host's repository");
        asked
    }

    /// Commits what is left over and imports that.
    pub async fn commit_left_over(&self) -> spinney_git::Result<Option<Imported>> {
        let found = self.tree.load_left_over(&self.branch).await?;
        let wanted: Vec<PathBuf> = found.changed.iter().chain(&found.gone).cloned().collect();
        let agent = Identity { name: "An Agent".into(), email: "agent@example.invalid".into() };
        let commit = self.tree.commit_left_over(&self.repository, &found, &wanted, "left over", &agent).await?;
        let Some(commit) = commit else { return Ok(None) };
        let import = Import { left_over: Some(&commit), ..self.import_of(&[]) };
        self.worktree.import(&import).await.map(Some)
    }

    pub fn assert_repository_is_whole(&self) {
        let common_dir = self.repository.common_dir();
        self.sandbox.run(common_dir, &["fsck", "--strict", "--no-dangling", "--connectivity-only"]);
        let left: Vec<_> = fs::read_dir(self.repository.state_dir()).into_iter().flatten().flatten().collect();
        let left = left.iter().map(|entry| entry.file_name().into_string().unwrap());
        assert_eq!(left.filter(|name| name.starts_with("import-")).count(), 0, "a quarantine was left behind");
    }
}

/// What a host was told.
#[derive(Debug)]
pub struct Asked {
    pub status: spinney_git::Result<()>,
    pub paths: spinney_git::Result<()>,
    pub patch: spinney_git::Result<()>,
    pub left_over: spinney_git::Result<Option<Imported>>,
    pub import: spinney_git::Result<Imported>,
}

impl Asked {
    /// All questions had an answer: the attack changed nothing for them.
    #[track_caller]
    pub fn assert_answered(&self) {
        assert!(self.status.is_ok() && self.paths.is_ok() && self.patch.is_ok(), "{self:?}");
        assert!(self.left_over.is_ok() && self.import.is_ok(), "{self:?}");
    }

    fn has_timed_out(&self) -> bool {
        let errors = [self.status.as_ref().err(), self.paths.as_ref().err(), self.patch.as_ref().err()];
        let others = [self.left_over.as_ref().err(), self.import.as_ref().err()];
        let timed_out = |error: &Error| match error {
            Error::Timeout { .. } => true,
            Error::Unverifiable { why, .. } => matches!(**why, Unverifiable::TimedOut(_)),
            _ => false,
        };
        errors.into_iter().chain(others).flatten().any(timed_out)
    }

    /// The import was refused, by a typed error.
    #[track_caller]
    pub fn assert_import_refused(&self) {
        let error = self.import.as_ref().unwrap_err();
        assert!(matches!(error, Error::ImportRefused(_) | Error::Unverifiable { .. }), "{self:?}");
    }
}
