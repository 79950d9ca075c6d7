//! Where an agent's repository is: a directory, or a clone that Spinney makes and keeps.

use serde::{Deserialize, Serialize};

use crate::BranchName;
use crate::names::for_message;

/// The directory of the repository that an agent works on. Written as a path, or as a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct WorkingDirectory {
    /// Relative to the main checkout, or absolute.
    pub root: String,
    /// What to clone.
    pub url: Option<String>,
    pub auto_clone: bool,
    /// Zero: the whole history.
    pub clone_depth: u32,
    /// None: the remote's HEAD.
    pub default_branch: Option<BranchName>,
}

/// How it is written.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Path(String),
    Table(toml::Table),
}

/// The table, each key with its default.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Table {
    root: String,
    url: String,
    auto_clone: bool,
    clone_depth: i64,
    default_branch: String,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            root: ".".to_owned(),
            url: String::new(),
            auto_clone: false,
            clone_depth: 0,
            default_branch: String::new(),
        }
    }
}

/// What is wrong with a working directory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidWorkingDirectory(String);

impl WorkingDirectory {
    /// Whether the root may lie outside of the checkout, by its look alone.
    pub(super) fn leads_out(&self) -> bool {
        self.root.starts_with(['/', '~']) || self.root.split('/').any(|part| part == "..")
    }

    fn checked(table: &Table) -> Result<Self, String> {
        let Table { root, url, auto_clone, clone_depth, default_branch } = table;
        if root.is_empty() || root.contains(char::is_control) {
            return Err(format!("`{}` is not the path of a directory", for_message(root)));
        }
        if let Some(fault) = url_fault(url) {
            return Err(fault);
        }
        if *auto_clone && url.is_empty() {
            return Err("`auto_clone` needs a `url`".to_owned());
        }
        let clone_depth = u32::try_from(*clone_depth)
            .map_err(|_| format!("`{clone_depth}` is not a number from `0` to `{}`", u32::MAX))?;
        let default_branch = match default_branch.as_str() {
            "" => None,
            branch => Some(branch.parse().map_err(|error: crate::InvalidBranchName| error.to_string())?),
        };
        let url = (!url.is_empty()).then(|| url.clone());
        Ok(Self { root: root.clone(), url, auto_clone: *auto_clone, clone_depth, default_branch })
    }
}

/// Says what is wrong with a URL to clone, without repeating a secret.
fn url_fault(url: &str) -> Option<String> {
    if url.contains(|c: char| c.is_control() || c.is_whitespace()) || url.starts_with('-') || url.contains("::") {
        return Some("`url` is not the URL of a repository".to_owned());
    }
    let authority = url.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or_default());
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    let is_http = url.starts_with("http://") || url.starts_with("https://");
    let secret = user.contains(':') || (is_http && !user.is_empty());
    secret.then(|| "`url` has a user or password in it: a token is named when the repository is added".to_owned())
}

impl TryFrom<Written> for WorkingDirectory {
    type Error = InvalidWorkingDirectory;

    fn try_from(written: Written) -> Result<Self, InvalidWorkingDirectory> {
        let table = match written {
            Written::Path(root) => Table { root, ..Table::default() },
            Written::Table(table) => table
                .try_into()
                .map_err(|error: toml::de::Error| InvalidWorkingDirectory(error.message().to_owned()))?,
        };
        Self::checked(&table).map_err(InvalidWorkingDirectory)
    }
}

/// As a path where the path says it all.
impl From<WorkingDirectory> for Written {
    fn from(directory: WorkingDirectory) -> Self {
        let WorkingDirectory { root, url, auto_clone, clone_depth, default_branch } = directory;
        if url.is_none() && !auto_clone && clone_depth == 0 && default_branch.is_none() {
            return Self::Path(root);
        }
        let mut table = toml::Table::new();
        table.insert("root".to_owned(), root.into());
        table.insert("url".to_owned(), url.unwrap_or_default().into());
        table.insert("auto_clone".to_owned(), auto_clone.into());
        table.insert("clone_depth".to_owned(), i64::from(clone_depth).into());
        table.insert("default_branch".to_owned(), default_branch.map(String::from).unwrap_or_default().into());
        Self::Table(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(value: &str) -> Result<WorkingDirectory, String> {
        #[derive(Debug, Deserialize)]
        struct Holder {
            value: WorkingDirectory,
        }
        let holder: Result<Holder, _> = toml::from_str(&format!("value = {value}"));
        holder.map(|holder| holder.value).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn a_path_is_a_table_with_a_root() {
        let plain = read("'sub/dir'").unwrap();
        assert_eq!(plain, read("{ root = 'sub/dir' }").unwrap());
        assert_eq!((plain.root.as_str(), plain.url, plain.auto_clone, plain.clone_depth), ("sub/dir", None, false, 0));
        let clone = "{ url = 'https://host/a/b.git', auto_clone = true, clone_depth = 1, default_branch = 'main' }";
        let clone = read(clone).unwrap();
        assert_eq!((clone.root.as_str(), clone.url.as_deref()), (".", Some("https://host/a/b.git")));
        assert_eq!((clone.auto_clone, clone.clone_depth), (true, 1));
        assert_eq!(clone.default_branch, Some("main".parse().unwrap()));
        for directory in [read("'.'").unwrap(), clone] {
            let written = toml::Value::try_from(&directory).unwrap();
            assert_eq!(written.try_into::<WorkingDirectory>().unwrap(), directory);
        }
    }

    #[test]
    fn urls_that_git_can_clone_are_taken() {
        for url in ["ssh://git@host:22/a/b.git", "git@host:a/b.git", "file:///srv/a.git", "/srv/a.git", "../a"] {
            assert_eq!(read(&format!("{{ url = '{url}' }}")).unwrap().url.as_deref(), Some(url));
        }
    }

    #[test]
    fn wrong_ones_are_refused_with_a_reason_and_without_secrets() {
        let secret = "`url` has a user or password in it: a token is named when the repository is added";
        for (value, message) in [
            ("''", "`` is not the path of a directory"),
            ("\"a\\nb\"", "`a\\nb` is not the path of a directory"),
            ("{ auto_clone = true }", "`auto_clone` needs a `url`"),
            ("{ url = 'https://me:s3cret@host/x' }", secret),
            ("{ url = 'https://s3cret@host/x' }", secret),
            ("{ url = 'ssh://me:s3cret@host/x' }", secret),
            ("{ url = '--upload-pack=x' }", "`url` is not the URL of a repository"),
            ("{ url = 'ext::sh -c x' }", "`url` is not the URL of a repository"),
            ("{ url = 'ext::x' }", "`url` is not the URL of a repository"),
            ("{ clone_depth = -1 }", "`-1` is not a number from `0` to `4294967295`"),
            ("{ default_branch = '-x' }", "`-x` is not a branch name: it starts with a dash"),
            (
                "{ rot = '.' }",
                "unknown field `rot`, expected one of `root`, `url`, `auto_clone`, `clone_depth`, `default_branch`",
            ),
        ] {
            assert_eq!(read(value).unwrap_err(), message);
        }
        assert!(read("{ clone_depth = 'x' }").is_err() && read("3").is_err());
    }

    #[test]
    fn what_leads_out_is_seen() {
        for (root, out) in
            [(".", false), ("a/b", false), ("a..b", false), ("/x", true), ("~/x", true), ("a/../x", true)]
        {
            assert_eq!(read(&format!("'{root}'")).unwrap().leads_out(), out, "{root}");
        }
    }
}
