//! What an agent may do that asks first.
//!
//! The paths are those that the agent tells. An agent that lies, or writes through a symbolic link, is not held back by
//! this: it does its own reading and writing. It is a policy, no sandbox.

use std::path::{Component, Path, PathBuf};

use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionResponse,
    SelectedPermissionOutcome, ToolKind,
};

use super::heard::Call;

/// Spinney's words for how much an agent may do.
pub(super) const MODES: &[&str] = &["acceptEdits", "bypassPermissions", "default", "plan"];

#[derive(Debug)]
pub(super) struct Policy {
    mode: Mode,
    directory: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Reading, and editing in the workspace.
    Edits,
    Everything,
    /// Reading in the workspace.
    Reads,
    Nothing,
}

impl Policy {
    pub(super) fn new(mode: Option<&str>, directory: &Path) -> Self {
        let mode = match mode {
            Some("bypassPermissions") => Mode::Everything,
            Some("plan") => Mode::Reads,
            Some("default") => Mode::Nothing,
            _ => Mode::Edits,
        };
        Self { mode, directory: directory.to_owned() }
    }

    /// Answers a question with one of its options, and whether that allows it.
    pub(super) fn answer(&self, options: &[PermissionOption], call: &Call) -> (RequestPermissionResponse, bool) {
        let allow = [PermissionOptionKind::AllowOnce, PermissionOptionKind::AllowAlways];
        let reject = [PermissionOptionKind::RejectOnce, PermissionOptionKind::RejectAlways];
        let pick = |kinds: [PermissionOptionKind; 2]| {
            kinds.iter().find_map(|kind| options.iter().find(|option| option.kind == *kind))
        };
        let allowed = if self.allows(call) { pick(allow) } else { None };
        let outcome = match allowed.or_else(|| pick(reject)) {
            Some(option) => {
                RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option.option_id.clone()))
            }
            None => RequestPermissionOutcome::Cancelled,
        };
        (RequestPermissionResponse::new(outcome), allowed.is_some())
    }

    fn allows(&self, call: &Call) -> bool {
        let inside = || !call.is_immense && call.paths.iter().all(|path| self.is_inside(path));
        match (self.mode, call.kind) {
            (Mode::Everything, _) => true,
            (Mode::Nothing, _) => false,
            // An edit that does not say of what may be of anything.
            (Mode::Edits, ToolKind::Edit | ToolKind::Delete | ToolKind::Move) => !call.paths.is_empty() && inside(),
            (Mode::Edits | Mode::Reads, ToolKind::Read | ToolKind::Search | ToolKind::Think) => inside(),
            (Mode::Edits | Mode::Reads, _) => false,
        }
    }

    fn is_inside(&self, path: &Path) -> bool {
        let path = self.directory.join(path);
        let Ok(below) = path.strip_prefix(&self.directory) else { return false };
        let mut names = Vec::new();
        for component in below.components() {
            match component {
                Component::Normal(name) => names.push(name),
                Component::CurDir => {}
                Component::ParentDir if names.pop().is_some() => {}
                _ => return false,
            }
        }
        // The workspace's link to its repository is not the agent's to edit.
        names.first().is_some_and(|name| *name != ".git")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(kind: ToolKind, paths: &[&str]) -> Call {
        Call { kind, paths: paths.iter().map(PathBuf::from).collect(), ..Call::default() }
    }

    #[test]
    fn edits_are_allowed_where_all_is_inside() {
        let policy = Policy::new(None, Path::new("/w/s"));
        assert!(policy.allows(&call(ToolKind::Edit, &["/w/s/a.rs", "b/../c.rs"])));
        assert!(!policy.allows(&call(ToolKind::Edit, &["/w/s/a.rs", "/etc/passwd"])));
        assert!(!policy.allows(&call(ToolKind::Edit, &["/w/s/../x"])));
        assert!(!policy.allows(&call(ToolKind::Edit, &["a/../../x"])));
        assert!(!policy.allows(&call(ToolKind::Edit, &["/w/ss/x"])));
        assert!(!policy.allows(&call(ToolKind::Edit, &[".git"])));
        assert!(!policy.allows(&call(ToolKind::Edit, &["a/../.git/config"])));
        assert!(!policy.allows(&call(ToolKind::Edit, &["/w/s"])));
        assert!(!policy.allows(&call(ToolKind::Edit, &[])));
        assert!(policy.allows(&call(ToolKind::Search, &[])));
        assert!(!policy.allows(&call(ToolKind::Read, &["/etc/passwd"])));
        assert!(!policy.allows(&call(ToolKind::Execute, &[])));
        assert!(!policy.allows(&call(ToolKind::Other, &["a"])));
        assert!(!policy.allows(&Call { is_immense: true, ..call(ToolKind::Edit, &["a"]) }));
    }

    #[test]
    fn a_mode_allows_all_or_nothing() {
        let allows = |mode, kind| Policy::new(Some(mode), Path::new("/w")).allows(&call(kind, &["/w/a"]));
        assert!(allows("bypassPermissions", ToolKind::Execute));
        assert!(!allows("plan", ToolKind::Edit) && allows("plan", ToolKind::Read));
        assert!(!allows("default", ToolKind::Read));
    }

    #[test]
    fn the_narrowest_option_is_picked_by_its_kind() {
        let option = |id: &'static str, kind| PermissionOption::new(id, id, kind);
        let options = [
            option("forever", PermissionOptionKind::AllowAlways),
            option("once", PermissionOptionKind::AllowOnce),
            option("no", PermissionOptionKind::RejectOnce),
        ];
        let policy = Policy::new(None, Path::new("/w"));
        let picked = |options: &[PermissionOption], kind| {
            let (response, is_allowed) = policy.answer(options, &call(kind, &["/w/a"]));
            match response.outcome {
                RequestPermissionOutcome::Selected(option) => (option.option_id.to_string(), is_allowed),
                _ => (String::new(), is_allowed),
            }
        };
        assert_eq!(picked(&options, ToolKind::Edit), ("once".into(), true));
        assert_eq!(picked(&options, ToolKind::Execute), ("no".into(), false));
        assert_eq!(picked(&options[..1], ToolKind::Edit), ("forever".into(), true));
        assert_eq!(picked(&options[..1], ToolKind::Execute), (String::new(), false));
    }
}
