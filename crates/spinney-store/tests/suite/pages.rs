//! Lists in parts, and counts.

use spinney_core::{Size, Timestamp, Work, WorkKind, Workspace, WorkspaceStatus};
use spinney_store::{Page, Seen, WorkspaceSearch};

use crate::backend::{Backend, on_both};
use crate::samples::{everything, one_repository, workspace};

/// Three workspaces, two of the same moment.
async fn three(backend: &Backend) -> Vec<Workspace> {
    let store = backend.store().await;
    let repository = one_repository(&store).await;
    let mut made = Vec::new();
    for (number, at) in [(1, 10), (2, 20), (3, 20)] {
        let mut row = workspace(&repository, Work::issue(number));
        row.created_at = Timestamp::from_millisecond(at);
        row.title = Some(format!("100% of Größe_{number}"));
        assert!(store.read().await.unwrap().insert_workspace(&row).await.unwrap());
        made.push(row);
    }
    made
}

on_both! {
    async fn a_list_in_parts_is_the_whole_list(backend: &Backend) {
        three(backend).await;
        let store = backend.store().await;
        let mut db = store.read().await.unwrap();
        let search =
            |text: Option<&str>, kind| WorkspaceSearch { filter: everything(), kind, text: text.map(ToOwned::to_owned) };
        let whole = db.workspaces(&everything()).await.unwrap();
        let (mut parts, mut after) = (Vec::new(), None);
        loop {
            let page = Page { after, limit: 1 };
            let Some(row) = db.workspace_page(&search(None, None), &page).await.unwrap().pop() else { break };
            after = Some(Seen { at: row.created_at, id: row.id.to_string() });
            parts.push(row);
        }
        assert_eq!(parts, whole);

        let all = Page { after: None, limit: 10 };
        for (text, kind, found) in [
            (Some("ISSUE-2"), None, 1),
            (Some("100%"), None, 3),
            (Some("e_3"), None, 1),
            (Some("0_o"), None, 0),
            (Some("!"), None, 0),
            (None, Some(WorkKind::Issue), 3),
            (None, Some(WorkKind::Pr), 0),
        ] {
            let rows = db.workspace_page(&search(text, kind), &all).await.unwrap();
            assert_eq!(rows.len(), found, "{text:?} {kind:?}");
        }
    }

    async fn counts_are_those_of_the_rows(backend: &Backend) {
        let made = three(backend).await;
        let store = backend.store().await;
        let mut db = store.read().await.unwrap();
        let mut trashed = made[2].clone();
        trashed.status = WorkspaceStatus::Trashed;
        assert!(db.update_workspace(&trashed, &[WorkspaceStatus::Active]).await.unwrap());
        db.record_size(&made[0].id, Size { bytes: 1 << 40, at: Timestamp::now() }).await.unwrap();
        let mut tallies = db.tally_workspaces("local", &made[0].node).await.unwrap();
        tallies.sort_by_key(|tally| tally.status);
        let told: Vec<_> = tallies.iter().map(|tally| (tally.status, tally.count, tally.known, tally.bytes)).collect();
        assert_eq!(told, [(WorkspaceStatus::Active, 2, 1, 1 << 40), (WorkspaceStatus::Trashed, 1, 0, 0)]);
        assert_eq!(db.tally_workspaces("acme", &made[0].node).await.unwrap(), []);
        let ids = [&made[0].id, &made[2].id];
        assert_eq!(db.workspaces_of_all(&ids).await.unwrap().len(), 2);
        assert_eq!(db.workspaces_of_all(&[]).await.unwrap(), []);
    }
}
