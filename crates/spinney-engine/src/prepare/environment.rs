//! What a command that runs in a workspace sees.

use std::ffi::OsString;

use spinney_core::Workspace;

use crate::context::Context;
use crate::{Engine, Result};

impl Engine {
    /// The environment for a command in a workspace: the caller's own, without git's variables, and the workspace's.
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
    pub async fn workspace_variables(
        &self,
        context: &Context,
        workspace: &Workspace,
    ) -> Result<Vec<(OsString, OsString)>> {
        let ports = self.store.read().await?.ports_of(&workspace.id).await?;
        let mut variables = Vec::new();
        let mut set = |key: &str, value: &dyn AsRef<std::ffi::OsStr>| {
            variables.push((OsString::from(key), value.as_ref().to_owned()));
        };
        set("PWD", &workspace.path);
        set("SPINNEY_WORKTREE_PATH", &workspace.path);
        set("SPINNEY_WORKTREE_BRANCH", &workspace.branch.as_str());
        set("SPINNEY_WORKTREE_BASE_BRANCH", &workspace.base_branch.as_ref().map_or("", |branch| branch.as_str()));
        set("SPINNEY_WORK_ITEM_ID", &workspace.name.as_str());
        set("SPINNEY_WORK_ITEM_TITLE", &workspace.title.as_deref().unwrap_or_default());
        set("SPINNEY_REPO_ROOT", &context.git.root().unwrap_or_else(|| context.git.common_dir()));
        set("SPINNEY_WORKSPACE_STRATEGY", &"git_worktree");
        for port in ports {
            set(&format!("SPINNEY_PORT_{}", port.name.to_uppercase()), &port.port.to_string());
        }
        Ok(variables)
    }
}
