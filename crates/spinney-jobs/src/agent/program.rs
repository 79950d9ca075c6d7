//! Whether what an agent is started with is there, its program and its variables: told before a job is recorded, and again
//! before a workspace is made for it.

use std::ffi::{OsStr, OsString};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use spinney_core::AgentName;
use spinney_core::config::{MissingVariable, VariableValue};
use spinney_engine::Context;

use crate::runtime::{Conversation, Turn};
use crate::{Agent, Error, Jobs, Result};

impl Agent {
    /// The program that is started for it.
    pub(crate) fn program(&self) -> OsString {
        let turn = Turn::new(&self.settings, Path::new(""), Conversation::New(None));
        self.runtime.program(&turn).file
    }

    /// The variables that its `env` gives it, of which some are in Spinney's own environment.
    pub(crate) fn own_variables(&self, environment: &[(OsString, OsString)]) -> Result<Vec<(&str, OsString)>> {
        let resolve = |(name, value): (_, &str)| match VariableValue::read(value).resolve(environment) {
            Ok(value) => Ok((name, value)),
            Err(missing) => Err(self.misses(name, missing)),
        };
        self.config.env.iter().map(resolve).collect()
    }

    fn misses(&self, name: &str, MissingVariable(variable): MissingVariable) -> Error {
        Error::VariableMissing { agent: self.name.clone(), name: name.to_owned(), variable }
    }

    /// Refuses to start it where its program or a variable of its `env` is not there: a job of it would end before it begins.
    /// A program that is named relative to the workspace is known there only.
    pub(crate) fn require_start(&self, environment: &[(OsString, OsString)]) -> Result<()> {
        let own = self.own_variables(environment)?;
        let own = own.iter().find(|(name, _)| *name == "PATH").map(|(_, path)| path.as_os_str());
        let inherited = || environment.iter().find(|(key, _)| key == "PATH").map(|(_, path)| path.as_os_str());
        if is_found(&self.program(), own.or_else(inherited)) {
            return Ok(());
        }
        // Another program in place of the runtime's own is somebody's, and nobody else knows where it comes from.
        let install = if self.settings.command.is_empty() { self.runtime.install() } else { None };
        let program = Path::new(&self.program()).display().to_string();
        Err(Error::ProgramMissing { agent: self.name.clone(), program, install })
    }
}

impl Jobs<'_> {
    /// Refuses an agent that can't be started from here.
    pub fn require_start(&self, context: &Context, name: &AgentName) -> Result<()> {
        Agent::find(context, name)?.require_start(self.engine.environment())
    }
}

fn is_found(program: &OsStr, path: Option<&OsStr>) -> bool {
    let name = Path::new(program);
    (name.components().count() > 1 && !name.is_absolute()) || find(program, path).is_some()
}

/// The file that a name in `PATH`, or an absolute path, means.
pub(crate) fn find(program: &OsStr, path: Option<&OsStr>) -> Option<PathBuf> {
    let program = Path::new(program);
    if program.is_absolute() {
        return is_executable(program).then(|| program.to_owned());
    }
    std::env::split_paths(path?).map(|directory| directory.join(program)).find(|file| is_executable(file))
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
