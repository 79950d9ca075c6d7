//! Rows that somebody changed by hand.

use spinney_store::Error;

use crate::backend::{Backend, on_both};
use crate::samples::{everything, one_workspace};

on_both! {
    async fn a_value_that_makes_no_sense_is_named_by_its_place(backend: &Backend) {
        let store = backend.store().await;
        let (repository, workspace) = one_workspace(&store).await;
        for (column, bad, good) in [
            ("status", "'alive'", "'active'"),
            ("base_commit", "'main'", "'0123456789abcdef0123456789abcdef01234567'"),
            ("branch", "'../..'", "'issue-42'"),
            ("pinned", "7", "1"),
            ("metadata", "'{'", "'{}'"),
            ("kind", "'epic'", "'issue'"),
        ] {
            backend.run(format!("UPDATE workspaces SET {column} = {bad}")).await;
            let error = store.read().await.unwrap().workspace(&workspace.id).await.unwrap_err();
            let Error::Value { table, column: named, id, .. } = error else { panic!("{error:?}") };
            assert_eq!((table, named.as_str(), id.as_str()), ("workspaces", column, workspace.id.as_str()));
            backend.run(format!("UPDATE workspaces SET {column} = {good}")).await;
        }
        assert_eq!(store.read().await.unwrap().workspaces(&everything()).await.unwrap().len(), 1);

        backend.run("UPDATE repositories SET owner = '..'").await;
        let error = store.read().await.unwrap().repository(&repository.node, &repository.id).await.unwrap_err();
        assert!(error.to_string().contains("`repositories`"), "{error}");
    }
}
