//! The real agent programs, from npm's registry: each in a directory of its own below the target directory.

use std::env;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{self, Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::chore;
use crate::needs::is_provided;
use crate::npm;
use crate::packages;

/// One program: the variable that names it to the tests, its package, and what else must lie beside it.
struct Agent {
    variable: &'static str,
    program: &'static str,
    package: &'static str,
    version: &'static str,
    beside: Option<&'static str>,
}

/// Runs in every `cargo xtask test`.
const CLAUDE: Agent = Agent {
    variable: "SPINNEY_TEST_CLAUDE",
    program: "claude",
    package: "@anthropic-ai/claude-code",
    version: "2.1.325",
    beside: None,
};
/// Run with `--agents`.
const OTHERS: [Agent; 5] = [
    // Both speak the Agent Client Protocol for Claude Code, which they bring. The older one does not notice that nobody
    // talks to it any more; the newer one tells tokens, cost and how full its context is.
    Agent {
        variable: "SPINNEY_TEST_CLAUDE_ACP",
        program: "claude-code-acp",
        package: "@zed-industries/claude-code-acp",
        version: "0.16.2",
        beside: None,
    },
    Agent {
        variable: "SPINNEY_TEST_CLAUDE_AGENT_ACP",
        program: "claude-agent-acp",
        package: "@agentclientprotocol/claude-agent-acp",
        version: "0.100.0",
        // Debian's Node is too old for it.
        beside: Some("node@22.23.3"),
    },
    Agent {
        variable: "SPINNEY_TEST_CODEX",
        program: "codex",
        package: "@openai/codex",
        version: "0.166.0",
        beside: None,
    },
    Agent {
        variable: "SPINNEY_TEST_GEMINI",
        program: "gemini",
        package: "@google/gemini-cli",
        version: "0.61.0",
        // Debian's Node is too old for it.
        beside: Some("node@22.23.3"),
    },
    Agent {
        variable: "SPINNEY_TEST_OPENCODE",
        program: "opencode",
        package: "opencode-ai",
        version: "1.18.33",
        beside: None,
    },
];

/// Finds its own directory, so that the directory can be moved; puts what lies beside it first on `PATH`.
const LAUNCHER: &str = "#!/bin/sh
bin=$(dirname \"$(readlink -f \"$0\")\")/node_modules/.bin
PATH=$bin:$PATH exec \"$bin/PROGRAM\" \"$@\"
";

/// The programs that the tests shall use: each variable, and the path that it is set to.
pub type Programs = Vec<(&'static str, PathBuf)>;

/// Whether those that are wanted are named, or were installed before.
pub fn are_there(wants_others: bool) -> bool {
    wanted(wants_others).all(|agent| is_provided(agent.variable, agent.place()))
}

/// Each program that is wanted: Claude Code, and the others too where somebody asks for them.
pub fn provide(wants_others: bool) -> impl Iterator<Item = (&'static str, Result<(&'static str, PathBuf)>)> {
    wanted(wants_others).map(|agent| (agent.program, agent.provide().map(|program| (agent.variable, program))))
}

fn wanted(wants_others: bool) -> impl Iterator<Item = &'static Agent> {
    [&CLAUDE].into_iter().chain(OTHERS.iter().filter(move |_| wants_others))
}

impl Agent {
    /// The program that the caller's environment names, or else our own, installed if it is not there yet.
    fn provide(&self) -> Result<PathBuf> {
        if let Some(program) = env::var_os(self.variable) {
            return Ok(program.into());
        }
        let program = self.place()?;
        if !program.exists() {
            let directory = program.parent().context("it has a directory")?;
            self.install(directory).with_context(|| format!("can't install `{}`", self.package))?;
        }
        Ok(program)
    }

    fn place(&self) -> Result<PathBuf> {
        let directory = chore::target_dir().join("agents").join(format!("{}-{}", self.program, self.version));
        path::absolute(directory.join(self.program)).context("the target directory has no path")
    }

    fn install(&self, directory: &Path) -> Result<()> {
        let package = format!("{}@{}", self.package, self.version);
        let packages: Vec<&str> = [&*package].into_iter().chain(self.beside).collect();
        npm::install(&packages, directory, |partial| {
            let program = self.expose(partial).context("the directory can't be written")?;
            ensure!(packages::quiet(Command::new(program).arg("--version")), "`{} --version` failed", self.program);
            Ok(())
        })
    }

    /// Makes the program reachable by its name in the directory itself.
    fn expose(&self, directory: &Path) -> io::Result<PathBuf> {
        let program = directory.join(self.program);
        if self.beside.is_some() {
            fs::write(&program, LAUNCHER.replace("PROGRAM", self.program))?;
            fs::set_permissions(&program, Permissions::from_mode(0o755))?;
        } else {
            symlink(Path::new("node_modules/.bin").join(self.program), &program)?;
        }
        Ok(program)
    }
}

#[cfg(test)]
mod tests {
    use spinney_testkit::write_program;

    use super::*;

    /// A program that lies beside the launched one, and the launched one, which starts it.
    fn installed(directory: &Path) -> PathBuf {
        let programs = directory.join("node_modules/.bin");
        fs::create_dir_all(&programs).unwrap();
        for (name, script) in [("gemini", "beside \"$@\""), ("beside", "printf '<%s>' \"$@\"")] {
            write_program(programs.join(name), format!("#!/bin/sh\n{script}\n"));
        }
        let gemini = OTHERS.iter().find(|agent| agent.program == "gemini").unwrap();
        gemini.expose(directory).unwrap()
    }

    #[test]
    fn a_launched_program_finds_what_lies_beside_it_wherever_it_was_moved() {
        let parent = tempfile::tempdir().unwrap();
        let (first, then) = (parent.path().join("first"), parent.path().join("th en"));
        installed(&first);
        fs::rename(first, &then).unwrap();
        symlink(then.join("gemini"), parent.path().join("link")).unwrap();
        let output = Command::new(parent.path().join("link")).args(["a b", "c"]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "<a b><c>");
    }

    #[test]
    fn each_program_has_a_variable_and_a_version_of_its_own() {
        let all = [&CLAUDE].into_iter().chain(&OTHERS);
        let variables: std::collections::HashSet<_> = all.clone().map(|agent| agent.variable).collect();
        assert_eq!(variables.len(), 6);
        assert!(all.into_iter().all(|agent| agent.version.split('.').count() == 3), "each is pinned");
    }
}
