//! A daemon, and a browser that is logged in to it.

use serde_json::json;
use spinney_testkit::{Browser, Daemon, Window, wait_until};

use crate::support::job::{LONG, Workshop};

/// A daemon, and a browser that is logged in to it.
pub struct Desk {
    pub browser: Browser,
    pub daemon: Daemon,
    pub workshop: Workshop,
}

impl Desk {
    pub fn open(workshop: Workshop) -> Self {
        let daemon = Daemon::start(&workshop.cli);
        wait_until(|| daemon.login_link().is_some(), LONG);
        let browser = Browser::start(workshop.story.sandbox(), Window::DESKTOP);
        browser.open(&daemon.url("/jobs"));
        assert!(browser.url().ends_with("/login?next=/jobs"), "{}", browser.url());
        browser.open(&daemon.login_link().expect("it was waited for"));
        browser.click("button");
        browser.wait_for("nav a[aria-current]");
        Self { browser, daemon, workshop }
    }

    #[track_caller]
    pub fn go(&self, path: &str) {
        self.browser.open(&self.daemon.url(path));
    }

    /// Chooses the only repository.
    #[track_caller]
    pub fn go_to_repository(&self) {
        self.go("/repositories");
        self.browser.click("td.name a");
        self.browser.wait_for("#new-job");
    }

    /// Starts a job on a piece of work, by the form; the browser shows it then.
    #[track_caller]
    pub fn start_job(&self, kind: &str, key: &str, prompt: &str) -> String {
        self.go_to_repository();
        self.browser.click("#new-job summary");
        self.browser.choose("#new-job select[name=kind]", kind);
        self.browser.type_into("#new-job input[name=key]", key);
        self.browser.type_into("#new-job textarea", prompt);
        self.browser.click("#new-job button");
        self.browser.wait_for_text(".told", "The job has begun");
        let url = self.browser.url();
        let (_, rest) = url.split_once("/jobs/").expect("the page of the job is shown");
        rest.split('?').next().unwrap_or_default().to_owned()
    }

    /// Asserts that a page, which is opened, is no wider than the window.
    #[track_caller]
    pub fn expect_fits(&self, path: &str) {
        self.go(path);
        let wider = self.browser.run("return document.documentElement.scrollWidth > window.innerWidth", vec![]);
        assert_eq!(wider, json!(false), "{path} is wider than the window");
    }
}
