//! What a command that runs in a workspace is told by variables: agents, hooks, `setup` and `exec`. The documentation
//! (`docs/VARIABLES.md`) is made of this file.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// How the variables of jobs begin.
const JOB: &str = "SPINNEY_JOB_";
/// The variable that names the file with a job's prompt.
const PROMPT_FILE: &str = "SPINNEY_PROMPT_FILE";
/// How the variables of ports begin.
pub const PORT: &str = "SPINNEY_PORT_";

/// One variable.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    pub name: &'static str,
    /// A name that it had before, and has still.
    pub alias: Option<&'static str>,
    pub meaning: &'static str,
    /// Its value.
    value: for<'a> fn(&WorkspaceFacts<'a>) -> &'a OsStr,
}

/// What they are told.
#[derive(Debug, Clone, Copy)]
pub struct WorkspaceFacts<'a> {
    /// The directory of the workspace.
    pub path: &'a Path,
    /// Empty where nothing is to be committed.
    pub branch: &'a str,
    pub base_branch: &'a str,
    /// The workspace's name.
    pub name: &'a str,
    /// The item's own id.
    pub item: &'a str,
    pub title: &'a str,
    /// The main checkout, or the bare repository.
    pub root: &'a Path,
    pub strategy: &'a str,
}

macro_rules! variable {
    ($name:literal, $alias:expr, $field:ident, $meaning:literal) => {
        Variable { name: $name, alias: $alias, meaning: $meaning, value: |told| told.$field.as_ref() }
    };
}

pub const VARIABLES: [Variable; 8] = [
    variable!("SPINNEY_WORKSPACE_PATH", Some("SPINNEY_WORKTREE_PATH"), path, "the workspace's directory"),
    variable!("SPINNEY_WORKSPACE_NAME", None, name, "the workspace's name, as `issue-42`"),
    variable!(
        "SPINNEY_WORKSPACE_BRANCH",
        Some("SPINNEY_WORKTREE_BRANCH"),
        branch,
        "its branch; empty where the work only reads, or happens in a directory as it is"
    ),
    variable!(
        "SPINNEY_WORKSPACE_BASE_BRANCH",
        Some("SPINNEY_WORKTREE_BASE_BRANCH"),
        base_branch,
        "the branch that it started from; empty where there is none"
    ),
    variable!(
        "SPINNEY_WORKSPACE_STRATEGY",
        None,
        strategy,
        "`git_worktree`; `reading` for work that only reads, `static` for a directory as it is"
    ),
    variable!("SPINNEY_WORK_ITEM_ID", None, item, "the item's own id: `42` of an issue, `LIN-42` of Linear"),
    variable!("SPINNEY_WORK_ITEM_TITLE", None, title, "its title; empty where nobody gave one"),
    variable!(
        "SPINNEY_REPOSITORY_ROOT",
        Some("SPINNEY_REPO_ROOT"),
        root,
        "the main checkout, which is not to be touched; of a bare clone, the clone"
    ),
];

/// The others: who has them, and what they say.
const MORE: [(&str, &str); 4] = [
    ("SPINNEY_JOB_ID", "in jobs: the job's id"),
    ("SPINNEY_JOB_RESULT", "in the hooks `after_run` and `on_error`: the job's result, as JSON"),
    ("SPINNEY_PROMPT_FILE", "in jobs, where the runtime asks for it: a file with the prompt"),
    ("SPINNEY_PORT_<NAME>", "a port of `workspace.ports` that is this workspace's alone"),
];

impl<'a> WorkspaceFacts<'a> {
    /// Every variable, under each of its names.
    #[must_use]
    pub fn variables(&self) -> Vec<(OsString, OsString)> {
        let both = |variable: &Variable| {
            let value = (variable.value)(self);
            let names = [Some(variable.name), variable.alias].into_iter().flatten();
            names.map(|name| (OsString::from(name), value.to_owned())).collect::<Vec<_>>()
        };
        VARIABLES.iter().flat_map(both).collect()
    }
}

/// Whether a variable tells of a job or a workspace: a job that an agent starts has its own.
#[must_use]
pub fn is_told(name: &str) -> bool {
    let is_known = |variable: &Variable| variable.name == name || variable.alias == Some(name);
    name == PROMPT_FILE
        || [JOB, PORT].iter().any(|beginning| name.starts_with(beginning))
        || VARIABLES.iter().any(is_known)
}

/// The documentation.
#[must_use]
pub fn documentation() -> String {
    let mut text = "# Variables\n\nWhat agents, hooks, `setup` and `spinney exec` are told about the workspace that they run in. \
                    Names of earlier versions are set, too.\nWhat agents get of your own environment is `PATH`, `HOME`, `LANG`, \
                    `TERM`, `TMPDIR`, their runtime's variables, and what `pass` and `env` name:\n\
                    [docs/CONFIGURATION.md](CONFIGURATION.md).\n\n| variable | earlier name | what it says |\n| --- | --- | --- |\n"
        .to_owned();
    for Variable { name, alias, meaning, .. } in VARIABLES {
        let alias = alias.map(|alias| format!("`{alias}`")).unwrap_or_default();
        text.push_str(&format!("| `{name}` | {alias} | {meaning} |\n"));
    }
    for (name, meaning) in MORE {
        text.push_str(&format!("| `{name}` | | {meaning} |\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_is_made_of_this() {
        let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/VARIABLES.md");
        assert_eq!(std::fs::read_to_string(place).unwrap(), documentation(), "write this to docs/VARIABLES.md");
    }

    #[test]
    fn what_is_told_is_known_from_what_configures() {
        for name in [
            "SPINNEY_JOB_ID",
            "SPINNEY_JOB_RESULT",
            "SPINNEY_WORKTREE_PATH",
            "SPINNEY_WORKSPACE_PATH",
            "SPINNEY_PORT_WEB",
        ] {
            assert!(is_told(name), "{name}");
        }
        for name in ["SPINNEY_HOME", "SPINNEY_WORKSPACE__STRATEGY", "SPINNEY_DATABASE_URL", "PATH"] {
            assert!(!is_told(name), "{name}");
        }
    }

    #[test]
    fn each_has_its_value_under_each_name() {
        let (path, root) = (Path::new("/tree"), Path::new("/app"));
        let told = WorkspaceFacts {
            path,
            branch: "b",
            base_branch: "main",
            name: "issue-7",
            item: "7",
            title: "T",
            root,
            strategy: "git_worktree",
        };
        let variables = told.variables();
        let value = |name: &str| variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        for (name, expected) in [
            ("SPINNEY_WORKSPACE_PATH", "/tree"),
            ("SPINNEY_WORKTREE_PATH", "/tree"),
            ("SPINNEY_WORK_ITEM_ID", "7"),
            ("SPINNEY_WORKSPACE_NAME", "issue-7"),
            ("SPINNEY_REPOSITORY_ROOT", "/app"),
            ("SPINNEY_REPO_ROOT", "/app"),
        ] {
            assert_eq!(value(name).as_deref(), Some(OsStr::new(expected)), "{name}");
        }
        assert!(variables.iter().all(|(name, _)| is_told(name.to_str().unwrap())));
    }
}
