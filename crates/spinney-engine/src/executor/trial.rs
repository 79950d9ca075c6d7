//! A second executor, for tests: starts programs by another program, under other paths, and writes down what it was
//! asked.
//!
//! It is there where the engine was opened with [`VARIABLE`], which names a directory with `wrap`, the program that is
//! started in place of others with their command lines as its arguments; `inside`, a link to the home, by which programs
//! see it; and `asked`, to which a line is added for each call.

use std::convert::Infallible;
use std::ffi::OsString;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use spinney_core::Workspace;

use super::{Executor, Host, Invocation, Member, Started, Tagged};
use crate::Engine;

const VARIABLE: &str = "SPINNEY_TRIAL_EXECUTOR";

#[derive(Debug)]
pub(super) struct Trial {
    directory: PathBuf,
    home: PathBuf,
    /// The workspace's name; `-` where there is none.
    workspace: String,
}

impl Trial {
    pub(super) fn find(engine: &Engine, workspace: Option<&Workspace>) -> Option<Self> {
        let workspace = workspace.map_or_else(|| "-".to_owned(), |workspace| workspace.name.to_string());
        let directory = engine.variable(VARIABLE)?.into();
        Some(Self { directory, home: engine.home.root().to_owned(), workspace })
    }

    fn note(&self, call: &str, of: impl Display) {
        let file = OpenOptions::new().append(true).create(true).open(self.directory.join("asked"));
        let noted = file.and_then(|mut file| file.write_all(format!("{call} {} {of}\n", self.workspace).as_bytes()));
        noted.expect("the test's directory can be written");
    }

    fn wrapped(&self, invocation: &Invocation) -> Invocation {
        let mut wrapped = invocation.clone();
        wrapped.program = self.directory.join("wrap").into_os_string();
        wrapped.arguments.insert(0, invocation.program.clone());
        wrapped.directory = self.path_inside(&invocation.directory);
        wrapped
    }
}

impl Executor for Trial {
    fn start(&self, invocation: &Invocation) -> io::Result<Started> {
        self.note("start", words(invocation));
        Host.start(&self.wrapped(invocation))
    }

    fn become_program(&self, invocation: &Invocation) -> io::Result<Infallible> {
        self.note("become", words(invocation));
        Host.become_program(&self.wrapped(invocation))
    }

    fn members(&self, tagged: &Tagged<'_>) -> Vec<Member> {
        self.note("members", tagged.tag.value());
        Host.members(tagged)
    }

    fn inside(&self, directory: &Path) -> Vec<Member> {
        self.note("inside", directory.display());
        Host.inside(directory)
    }

    fn end(&self, tagged: &Tagged<'_>) {
        self.note("end", tagged.tag.value());
        Host.end(tagged);
    }

    fn path_inside(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.home) {
            Ok(below) => self.directory.join("inside").join(below),
            Err(_) => path.to_owned(),
        }
    }
}

/// A command line in one line.
fn words(invocation: &Invocation) -> String {
    let words = std::iter::once(&invocation.program).chain(&invocation.arguments);
    words.map(|word: &OsString| word.to_string_lossy().replace('\n', " ")).collect::<Vec<_>>().join(" ")
}
