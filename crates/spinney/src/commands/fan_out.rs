//! One command, several jobs: tries at the same thing, or a list of things to do. Each needs a workspace of its own.

use std::collections::HashSet;

use spinney_core::{BranchName, Work, WorkKind};

use crate::error::{CliError, Result};

/// What one job is to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// None: the job is its own work.
    pub work: Option<Work>,
    pub title: Option<String>,
    pub prompt: String,
}

/// Several tries at the same thing. Tries at a piece of work are tasks named after it, since the work itself has one
/// workspace; asked for again, they go on where they were.
pub fn of_count(
    count: u32,
    work: Option<&Work>,
    branch: Option<&BranchName>,
    title: Option<&str>,
    prompt: &str,
) -> Result<Vec<Piece>> {
    let of_one_branch = work.filter(|work| matches!(work.kind, WorkKind::Pr | WorkKind::Review));
    let refused = match (branch, of_one_branch) {
        (Some(branch), _) => Some(format!("`--branch {branch}` is one branch")),
        (None, Some(work)) => Some(format!("{} has one branch", work.workspace_name())),
        (None, None) => None,
    };
    if let Some(refused) = refused {
        return Err(CliError::usage(format!("{refused}, and {count} jobs can't share it"))
            .hinted("`--task TEXT --base BRANCH --count N` starts as many tries from a branch"));
    }
    let piece = |number: u32| {
        let name = work.map(|work| match work.kind {
            WorkKind::Task => work.key.clone(),
            _ => work.workspace_name().to_string(),
        });
        let try_of = format!("try {number} of {count}");
        let title = match (title, &name) {
            (Some(title), _) => Some(format!("{title} ({try_of})")),
            (None, Some(name)) => Some(format!("{name} ({try_of})")),
            (None, None) => None,
        };
        let work = name.map(|name| Work::task(&format!("{name} {number}"))).transpose();
        let work = work.map_err(|error| CliError::usage(error.to_string()))?;
        Ok(Piece { work, title, prompt: prompt.to_owned() })
    };
    (1..=count).map(piece).collect()
}

/// A prompt a line, each a task that is named by it; where two have the same name, the later has a number.
pub fn of_lines(text: &str) -> Result<Vec<Piece>> {
    let mut taken = HashSet::new();
    let prompts = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let pieces: Vec<_> = prompts
        .map(|prompt| Piece {
            // A prompt without a letter names no task: its job is its own work.
            work: Work::task(prompt).ok().map(|work| distinct(work, &mut taken)),
            title: Some(prompt.to_owned()),
            prompt: prompt.to_owned(),
        })
        .collect();
    if pieces.is_empty() {
        return Err(CliError::usage("there is no prompt: every line is empty or a comment").hinted("one prompt a line"));
    }
    Ok(pieces)
}

fn distinct(work: Work, taken: &mut HashSet<Work>) -> Work {
    let numbered = (2..).filter_map(|number| Work::task(&format!("{} {number}", work.key)).ok());
    let free = std::iter::once(work.clone()).chain(numbered).find(|work| !taken.contains(work));
    let free = free.unwrap_or(work);
    taken.insert(free.clone());
    free
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(pieces: &[Piece]) -> Vec<String> {
        let name = |work: &Work| work.workspace_name().to_string();
        pieces.iter().map(|piece| piece.work.as_ref().map_or_else(|| "own".to_owned(), name)).collect()
    }

    #[test]
    fn tries_at_one_piece_of_work_have_a_workspace_each() {
        let pieces = of_count(2, Some(&Work::issue(42)), None, None, "fix it").unwrap();
        assert_eq!(names(&pieces), ["task-issue-42-1", "task-issue-42-2"]);
        assert_eq!(pieces[1].title.as_deref(), Some("issue-42 (try 2 of 2)"));
        let task = Work::task("Add dark mode").unwrap();
        let pieces = of_count(2, Some(&task), None, Some("Add dark mode"), "do").unwrap();
        assert_eq!(names(&pieces), ["task-add-dark-mode-1", "task-add-dark-mode-2"]);
        assert_eq!(pieces[0].title.as_deref(), Some("Add dark mode (try 1 of 2)"));
        assert_eq!(names(&of_count(2, None, None, None, "do").unwrap()), ["own", "own"]);
        assert!(of_count(2, Some(&Work::pr(9)), None, None, "do").is_err());
        let branch: BranchName = "feat".parse().unwrap();
        assert!(of_count(2, Some(&Work::branch(&branch)), Some(&branch), None, "do").is_err());
    }

    #[test]
    fn a_line_is_a_task_and_no_two_are_the_same() {
        let pieces = of_lines("# comment\n\n Fix typo \nfix typo!\nFix typo 2\n…\n").unwrap();
        assert_eq!(names(&pieces), ["task-fix-typo", "task-fix-typo-2", "task-fix-typo-2-2", "own"]);
        assert_eq!(pieces[0].prompt, "Fix typo");
        assert!(of_lines("\n# nothing\n").is_err());
    }
}
