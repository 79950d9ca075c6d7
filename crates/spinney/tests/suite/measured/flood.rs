//! A thousand webhooks in ten seconds, and a death among them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use spinney_core::{DeliveryStatus, Platform};
use spinney_testkit::{HttpClient, wait_until};

use crate::platforms::hooks::{EVE, MONA, comment, delivery, payload, signed};
use crate::platforms::office::Office;

const COUNT: usize = 1000;
const SPAN: Duration = Duration::from_secs(10);
const SENDERS: usize = 8;
/// After this many the daemon is killed.
const KILLED_AT: usize = 500;
const JOBS: usize = 5;
const PATIENCE: Duration = Duration::from_secs(120);

/// What is sent: mostly what starts no jobs.
fn hook(index: usize) -> (&'static str, Value) {
    let number = 1 + (index % 50) as u64;
    match index % 4 {
        _ if index % (COUNT / JOBS) == 7 => {
            let text = format!("@spinney please\nscript:\nwrite fix-{index}.txt fixed");
            ("issue_comment", comment("created", 1 + index as u64 / 200, 5000 + index as u64, MONA, &text))
        }
        0 | 1 => {
            let mut payload = payload("synchronize", MONA);
            payload["pull_request"] = json!({
                "id": 2000 + index, "number": 2000 + index, "title": "Fix it", "body": "Fixes #9999", "merged_at": null,
                "user": { "login": "mona", "id": 7, "type": "User" },
                "head": { "ref": format!("fix-{index}"), "sha": "0".repeat(40), "repo": { "id": 1 } },
                "base": { "ref": "main", "sha": "0".repeat(40), "repo": { "id": 1 } },
            });
            ("pull_request", payload)
        }
        _ => ("issue_comment", comment("created", number, 5000 + index as u64, EVE, "@spinney please")),
    }
}

/// Sends one until it is taken, as GitHub would; gives how long the daemon took that took it.
fn send(address: &Mutex<HttpClient>, index: usize, again: &AtomicUsize) -> Duration {
    let (event, payload) = hook(index);
    let body = payload.to_string();
    let mut took = Duration::ZERO;
    wait_until(
        || {
            let client = signed(&address.lock().unwrap(), event, &delivery(index as u64), &body);
            let began = Instant::now();
            let sent = client.try_send("POST", "/webhooks/github", body.as_bytes());
            took = began.elapsed();
            match sent {
                Ok(reply) if reply.status == 200 => true,
                Ok(reply) => panic!("{}", reply.told()),
                Err(_) => {
                    again.fetch_add(1, Ordering::SeqCst);
                    false
                }
            }
        },
        PATIENCE,
    );
    took
}

#[test]
fn a_thousand_in_ten_seconds_are_accepted_and_none_is_lost_over_a_death() {
    let office = Office::new("");
    for _ in 0..50 {
        office.forge.add_issue("Login fails", "It says no.");
    }
    let address = Mutex::new(office.client());
    let (next, again, failed) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let began = Instant::now();
    let mut took: Vec<Duration> = thread::scope(|scope| {
        let (address, next, again, failed) = (&address, &next, &again, &failed);
        let senders: Vec<_> = (0..SENDERS)
            .map(|_| {
                scope.spawn(move || {
                    let mut took = Vec::new();
                    loop {
                        let index = next.fetch_add(1, Ordering::SeqCst);
                        if index >= COUNT || failed.load(Ordering::SeqCst) {
                            return took;
                        }
                        // One after the other, over the whole span.
                        let due = began + SPAN * u32::try_from(index).unwrap() / u32::try_from(COUNT).unwrap();
                        thread::sleep(due.saturating_duration_since(Instant::now()));
                        took.push(send(address, index, again));
                    }
                })
            })
            .collect();
        wait_until(|| next.load(Ordering::SeqCst) >= KILLED_AT, PATIENCE);
        office.kill();
        office.open(&office.workshop.cli);
        *address.lock().unwrap() = office.client();
        senders.into_iter().flat_map(|sender| sender.join().unwrap()).collect()
    });
    took.sort();
    println!(
        "{} in {:?}, half within {:?}, all within {:?}; {} were sent again",
        took.len(),
        began.elapsed(),
        took[COUNT / 2],
        took[COUNT - 1],
        again.load(Ordering::SeqCst)
    );
    assert!(took[COUNT - 1] < Duration::from_secs(1), "{:?}", took[COUNT - 1]);

    let ids: Vec<_> = (0..COUNT as u64).map(delivery).collect();
    let open = || {
        office.deliveries(Platform::on("github"), &ids).iter().flatten().filter(|one| one.ended_at.is_none()).count()
    };
    wait_until(|| open() == 0, PATIENCE);
    println!("all were dealt with after {:?}", began.elapsed());
    let found: Vec<_> = office.deliveries(Platform::on("github"), &ids).into_iter().flatten().collect();
    let count = |status| found.iter().filter(|one| one.status == status).count();
    assert_eq!(found.len(), COUNT, "none was lost");
    assert_eq!(count(DeliveryStatus::Done), JOBS);
    assert_eq!(count(DeliveryStatus::Done) + count(DeliveryStatus::Refused) + count(DeliveryStatus::Ignored), COUNT);
    assert_eq!(office.jobs().len(), JOBS);
    assert!((1..=50).map(|issue| office.said_on(issue).len()).sum::<usize>() == JOBS, "and each was answered once");
}
