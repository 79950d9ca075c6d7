//! The only code that reads the process environment. Every variable that Spinney knows is named here.
//!
//! | variable | meaning |
//! | --- | --- |
//! | `SPINNEY_HOME` | the home, instead of `~/.spinney` |
//! | `SPINNEY_CONFIG` | the configuration file |
//! | `SPINNEY_DATABASE_URL` | the store, as `store.url` |
//! | `SPINNEY_<SECTION>__<KEY>` | any key of the configuration |
//! | `SPINNEY_COMPLETE` | set by the shell's completion, which asks for candidates |
//! | `XDG_CONFIG_HOME`, `HOME` | where the configuration file and the home are by default |
//! | `ARCHON_HOME` | where Archon keeps its worktrees and database, instead of `~/.archon`, for `import` |
//! | `USER`, `LOGNAME` | who is named in the audit log |
//! | `NO_COLOR`, `CI`, `TERM` | how output looks |

use std::ffi::OsString;
use std::path::PathBuf;

#[derive(Debug, Clone)]
pub struct Environment {
    variables: Vec<(OsString, OsString)>,
}

impl Environment {
    pub fn load() -> Self {
        Self { variables: std::env::vars_os().collect() }
    }

    /// An environment of one's own choice.
    pub fn of(variables: Vec<(OsString, OsString)>) -> Self {
        Self { variables }
    }

    /// All of it, for the engine.
    pub fn all(&self) -> Vec<(OsString, OsString)> {
        self.variables.clone()
    }

    /// The variables that are text, for the configuration.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().filter_map(|(key, value)| Some((key.to_str()?, value.to_str()?)))
    }

    /// A variable's value, unless it is empty.
    pub fn value(&self, name: &str) -> Option<&OsString> {
        self.variables.iter().find(|(key, _)| key == name).map(|(_, value)| value).filter(|value| !value.is_empty())
    }

    pub fn home(&self) -> Option<PathBuf> {
        let own = self.value("SPINNEY_HOME").map(PathBuf::from);
        own.or_else(|| Some(PathBuf::from(self.value("HOME")?).join(".spinney")))
    }

    /// What the operating system calls the person.
    pub fn user(&self) -> Option<String> {
        let name = self.value("USER").or_else(|| self.value("LOGNAME"))?;
        Some(name.to_string_lossy().into_owned())
    }

    /// The person's own directory, in which other programs keep things.
    pub fn user_home(&self) -> Option<PathBuf> {
        self.value("HOME").map(PathBuf::from)
    }

    pub fn archon_home(&self) -> Option<PathBuf> {
        let own = self.value("ARCHON_HOME").map(PathBuf::from);
        own.or_else(|| Some(self.user_home()?.join(".archon")))
    }

    /// The configuration file, and whether somebody named it (a named one must exist).
    pub fn config(&self) -> Option<(PathBuf, bool)> {
        if let Some(path) = self.value("SPINNEY_CONFIG") {
            return Some((path.into(), true));
        }
        let base = match self.value("XDG_CONFIG_HOME") {
            Some(path) => PathBuf::from(path),
            None => PathBuf::from(self.value("HOME")?).join(".config"),
        };
        Some((base.join("spinney").join("config.toml"), false))
    }

    pub fn is_ci(&self) -> bool {
        self.value("CI").is_some()
    }
}
