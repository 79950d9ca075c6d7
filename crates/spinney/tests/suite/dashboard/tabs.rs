//! Many tabs at once: a browser has six connections to a server.

use std::fs;

use serde_json::json;
use spinney_testkit::{Browser, Window};

use crate::dashboard::desk::Desk;
use crate::support::job::Workshop;
use crate::support::tls::{make_certificate, start_with_tls};

/// More than a browser has connections, though each page took but one.
const TABS: usize = 8;

#[test]
fn hidden_pages_keep_no_connection_and_go_on_where_they_stopped() {
    let desk = Desk::open(Workshop::new(""));
    let (browser, workshop) = (&desk.browser, &desk.workshop);
    workshop.cli.run(&["repo", "add", "."]).ok();
    let (one, two) = (workshop.beside("one"), workshop.beside("two"));
    let prompt = format!(
        "print first words\nwait-for {}\nprint second words\nwait-for {}\nprint third words",
        one.display(),
        two.display()
    );
    let job = desk.start_job("issue", "1", &prompt);
    browser.wait_for_text("#log", "first words");
    let first = browser.tab();
    let url = browser.url();
    for _ in 0..TABS {
        let _ = browser.open_tab(&url);
        browser.wait_for_text("#log", "first words");
    }
    // The last of them is followed, and the first when it is looked at again.
    fs::write(&one, "").unwrap();
    browser.wait_for_text("#log", "second words");
    browser.show_tab(&first);
    assert_eq!(browser.run("return document.hidden", vec![]), json!(false));
    browser.wait_for_text("#log", "second words");
    fs::write(&two, "").unwrap();
    browser.wait_for_text("#log", "third words");
    browser.wait_for_text("[data-live=head]", "completed");
    let log = browser.text("#log");
    for words in ["first words", "second words", "third words"] {
        assert_eq!(log.matches(words).count(), 1, "{words} in {log}");
    }
    browser.expect_no_complaints();
    workshop.wait_for_end(&job);
}

#[test]
fn pages_that_are_shown_at_once_share_one_stream() {
    let desk = Desk::open(Workshop::new(""));
    let (browser, workshop) = (&desk.browser, &desk.workshop);
    workshop.cli.run(&["new", "--issue", "1"]).ok();
    desk.go_to_repository();
    let url = browser.url();
    let windows: Vec<_> = (0..TABS).map(|_| browser.open_window(&url)).collect();
    let all_show = |name: &str| {
        for window in &windows {
            browser.look_at(window);
            assert_eq!(browser.run("return document.hidden", vec![]), json!(false));
            browser.wait_for_text("main", name);
        }
    };
    all_show("issue-1");
    workshop.cli.run(&["new", "--issue", "2"]).ok();
    all_show("issue-2");
    // The one that reads for all is left; another one goes on.
    browser.look_at(&windows[0]);
    browser.open("about:blank");
    let windows = &windows[1..];
    workshop.cli.run(&["new", "--issue", "3"]).ok();
    for window in windows {
        browser.look_at(window);
        browser.wait_for_text("main", "issue-3");
    }
    browser.expect_no_complaints();
}

#[test]
fn over_tls_any_number_of_logs_is_followed_at_once() {
    let workshop = Workshop::new("");
    let (key, certificate) = make_certificate(&workshop.story, "one");
    workshop.configure(&format!("[server]\ntls_cert = {certificate:?}\ntls_key = {key:?}\n"));
    let (running, address) = start_with_tls(&workshop.cli);
    let key = running.stderr_so_far().split_once("key=").unwrap().1.split_whitespace().next().unwrap().to_owned();
    let go = workshop.beside("go");
    let prompt = format!("print first words\nwait-for {}\nprint second words", go.display());
    let job = workshop.detach(&["--issue", "1"], &prompt);
    let browser = Browser::start(workshop.story.sandbox(), Window::DESKTOP);
    browser.open(&format!("https://{address}/login?key={key}"));
    browser.click("button");
    browser.wait_for("nav a[aria-current]");
    let url = format!("https://{address}/jobs/{job}");
    let windows: Vec<_> = (0..TABS).map(|_| browser.open_window(&url)).collect();
    let all_show = |words: &str| {
        for window in &windows {
            browser.look_at(window);
            browser.wait_for_text("#log", words);
        }
    };
    all_show("first words");
    let protocol = browser.run("return performance.getEntriesByType('navigation')[0].nextHopProtocol", vec![]);
    assert_eq!(protocol, json!("h2"));
    fs::write(&go, "").unwrap();
    all_show("second words");
    browser.expect_no_complaints();
    workshop.wait_for_end(&job);
    running.terminate().ok();
}
