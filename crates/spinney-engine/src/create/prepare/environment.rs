//! What a command that runs in a workspace sees.

use std::ffi::OsString;

use async_recursion::async_recursion as boxed;
use spinney_core::Workspace;
use spinney_core::variables::{self, WorkspaceFacts};

use crate::repositories::context::Context;
use crate::{Engine, Result};

impl Engine {
    /// The environment for a command in a workspace: the caller's own, without git's variables, and the workspace's.
    #[boxed]
    pub async fn workspace_environment(
        &self,
        context: &Context,
        workspace: &Workspace,
    ) -> Result<Vec<(OsString, OsString)>> {
        let variables = self.workspace_variables(context, workspace).await?;
        let is_git = |key: &OsString| key.to_str().is_some_and(|key| key.starts_with("GIT_"));
        let is_set = |key: &OsString| variables.iter().any(|(known, _)| known == key);
        let inherited = self.environment.iter().filter(|(key, _)| !is_git(key) && !is_set(key)).cloned();
        Ok(inherited.chain(variables.iter().cloned()).collect())
    }

    /// What a command in a workspace is told about it.
    #[boxed]
    pub async fn workspace_variables(
        &self,
        context: &Context,
        workspace: &Workspace,
    ) -> Result<Vec<(OsString, OsString)>> {
        let ports = self.store.read().await?.ports_of(&workspace.id).await?;
        let executor = self.executor(Some(workspace));
        let path = executor.path_inside(&workspace.path);
        let root = executor.path_inside(context.place());
        let told = WorkspaceFacts {
            path: &path,
            branch: workspace.branch.as_str(),
            base_branch: workspace.base_branch.as_ref().map_or("", |branch| branch.as_str()),
            name: workspace.name.as_str(),
            item: &workspace.work.key,
            title: workspace.title.as_deref().unwrap_or_default(),
            root: &root,
            strategy: "git_worktree",
        };
        let mut variables = told.variables();
        variables.push((OsString::from("PWD"), path.clone().into_os_string()));
        for port in ports {
            let name = format!("{}{}", variables::PORT, port.name.to_uppercase());
            variables.push((OsString::from(name), OsString::from(port.port.to_string())));
        }
        Ok(variables)
    }
}
