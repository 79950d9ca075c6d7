//! Whose the files of a workspace are.

use spinney_core::{Began, Brought, JobId, Left, RepositoryId, WorkspaceStatus};

use crate::backend::{Backend, on_both};
use crate::samples::one_workspace;

on_both! {
    async fn what_was_written_down_comes_back_and_goes_with_its_workspace(backend: &Backend) {
        let store = backend.store().await;
        let (_, workspace) = one_workspace(&store).await;
        let mut db = store.write().await.unwrap();
        assert_eq!((db.brought(&workspace.id).await.unwrap(), db.began(&workspace.id).await.unwrap()), (None, None));
        let mut began = Began {
            job: JobId::generate(),
            at_ns: 1_700_000_000_123_456_789,
            found: [("größe %25\n".to_owned(), "100644 aa".to_owned())].into(),
            shared: ["both".to_owned()].into(),
            ignored: [("target".to_owned(), None), (".env".to_owned(), Some("100644 bb".to_owned()))].into(),
            contents: [("cc".to_owned(), ".env".to_owned())].into(),
            head: None,
            tips: ["a".repeat(40).parse().unwrap()].into(),
            left: None,
        };
        let brought = Brought {
            copied: [".env".to_owned()].into(),
            contents: [("dd".to_owned(), ".env".to_owned())].into(),
            accepted: ["b".repeat(40).parse().unwrap()].into(),
            ..Brought::default()
        };
        db.put_brought(&workspace.id, &brought).await.unwrap();
        db.put_began(&workspace.id, &began).await.unwrap();
        began.left = Some(Left { completed: true, ..Left::default() });
        db.put_began(&workspace.id, &began).await.unwrap();
        db.commit().await.unwrap();
        let mut db = store.write().await.unwrap();
        assert_eq!(db.brought(&workspace.id).await.unwrap(), Some(brought.clone()));
        let mut removed = workspace.clone();
        removed.status = WorkspaceStatus::Trashed;
        assert!(db.update_workspace(&removed, &[workspace.status]).await.unwrap());
        assert_eq!(db.brought_in_all(&workspace.repository_id).await.unwrap(), [brought]);
        assert_eq!(db.brought_in_all(&RepositoryId::generate()).await.unwrap(), []);
        assert_eq!(db.began(&workspace.id).await.unwrap(), Some(began));
        assert!(db.delete_workspace(&workspace.id).await.unwrap());
        assert_eq!((db.brought(&workspace.id).await.unwrap(), db.began(&workspace.id).await.unwrap()), (None, None));
        db.commit().await.unwrap();
    }
}
