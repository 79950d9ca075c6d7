//! One live workspace of a repository has a name. One that comes back from the trash after its name was given away gets a
//! number behind it, as branches do.

use spinney_core::{Workspace, WorkspaceName, WorkspaceStatus};
use spinney_store::{Connection, WorkspaceFilter};

use crate::Result;

/// The first free name like a workspace's own: itself, else the same with `-2`, `-3` and so on. Asked in the transaction
/// that writes it, with the repository locked.
pub(crate) async fn free_name(db: &mut Connection, workspace: &Workspace) -> Result<WorkspaceName> {
    let filter = WorkspaceFilter {
        account: workspace.account.clone(),
        node: None,
        repository: Some(workspace.repository_id.clone()),
        statuses: WorkspaceStatus::ALL.iter().copied().filter(|status| status.is_of_work()).collect(),
    };
    let live = db.workspaces(&filter).await?;
    let taken: Vec<_> = live.iter().filter(|row| row.id != workspace.id).map(|row| &row.name).collect();
    Ok(first_free(&workspace.name, &taken))
}

fn first_free(name: &WorkspaceName, taken: &[&WorkspaceName]) -> WorkspaceName {
    let numbered = (2..).map(|number: u32| WorkspaceName::new(format!("{name}-{number}")));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    names.find(|name| !taken.contains(&name)).unwrap_or_else(|| name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_follows_a_name_that_is_taken() {
        let [name, second, other] = ["issue-42", "issue-42-2", "issue-4"].map(WorkspaceName::new);
        assert_eq!(first_free(&name, &[]), name);
        assert_eq!(first_free(&name, &[&other]), name);
        assert_eq!(first_free(&name, &[&name]), second);
        assert_eq!(first_free(&name, &[&name, &second]).as_str(), "issue-42-3");
        assert_eq!(first_free(&second, &[&name]), second);
    }
}
