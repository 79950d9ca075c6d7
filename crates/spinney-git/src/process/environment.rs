//! The environment and the flags that every git process gets.
//!
//! Of the caller's environment everything stays but `GIT_*`: a hook, an alias or an agent's own `GIT_DIR` must not
//! lead git elsewhere. [`KEPT`] names the exceptions, which tell how the machine reaches a remote, not which repository
//! is meant. The variables that the caller calls secret stay for what crosses the network alone.

use std::ffi::{OsStr, OsString};

/// `GIT_*` variables that describe the machine and its person, and therefore stay.
const KEPT: [&str; 12] = [
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_CONFIG_SYSTEM",
    "GIT_PROXY_COMMAND",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_SSL_CERT",
    "GIT_SSL_KEY",
    "GIT_SSL_VERSION",
];

/// What is set for every process.
///
/// No prompt may ever wait for a person. An empty `GIT_ASKPASS` switches off git's own; ssh is told to ask a program
/// that always refuses, which also holds where the person configured another ssh command, so that nothing of theirs
/// has to be overridden.
const SET: [(&str, &str); 12] = [
    ("LC_ALL", "C"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    // What is merged, kept and pushed is decided by real history: a replacement or graft is anybody's to write and to take
    // away again. A file that can't be there gives no graft and no warning.
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_GRAFT_FILE", "/dev/null/none"),
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS", "false"),
    ("SSH_ASKPASS_REQUIRE", "force"),
    ("GCM_INTERACTIVE", "never"),
    ("GIT_EDITOR", ":"),
    ("GIT_SEQUENCE_EDITOR", ":"),
];

/// Configuration that no repository and no person may change for our calls: nothing that runs a program of theirs
/// beside the work, nothing that writes where nobody asked, nothing that changes what the output looks like.
const CONFIG: [&str; 17] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "core.alternateRefsCommand=",
    "gc.auto=0",
    "maintenance.auto=false",
    "protocol.ext.allow=never",
    "log.showSignature=false",
    "i18n.logOutputEncoding=UTF-8",
    "color.ui=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "branch.autoSetupMerge=false",
    "branch.autoSetupRebase=never",
    "worktree.guessRemote=false",
    "commit.gpgSign=false",
];

/// What is set in the jail besides: no configuration but that of the call and of what it looks at, and nothing that a git dir
/// says about which of its commits count.
const OF_JAIL: [(&str, &str); 6] = [
    ("PATH", "/usr/local/bin:/usr/bin:/bin"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_SHALLOW_FILE", ""),
    ("GIT_NO_LAZY_FETCH", "1"),
];

/// The environment of a process in the jail: nothing of the caller's.
pub(crate) fn of_jail() -> impl Iterator<Item = (OsString, OsString)> {
    SET.iter().chain(&OF_JAIL).map(|(key, value)| (OsString::from(key), OsString::from(value)))
}

/// The caller's environment made clean, with what is always set.
pub(crate) fn clean(given: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    given
        .iter()
        .filter(|(key, _)| is_kept(key))
        .cloned()
        .chain(SET.iter().map(|(key, value)| (OsString::from(key), OsString::from(value))))
        .collect()
}

/// An environment without some variables.
pub(crate) fn without(environment: &[(OsString, OsString)], names: &[OsString]) -> Vec<(OsString, OsString)> {
    environment.iter().filter(|(key, _)| !names.contains(key)).cloned().collect()
}

fn is_kept(key: &OsStr) -> bool {
    let name = key.to_string_lossy();
    !name.is_empty()
        && !name.contains('=')
        && (!name.starts_with("GIT_") || KEPT.contains(&name.as_ref()))
        && !SET.iter().any(|(set, _)| *set == name)
}

/// The flags in front of every subcommand.
pub(crate) fn flags() -> impl Iterator<Item = &'static str> {
    ["--no-pager"].into_iter().chain(CONFIG.iter().flat_map(|entry| ["-c", entry]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_describes_the_machine_stays() {
        let given: Vec<(OsString, OsString)> = [
            "GIT_DIR",
            "GIT_INDEX_FILE",
            "GIT_CONFIG_PARAMETERS",
            "HOME",
            "SSH_AUTH_SOCK",
            "GIT_SSH_COMMAND",
            "LC_ALL",
        ]
        .map(|key| (key.into(), "x".into()))
        .into();
        let kept = clean(&given);
        let value = |key: &str| {
            kept.iter().filter(|(name, _)| name == key).map(|(_, value)| value.to_str().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(value("GIT_DIR"), Vec::<&str>::new());
        assert_eq!(value("GIT_INDEX_FILE"), Vec::<&str>::new());
        assert_eq!(value("GIT_CONFIG_PARAMETERS"), Vec::<&str>::new());
        assert_eq!(value("HOME"), ["x"]);
        assert_eq!(value("SSH_AUTH_SOCK"), ["x"]);
        assert_eq!(value("GIT_SSH_COMMAND"), ["x"]);
        assert_eq!(value("LC_ALL"), ["C"]);
    }
}
