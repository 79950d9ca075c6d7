//! What in the new commits of a box has to be known, or held for a person. Git's own check of objects lets all of it pass.
//!
//! Every commit counts, not what they add up to: each of them is pushed.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;

use spinney_core::CommitId;

use crate::import::contents;
use crate::import::finding::{Finding, Leads};
use crate::import::globs::Globs;
use crate::import::quarantine::Quarantine;
use crate::import::raw_diff::{Entry, parse};
use crate::import::refusal::Refusal;
use crate::jail::answer::{ask, require_path, unverifiable};
use crate::{Error, Result};

const QUESTION: &str = "what a box's commits change";
const LINK: &str = "120000";
const REPOSITORY: &str = "160000";
const MODULES: &[u8] = b".gitmodules";
const ATTRIBUTES: &[u8] = b".gitattributes";
/// What names a program in the place of a URL.
const PROGRAM: &[u8] = b"ext::";

/// What the policy found.
#[derive(Debug, Default)]
pub(crate) struct Judged {
    pub(crate) findings: BTreeSet<Finding>,
    pub(crate) held: BTreeSet<PathBuf>,
}

/// Looks at what each of the commits changed.
pub(crate) async fn judge(quarantine: &Quarantine, commits: &[CommitId], protected: &[String]) -> Result<Judged> {
    if commits.is_empty() {
        return Ok(Judged::default());
    }
    let listed: String = commits.iter().map(|commit| format!("{commit}\n")).collect();
    let command = quarantine.command()?.args(["diff-tree", "--stdin", "-r", "-z", "-c", "--root", "--no-commit-id"]);
    let command = command.args(["--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=none"]);
    let output = ask(QUESTION, command.stdin_bytes(listed.into_bytes())).await?;
    let entries = parse(&output.stdout).map_err(|why| unverifiable(QUESTION, why))?;
    let read = entries.iter().filter(|entry| entry.mode == LINK || is_modules(entry) && is_there(entry));
    let read: BTreeSet<&str> = read.map(|entry| entry.object.as_str()).collect();
    let contents: HashMap<_, _> = contents::load(quarantine, &read).await?.into_iter().collect();
    let globs = Globs::new(protected);
    let mut judged = Judged::default();
    for entry in &entries {
        let content = contents.get(&entry.object).map(Vec::as_slice);
        look_at(entry, content, &globs, &mut judged)?;
    }
    Ok(judged)
}

fn look_at(entry: &Entry, content: Option<&[u8]>, globs: &Globs, judged: &mut Judged) -> Result<()> {
    let bytes = entry.path.as_slice();
    let refused = |_| Error::ImportRefused(Box::new(Refusal::Path(PathBuf::from(&*String::from_utf8_lossy(bytes)))));
    let path = require_path(bytes).map_err(refused)?;
    if globs.matches(bytes) {
        judged.held.insert(path.clone());
    }
    if is_modules(entry) {
        judged.findings.insert(Finding::Submodules);
        let text = content.unwrap_or_default().to_ascii_lowercase();
        if text.windows(PROGRAM.len()).any(|window| window == PROGRAM) {
            judged.findings.insert(Finding::UrlOfProgram);
        }
    }
    if !is_there(entry) {
        return Ok(());
    }
    if bytes.iter().any(u8::is_ascii_control) {
        judged.findings.insert(Finding::ControlCharacter(path.clone()));
    }
    match entry.mode.as_str() {
        REPOSITORY => drop(judged.findings.insert(Finding::Repository(path))),
        LINK => {
            let name = bytes.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
            if name.eq_ignore_ascii_case(ATTRIBUTES) {
                judged.findings.insert(Finding::LinkedAttributes(path.clone()));
            }
            let target = content.unwrap_or_default();
            if let Some(leads) = leads(bytes, target) {
                judged.findings.insert(Finding::Link { path, target: target.to_owned(), leads });
            }
        }
        _ => {}
    }
    Ok(())
}

fn is_modules(entry: &Entry) -> bool {
    entry.path.eq_ignore_ascii_case(MODULES)
}

/// Whether the commit has something at the path.
fn is_there(entry: &Entry) -> bool {
    entry.mode != "000000"
}

/// Where a link leads, if it is out of the tree or into a git dir. Other links on the way are not followed: they are judged
/// by themselves.
fn leads(path: &[u8], target: &[u8]) -> Option<Leads> {
    if target.first() == Some(&b'/') {
        return Some(Leads::Absolute);
    }
    let mut depth = path.iter().filter(|byte| **byte == b'/').count();
    for part in target.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." if depth == 0 => return Some(Leads::Outside),
            b".." => depth -= 1,
            name if name.eq_ignore_ascii_case(b".git") => return Some(Leads::IntoGitDir),
            _ => depth += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn where_a_link_leads_is_told() {
        for (path, target, expected) in [
            ("a", "/etc/passwd", Some(Leads::Absolute)),
            ("a", "../x", Some(Leads::Outside)),
            ("a/b", "../x", None),
            ("a/b", "../../x", Some(Leads::Outside)),
            ("a/b", "c/../../../x", Some(Leads::Outside)),
            ("a", ".git/config", Some(Leads::IntoGitDir)),
            ("a/b", "../.GIT", Some(Leads::IntoGitDir)),
            ("a", "b/./c", None),
            ("a", ".github", None),
        ] {
            assert_eq!(leads(path.as_bytes(), target.as_bytes()), expected, "{path} {target}");
        }
    }

    proptest! {
        #[test]
        fn no_link_makes_it_panic(path in "[a/]{0,20}", target in "[a./]{0,40}") {
            let _ = leads(path.as_bytes(), target.as_bytes());
        }
    }
}
