//! Which tools are offered to whom.

use serde_json::json;
use spinney_core::{JobId, RepositoryId, Scope};

use crate::desk::Desk;

const READING: [&str; 6] = ["context", "workspace_list", "workspace_why", "conflicts", "job_get", "job_wait"];
const WRITING: [&str; 6] = ["workspace_new", "workspace_remove", "workspace_restore", "run", "job_cancel", "deliver"];

#[tokio::test(flavor = "multi_thread")]
async fn each_seat_has_its_tools_and_can_call_no_other() {
    for scope in [Scope::Read, Scope::Write, Scope::Admin] {
        for job in [None, Some(JobId::generate())] {
            for repository in [None, Some(RepositoryId::generate())] {
                let is_fixed = repository.is_some();
                let mut desk = Desk::open(scope, repository, job.clone()).await;
                let is_offered = |name: &str| {
                    let may = READING.contains(&name) || scope >= Scope::Write;
                    may && !(job.is_some() && name == "workspace_new")
                };
                let tools = desk.tools().await;
                let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
                for name in READING.into_iter().chain(WRITING) {
                    assert_eq!(
                        names.contains(&name),
                        is_offered(name),
                        "{name} for {scope}, in a job: {}",
                        job.is_some()
                    );
                    let answer = desk.call(name, json!({ "no such argument": 1 })).await;
                    let why = answer["error"]["message"].as_str().unwrap();
                    assert_eq!(why.contains("is not offered"), !is_offered(name), "{name}: {answer}");
                }
                for tool in &tools {
                    let takes = tool["inputSchema"]["properties"].as_object().unwrap();
                    let is_about_one = !tool["name"].as_str().unwrap().starts_with("job_");
                    assert_eq!(takes.contains_key("repository"), is_about_one && !is_fixed, "{tool}");
                    assert_eq!(tool["inputSchema"]["additionalProperties"], false);
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_is_told_what_this_is_before_it_asks() {
    let mut desk = Desk::open(Scope::Write, None, None).await;
    let hello =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let answer = desk.ask("initialize", hello).await;
    assert!(
        answer["error"].is_object() || answer["result"]["instructions"].as_str().unwrap().contains("workspace_new")
    );
    assert_eq!(desk.ask("ping", json!({})).await["result"], json!({}));
}
