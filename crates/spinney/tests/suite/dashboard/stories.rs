//! What a person does, and sees happen.

use std::fs;

use spinney_testkit::{Window, wait_until};

use crate::dashboard::desk::Desk;
use crate::support::job::{LONG, Workshop};

#[test]
fn a_person_works_with_an_agent_in_a_browser() {
    let desk = Desk::open(Workshop::new(""));
    let browser = &desk.browser;
    browser.wait_for_text("main", "Nothing here yet");
    desk.workshop.cli.run(&["repo", "add", "."]).ok();
    desk.go("/");
    browser.wait_for_text("main", "No agent is at work");

    desk.go_to_repository();
    browser.type_into("#new-workspace input[name=key]", "7");
    browser.click("#new-workspace button");
    browser.wait_for_text("h1", "issue-7");
    browser.wait_for_text(".told", "The workspace is ready");
    let workspace = browser.url();
    browser.expect_no_complaints();

    // What an agent prints is text, whether the page had it from the start or it came later.
    let (go, evil) = (desk.workshop.beside("go"), "<img src=x onerror=\"document.title='owned'\">");
    let script = "<script>document.title='owned'</script>";
    let prompt = format!(
        "print {script}\nprint {evil}\nwait-for {}\nprint later {script} {evil}\nwrite notes.txt <b>new</b>\ncommit add notes",
        go.display()
    );
    let job = desk.start_job("issue", "7", &prompt);
    browser.wait_for_text("#log", script);
    browser.wait_for_text("#log", evil);
    browser.wait_for_text("[data-live=head]", "running");
    fs::write(&go, "").unwrap();
    browser.wait_for_text("#log", &format!("later {script}"));
    browser.wait_for_text("[data-live=head]", "completed");
    browser.wait_for_text("[data-live=diff]", "+<b>new</b>");
    browser.wait_for_text("[data-live=steps]", "deliver");
    assert_eq!(browser.count("#log img, #log script, .diff b"), 0);
    browser.reload();
    browser.wait_for_text("#log", &format!("later {script}"));
    assert!(browser.title().starts_with("issue-7, coder"), "{}", browser.title());
    assert_eq!(browser.count("#log img, #log script, .diff b"), 0);
    browser.expect_no_complaints();
    desk.workshop.wait_for_end(&job);

    // Work that is nowhere else is named on the button that removes it; and it comes back.
    let row = desk.workshop.story.show("issue-7");
    fs::write(row.path().join("plan.md"), "keep me").unwrap();
    browser.open(&workspace);
    browser.wait_for_text("#verdict", "would not be removed");
    browser.wait_for_text("#verdict", "plan.md");
    browser.wait_for_text("#verdict", "spinney exec issue-7 -- git commit");
    browser.wait_for_text("#remove", "with 1 untracked file");
    browser.click("#remove");
    browser.wait_for_text(".told", "It is in the trash");
    assert!(!row.path().exists());
    desk.go("/trash");
    browser.wait_for_text("td.name", "issue-7");
    browser.click("td form button");
    browser.wait_for_text(".told", "It is back");
    assert_eq!(fs::read_to_string(row.path().join("plan.md")).unwrap(), "keep me");
    browser.expect_no_complaints();

    for (path, text) in [
        ("/fleet", "coder"),
        ("/jobs", "issue-7"),
        ("/audit", "job.ended"),
        ("/conflicts", "Nothing conflicts"),
        ("/schedules", "cleanup"),
        ("/api", "/api/v1/jobs/{id}/log"),
    ] {
        desk.expect_fits(path);
        wait_until(
            || browser.run("return document.querySelector('main').textContent", vec![]).to_string().contains(text),
            LONG,
        );
        browser.expect_no_complaints();
    }

    // A chore of the daemon's is paused, and says so.
    desk.go("/schedules");
    browser.click("#chores form[action='/schedules/pause'] button");
    browser.wait_for_text("#chores tbody tr", "paused");
    browser.expect_no_complaints();

    desk.go("/tokens");
    browser.type_into("input[name=name]", "ci");
    browser.click("main form .first");
    assert!(browser.text("#secret").starts_with("spn_"));
    // It is shown once: the list does not have it.
    browser.click("nav a[href='/tokens']");
    browser.wait_for_text("td.name", "ci");
    assert_eq!(browser.count("#secret"), 0);
    browser.expect_no_complaints();
}

/// What a page shows changes by itself, without a script error and without the page jumping.
#[test]
fn pages_are_alive() {
    let desk = Desk::open(Workshop::new(""));
    let (browser, workshop) = (&desk.browser, &desk.workshop);
    workshop.story.make(&["--issue", "1"]);
    desk.go("/");
    browser.wait_for_text("[data-live=running]", "No agent is at work");
    let go = workshop.beside_text("go");
    let more = workshop.beside_text("more");
    let prompt = format!("print thinking hard\nwait-for {more}\nprint thinking harder\nwait-for {go}");
    let job = workshop.detach(&["--issue", "1"], &prompt);
    browser.wait_for_text("[data-live=running]", "issue-1");
    browser.wait_for_text("[data-live=running]", "thinking hard");
    // What an agent says changes nothing in the store, and is seen none the less; so is how long it runs.
    fs::write(&more, "").unwrap();
    browser.wait_for_text("[data-live=running]", "thinking harder");
    let runs = || browser.text("[data-runs]");
    let before = runs();
    wait_until(|| runs() != before, LONG);
    fs::write(&go, "").unwrap();
    browser.wait_for_text("[data-live=running]", "No agent is at work");
    workshop.wait_for_end(&job);
    let failing = workshop.detach(&["--issue", "1"], "exit 3");
    browser.wait_for_text("[data-live=needs]", "failed");
    workshop.wait_for_end(&failing);
    browser.resize(Window::PHONE);
    // The longest button says all that goes with a workspace.
    let row = workshop.story.show("issue-1");
    fs::write(row.path().join("plan.md"), "").unwrap();
    workshop.git(row.path(), &["commit", "--quiet", "--allow-empty", "-m", "not pushed"]);
    let (workspace, failed) = (format!("/workspaces/{}", row.text("id")), format!("/jobs/{failing}"));
    let parts = ["/", "/jobs", "/repositories", "/fleet", "/conflicts", "/schedules", "/audit", "/tokens", "/trash"];
    for path in parts.into_iter().chain(["/api", &workspace, &failed]) {
        desk.expect_fits(path);
    }
    browser.expect_no_complaints();
    desk.expect_fits("/nowhere");
}
