//! Many tabs at once: a browser has six connections to a server.

use std::fs;

use serde_json::json;

use crate::dashboard::desk::Desk;
use crate::support::job::Workshop;

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
