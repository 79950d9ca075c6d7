//! What each entity can do.

use std::path::Path;

use spinney_core::workspace::Metadata;
use spinney_core::{NodeId, OperationStatus, Platform, RemoveStep, Size, Step, Timestamp, Work, WorkspaceStatus};
use spinney_store::migrate::MIGRATIONS;
use spinney_store::{Error, Port, WorkspaceFilter};

use crate::backend::{Backend, on_both};
use crate::samples::{
    everything, one_repository, one_repository_named, one_workspace, operation, repository, workspace,
};

on_both! {
    async fn a_repository_comes_back_as_it_went_in(backend: &Backend) {
        let store = backend.store().await;
        let full = one_repository(&store).await;
        let mut bare = repository(&full.node, "acme/bare");
        bare.root = None;
        bare.url = None;
        bare.managed = false;
        bare.token_env = None;
        bare.tree_bytes = None;

        let mut connection = store.read().await.unwrap();
        bare.clone = None;
        assert!(connection.insert_repository(&bare).await.unwrap());
        assert_eq!(connection.repository(&full.node, &full.id).await.unwrap().unwrap(), full);
        assert_eq!(connection.repository(&bare.node, &bare.id).await.unwrap().unwrap(), bare);
        let at = connection.repositories_at("local", &full.node, &full.common_dir).await.unwrap();
        assert_eq!(at, std::slice::from_ref(&full));
        let clone = full.clone.as_ref().unwrap();
        let found = connection.repository_of_clone("local", &full.node, clone).await.unwrap();
        assert_eq!(found.as_ref(), Some(&full));
        // Forges tell names in any case.
        let of_slug = connection.repositories_of_slug("local", &full.node, "Acme/App").await.unwrap();
        assert_eq!(of_slug, std::slice::from_ref(&full));
        let named = connection.repository_named("local", &full.node, &bare.name).await.unwrap();
        assert_eq!(named.unwrap(), bare);
        assert_eq!(connection.repositories("local", &full.node).await.unwrap(), [full.clone(), bare.clone()]);

        let other = NodeId::generate();
        assert_eq!(connection.repositories_at("local", &other, &full.common_dir).await.unwrap(), []);
        assert_eq!(connection.repository_of_clone("local", &other, clone).await.unwrap(), None);
        assert_eq!(connection.repository(&other, &full.id).await.unwrap(), None);
        assert_eq!(connection.repository_named("other", &full.node, &full.name).await.unwrap(), None);
        assert_eq!(connection.repositories("local", &other).await.unwrap(), []);

        bare.url = Some("https://example.org/moved.git".into());
        bare.tree_bytes = Some(7);
        bare.name = "acme/moved".parse().unwrap();
        connection.update_repository(&bare).await.unwrap();
        assert_eq!(connection.repository(&bare.node, &bare.id).await.unwrap().unwrap(), bare);
    }

    async fn a_clone_and_a_name_belong_to_one_repository(backend: &Backend) {
        let store = backend.store().await;
        let first = one_repository(&store).await;
        let mut same_clone = repository(&first.node, "acme/other");
        same_clone.clone = first.clone.clone();
        let same_name = repository(&first.node, "acme/app");
        for taken in [&same_clone, &same_name] {
            let mut connection = store.write().await.unwrap();
            assert!(!connection.insert_repository(taken).await.unwrap());
        }
        // Names are unique on all machines.
        let other = NodeId::generate();
        let mut connection = store.write().await.unwrap();
        connection.ensure_node(&other, "server").await.unwrap();
        assert!(!connection.insert_repository(&repository(&other, "acme/app")).await.unwrap());
        assert!(connection.insert_repository(&repository(&other, "acme/app-2")).await.unwrap());
        connection.commit().await.unwrap();
        assert_eq!(store.read().await.unwrap().repositories("local", &first.node).await.unwrap(), [first]);
    }

    async fn a_clone_on_another_machine_joins_the_repository_of_its_remote(backend: &Backend) {
        let store = backend.store().await;
        let first = one_repository(&store).await;
        let other = NodeId::generate();
        let mut connection = store.write().await.unwrap();
        connection.ensure_node(&other, "server").await.unwrap();
        let remote = first.remote().unwrap();
        let mut to_join = async |node: &NodeId| connection.repository_to_join("local", node, &remote).await.unwrap();
        assert_eq!(to_join(&first.node).await, None, "it has a clone there");
        let (id, name) = to_join(&other).await.unwrap();
        assert_eq!((&id, &name), (&first.id, &first.name));
        let joined = spinney_core::Repository { id, name, ..repository(&other, "acme/app") };
        assert!(connection.insert_clone(&joined).await.unwrap());
        assert!(!connection.insert_clone(&joined).await.unwrap());
        connection.commit().await.unwrap();
        let mut connection = store.read().await.unwrap();
        assert_eq!(connection.repository(&first.node, &first.id).await.unwrap().unwrap(), first);
        assert_eq!(connection.repository(&other, &first.id).await.unwrap().unwrap().clone, joined.clone);
        // Work that one machine has no other takes.
        let ours = workspace(&first, Work::issue(42));
        assert!(connection.insert_workspace(&ours).await.unwrap());
        assert!(connection.insert_work(&first.id, &ours.work, &ours.id).await.unwrap());
        let mut theirs = workspace(&joined, Work::issue(42));
        assert!(!connection.insert_workspace(&theirs).await.unwrap(), "live branches are unique too");
        theirs.branch = "another".parse().unwrap();
        assert!(connection.insert_workspace(&theirs).await.unwrap());
        assert!(!connection.insert_work(&joined.id, &theirs.work, &theirs.id).await.unwrap());
        drop(connection);

        // One machine forgets it, the other has it still.
        let mut connection = store.write().await.unwrap();
        let living = connection.delete_repository(&other, &first.id).await.unwrap_err();
        assert!(matches!(living, Error::Referenced { .. }), "{living:?}");
        drop(connection);
        theirs.status = WorkspaceStatus::Purged;
        let mut connection = store.write().await.unwrap();
        assert!(connection.update_workspace(&theirs, &[WorkspaceStatus::Active]).await.unwrap());
        assert!(connection.delete_repository(&other, &first.id).await.unwrap());
        connection.commit().await.unwrap();
        let mut connection = store.read().await.unwrap();
        assert_eq!(connection.repository(&other, &first.id).await.unwrap(), None);
        assert_eq!(connection.repository(&first.node, &first.id).await.unwrap().unwrap(), first);
        assert_eq!(connection.workspace(&ours.id).await.unwrap().map(|row| row.id), Some(ours.id));
    }

    async fn a_node_counts_its_starts_and_is_seen(backend: &Backend) {
        let store = backend.store().await;
        let node = NodeId::generate();
        let mut connection = store.read().await.unwrap();
        connection.ensure_node(&node, "laptop").await.unwrap();
        let before = connection.nodes().await.unwrap().remove(0);
        assert_eq!((before.epoch, before.seen_at, before.labels.len()), (0, None, 0));
        connection.start_node(&node, "laptop").await.unwrap();
        connection.start_node(&node, "laptop").await.unwrap();
        connection.touch_node(&node).await.unwrap();
        let after = connection.nodes().await.unwrap().remove(0);
        assert_eq!(after.epoch, 2);
        assert!(after.seen_at.is_some_and(|at| at.elapsed() < std::time::Duration::from_secs(60)));
    }

    async fn a_node_takes_its_new_name(backend: &Backend) {
        let store = backend.store().await;
        let node = NodeId::generate();
        let mut connection = store.read().await.unwrap();
        for name in ["laptop", "laptop", "desk"] {
            connection.ensure_node(&node, name).await.unwrap();
        }
        assert_eq!(backend.number("SELECT COUNT(*) FROM nodes WHERE name = 'desk'").await, 1);
        assert_eq!(backend.number("SELECT COUNT(*) FROM nodes").await, 1);
    }

    async fn content_is_trusted_by_its_hash(backend: &Backend) {
        let store = backend.store().await;
        let repository = one_repository(&store).await;
        let mut connection = store.read().await.unwrap();
        assert!(!connection.is_trusted(&repository.id, "abc").await.unwrap());
        connection.trust(&repository.id, "abc").await.unwrap();
        connection.trust(&repository.id, "abc").await.unwrap();
        assert!(connection.is_trusted(&repository.id, "abc").await.unwrap());
        assert!(!connection.is_trusted(&repository.id, "abd").await.unwrap());
    }

    async fn a_workspace_comes_back_as_it_went_in_and_as_it_was_changed(backend: &Backend) {
        let store = backend.store().await;
        let (_, full) = one_workspace(&store).await;
        let mut connection = store.read().await.unwrap();
        assert_eq!(connection.workspace(&full.id).await.unwrap().unwrap(), full);

        let mut changed = full.clone();
        changed.work = Work::task("Add dark mode").unwrap();
        changed.name = changed.work.workspace_name();
        changed.title = None;
        changed.path = "/moved".into();
        changed.branch = "moved".parse().unwrap();
        changed.base_branch = None;
        changed.base_commit = "f".repeat(64).parse().unwrap();
        changed.status = WorkspaceStatus::Removing;
        changed.error = None;
        changed.pushed = false;
        changed.pull_request = None;
        changed.platform = Platform::on("slack");
        changed.pinned = false;
        changed.adopted_from = None;
        changed.metadata = Metadata::default();
        changed.last_activity_at = Timestamp::from_millisecond(5);
        changed.removed_at = None;
        let expected = [WorkspaceStatus::Active, WorkspaceStatus::Broken];
        assert!(connection.update_workspace(&changed, &expected).await.unwrap());
        assert_eq!(connection.workspace(&full.id).await.unwrap().unwrap(), changed);

        assert!(!connection.update_workspace(&full, &expected).await.unwrap());
        assert!(!connection.update_workspace(&full, &[]).await.unwrap());
        assert_eq!(connection.workspace(&full.id).await.unwrap().unwrap(), changed);
    }

    async fn branch_and_path_are_unique_among_the_living_only(backend: &Backend) {
        let store = backend.store().await;
        let (repository, mut first) = one_workspace(&store).await;
        let mut connection = store.read().await.unwrap();

        let second = workspace(&repository, Work::issue(42));
        assert!(!connection.insert_workspace(&second).await.unwrap());
        let mut same_path = workspace(&repository, Work::issue(43));
        same_path.path = first.path.clone();
        assert!(!connection.insert_workspace(&same_path).await.unwrap());
        assert_eq!(connection.workspaces(&everything()).await.unwrap(), [first.clone()]);

        first.status = WorkspaceStatus::Trashed;
        assert!(connection.update_workspace(&first, &[WorkspaceStatus::Active]).await.unwrap());
        assert_eq!(connection.workspace_on_branch(&repository.id, &first.branch).await.unwrap(), None);
        assert_eq!(connection.workspace_at(&repository.node, &first.path).await.unwrap(), None);
        assert!(connection.insert_workspace(&second).await.unwrap());
        assert!(connection.insert_workspace(&same_path).await.unwrap());
        let on_branch = connection.workspace_on_branch(&repository.id, &second.branch).await.unwrap();
        assert_eq!(on_branch.unwrap().id, second.id);
        let at = connection.workspace_at(&repository.node, &same_path.path).await.unwrap();
        assert_eq!(at.unwrap().id, same_path.id);

        first.status = WorkspaceStatus::Active;
        let error = connection.update_workspace(&first, &[WorkspaceStatus::Trashed]).await.unwrap_err();
        assert!(matches!(error, Error::Conflict { .. }), "{error:?}");
    }

    async fn workspaces_are_listed_newest_first_and_filtered(backend: &Backend) {
        let store = backend.store().await;
        let ours = one_repository(&store).await;
        let theirs = one_repository_named(&store, "acme/theirs").await;
        let mut connection = store.write().await.unwrap();
        let statuses = [WorkspaceStatus::Active, WorkspaceStatus::Trashed, WorkspaceStatus::Lost];
        for (number, status) in (1..).zip(statuses) {
            for repository in [&ours, &theirs] {
                let mut workspace = workspace(repository, Work::issue(number));
                workspace.status = status;
                workspace.created_at = Timestamp::from_millisecond(number as i64);
                assert!(connection.insert_workspace(&workspace).await.unwrap());
            }
        }
        connection.commit().await.unwrap();

        let mut connection = store.read().await.unwrap();
        let all = connection.workspaces(&everything()).await.unwrap();
        assert_eq!(all.iter().map(|row| row.created_at.as_millisecond()).collect::<Vec<_>>(), [3, 3, 2, 2, 1, 1]);
        let of_node = WorkspaceFilter { node: Some(ours.node.clone()), ..everything() };
        assert_eq!(connection.workspaces(&of_node).await.unwrap().len(), 3);
        let live = WorkspaceFilter {
            repository: Some(theirs.id.clone()),
            statuses: vec![WorkspaceStatus::Active, WorkspaceStatus::Lost],
            ..everything()
        };
        let listed = connection.workspaces(&live).await.unwrap();
        assert_eq!(listed.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["issue-3", "issue-1"]);
        assert!(listed.iter().all(|row| row.repository_id == theirs.id && row.repository == theirs.name));
        let none = WorkspaceFilter { statuses: vec![], ..everything() };
        assert_eq!(connection.workspaces(&none).await.unwrap(), []);
        let stranger = WorkspaceFilter { account: "stranger".into(), ..everything() };
        assert_eq!(connection.workspaces(&stranger).await.unwrap(), []);

        assert_eq!(connection.count_workspaces(&ours.id, &ours.node, WorkspaceStatus::ALL).await.unwrap(), 3);
        assert_eq!(connection.count_workspaces(&ours.id, &ours.node, &[WorkspaceStatus::Lost]).await.unwrap(), 1);
        assert_eq!(connection.count_workspaces(&ours.id, &ours.node, &[]).await.unwrap(), 0);
    }

    async fn a_workspace_is_found_by_name_branch_id_and_the_beginning_of_its_id(backend: &Backend) {
        let store = backend.store().await;
        let repository = one_repository(&store).await;
        let mut connection = store.read().await.unwrap();
        let mut first = workspace(&repository, Work::issue(1));
        first.id = "abc0000001".parse().unwrap();
        first.created_at = Timestamp::from_millisecond(2);
        let mut second = workspace(&repository, Work::issue(2));
        second.id = "abc0000002".parse().unwrap();
        second.created_at = Timestamp::from_millisecond(1);
        // Called like another's id, which must not make that one ambiguous.
        second.branch = "abc0000001".parse().unwrap();
        for workspace in [&first, &second] {
            assert!(connection.insert_workspace(workspace).await.unwrap());
        }
        for (text, found) in [
            ("issue-1", vec![&first]),
            ("issue-2", vec![&second]),
            ("abc0000001", vec![&first]),
            ("abc0000002", vec![&second]),
            ("abc", vec![&first, &second]),
            ("ab", vec![]),
            ("%", vec![]),
            ("ab_", vec![]),
            ("", vec![]),
            ("issue-3", vec![]),
        ] {
            let rows = connection.find_workspaces(&everything(), text).await.unwrap();
            assert_eq!(rows.iter().collect::<Vec<_>>(), found, "{text}");
        }
        let trash = WorkspaceFilter { statuses: vec![WorkspaceStatus::Trashed], ..everything() };
        assert_eq!(connection.find_workspaces(&trash, "issue-1").await.unwrap(), []);
    }

    async fn activity_moves_forward_only(backend: &Backend) {
        let store = backend.store().await;
        let (_, workspace) = one_workspace(&store).await;
        let mut connection = store.read().await.unwrap();
        let later = Timestamp::from_millisecond(1_800_000_000_000);
        connection.touch_workspace(&workspace.id, later).await.unwrap();
        connection.touch_workspace(&workspace.id, Timestamp::from_millisecond(1)).await.unwrap();
        assert_eq!(connection.workspace(&workspace.id).await.unwrap().unwrap().last_activity_at, later);
    }

    async fn a_size_is_kept_beside_the_row(backend: &Backend) {
        let store = backend.store().await;
        let (repository, workspace) = one_workspace(&store).await;
        let other = crate::samples::workspace(&repository, Work::issue(7));
        let mut connection = store.read().await.unwrap();
        assert!(connection.insert_workspace(&other).await.unwrap());
        assert_eq!(connection.workspace(&workspace.id).await.unwrap().unwrap().size, None);
        let size = Size { bytes: 5 << 40, at: Timestamp::from_millisecond(1_800_000_000_000) };
        connection.record_size(&workspace.id, size).await.unwrap();
        // Who writes the row without knowing the size leaves it as it is.
        assert!(connection.update_workspace(&workspace, &[workspace.status]).await.unwrap());
        assert_eq!(connection.workspace(&workspace.id).await.unwrap().unwrap().size, Some(size));
        assert_eq!(connection.workspace(&other.id).await.unwrap().unwrap().size, None);
        let smaller = Size { bytes: 0, ..size };
        connection.record_size(&workspace.id, smaller).await.unwrap();
        let listed = connection.workspaces(&everything()).await.unwrap();
        assert!(listed.iter().any(|row| row.size == Some(smaller)));
    }

    async fn the_oldest_of_the_trash_is_told(backend: &Backend) {
        let store = backend.store().await;
        let repository = one_repository(&store).await;
        let mut connection = store.read().await.unwrap();
        assert_eq!(connection.oldest_trashed("local", &repository.node).await.unwrap(), None);
        for (issue, status, removed_at) in [
            (1, WorkspaceStatus::Active, Some(1)),
            (2, WorkspaceStatus::Trashed, Some(300)),
            (3, WorkspaceStatus::Trashed, None),
            (4, WorkspaceStatus::Purged, Some(2)),
        ] {
            let removed_at = removed_at.map(Timestamp::from_millisecond);
            let last_activity_at = Timestamp::from_millisecond(200);
            let row = workspace(&repository, Work::issue(issue));
            let row = spinney_core::Workspace { status, removed_at, last_activity_at, ..row };
            assert!(connection.insert_workspace(&row).await.unwrap());
        }
        let oldest = connection.oldest_trashed("local", &repository.node).await.unwrap();
        assert_eq!(oldest, Some(Timestamp::from_millisecond(200)));
        assert_eq!(connection.oldest_trashed("local", &NodeId::generate()).await.unwrap(), None);
    }

    async fn several_works_share_a_workspace_until_they_are_freed(backend: &Backend) {
        let store = backend.store().await;
        let (repository, workspace) = one_workspace(&store).await;
        let mut connection = store.read().await.unwrap();
        let works = [Work::issue(42), Work::pr(42), Work::thread("C123:17.5").unwrap()];
        for work in &works {
            assert!(connection.insert_work(&repository.id, work, &workspace.id).await.unwrap());
            assert!(!connection.insert_work(&repository.id, work, &workspace.id).await.unwrap());
            let found = connection.workspace_of_work(&repository.id, work).await.unwrap();
            assert_eq!(found.as_ref(), Some(&workspace));
        }
        assert_eq!(connection.works_of(&workspace.id).await.unwrap(), works);

        assert!(connection.delete_work(&repository.id, &works[1]).await.unwrap());
        assert!(!connection.delete_work(&repository.id, &works[1]).await.unwrap());
        assert_eq!(connection.workspace_of_work(&repository.id, &works[1]).await.unwrap(), None);
        connection.delete_works(&workspace.id).await.unwrap();
        assert_eq!(connection.works_of(&workspace.id).await.unwrap(), []);
    }

    async fn a_conversation_points_at_one_workspace_at_a_time(backend: &Backend) {
        let store = backend.store().await;
        let (repository, first) = one_workspace(&store).await;
        let second = workspace(&repository, Work::issue(43));
        let mut connection = store.read().await.unwrap();
        assert!(connection.insert_workspace(&second).await.unwrap());
        for workspace in [&first, &second] {
            connection.bind_conversation("local", Platform::on("slack"), "C1", &workspace.id).await.unwrap();
            let found = connection.workspace_of_conversation("local", Platform::on("slack"), "C1").await.unwrap();
            assert_eq!(found.as_ref(), Some(workspace));
        }
        assert_eq!(connection.workspace_of_conversation("local", Platform::on("github"), "C1").await.unwrap(), None);
        connection.unbind_conversations(&first.id).await.unwrap();
        assert!(connection.workspace_of_conversation("local", Platform::on("slack"), "C1").await.unwrap().is_some());
        connection.unbind_conversations(&second.id).await.unwrap();
        assert_eq!(connection.workspace_of_conversation("local", Platform::on("slack"), "C1").await.unwrap(), None);
    }

    async fn an_operation_is_open_until_it_is_closed(backend: &Backend) {
        let store = backend.store().await;
        let (_, workspace) = one_workspace(&store).await;
        let first = operation(&workspace);
        let mut connection = store.read().await.unwrap();
        assert!(connection.insert_operation(&first).await.unwrap());
        assert_eq!(connection.operation(&first.id).await.unwrap().unwrap(), first);
        assert_eq!(connection.open_operations(&workspace.node).await.unwrap(), std::slice::from_ref(&first));
        assert_eq!(connection.open_operations(&NodeId::generate()).await.unwrap(), []);
        assert!(!connection.insert_operation(&operation(&workspace)).await.unwrap(), "one at a time");

        let data = serde_json::json!({ "renamed": true });
        connection.record_step(&first.id, Step::Remove(RemoveStep::Moving), &data).await.unwrap();
        let now = connection.open_operation_of(&workspace.id).await.unwrap().unwrap();
        assert_eq!((now.step, &now.data), (Step::Remove(RemoveStep::Moving), &data));
        assert!(now.updated_at > first.updated_at);

        connection.close_operation(&first.id, OperationStatus::Undone, Some("disk full")).await.unwrap();
        connection.close_operation(&first.id, OperationStatus::Done, None).await.unwrap();
        let closed = connection.operation(&first.id).await.unwrap().unwrap();
        assert_eq!((closed.status, closed.error.as_deref()), (OperationStatus::Undone, Some("disk full")));
        assert_eq!(connection.open_operation_of(&workspace.id).await.unwrap(), None);
        assert_eq!(connection.open_operations(&workspace.node).await.unwrap(), []);
        assert!(connection.insert_operation(&operation(&workspace)).await.unwrap());
        let error = connection.record_step(&first.id, Step::Remove(RemoveStep::Moving), &data).await.unwrap_err();
        assert!(matches!(error, Error::NotOpen { .. }), "{error:?}");
    }

    async fn a_port_of_a_node_has_one_holder(backend: &Backend) {
        let store = backend.store().await;
        let (repository, first) = one_workspace(&store).await;
        let second = workspace(&repository, Work::issue(43));
        let node = &repository.node;
        let mut connection = store.read().await.unwrap();
        assert!(connection.insert_workspace(&second).await.unwrap());
        assert!(connection.insert_port(node, 65_535, &first.id, "web").await.unwrap());
        assert!(!connection.insert_port(node, 65_535, &second.id, "web").await.unwrap());
        assert!(connection.insert_port(node, 4000, &second.id, "db").await.unwrap());
        let web = Port { port: 65_535, name: "web".into(), workspace_id: first.id.clone() };
        let db = Port { port: 4000, name: "db".into(), workspace_id: second.id.clone() };
        assert_eq!(connection.ports(node).await.unwrap(), [db.clone(), web.clone()]);
        assert_eq!(connection.ports_of(&first.id).await.unwrap(), [web]);
        connection.delete_ports(&first.id).await.unwrap();
        assert_eq!(connection.ports(node).await.unwrap(), [db]);
    }

    async fn a_repository_goes_with_its_trash_but_not_with_living_workspaces(backend: &Backend) {
        let store = backend.store().await;
        let (repository, mut first) = one_workspace(&store).await;
        let mut connection = store.write().await.unwrap();
        connection.insert_work(&repository.id, &first.work, &first.id).await.unwrap();
        connection.bind_conversation("local", Platform::Cli, "1", &first.id).await.unwrap();
        connection.insert_port(&repository.node, 4000, &first.id, "web").await.unwrap();
        connection.insert_operation(&operation(&first)).await.unwrap();
        connection.trust(&repository.id, "abc").await.unwrap();
        connection.commit().await.unwrap();

        let outside = store.read().await.unwrap().delete_repository(&repository.node, &repository.id).await.unwrap_err();
        assert!(matches!(outside, Error::NoTransaction), "{outside:?}");
        let mut connection = store.write().await.unwrap();
        let living = connection.delete_repository(&repository.node, &repository.id).await.unwrap_err();
        assert!(matches!(living, Error::Referenced { .. }), "{living:?}");
        drop(connection);
        assert!(store.read().await.unwrap().is_trusted(&repository.id, "abc").await.unwrap());

        first.status = WorkspaceStatus::Trashed;
        let mut connection = store.write().await.unwrap();
        assert!(connection.update_workspace(&first, &[WorkspaceStatus::Active]).await.unwrap());
        connection.put_brought(&first.id, &spinney_core::Brought::default()).await.unwrap();
        assert!(connection.delete_repository(&repository.node, &repository.id).await.unwrap());
        assert!(!connection.delete_repository(&repository.node, &repository.id).await.unwrap());
        connection.commit().await.unwrap();
        for table in ["repositories", "clones", "workspaces", "works", "conversations", "ports", "operations", "trusts", "brought"] {
            assert_eq!(backend.number(format!("SELECT COUNT(*) FROM {table}")).await, 0, "{table}");
        }
    }

    async fn what_is_not_committed_never_was(backend: &Backend) {
        let store = backend.store().await;
        let repository = one_repository(&store).await;
        let workspace = workspace(&repository, Work::issue(1));
        let mut connection = store.write().await.unwrap();
        assert!(connection.insert_workspace(&workspace).await.unwrap());
        drop(connection);
        assert_eq!(store.read().await.unwrap().workspace(&workspace.id).await.unwrap(), None);

        let mut connection = store.write().await.unwrap();
        assert!(connection.insert_workspace(&workspace).await.unwrap());
        connection.commit().await.unwrap();
        assert!(store.read().await.unwrap().workspace(&workspace.id).await.unwrap().is_some());
    }

    async fn a_transaction_in_which_something_failed_is_not_committed(backend: &Backend) {
        let store = backend.store().await;
        let repository = one_repository(&store).await;
        let workspace = workspace(&repository, Work::issue(1));
        let mut connection = store.write().await.unwrap();
        assert!(connection.insert_workspace(&workspace).await.unwrap());
        let missing = spinney_core::RepositoryId::generate();
        let error = connection.insert_work(&missing, &workspace.work, &workspace.id).await.unwrap_err();
        assert!(matches!(error, Error::Referenced { .. }), "foreign keys are on: {error:?}");
        assert!(matches!(connection.commit().await, Err(Error::FailedTransaction)));
        assert_eq!(store.read().await.unwrap().workspace(&workspace.id).await.unwrap(), None);
    }

    async fn a_store_tells_what_it_is_and_that_it_is_whole(backend: &Backend) {
        let store = backend.store().await;
        one_workspace(&store).await;
        let info = store.load_info().await.unwrap();
        let (name, version) = info.engine.split_once(' ').unwrap();
        assert_eq!(name, if backend.is_sqlite() { "SQLite" } else { "PostgreSQL" });
        assert!(version.chars().all(|c| c.is_ascii_digit() || c == '.'), "{version}");
        assert_eq!(info.schema, MIGRATIONS.last().unwrap().version);
        assert!(info.size_bytes.unwrap() > 0);
        assert_eq!(store.check().await.unwrap(), Vec::<String>::new());
    }

    async fn a_path_that_is_not_utf8_is_refused(backend: &Backend) {
        use std::os::unix::ffi::OsStrExt;
        let store = backend.store().await;
        let repository = one_repository(&store).await;
        let mut workspace = workspace(&repository, Work::issue(1));
        workspace.path = Path::new(std::ffi::OsStr::from_bytes(b"/a/\xff")).to_owned();
        let error = store.read().await.unwrap().insert_workspace(&workspace).await.unwrap_err();
        assert!(matches!(error, Error::NotUtf8 { .. }), "{error:?}");
    }
}
