//! Which [`Error`] a failed process is: the only place that reads git's messages.
//!
//! Processes run with `LC_ALL=C`, so the words are git's own; where two versions of git word a thing differently, both
//! are here. Order matters: the first pattern that fits wins, the particular before the general.

use std::path::{Path, PathBuf};

use crate::error::{Error, last_line};

/// Turns a failed process into an error. `shown` and `stderr` are redacted already.
pub(crate) fn classify(shown: &str, directory: &Path, status: i32, stderr: &str) -> Error {
    let has = |text: &str| stderr.contains(text);
    let detail = || without_prefix(last_line(stderr)).to_owned();

    if has("No space left on device") || has("Disk quota exceeded") {
        return Error::NoSpace { detail: line_with(stderr, &["No space left on device", "Disk quota exceeded"]) };
    }
    if let Some(error) = contention(stderr).or_else(|| refs(stderr)).or_else(|| worktrees(stderr)) {
        return error;
    }
    if has("detected dubious ownership") {
        let path = quoted_after(stderr, "repository at ").map_or_else(|| directory.to_owned(), PathBuf::from);
        return Error::UnsafeOwnership { path };
    }
    if let Some(transport) = quoted_after(stderr, "fatal: transport ").filter(|_| has("' not allowed")) {
        return Error::TransportNotAllowed { transport };
    }
    if let Some(error) = remotes(stderr, &detail) {
        return error;
    }
    if has("not a git repository") || has("this operation must be run in a work tree") {
        return Error::NotARepository { path: directory.to_owned() };
    }
    const DAMAGED_INDEX: [&str; 5] = [
        "index file smaller than expected",
        "bad signature 0x",
        "index file corrupt",
        "unordered stage entries",
        "unknown index entry format",
    ];
    if DAMAGED_INDEX.iter().any(|mark| has(mark)) {
        let detail = line_with(stderr, &DAMAGED_INDEX);
        // Its place need not be said twice.
        let detail = detail.rsplit_once("/index: ").map_or(detail.as_str(), |(_, detail)| detail).to_owned();
        return Error::DamagedIndex { path: directory.to_owned(), detail };
    }
    if has("'lfs' is not a git command") {
        return Error::LfsMissing;
    }
    if has("Read-only file system") {
        return Error::ReadOnly { detail: line_with(stderr, &["Read-only file system"]) };
    }
    if has("Permission denied") || has("insufficient permission") {
        let marks = ["Permission denied", "insufficient permission"];
        return Error::PermissionDenied { detail: line_with(stderr, &marks) };
    }
    Error::Failed { command: shown.to_owned(), status, stderr: stderr.trim().to_owned() }
}

/// Somebody else was in the way for a moment.
fn contention(stderr: &str) -> Option<Error> {
    for line in stderr.lines() {
        let locked = line.contains(".lock': File exists") || line.contains("could not lock config file");
        // Another process is just making, moving or removing a worktree; whoever lists them all stumbles over it.
        let window = (line.contains("/worktrees/")
            && (line.contains("failed to read") || line.contains("No such file")))
            || line.contains("bad object worktrees/");
        if locked || window {
            let path = line.split('\'').find(|part| part.starts_with('/')).map_or(line, |path| path);
            return Some(Error::LockContention { what: without_prefix(path).to_owned() });
        }
    }
    None
}

fn refs(stderr: &str) -> Option<Error> {
    for line in stderr.lines() {
        if let Some(name) = quoted_after(line, "cannot lock ref ") {
            if let Some(existing) = line.rsplit_once("exists; cannot create").and_then(|(head, _)| last_quoted(head)) {
                return Some(Error::RefConflict { name, existing });
            }
            if line.contains("but expected")
                || line.contains("reference already exists")
                || line.contains("unable to resolve reference")
            {
                return Some(Error::RefMoved { name });
            }
        }
        if let Some(name) =
            quoted_after(line, "couldn't find remote ref ").or_else(|| word_after(line, "couldn't find remote ref "))
        {
            return Some(Error::MissingRemoteRef { name });
        }
        for mark in [
            "invalid reference: ",
            "Not a valid object name ",
            "bad revision ",
            "bad object ",
            "ambiguous argument ",
            "not a valid object name: ",
        ] {
            if let Some(name) = quoted_after(line, mark).or_else(|| word_after(line, mark)) {
                return Some(Error::MissingRef { name });
            }
        }
        if line.contains("Needed a single revision") {
            return Some(Error::MissingRef { name: "HEAD".to_owned() });
        }
        if let Some(name) = quoted_before(line, "is not a commit").or_else(|| quoted_before(line, "not a valid ref")) {
            return Some(Error::MissingRef { name });
        }
    }
    None
}

fn worktrees(stderr: &str) -> Option<Error> {
    for line in stderr.lines() {
        if let Some(branch) = quoted_after(line, "a branch named ").filter(|_| line.contains("already exists")) {
            return Some(Error::BranchExists { branch });
        }
        for mark in
            ["is already used by worktree at ", "is already checked out at ", "used by worktree at ", "checked out at "]
        {
            if let (Some(branch), Some(path)) = (quoted_before(line, mark), last_quoted(line)) {
                return Some(Error::BranchInUse { branch, path: PathBuf::from(path) });
            }
        }
        if let Some(path) = quoted_before(line, "is a missing but ") {
            return Some(Error::PathRegistered { path: PathBuf::from(path) });
        }
        if let Some(path) = quoted_after(line, "destination path ").or_else(|| quoted_before(line, "already exists"))
            && line.contains("already exists")
        {
            return Some(Error::PathExists { path: PathBuf::from(path) });
        }
    }
    None
}

fn remotes(stderr: &str, detail: &dyn Fn() -> String) -> Option<Error> {
    const AUTH: [&str; 12] = [
        "Authentication failed",
        "could not read Username",
        "could not read Password",
        "terminal prompts disabled",
        "Permission denied (",
        "Host key verification failed",
        "HTTP Basic: Access denied",
        "returned error: 401",
        "returned error: 403",
        "Invalid username or password",
        "Too many authentication failures",
        "unable to get password from user",
    ];
    const MISSING: [&str; 4] = [
        "does not appear to be a git repository",
        "Repository not found",
        "returned error: 404",
        "repository not exported",
    ];
    const NETWORK: [&str; 16] = [
        "Could not resolve host",
        "Couldn't resolve host",
        "Connection refused",
        "Connection timed out",
        "Connection reset",
        "Connection closed",
        "Network is unreachable",
        "No route to host",
        "Failed to connect",
        "Couldn't connect to server",
        "Operation timed out",
        "the remote end hung up unexpectedly",
        "The remote end hung up unexpectedly",
        "early EOF",
        "Could not read from remote repository",
        "unable to access '",
    ];
    let first = |marks: &[&str]| marks.iter().any(|mark| stderr.contains(mark)).then(|| line_with(stderr, marks));
    if let Some(detail) = first(&AUTH) {
        return Some(Error::Auth { detail });
    }
    if let Some(detail) = first(&MISSING) {
        return Some(Error::RemoteNotFound { detail });
    }
    if stderr.contains("fatal: repository '") && stderr.contains("' not found") {
        return Some(Error::RemoteNotFound { detail: detail() });
    }
    first(&NETWORK).map(|detail| Error::Network { detail })
}

/// The first line that has one of the marks, without git's prefix.
fn line_with(stderr: &str, marks: &[&str]) -> String {
    let line = stderr.lines().find(|line| marks.iter().any(|mark| line.contains(mark))).unwrap_or_default();
    without_prefix(line.trim()).to_owned()
}

fn without_prefix(line: &str) -> &str {
    ["fatal: ", "error: ", "remote: "].iter().fold(line, |line, prefix| line.strip_prefix(prefix).unwrap_or(line))
}

/// The text in single quotes right behind a mark.
fn quoted_after(text: &str, mark: &str) -> Option<String> {
    let rest = text.split_once(mark)?.1.strip_prefix('\'')?;
    Some(rest.split_once('\'')?.0.to_owned())
}

/// The text in single quotes right before a mark.
fn quoted_before(text: &str, mark: &str) -> Option<String> {
    let head = text.split_once(mark)?.0.trim_end().strip_suffix('\'')?;
    Some(head.rsplit_once('\'')?.1.to_owned())
}

fn last_quoted(text: &str) -> Option<String> {
    let head = text.rsplit_once('\'')?.0;
    Some(head.rsplit_once('\'')?.1.to_owned())
}

fn word_after(text: &str, mark: &str) -> Option<String> {
    let word = text.split_once(mark)?.1.split_whitespace().next()?;
    Some(word.trim_matches(['\'', ':', ';']).to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(stderr: &str) -> Error {
        classify("git x", Path::new("/r"), 128, stderr)
    }

    #[test]
    fn the_cases_of_already_exists_are_told_apart() {
        assert!(
            matches!(of("fatal: a branch named 'a/b' already exists"), Error::BranchExists { branch } if branch == "a/b")
        );
        for stderr in [
            "fatal: 'x' is already checked out at '/w/my tree'",
            "fatal: 'x' is already used by worktree at '/w/my tree'",
            "fatal: cannot force update the branch 'x' used by worktree at '/w/my tree'",
        ] {
            let error = of(stderr);
            assert!(
                matches!(&error, Error::BranchInUse { branch, path } if branch == "x" && path == Path::new("/w/my tree")),
                "{error:?}"
            );
        }
        assert!(
            matches!(of("fatal: '/w/tree' already exists"), Error::PathExists { path } if path == Path::new("/w/tree"))
        );
        assert!(matches!(
            of("fatal: '/w/t' is a missing but locked worktree;\nuse 'add -f -f' to override"),
            Error::PathRegistered { path } if path == Path::new("/w/t")
        ));
    }

    #[test]
    fn a_damaged_index_is_told_from_other_failures() {
        for (stderr, told) in [
            ("fatal: /r/.git/worktrees/t/index: index file smaller than expected", "index file smaller than expected"),
            ("error: bad signature 0x67617262\nfatal: index file corrupt", "bad signature 0x67617262"),
        ] {
            let error = of(stderr);
            assert!(matches!(&error, Error::DamagedIndex { detail, .. } if detail == told), "{error:?}");
        }
        assert!(matches!(of("fatal: unable to write new index file"), Error::Failed { .. }));
    }

    #[test]
    fn contention_is_transient_and_a_moved_ref_is_not() {
        for stderr in [
            "fatal: Unable to create '/r/.git/index.lock': File exists.",
            "error: cannot lock ref 'refs/heads/x': Unable to create '/r/.git/refs/heads/x.lock': File exists.",
            "fatal: failed to read /r/.git/worktrees/t/commondir: Success",
            "fatal: failed to read '/r/.git/worktrees/t/commondir': No such file or directory",
            "error: could not lock config file .git/config: File exists",
            "fatal: Invalid path '/r/.git/worktrees/t': No such file or directory",
            "fatal: failed to read '/r/.git/worktrees/t/locked': No such file or directory",
            "fatal: bad object worktrees/t/HEAD\nerror: /r.git did not send all necessary objects",
        ] {
            assert!(of(stderr).is_transient(), "{stderr}");
        }
        let moved = of("fatal: cannot lock ref 'refs/heads/x': is at aa but expected bb");
        assert!(matches!(&moved, Error::RefMoved { name } if name == "refs/heads/x") && !moved.is_transient());
        assert!(matches!(
            of("fatal: cannot lock ref 'refs/heads/a/b': 'refs/heads/a' exists; cannot create 'refs/heads/a/b'"),
            Error::RefConflict { name, existing } if name == "refs/heads/a/b" && existing == "refs/heads/a"
        ));
    }

    #[test]
    fn remotes_fail_in_their_own_ways() {
        assert!(matches!(
            of("Cloning into '/x'...\nfatal: transport 'file' not allowed\nfatal: clone of '/s' into '/x' failed"),
            Error::TransportNotAllowed { transport } if transport == "file"
        ));
        assert!(matches!(
            of("fatal: could not read Username for 'https://h': terminal prompts disabled"),
            Error::Auth { .. }
        ));
        assert!(matches!(
            of("git@h: Permission denied (publickey).\nfatal: Could not read from remote repository."),
            Error::Auth { .. }
        ));
        assert!(matches!(of("fatal: unable to access 'https://h/': Could not resolve host: h"), Error::Network { .. }));
        assert!(matches!(
            of("fatal: unable to access 'https://h/': The requested URL returned error: 403"),
            Error::Auth { .. }
        ));
        assert!(
            matches!(of("fatal: couldn't find remote ref refs/heads/x"), Error::MissingRemoteRef { name } if name == "refs/heads/x")
        );
        assert!(matches!(of("fatal: '/x' does not appear to be a git repository"), Error::RemoteNotFound { .. }));
        assert!(matches!(of("fatal: write error: No space left on device"), Error::NoSpace { .. }));
        assert!(matches!(
            of("fatal: could not create work tree dir '/x': Permission denied"),
            Error::PermissionDenied { .. }
        ));
        assert!(matches!(of("fatal: could not open '/x' for writing: Read-only file system"), Error::ReadOnly { .. }));
    }

    proptest! {
        #[test]
        fn no_message_makes_it_panic(stderr in "(?s)(fatal: )?(cannot lock ref |'|already exists|checked out at |.){0,30}") {
            let _ = of(&stderr).to_string();
        }
    }
}
