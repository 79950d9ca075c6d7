//! What is forgotten with time, and what counts again although it was seen.

use serde_json::{Value, json};
use spinney_core::{
    Delivery, DeliveryStatus, IgnoreReason, JobId, NodeId, Operation, OperationStatus, Platform, Timestamp, Work,
};

use crate::backend::{Backend, on_both};
use crate::samples;

const GITHUB: Platform = Platform::on("github");

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(1_700_000_000_000 + ms)
}

fn received(node: &NodeId, id: &str) -> Delivery {
    Delivery {
        platform: GITHUB,
        id: id.to_owned(),
        account: "local".to_owned(),
        node: node.clone(),
        conversation: "acme/app#1".to_owned(),
        subject: None,
        author: "7".to_owned(),
        event: json!({ "text": "x" }),
        status: DeliveryStatus::Received,
        job_id: None,
        answer: Value::Null,
        received_at: at(0),
        ended_at: None,
    }
}

fn ignored(node: &NodeId, id: &str) -> Delivery {
    Delivery {
        event: Value::Null,
        status: DeliveryStatus::Ignored,
        answer: json!({ "reason": IgnoreReason::NoText }),
        ended_at: Some(at(0)),
        ..received(node, id)
    }
}

on_both! {
    async fn what_was_ignored_counts_again_and_what_was_acted_upon_once(backend: &Backend) {
        let store = backend.store().await;
        let node = NodeId::generate();
        let mut db = store.write().await.unwrap();
        db.start_node(&node, "box").await.unwrap();
        assert!(db.insert_delivery(&ignored(&node, "1")).await.unwrap());
        assert!(db.insert_delivery(&received(&node, "1")).await.unwrap(), "it was ignored");
        let again = db.delivery(GITHUB, "1").await.unwrap().unwrap();
        assert_eq!((again.status, again.ended_at, &again.event), (DeliveryStatus::Received, None, &json!({ "text": "x" })));
        assert_eq!(again.reason(), Some(IgnoreReason::NoText), "what was said about it stays known");
        assert!(!db.insert_delivery(&received(&node, "1")).await.unwrap(), "it is open");
        for (status, job) in [
            (DeliveryStatus::Done, None),
            (DeliveryStatus::Failed, None),
            // One that was called off before its job began.
            (DeliveryStatus::Ignored, Some(JobId::generate())),
        ] {
            let id = status.as_str();
            let over = Delivery { status, job_id: job, ended_at: Some(at(0)), ..received(&node, id) };
            assert!(db.insert_delivery(&over).await.unwrap());
            assert!(!db.insert_delivery(&received(&node, id)).await.unwrap(), "{status}");
        }
        db.commit().await.unwrap();
    }

    async fn of_what_was_ignored_the_newest_stay(backend: &Backend) {
        let store = backend.store().await;
        let node = NodeId::generate();
        let mut db = store.write().await.unwrap();
        db.start_node(&node, "box").await.unwrap();
        db.insert_delivery(&received(&node, "open")).await.unwrap();
        for number in 0..5 {
            db.insert_delivery(&ignored(&node, &number.to_string())).await.unwrap();
        }
        db.keep_ignored_deliveries(GITHUB, 3).await.unwrap();
        let ids = |rows: Vec<(i64, Delivery)>| rows.into_iter().map(|(_, row)| row.id).collect::<Vec<_>>();
        let page = db.deliveries_before("local", None, true, 2).await.unwrap();
        let (last, _) = page[1];
        assert_eq!(ids(page), ["4", "3"]);
        assert_eq!(ids(db.deliveries_before("local", Some(last), true, 9).await.unwrap()), ["2"]);
        assert_eq!(ids(db.deliveries_before("local", Some(last), false, 9).await.unwrap()), ["2", "open"]);
        assert!(db.deliveries_before("acme", None, false, 9).await.unwrap().is_empty());
        db.commit().await.unwrap();
    }

    async fn old_operations_go_but_for_the_last_of_each_kind(backend: &Backend) {
        let store = backend.store().await;
        let node = NodeId::generate();
        let mut db = store.write().await.unwrap();
        db.start_node(&node, "box").await.unwrap();
        let repository = samples::repository(&node, "acme/app");
        db.insert_repository(&repository).await.unwrap();
        db.insert_clone(&repository).await.unwrap();
        let workspace = samples::workspace(&repository, Work::issue(42));
        db.insert_workspace(&workspace).await.unwrap();
        let ended = |status, ms| Operation { status, updated_at: at(ms), ..samples::operation(&workspace) };
        let rows = [
            ended(OperationStatus::Done, 1),
            ended(OperationStatus::Failed, 2),
            ended(OperationStatus::Done, 3),
            ended(OperationStatus::Failed, 100),
            ended(OperationStatus::Open, 4),
        ];
        for row in &rows {
            assert!(db.insert_operation(row).await.unwrap());
        }
        assert_eq!(db.delete_operations_before(&node, at(50)).await.unwrap(), 2);
        let mut left = Vec::new();
        for row in &rows {
            left.push(db.operation(&row.id).await.unwrap().is_some());
        }
        assert_eq!(left, [false, false, true, true, true]);
        db.commit().await.unwrap();
    }

    async fn a_conversation_without_anything_goes(backend: &Backend) {
        let store = backend.store().await;
        let mut db = store.write().await.unwrap();
        db.touch_conversation("local", GITHUB, "acme/app#1").await.unwrap();
        let name = "acme/app".parse().unwrap();
        db.set_repository_of_conversation("local", GITHUB, "named", &name).await.unwrap();
        assert_eq!(db.delete_conversations_before(at(0)).await.unwrap(), 0, "somebody spoke since");
        let later = Timestamp::now().plus(std::time::Duration::from_secs(1));
        assert_eq!(db.delete_conversations_before(later).await.unwrap(), 1);
        assert_eq!(db.repository_of_conversation("local", GITHUB, "named").await.unwrap(), Some(name));
        db.commit().await.unwrap();
    }
}
