//! The settings of git that run a program, or lead to one, or to a file anywhere: the one list of them.
//!
//! A person's own (`git config --global`) are theirs. Those of a repository can be written by any agent that works in it.

use std::fmt;
use std::path::PathBuf;

use spinney_core::names::cut_for_message;

/// More of a value is not told.
const MOST_VALUE_CHARACTERS: usize = 200;
/// Settings of HTTP that a repository may have of its own: they lead nowhere else and trust nobody else.
const HARMLESS_HTTP: [&str; 10] = [
    "emptyauth",
    "extraheader",
    "lowspeedlimit",
    "lowspeedtime",
    "maxrequestbuffer",
    "maxrequests",
    "minsessions",
    "postbuffer",
    "useragent",
    "version",
];
/// What `git lfs install --local` writes.
const LFS_FILTER: [&str; 4] = ["git-lfs clean -- %f", "git-lfs smudge -- %f", "git-lfs filter-process", "true"];

/// What makes git run a setting's program. Several may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Runs(u8);

impl Runs {
    pub(crate) const NOTHING: Self = Self(0);
    /// Reading files of a tree, or writing them.
    pub(crate) const FILES: Self = Self(1);
    pub(crate) const MERGES: Self = Self(2);
    /// Crossing the network.
    pub(crate) const REMOTES: Self = Self(4);
    /// Any question: an object that is missing is fetched then.
    pub(crate) const QUESTIONS: Self = Self(8);
    /// What no call of ours does, or our own flags switch off. In a repository below another those flags do not hold.
    pub(crate) const OTHERS: Self = Self(16);

    pub(crate) fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

/// A setting that runs something.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Executing {
    /// As git gives it: the first and the last part in small letters.
    pub key: String,
    pub value: String,
    /// The file that says so.
    pub file: PathBuf,
}

impl Executing {
    pub(crate) fn runs(&self) -> Runs {
        runs(&self.key, &self.value)
    }
}

impl fmt::Display for Executing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cut = |text: &str| cut_for_message(text, MOST_VALUE_CHARACTERS);
        write!(f, "`{}` is `{}`", cut(&self.key), cut(&self.value))
    }
}

/// What makes git run the program of a setting; nothing, where it names none.
pub(crate) fn runs(key: &str, value: &str) -> Runs {
    let Some((section, rest)) = key.split_once('.') else { return Runs::NOTHING };
    let (middle, name) = rest.rsplit_once('.').unwrap_or(("", rest));
    let only = |holds: bool, runs: Runs| if holds { runs } else { Runs::NOTHING };
    // A setting without a value takes one back that another file made.
    let is_set = !value.is_empty();
    match section {
        "core" => match name {
            "askpass" | "gitproxy" | "sshcommand" => only(is_set, Runs::REMOTES),
            "fsmonitor" => only(!matches!(value, "" | "true" | "false" | "1" | "0"), Runs::OTHERS),
            // They run nothing. But git reads such a file whatever it is, one without an end as well.
            "attributesfile" | "excludesfile" => only(is_set, Runs::FILES),
            "alternaterefscommand" | "editor" | "hookspath" | "pager" => only(is_set, Runs::OTHERS),
            _ => Runs::NOTHING,
        },
        "credential" => only(name == "helper", Runs::REMOTES),
        "http" => only(!HARMLESS_HTTP.contains(&name), Runs::REMOTES),
        "remote" => match name {
            "proxy" | "receivepack" | "uploadpack" | "vcs" => Runs::REMOTES,
            "promisor" => Runs::QUESTIONS,
            "pushurl" | "url" => only(names_helper(value), Runs::REMOTES),
            _ => Runs::NOTHING,
        },
        "url" => only(matches!(name, "insteadof" | "pushinsteadof") && names_helper(middle), Runs::REMOTES),
        "protocol" => only(name == "allow" && value != "never", Runs::REMOTES),
        "fetch" => only(name == "bundleuri", Runs::REMOTES),
        "extensions" => only(name == "partialclone", Runs::QUESTIONS),
        "alias" => match rest {
            // Where git-lfs is not installed, git asks for an alias of that name.
            _ if rest == "lfs" || rest.starts_with("lfs.") => Runs::REMOTES.and(Runs::FILES),
            _ => only(value.starts_with('!'), Runs::OTHERS),
        },
        "lfs" => match middle.split('.').next() {
            Some("extension") => Runs::REMOTES.and(Runs::FILES),
            Some("customtransfer") => Runs::REMOTES,
            _ => only(name == "standalonetransferagent", Runs::REMOTES),
        },
        "filter" => {
            let is_lfs = middle == "lfs" && LFS_FILTER.contains(&value);
            only(matches!(name, "clean" | "process" | "smudge") && is_set && !is_lfs, Runs::FILES)
        }
        "merge" => only(name == "driver" && is_set, Runs::MERGES),
        "diff" => only(matches!(name, "command" | "external" | "textconv") && is_set, Runs::OTHERS),
        "submodule" => only(name == "update" && value.starts_with('!'), Runs::REMOTES),
        "gpg" => only(matches!(name, "program" | "defaultkeycommand"), Runs::OTHERS),
        "interactive" => only(name == "difffilter", Runs::OTHERS),
        "sequence" => only(name == "editor", Runs::OTHERS),
        "include" | "includeif" => Runs::OTHERS,
        _ => Runs::NOTHING,
    }
}

/// Whether an address is for a program of its own, as `ext::sh -c …` is.
fn names_helper(address: &str) -> bool {
    address.split_once("::").is_some_and(|(name, _)| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_'))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_runs_something_is_known() {
        for (key, value, expected) in [
            ("filter.x.clean", "x", Runs::FILES),
            ("filter.lfs.clean", "git-lfs clean -- %f; x", Runs::FILES),
            ("lfs.extension.x.clean", "x", Runs::FILES),
            ("merge.x.driver", "x %A", Runs::MERGES),
            ("core.sshcommand", "x", Runs::REMOTES),
            ("core.gitproxy", "x", Runs::REMOTES),
            ("remote.origin.uploadpack", "x", Runs::REMOTES),
            ("remote.a.b.receivepack", "x", Runs::REMOTES),
            ("remote.origin.url", "ext::sh -c x", Runs::REMOTES),
            ("url.ext::sh -c x #.insteadof", "https://", Runs::REMOTES),
            ("protocol.ext.allow", "always", Runs::REMOTES),
            ("submodule.x.update", "!x", Runs::REMOTES),
            ("credential.https://host.example.helper", "!x", Runs::REMOTES),
            ("extensions.partialclone", "origin", Runs::QUESTIONS),
            ("core.fsmonitor", "x", Runs::OTHERS),
            ("core.attributesfile", "/dev/zero", Runs::FILES),
            ("core.excludesfile", "x", Runs::FILES),
            ("diff.x.textconv", "x", Runs::OTHERS),
            ("diff.external", "x", Runs::OTHERS),
            ("include.path", "x", Runs::OTHERS),
            ("includeif.gitdir:x.path", "x", Runs::OTHERS),
            ("alias.x", "!x", Runs::OTHERS),
            ("gpg.program", "x", Runs::OTHERS),
            ("gpg.openpgp.program", "x", Runs::OTHERS),
            ("gpg.x509.program", "x", Runs::OTHERS),
            ("gpg.ssh.program", "x", Runs::OTHERS),
            ("gpg.ssh.defaultkeycommand", "x", Runs::OTHERS),
        ] {
            assert!(runs(key, value).meets(expected), "{key} = {value}");
        }
        for (key, value) in [
            ("filter.lfs.clean", "git-lfs clean -- %f"),
            ("filter.lfs.process", "git-lfs filter-process"),
            ("filter.lfs.required", "true"),
            ("filter.x.clean", ""),
            ("core.fsmonitor", "false"),
            ("core.bare", "true"),
            ("core.worktree", "../../x"),
            ("remote.origin.url", "https://[::1]/x"),
            ("remote.origin.url", "git@host.example:a/b.git"),
            ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
            ("url.git@host.example:.insteadof", "https://host.example/"),
            ("submodule.x.update", "rebase"),
            ("branch.main.merge", "refs/heads/main"),
            ("alias.co", "checkout"),
            ("extensions.worktreeconfig", "true"),
            ("", ""),
        ] {
            assert_eq!(runs(key, value), Runs::NOTHING, "{key} = {value}");
        }
    }

    proptest! {
        #[test]
        fn no_key_makes_it_panic(key in ".{0,40}", value in ".{0,40}") {
            let _ = runs(&key, &value);
        }
    }
}
