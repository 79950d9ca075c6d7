//! The dashboard without a mouse.

use serde_json::{Value, json};
use spinney_testkit::{Browser, Daemon, Key, Window, wait_until};

use crate::support::job::{LONG, Workshop};

/// More stops than any of these pages has.
const MOST_STOPS: usize = 150;

/// Tells of what has the focus: whether it matches a selector, and where a person sees that.
const FOCUSED: &str =
    "const it = document.activeElement, style = getComputedStyle(it), box = it.getBoundingClientRect();
    return { matches: it.matches(arguments[0]), name: it.outerHTML.slice(0, 120), is_page: it === document.body,
        is_marked: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 1,
        is_seen: box.width > 0 && box.bottom > 0 && box.top < innerHeight }";

#[track_caller]
fn focused(browser: &Browser, selector: &str) -> Value {
    browser.run(FOCUSED, vec![json!(selector)])
}

/// Goes on to an element by the tabulator alone; each stop on the way must be seen to have the focus.
#[track_caller]
fn tab_to(browser: &Browser, selector: &str) {
    for _ in 0..MOST_STOPS {
        browser.press(&Key::Tab.to_string());
        let now = focused(browser, selector);
        assert!(now["is_page"] == false, "`{selector}` was not reached");
        assert!(now["is_marked"] == true && now["is_seen"] == true, "the focus is not to be seen: {now:#}");
        if now["matches"] == true {
            return;
        }
    }
    panic!("`{selector}` was not reached, nor the end of the page");
}

#[track_caller]
fn enter(browser: &Browser) {
    browser.press(&Key::Enter.to_string());
}

#[test]
fn a_person_logs_in_and_starts_a_job_by_the_keyboard_alone() {
    let workshop = Workshop::new("");
    workshop.cli.run(&["repo", "add", "."]).ok();
    let daemon = Daemon::start(&workshop.cli);
    wait_until(|| daemon.login_link().is_some(), LONG);
    let browser = Browser::start(workshop.story.sandbox(), Window::DESKTOP);
    browser.open(&daemon.login_link().expect("it was waited for"));
    enter(&browser);
    browser.wait_for("nav a[aria-current]");

    // The first stop leads past what is on every page.
    tab_to(&browser, "a.skip");
    enter(&browser);
    assert_eq!(focused(&browser, "main")["matches"], true);
    browser.reload();
    tab_to(&browser, "nav a[href='/repositories']");
    enter(&browser);
    browser.wait_for_text("h1", "Repositories");
    tab_to(&browser, "td.name a");
    enter(&browser);
    browser.wait_for("#new-job");
    tab_to(&browser, "#new-job summary");
    enter(&browser);
    tab_to(&browser, "#new-job input[name=key]");
    browser.press("7");
    tab_to(&browser, "#new-job textarea");
    browser.press("print by hand");
    tab_to(&browser, "#new-job button");
    enter(&browser);
    browser.wait_for_text(".told", "The job has begun");
    browser.wait_for_text("#log", "by hand");
    browser.wait_for_text("[data-live=head]", "completed");

    // Nothing on the page with the most in it keeps the focus to itself.
    tab_to(&browser, "#log");
    let stops = (0..MOST_STOPS).find(|_| {
        browser.press(&Key::Tab.to_string());
        let now = focused(&browser, ".skip");
        now["is_page"] == true || now["matches"] == true
    });
    assert!(stops.is_some(), "the focus never left: {}", focused(&browser, ".skip"));
    let job = workshop.jobs()[0].id().to_owned();
    workshop.wait_for_end(&job);
    browser.expect_no_complaints();
}
