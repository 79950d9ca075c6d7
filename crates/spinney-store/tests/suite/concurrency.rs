//! Many tasks of one process.

use spinney_core::{Work, WorkspaceStatus};
use spinney_store::Store;
use spinney_store::migrate::MIGRATIONS;
use tokio::task::JoinSet;

use crate::backend::{Backend, on_both};
use crate::samples::{everything, one_repository, operation, workspace};

on_both! {
    async fn of_many_requests_for_one_piece_of_work_one_wins(backend: &Backend) {
        let store = backend.store().await;
        let repository = one_repository(&store).await;
        let mut tasks = JoinSet::new();
        for _ in 0..16 {
            let (store, repository) = (store.clone(), repository.clone());
            tasks.spawn(async move {
                let mut workspace = workspace(&repository, Work::issue(42));
                workspace.status = WorkspaceStatus::Creating;
                let mut connection = store.write().await.unwrap();
                let won = connection.insert_workspace(&workspace).await.unwrap()
                    && connection.insert_work(&repository.id, &workspace.work, &workspace.id).await.unwrap()
                    && connection.insert_operation(&operation(&workspace)).await.unwrap();
                if won {
                    connection.commit().await.unwrap();
                }
                won.then_some(workspace.id)
            });
        }
        let winners: Vec<_> = tasks.join_all().await.into_iter().flatten().collect();
        assert_eq!(winners.len(), 1);
        let mut connection = store.read().await.unwrap();
        let found = connection.workspace_of_work(&repository.id, &Work::issue(42)).await.unwrap();
        assert_eq!(found.unwrap().id, winners[0]);
        assert_eq!(connection.workspaces(&everything()).await.unwrap().len(), 1);
        assert_eq!(connection.open_operations(&repository.node).await.unwrap().len(), 1);
    }

    async fn one_work_is_inserted_once_whatever_workspace_it_is_given(backend: &Backend) {
        let store = backend.store().await;
        let repository = one_repository(&store).await;
        let mut tasks = JoinSet::new();
        for number in 1..=16 {
            let (store, repository) = (store.clone(), repository.clone());
            tasks.spawn(async move {
                let workspace = workspace(&repository, Work::issue(number));
                let mut connection = store.write().await.unwrap();
                assert!(connection.insert_workspace(&workspace).await.unwrap());
                let won = connection.insert_work(&repository.id, &Work::pr(9), &workspace.id).await.unwrap();
                connection.commit().await.unwrap();
                won
            });
        }
        assert_eq!(tasks.join_all().await.into_iter().filter(|won| *won).count(), 1);
        assert_eq!(store.read().await.unwrap().workspaces(&everything()).await.unwrap().len(), 16);
    }

    async fn more_tasks_than_connections_take_turns(backend: &Backend) {
        let store = backend.store().await;
        let repository = one_repository(&store).await;
        let mut tasks = JoinSet::new();
        for number in 1..=40 {
            let (store, repository) = (store.clone(), repository.clone());
            tasks.spawn(async move {
                let mut connection = store.write().await.unwrap();
                assert!(connection.insert_workspace(&workspace(&repository, Work::issue(number))).await.unwrap());
                connection.commit().await.unwrap();
                let mut connection = store.read().await.unwrap();
                assert!(!connection.workspaces(&everything()).await.unwrap().is_empty());
            });
        }
        tasks.join_all().await;
        let mut connection = store.read().await.unwrap();
        assert_eq!(connection.count_workspaces(&repository.id, &repository.node, WorkspaceStatus::ALL).await.unwrap(), 40);
    }

    async fn many_can_open_a_new_store_at_once(backend: &Backend) {
        let mut tasks = JoinSet::new();
        for _ in 0..12 {
            let url = backend.url.clone();
            tasks.spawn(async move { Store::open(&url).await.map(drop) });
        }
        for opened in tasks.join_all().await {
            opened.unwrap();
        }
        assert_eq!(backend.number("SELECT COUNT(*) FROM schema_migrations").await, MIGRATIONS.len() as i64);
    }
}
