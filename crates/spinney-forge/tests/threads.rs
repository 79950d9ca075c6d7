//! However many requests are made, few threads make them. Alone in its process, so that it can count.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use spinney_core::Secret;
use spinney_forge::{ForgeOptions, GITHUB, KindOptions, Located, open};
use spinney_testkit::TestForge;

const REQUESTS: usize = 100;
const MOST: usize = 32;

/// The threads that make requests, by their ids.
fn threads() -> BTreeSet<String> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap());
    let is_one = |name: &String| {
        fs::read_to_string(format!("/proc/self/task/{name}/comm")).is_ok_and(|comm| comm.trim_end() == "http")
    };
    tasks.map(|task| task.file_name().into_string().unwrap()).filter(is_one).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_requests_start_no_hundred_threads() {
    let server = TestForge::github("acme/app");
    let issue = server.add_issue("An issue", "");
    let configured = KindOptions { api_url: server.api_url(), token: Some(Secret::new(server.token())), app: None };
    let options = ForgeOptions::default().with(&GITHUB, configured);
    let located =
        Located { kind: &GITHUB, api_url: server.api_url(), owner: "acme".to_owned(), name: "app".to_owned() };
    let forge: Arc<dyn spinney_core::Forge> = Arc::from(open(&located, &options).unwrap());
    assert!(threads().is_empty(), "nothing was asked yet");

    // One after the other, they take the same thread, or another where that is not back yet from the one before.
    let mut seen = BTreeSet::new();
    for _ in 0..REQUESTS {
        forge.fetch_issue(issue).await.unwrap();
        seen.extend(threads());
    }
    assert!((1..=4).contains(&seen.len()), "{seen:?}");

    // At once, they take no more than there may be, and all are answered.
    let is_over = Arc::new(AtomicBool::new(false));
    let watching = thread::spawn({
        let is_over = Arc::clone(&is_over);
        move || {
            let (mut most, mut seen) = (0, BTreeSet::new());
            while !is_over.load(Ordering::SeqCst) {
                let now = threads();
                most = most.max(now.len());
                seen.extend(now);
                thread::sleep(Duration::from_millis(1));
            }
            (most, seen.len())
        }
    });
    let asked = (0..REQUESTS).map(|_| {
        let forge = Arc::clone(&forge);
        tokio::spawn(async move { forge.fetch_issue(issue).await.map(|found| found.map(|issue| issue.number)) })
    });
    for answer in asked.collect::<Vec<_>>() {
        assert_eq!(answer.await.unwrap().unwrap(), Some(issue));
    }
    is_over.store(true, Ordering::SeqCst);
    let (most, ever) = watching.join().unwrap();
    assert!(most <= MOST && ever <= MOST, "{most} at once, {ever} in all");
    println!("{REQUESTS} requests: {most} threads at once, {ever} in all");
}
