//! A server that goes away under its connections.

use spinney_store::Store;

use crate::backend::Backend;

/// Ends all connections of a database but the one that says so.
async fn cut_off(backend: &Backend) {
    let others = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                  WHERE datname = current_database() AND pid <> pg_backend_pid()";
    assert!(backend.number(others).await > 0);
}

async fn works(store: &Store) {
    store.read().await.unwrap().newest_event_id().await.unwrap();
    store.write().await.unwrap().commit().await.unwrap();
}

#[tokio::test]
async fn a_connection_that_was_closed_while_it_rested_is_not_lent() {
    let backend = Backend::postgres().await;
    let store = backend.store().await;
    // Several rest.
    let several = [store.read().await.unwrap(), store.read().await.unwrap(), store.read().await.unwrap()];
    drop(several);
    cut_off(&backend).await;
    for _ in 0..4 {
        works(&store).await;
    }
}

#[tokio::test]
async fn a_connection_that_failed_is_not_lent_again() {
    let backend = Backend::postgres().await;
    let store = backend.store().await;
    let (mut plain, mut transaction) = (store.read().await.unwrap(), store.write().await.unwrap());
    cut_off(&backend).await;
    for connection in [&mut plain, &mut transaction] {
        let error = connection.newest_event_id().await.unwrap_err();
        assert!(error.is_cut_off(), "{error:?}");
    }
    assert!(transaction.commit().await.is_err());
    drop(plain);
    for _ in 0..4 {
        works(&store).await;
    }
}
