//! The work that a name stands for, where another tool named a branch or directory after it.

use std::path::Path;

use spinney_core::work::parse_number;
use spinney_core::{BranchName, Work, WorkKind};

/// How many digits of a hash tools name a thread by.
const HASH_DIGITS: usize = 8;

/// The work of a worktree: what its branch says, then what its directory says, then what is likely, then a task.
pub(super) fn work_of(branch: &BranchName, directory: &Path, likely: Option<&Work>) -> Work {
    let directory = directory.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let named = guess(branch.as_str()).or_else(|| guess(directory));
    match (named, likely) {
        // The name has only a hash of the thread.
        (Some(named), Some(likely)) if named.kind == WorkKind::Thread && likely.kind == WorkKind::Thread => {
            likely.clone()
        }
        (Some(named), _) => named,
        (None, Some(likely)) => likely.clone(),
        (None, None) => Work::branch(branch),
    }
}

/// The issue, pull request, review or thread that a name tells: `issue-42`, `fix/#42`, `pr-99-review`, `thread-1a2b3c4d`.
pub(super) fn guess(name: &str) -> Option<Work> {
    let name = name.to_ascii_lowercase();
    if let Some(number) = name.rsplit('/').find_map(|part| number(part.strip_prefix("review-")?)) {
        return Some(Work::review(number));
    }
    let words: Vec<&str> =
        name.split(|c: char| !c.is_alphanumeric() && c != '#').filter(|word| !word.is_empty()).collect();
    words.iter().enumerate().find_map(|(index, word)| {
        let next = words.get(index + 1).copied().unwrap_or_default();
        match *word {
            "issue" | "issues" => number(next).map(Work::issue),
            "pr" => number(next).map(Work::pr),
            "thread" if is_hash(next) => Work::thread(next).ok(),
            _ => number(word.strip_prefix('#')?).map(Work::issue),
        }
    })
}

pub(super) fn number(text: &str) -> Option<u64> {
    parse_number(text).ok()
}

fn is_hash(text: &str) -> bool {
    text.len() == HASH_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_work() {
        for (name, work) in [
            ("issue-42", Some(Work::issue(42))),
            ("archon/issue-42", Some(Work::issue(42))),
            ("Issue/42", Some(Work::issue(42))),
            ("fix-issue-42-login", Some(Work::issue(42))),
            ("#42", Some(Work::issue(42))),
            ("fix/#42-login", Some(Work::issue(42))),
            ("pr-99", Some(Work::pr(99))),
            ("archon/pr-99-review", Some(Work::pr(99))),
            ("archon/review-7", Some(Work::review(7))),
            ("thread-1a2b3c4d", Work::thread("1a2b3c4d").ok()),
            ("thread-pool", None),
            ("thread-1a2b3c4d5", None),
            ("issue-0", None),
            ("issue-42nd", None),
            ("issue-99999999999999999999999", None),
            ("issue", None),
            ("code-review-2", None),
            ("spr-4", None),
            ("#", None),
            ("", None),
            ("🎉", None),
        ] {
            assert_eq!(guess(name), work, "{name}");
        }
    }

    #[test]
    fn the_branch_comes_before_the_directory_and_both_before_what_is_likely() {
        let branch = |name: &str| name.parse::<BranchName>().unwrap();
        let work = |name: &str, directory: &str, likely: Option<Work>| {
            work_of(&branch(name), Path::new(directory), likely.as_ref())
        };
        assert_eq!(work("issue-1", "/trees/issue-2", Some(Work::issue(3))), Work::issue(1));
        assert_eq!(work("feature", "/trees/issue-2", Some(Work::issue(3))), Work::issue(2));
        assert_eq!(work("feature", "/issue-2/tree", Some(Work::issue(3))), Work::issue(3));
        assert_eq!(work("feature/x", "/trees/x", None), Work::branch(&branch("feature/x")));
        let thread = Work::thread("C1:17.5").unwrap();
        assert_eq!(work("thread-1a2b3c4d", "/x", Some(thread.clone())), thread);
        assert_eq!(work("issue-1", "/x", Some(thread)), Work::issue(1));
    }
}
