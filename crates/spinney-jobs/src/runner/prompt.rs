//! What an agent is told.

use spinney_core::names::for_message;

use super::Run;
use super::setup::JobPlace;

/// Asks a session whose context is nearly full for what its successor must know.
pub(super) const HAND_OFF: &str = "Your context is nearly full, and another session will go on with this task in the same directory. \
Do not change anything more. Write a hand-off note for it: what the task is, what is done and where, what was decided and why, \
what is left to do, what to watch out for. Answer with the note alone.";

impl Run<'_> {
    /// The agent's own system prompt, and the section on where it works.
    pub(super) fn system_prompt(&self, place: &JobPlace) -> String {
        let own = self.agent.config.system_prompt.trim();
        let section = self.section(place);
        if own.is_empty() { section } else { format!("{own}\n\n{section}") }
    }

    fn section(&self, place: &JobPlace) -> String {
        let directory = place.inside();
        let directory = directory.display();
        let root = place.executor().path_inside(self.context.place());
        let root = root.display();
        if place.as_reading().is_some() {
            return format!(
                "# Where you work\n\nYou read in `{directory}`, a checkout of {} that others read in too. Change nothing, there or \
                 anywhere else; nothing is committed or pushed for you.\n",
                self.job.repository
            );
        }
        let Some(workspace) = place.workspace() else {
            return format!(
                "# Where you work\n\nYou work in `{directory}`, as it is. Nothing is committed or pushed for you.\n"
            );
        };
        let base = workspace.base_branch.as_ref().map_or_else(
            || format!("commit {}", workspace.base_commit.short()),
            |base| format!("`{base}` at {}", workspace.base_commit.short()),
        );
        let title = workspace.title.as_deref().map(|title| format!(" ({})", for_message(title))).unwrap_or_default();
        format!(
            "# Your workspace\n\n\
             - directory: `{directory}` (SPINNEY_WORKSPACE_PATH), an isolated worktree of {repository} that is yours alone\n\
             - branch: `{branch}` (SPINNEY_WORKSPACE_BRANCH), started from {base}\n\
             - work item: {name}{title}\n\
             - main repository: `{root}` (SPINNEY_REPOSITORY_ROOT)\n\n\
             All changes belong in this workspace. Change nothing in the main repository or anywhere else, and do not switch \
             to another branch. Commit as you see fit; what you leave uncommitted is committed for you, and the branch is \
             pushed for you when you are done.\n",
            repository = self.job.repository,
            branch = workspace.branch,
            name = workspace.name,
        )
    }

    /// What the first session of this run is asked: the task, or to go on with it.
    pub(super) fn first_prompt(&self, resumed: bool) -> String {
        let task = &self.job.prompt;
        if resumed && self.job.attempt > 1 {
            return format!("You were interrupted. Look at what is there, and go on with the task:\n\n{task}");
        }
        task.clone()
    }

    /// What the session after a hand-off is asked.
    pub(super) fn next_prompt(&self, note: Option<&str>) -> String {
        let left = match note {
            Some(note) => format!("Its hand-off note:\n\n{note}"),
            None => "It left no note: look at what is there.".to_owned(),
        };
        let task = &self.job.prompt;
        format!("You go on with a task that another session began in this directory. The task:\n\n{task}\n\n{left}")
    }
}
