//! The API, resource by resource: what it does, and what it says to whoever asks wrongly.

use std::fs;
use std::thread;

use crate::support::api::{Served, names, refused, text};
use serde_json::{Value, json};

#[track_caller]
fn start_job(served: &Served, work: &str, prompt: &str) -> Value {
    let body =
        json!({ "repository": served.repository(), "agent": "coder", "prompt": prompt, "kind": "issue", "key": work });
    served.client.post("/api/v1/jobs", &body).expects(202).json()
}

#[test]
fn workspaces_are_made_listed_judged_removed_and_restored() {
    let served = Served::new("");
    let (client, repository) = (&served.client, served.repository());
    let place = "/api/v1/workspaces";

    // Made once, found again.
    let wanted = json!({ "repository": repository, "kind": "issue", "key": "42", "title": "the login bug" });
    let made = client.post(place, &wanted).expects(201).json();
    assert_eq!((&made["method"], &made["name"]), (&json!("created"), &json!("issue-42")));
    assert_eq!(made["platform"], "api");
    let found = client.post(place, &wanted).expects(200).json();
    assert_eq!((&found["id"], &found["method"]), (&made["id"], &json!("reused")));
    let with = |more: Value| {
        let mut body = json!({ "repository": repository, "kind": "issue", "key": "43" });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.post(place, &body)
    };
    for wrong in [
        json!({ "kind": null }),
        json!({ "key": null }),
        json!({ "key": "x" }),
        json!({ "key": 43 }),
        json!({ "kind": "job" }),
        json!({ "kind": "nothing" }),
        json!({ "head": "feature" }),
        json!({ "fork": true }),
        json!({ "sha": "a".repeat(40) }),
        json!({ "branch": "b" }),
        json!({ "base": "-x" }),
        json!({ "links": ["task:1"] }),
        json!({ "conversation": "" }),
        json!({ "title": "x".repeat(2000) }),
        json!({ "title": "\0" }),
        json!({ "else": 1 }),
    ] {
        refused(&with(wrong), 400, "usage");
    }
    refused(&with(json!({ "repository": "no/such" })), 404, "not_found");
    refused(&with(json!({ "repository": "../.." })), 404, "not_found");
    refused(&with(json!({ "base": "no-such-branch" })), 404, "not_found");
    refused(&with(json!({ "kind": "pr", "sha": "a".repeat(40) })), 404, "not_found");
    refused(&client.with_header("Content-Type", "text/plain").send("POST", place, b"{}"), 415, "usage");

    // Listed in pages, newest first.
    for number in 1..=3 {
        served.issue(number);
    }
    let first = served.get("/api/v1/workspaces?limit=3");
    assert_eq!(names(&first, "workspaces"), ["issue-3", "issue-2", "issue-1"]);
    let rest = served.get(&format!("/api/v1/workspaces?limit=3&cursor={}", text(&first, "next")));
    assert_eq!((names(&rest, "workspaces"), &rest["next"]), (vec!["issue-42".to_owned()], &Value::Null));
    let exact = served.get("/api/v1/workspaces?limit=4");
    assert_eq!((names(&exact, "workspaces").len(), &exact["next"]), (4, &Value::Null));
    let listed = |query: &str| names(&served.get(&format!("/api/v1/workspaces?{query}")), "workspaces");
    assert_eq!(listed("q=LOGIN"), ["issue-42"]);
    assert_eq!(listed("q=%25"), Vec::<String>::new(), "a sign of a pattern is one to be found");
    assert_eq!(listed(&format!("repository={repository}&kind=issue&status=active,lost")).len(), 4);
    assert_eq!(listed("kind=pr"), Vec::<String>::new());
    for wrong in ["limit=0", "limit=201", "limit=x", "cursor=x", "status=odd", "kind=odd", "q=%00", "odd=1"] {
        refused(&client.get(&format!("/api/v1/workspaces?{wrong}")), 400, "usage");
    }
    refused(&client.get("/api/v1/workspaces?repository=no/such"), 404, "not_found");

    // Shown, with and without a look at its tree.
    let own = format!("{place}/{}", text(&made, "id"));
    let tree = std::path::PathBuf::from(text(&made, "path"));
    fs::write(tree.join("notes"), "work").unwrap();
    let brief = served.get(&own);
    assert_eq!((&brief["name"], &brief["untracked"]), (&json!("issue-42"), &Value::Null));
    assert_eq!(served.get(&format!("{own}?details=true"))["untracked"], 1);
    refused(&client.get(&format!("{own}?details=odd")), 400, "usage");
    for unknown in ["aaaaaaaaaa", "issue-42", "..%2F..%2Fetc", "%00"] {
        refused(&client.get(&format!("{place}/{unknown}")), 404, "not_found");
    }

    // Refused with every reason, removed with consent, brought back.
    let verdict = served.get(&format!("{own}/verdict"));
    assert_eq!((&verdict["removable"], &verdict["reasons"][0]["code"]), (&json!(false), &json!("untracked")));
    let reasons = refused(&client.delete(&own), 409, "blocked")["reasons"].clone();
    assert_eq!(reasons[0]["code"], "untracked");
    for wrong in ["allow=odd", "force=odd", "force=true&allow=untracked", "odd=1"] {
        refused(&client.delete(&format!("{own}?{wrong}")), 400, "usage");
    }
    let removed = client.delete(&format!("{own}?allow=untracked")).expects(200).json();
    assert_eq!((&removed["status"], tree.exists()), (&json!("trashed"), false));
    refused(&client.delete(&format!("{own}?force=true")), 409, "failed");
    refused(&client.send("POST", &format!("{own}/pin"), b""), 409, "blocked");
    assert!(!listed("").contains(&"issue-42".to_owned()));
    assert_eq!(listed("status=trashed"), ["issue-42"]);
    refused(&client.post(&format!("{own}/restore"), &json!({ "branch": "-x" })), 400, "usage");
    client.send("POST", &format!("{own}/restore"), b"").expects(200);
    assert_eq!(fs::read_to_string(tree.join("notes")).unwrap(), "work");
    let again = client.send("POST", &format!("{own}/restore"), b"");
    assert!(matches!(again.status, 404 | 409), "{}", again.told());

    // Pinned; changed.
    assert_eq!(client.send("POST", &format!("{own}/pin"), b"").expects(200).json()["pinned"], true);
    assert_eq!(client.send("POST", &format!("{own}/unpin"), b"").expects(200).json()["pinned"], false);
    assert_eq!(served.get(&format!("{own}/diff"))["diff"], "");
    served.workshop.git(&tree, &["add", "notes"]);
    served.workshop.git(&tree, &["commit", "--quiet", "-m", "notes"]);
    assert!(text(&served.get(&format!("{own}/diff")), "diff").contains("+work"));

    // Another account's are not there.
    let stranger = served.stranger();
    assert_eq!(names(&stranger.get(place).expects(200).json(), "workspaces"), Vec::<String>::new());
    for target in [own.clone(), format!("{own}/verdict"), format!("{own}/diff")] {
        refused(&stranger.get(&target), 404, "not_found");
    }
    refused(&stranger.delete(&format!("{own}?force=true")), 404, "not_found");
    for verb in ["restore", "pin", "unpin"] {
        refused(&stranger.send("POST", &format!("{own}/{verb}"), b""), 404, "not_found");
    }
    refused(&stranger.post(place, &wanted), 404, "not_found");
    refused(&stranger.get(&format!("{place}?repository={repository}")), 404, "not_found");
}

#[test]
fn jobs_are_asked_for_once_followed_cancelled_and_tried_again() {
    let served = Served::new("");
    let (client, repository) = (&served.client, served.repository());
    let place = "/api/v1/jobs";

    // The same key asks once.
    let body = json!({ "repository": repository, "agent": "coder", "prompt": "write a.txt made", "kind": "issue", "key": "1" });
    let keyed = client.with_header("Idempotency-Key", "one");
    let first = keyed.post(place, &body).expects(202);
    let again = keyed.post(place, &body).expects(202);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(first.json()["id"], again.json()["id"]);
    let other = json!({ "repository": repository, "prompt": "write b.txt b" });
    refused(&keyed.post(place, &other), 422, "usage");
    let ids: Vec<String> = thread::scope(|scope| {
        let ask = || {
            let reply = client.with_header("Idempotency-Key", "two").post(place, &other);
            assert!(matches!(reply.status, 202 | 409), "{}", reply.told());
            (reply.status == 202).then(|| text(&reply.json(), "id"))
        };
        let asking: Vec<_> = (0..4).map(|_| scope.spawn(ask)).collect();
        asking.into_iter().filter_map(|asked| asked.join().unwrap()).collect()
    });
    assert!(!ids.is_empty() && ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(served.get(place)["jobs"].as_array().unwrap().len(), 2);

    for (wrong, status, kind) in [
        (json!({ "repository": repository, "prompt": " " }), 400, "usage"),
        (json!({ "repository": repository, "prompt": "a\0b" }), 400, "usage"),
        (json!({ "repository": repository, "prompt": "x".repeat((1 << 20) + 1) }), 400, "usage"),
        (json!({ "repository": repository }), 400, "usage"),
        (json!({ "repository": repository, "prompt": "x", "agent": "no such" }), 400, "usage"),
        (json!({ "repository": repository, "prompt": "x", "agent": "nobody" }), 404, "not_found"),
        (json!({ "repository": repository, "prompt": "x", "kind": "issue" }), 400, "usage"),
        (json!({ "repository": "no/such", "prompt": "x" }), 404, "not_found"),
        (json!({ "prompt": "x" }), 400, "usage"),
        (json!([]), 400, "usage"),
    ] {
        refused(&client.post(place, &wrong), status, kind);
    }

    // Followed to its end; what it changed is told from the trash, too.
    let id = text(&first.json(), "id");
    let own = format!("{place}/{id}");
    let job = served.wait_for(&id, "completed");
    assert_eq!((&job["trigger"], &job["files"]), (&json!("api"), &json!(1)));
    let diff = served.get(&format!("{own}/diff"));
    assert!(text(&diff, "diff").contains("+made"), "{diff}");
    assert_eq!((&diff["commit"], &diff["truncated"]), (&job["commit"], &json!(false)));
    let workspace = text(&job, "workspace_id");
    client.delete(&format!("/api/v1/workspaces/{workspace}?force=true")).expects(200);
    assert_eq!(served.get(&format!("{own}/diff")), diff);
    served.wait_for(&ids[0], "completed");

    // Listed by what they are.
    let count = |query: &str| served.get(&format!("{place}?{query}"))["jobs"].as_array().unwrap().len();
    assert_eq!(count(&format!("workspace={workspace}")), 1);
    assert_eq!((count("agent=coder"), count("agent=other")), (2, 0));
    assert_eq!((count("status=completed"), count("status=pending,running")), (2, 0));
    let page = served.get(&format!("{place}?limit=1&repository={repository}"));
    assert_eq!(page["jobs"][0]["id"], json!(ids[0]), "newest first");
    let next = served.get(&format!("{place}?limit=1&cursor={}", text(&page, "next")));
    assert_eq!((&next["jobs"][0]["id"], &next["next"]), (&json!(id), &Value::Null));
    for wrong in ["limit=0", "cursor=x", "status=odd", "agent=no%20such", "workspace=odd", "odd=1"] {
        refused(&client.get(&format!("{place}?{wrong}")), 400, "usage");
    }

    // Its sessions and its story.
    let sessions = served.get(&format!("/api/v1/sessions?job={id}&workspace={workspace}"));
    assert_eq!((&sessions["sessions"][0]["job"], &sessions["next"]), (&json!(id), &Value::Null));
    refused(&client.get("/api/v1/sessions?job=odd"), 400, "usage");
    let audit = served.get(&format!("/api/v1/audit?job={id}&limit=2"));
    assert_eq!(audit["events"][0]["kind"], "job.ended");
    let before = served.get(&format!("/api/v1/audit?job={id}&limit=2&cursor={}", text(&audit, "next")));
    assert!(before["events"][0]["id"].as_i64() < audit["events"][1]["id"].as_i64());
    for wrong in ["cursor=x", "cursor=-1", "limit=0", "job=odd", "odd=1"] {
        refused(&client.get(&format!("/api/v1/audit?{wrong}")), 400, "usage");
    }

    // Ended early, tried again.
    let held = text(&start_job(&served, "7", &served.workshop.hold("held")), "id");
    served.workshop.wait_for_agent("held");
    let target = format!("{place}/{held}");
    refused(&client.send("POST", &format!("{target}/retry"), b""), 409, "held");
    refused(&client.post(&format!("{target}/cancel"), &json!({ "force": "yes" })), 400, "usage");
    let metrics = client.get("/metrics").expects(200).text();
    for line in
        ["spinney_jobs{status=\"running\"} 1", "spinney_jobs{status=\"completed\"} 2", "spinney_disk_free_bytes "]
    {
        assert!(metrics.contains(line), "{line} is not in\n{metrics}");
    }
    assert!(metrics.contains("spinney_http_request_duration_seconds_bucket{method=\"POST\",path=\"/api/v1/jobs\""));
    let asked = client.post(&format!("{target}/cancel"), &json!({ "force": true })).expects(202).json();
    assert_eq!(asked["cancel"], "at_once");
    served.wait_for(&held, "cancelled");
    refused(&client.send("POST", &format!("{target}/cancel"), b""), 409, "blocked");
    served.workshop.let_go("held");
    client.send("POST", &format!("{target}/retry"), b"").expects(202);
    served.wait_for(&held, "completed");

    // Another account's are not there.
    let stranger = served.stranger();
    assert_eq!(stranger.get(place).expects(200).json()["jobs"], json!([]));
    assert_eq!(stranger.get(&format!("/api/v1/sessions?job={id}")).expects(200).json()["sessions"], json!([]));
    assert_eq!(stranger.get(&format!("/api/v1/audit?job={id}")).expects(200).json()["events"], json!([]));
    for target in [own.clone(), format!("{own}/diff")] {
        refused(&stranger.get(&target), 404, "not_found");
    }
    for verb in ["cancel", "retry"] {
        refused(&stranger.send("POST", &format!("{own}/{verb}"), b""), 404, "not_found");
    }
    refused(&stranger.post(place, &body), 404, "not_found");
    assert!(stranger.get("/metrics").expects(200).text().contains("spinney_jobs{status=\"completed\"} 0"));
    refused(&client.get(&format!("{place}/odd")), 404, "not_found");
}

#[test]
fn a_place_is_looked_over_and_kept_tidy() {
    let served = Served::new("");
    let (client, repository) = (&served.client, served.repository());
    let place = "/api/v1/repositories";
    let own = format!("{place}/{}", text(&served.repository, "id"));

    // Repositories.
    let made = served.issue(1);
    assert_eq!(served.get(&own)["workspaces"], 1);
    assert_eq!(names(&served.get(place), "repositories"), [repository]);
    for (wrong, status, kind) in [
        (json!({}), 400, "usage"),
        (json!({ "url": "https://x.invalid/a/b", "path": "/" }), 400, "usage"),
        (json!({ "url": "/srv/app" }), 400, "usage"),
        (json!({ "path": "app" }), 400, "usage"),
        (json!({ "path": "/no/such/place" }), 400, "usage"),
        (json!({ "path": "/", "name": "a b" }), 400, "usage"),
        (json!({ "path": "/" }), 404, "not_found"),
        (json!({ "url": "https://127.0.0.1:1/a/b.git" }), 409, "failed"),
    ] {
        refused(&client.post(place, &wrong), status, kind);
    }
    refused(&client.delete(&own), 409, "blocked");
    client.send("POST", &format!("{own}/sync"), b"").expects(200);
    refused(&client.send("POST", &format!("{place}/aaaaaaaaaa/sync"), b""), 404, "not_found");
    refused(&client.get(&format!("{place}/odd")), 404, "not_found");

    let stranger = served.stranger();
    refused(&stranger.get(&own), 404, "not_found");
    refused(&stranger.get(&format!("/api/v1/agents?repository={}", text(&served.repository, "id"))), 404, "not_found");
    refused(&stranger.delete(&own), 404, "not_found");
    assert_eq!(stranger.get("/api/v1/status").expects(200).json()["repositories"], json!([]));

    // What there is.
    assert_eq!(names(&served.get(&format!("/api/v1/agents?repository={repository}")), "agents"), ["coder"]);
    refused(&client.get("/api/v1/agents"), 400, "usage");
    refused(&client.get("/api/v1/agents?repository=no/such"), 404, "not_found");
    assert_eq!(served.get("/api/v1/nodes")["nodes"][0]["own"], true);
    let elsewhere = served.workshop.cli.in_directory(served.workshop.story.sandbox().path());
    // Sizes are measured behind everybody's back.
    let without_sizes = |told: Value| {
        let mut repositories = told["repositories"].clone();
        repositories.as_array_mut().unwrap().iter_mut().for_each(|repository| repository["size"] = Value::Null);
        repositories
    };
    let told = elsewhere.run(&["status", "--json"]).ok().json();
    assert_eq!(without_sizes(served.get("/api/v1/status")), without_sizes(told));
    assert_eq!(served.get(&format!("/api/v1/conflicts?repository={repository}"))["conflicts"], json!([]));
    refused(&client.get("/api/v1/conflicts?repository=no/such"), 404, "not_found");

    // Pools.
    assert_eq!(served.get("/api/v1/pool")["pools"][0]["repository"], repository);
    let the_pool = json!({ "repository": repository });
    assert_eq!(client.post("/api/v1/pool/fill", &the_pool).expects(200).json()["made"], 0);
    assert_eq!(client.post("/api/v1/pool/drain", &the_pool).expects(200).json()["deleted"], 0);
    for verb in ["fill", "drain"] {
        refused(&client.post(&format!("/api/v1/pool/{verb}"), &json!({})), 400, "usage");
        refused(&client.post(&format!("/api/v1/pool/{verb}"), &json!({ "repository": "no/such" })), 404, "not_found");
    }
    refused(&client.get("/api/v1/pool?repository=no/such"), 404, "not_found");

    // Sweeps and the trash.
    let swept =
        client.post("/api/v1/cleanup", &json!({ "dry_run": true, "repository": repository })).expects(200).json();
    assert_eq!((&swept["dry_run"], &swept["removed"]), (&json!(true), &json!([])));
    for wrong in [json!({ "what": "odd" }), json!({ "dry_run": 1 }), json!({ "what": "stale", "include_closed": true })]
    {
        refused(&client.post("/api/v1/cleanup", &wrong), 400, "usage");
    }
    let id = text(&made, "id");
    refused(&client.post("/api/v1/trash/purge", &json!({ "workspaces": [id] })), 409, "blocked");
    fs::write(std::path::Path::new(&text(&made, "path")).join("notes"), "work").unwrap();
    client.delete(&format!("/api/v1/workspaces/{id}?force=true")).expects(200);
    assert_eq!(names(&served.get("/api/v1/trash"), "trash"), ["issue-1"]);
    refused(&client.post("/api/v1/trash/purge", &json!({ "workspaces": [id], "all": true })), 400, "usage");
    let nothing_due = client.send("POST", "/api/v1/trash/purge", b"").expects(200).json();
    assert_eq!(nothing_due, json!({ "purged": [], "failed": [] }));
    let purged = client.post("/api/v1/trash/purge", &json!({ "workspaces": [id] })).expects(200).json();
    assert!(purged["purged"][0]["archive"].is_string(), "{purged}");

    // What is left of it goes for good.
    for wrong in [json!({}), json!({ "workspaces": [id], "before": "2999-01-01T00:00:00Z" }), json!({ "before": "1d" })]
    {
        refused(&client.post("/api/v1/trash/erase", &wrong), 400, "usage");
    }
    let live = client.post("/api/v1/workspaces", &json!({ "repository": repository, "kind": "issue", "key": "77" }));
    let live = text(&live.json(), "id");
    refused(&client.post("/api/v1/trash/erase", &json!({ "workspaces": [live] })), 409, "blocked");
    client.delete(&format!("/api/v1/workspaces/{live}")).expects(200);
    client.post("/api/v1/trash/purge", &json!({ "workspaces": [live] })).expects(200);
    let archives = served.get("/api/v1/status")["archives"].clone();
    assert_eq!(archives["count"], 1, "{archives}");
    let metrics = client.get("/metrics").expects(200);
    let metrics = metrics.text();
    assert!(metrics.contains("spinney_archives 1\n"), "{metrics}");
    let asked = json!({ "workspaces": [id], "dry_run": true });
    let would = client.post("/api/v1/trash/erase", &asked).expects(200).json();
    assert_eq!(would["would_erase"][0]["files"], json!(["notes"]), "{would}");
    let erased = client.post("/api/v1/trash/erase", &json!({ "before": "2999-01-01T00:00:00Z" })).expects(200).json();
    assert_eq!(erased["erased"].as_array().unwrap().len(), 2, "{erased}");
    assert_eq!(served.get("/api/v1/status")["archives"]["count"], 0);
    assert!(served.get(&format!("/api/v1/workspaces/{id}"))["metadata"]["erased"]["by"].is_string());
    assert_eq!(client.delete(&own).expects(200).json()["name"], repository);
    refused(&client.get(&own), 404, "not_found");
}

#[test]
fn tokens_are_shown_once_and_give_no_more_than_their_maker_has() {
    let served = Served::new("");
    let client = &served.client;
    let place = "/api/v1/tokens";
    let keyed = client.with_header("Idempotency-Key", "secret");
    let wanted = json!({ "name": "ci", "scope": "write", "expires": "30d" });
    let made = keyed.post(place, &wanted).expects(201).json();
    let secret = text(&made, "token");
    let listed = client.get(place).expects(200);
    assert!(listed.text().contains("\"ci\"") && !listed.text().contains(&secret));
    let sandbox = served.workshop.story.sandbox();
    assert!(!sandbox.store_holds(&secret) && sandbox.store_holds(&text(&made, "id")));
    refused(&keyed.post(place, &wanted), 400, "usage");
    for wrong in [
        json!({ "name": "x" }),
        json!({ "name": "", "scope": "read" }),
        json!({ "name": "x", "scope": "root" }),
        json!({ "name": "x", "scope": "read", "expires": "soon" }),
        json!({ "name": "x", "scope": "read", "expires": "0s" }),
    ] {
        refused(&client.post(place, &wrong), 400, "usage");
    }

    let writer = served.daemon.client().with_token(&secret);
    writer.get("/api/v1/workspaces").expects(200);
    refused(&writer.get(place), 403, "forbidden");
    refused(&writer.post(place, &wanted), 403, "forbidden");
    refused(&writer.send("POST", "/api/v1/trash/purge", b""), 403, "forbidden");
    let path = served.workshop.story.repository.path();
    let with_variable = json!({ "path": path, "token_env": "HOME" });
    refused(&writer.post("/api/v1/repositories", &with_variable), 403, "forbidden");

    let stranger = served.stranger();
    refused(&stranger.post("/api/v1/repositories", &json!({ "path": path })), 403, "forbidden");
    refused(&stranger.post("/api/v1/repositories", &json!({ "url": "https://x.invalid/a/b" })), 403, "forbidden");
    refused(&stranger.post("/api/v1/accounts", &json!({ "name": "more" })), 403, "forbidden");
    assert_eq!(names(&stranger.get("/api/v1/accounts").expects(200).json(), "accounts"), ["acme"]);
    assert_eq!(names(&served.get("/api/v1/accounts"), "accounts"), ["acme", "local"]);
    refused(&client.post("/api/v1/accounts", &json!({ "name": "acme" })), 400, "usage");
    refused(&client.post("/api/v1/accounts", &json!({ "name": "A b" })), 400, "usage");

    let own = format!("{place}/{}", text(&made, "id"));
    refused(&stranger.delete(&own), 404, "not_found");
    refused(&client.delete(&format!("{place}/ci")), 404, "not_found");
    client.delete(&own).expects(200);
    refused(&writer.get("/api/v1/workspaces"), 401, "unauthorized");
    refused(&client.delete(&own), 404, "not_found");
}

#[test]
fn work_that_only_reads_is_told_without_a_workspace() {
    let served = Served::new("requires_isolation = false\n");
    let id = start_job(&served, "7", "print read")["id"].as_str().unwrap().to_owned();
    let job = served.wait_for(&id, "completed");
    for key in ["workspace", "workspace_id", "branch", "push"] {
        assert_eq!(job[key], Value::Null, "{key}");
    }
    let path = job["path"].as_str().unwrap();
    assert!(std::path::Path::new(path).is_dir());
    assert_eq!(served.get(&format!("/api/v1/jobs/{id}/diff"))["diff"], "");
    assert_eq!(served.get("/api/v1/workspaces")["workspaces"], json!([]));
    let page = served.client.get(&format!("/jobs/{id}")).expects(200).told();
    assert!(page.contains("Reads in") && page.contains(path) && !page.contains("/workspaces/"), "{page}");

    let id = start_job(&served, "7", "write new.txt mine")["id"].as_str().unwrap().to_owned();
    let job = served.wait_for(&id, "completed");
    assert!(job["workspace"].as_str().unwrap().starts_with("reading-"), "{job:#}");
    assert!(job["escaped"].to_string().contains("/new.txt (new)"), "{job:#}");
    let page = served.client.get(&format!("/jobs/{id}")).expects(200).told();
    assert!(page.contains("The checkout that the job may only read changed while it ran:"), "{page}");
}
