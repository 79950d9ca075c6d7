//! Opens pages and does what a person would do on them.
//!
//! What is done to an element waits for the element. Elements are named by CSS selectors.

use std::fs;
use std::future::Future;
use std::path::Path;
use std::time::Duration;

use fantoccini::error::CmdError;
use fantoccini::{Client, ClientBuilder, Locator};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::driver::{Driver, browser_program};
use crate::{HttpClient, Sandbox, wait_until};

const TIMEOUT: Duration = Duration::from_secs(20);

/// The size of what is seen of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub width: u32,
    pub height: u32,
    /// A page is laid out as on a phone: wide, unless it says otherwise.
    pub is_phone: bool,
}

impl Window {
    pub const DESKTOP: Self = Self { width: 1280, height: 800, is_phone: false };
    pub const PHONE: Self = Self { width: 390, height: 844, is_phone: true };
}

/// What a person prefers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColorScheme {
    Light,
    Dark,
}

/// Something that the browser told its developer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleEntry {
    /// `SEVERE`, `WARNING`, `INFO`.
    pub level: String,
    /// `security` for what a policy forbade, `javascript`, `network`, `console-api`.
    pub source: String,
    pub message: String,
}

/// A tab of the browser's window, or a window beside it.
#[derive(Debug, Clone)]
pub struct Tab(fantoccini::wd::WindowHandle);

/// One window of a browser that nobody has used before. Dropped, it is killed.
#[derive(Debug)]
pub struct Browser {
    runtime: Runtime,
    client: Client,
    /// Speaks to the driver what the client does not.
    driver_client: HttpClient,
    session: String,
    _driver: Driver,
}

impl Browser {
    /// Opens a window of this size, light.
    #[must_use]
    #[track_caller]
    pub fn start(sandbox: &Sandbox, window: Window) -> Self {
        let driver = Driver::start(sandbox);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let Value::Object(capabilities) = capabilities(&sandbox.fresh("home")) else {
            unreachable!("capabilities are an object")
        };
        let mut builder = ClientBuilder::new(HttpConnector::new());
        builder.capabilities(capabilities);
        let connected = runtime.block_on(builder.connect(&format!("http://{}", driver.address)));
        let client = connected.unwrap_or_else(|error| panic!("the browser did not start: {error}"));
        let session = runtime.block_on(client.session_id()).ok().flatten().expect("the session has an id");
        let driver_client = HttpClient::tcp(driver.address);
        let browser = Self { runtime, client, driver_client, session, _driver: driver };
        browser.resize(window);
        browser.prefer(ColorScheme::Light);
        browser
    }

    pub fn resize(&self, window: Window) {
        let Window { width, height, is_phone } = window;
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone });
        self.devtools("Emulation.setDeviceMetricsOverride", &metrics);
    }

    pub fn prefer(&self, scheme: ColorScheme) {
        let value = match scheme {
            ColorScheme::Light => "light",
            ColorScheme::Dark => "dark",
        };
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": value }] });
        self.devtools("Emulation.setEmulatedMedia", &features);
    }

    /// Opens a page and waits until it is loaded.
    #[track_caller]
    pub fn open(&self, url: &str) {
        self.wait(&format!("open `{url}`"), self.client.goto(url));
    }

    #[track_caller]
    pub fn reload(&self) {
        self.wait("reload", self.client.refresh());
    }

    /// Opens a tab in front of the others and a page in it; gives a name to come back to it.
    #[must_use]
    #[track_caller]
    pub fn open_tab(&self, url: &str) -> Tab {
        self.open_beside(url, true)
    }

    /// Opens another window, which is shown beside the first, and a page in it.
    #[must_use]
    #[track_caller]
    pub fn open_window(&self, url: &str) -> Tab {
        self.open_beside(url, false)
    }

    #[track_caller]
    fn open_beside(&self, url: &str, as_tab: bool) -> Tab {
        let opened = self.wait("open a tab or window", async {
            let handle = self.client.new_window(as_tab).await?.handle;
            self.client.switch_to_window(handle).await?;
            self.client.window().await
        });
        self.open(url);
        Tab(opened)
    }

    /// Looks at a window that is shown.
    #[track_caller]
    pub fn look_at(&self, window: &Tab) {
        self.wait("switch to a window", self.client.switch_to_window(window.0.clone()));
    }

    /// The tab in front.
    #[must_use]
    #[track_caller]
    pub fn tab(&self) -> Tab {
        Tab(self.wait("tell the tab", self.client.window()))
    }

    /// Brings a tab to the front.
    #[track_caller]
    pub fn show_tab(&self, tab: &Tab) {
        self.wait("switch to a tab", self.client.switch_to_window(tab.0.clone()));
        self.devtools("Page.bringToFront", &json!({}));
    }

    /// Where it is now.
    #[must_use]
    #[track_caller]
    pub fn url(&self) -> String {
        self.wait("tell the URL", self.client.current_url()).into()
    }

    #[must_use]
    #[track_caller]
    pub fn title(&self) -> String {
        self.wait("tell the title", self.client.title())
    }

    /// Clicks an element, which must be where a click can reach it.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        self.wait(&format!("click `{selector}`"), async { self.find(selector).await?.click().await });
    }

    /// Types into a field, after what is in it.
    #[track_caller]
    pub fn type_into(&self, selector: &str, text: &str) {
        self.wait(&format!("type into `{selector}`"), async { self.find(selector).await?.send_keys(text).await });
    }

    /// Empties a field.
    #[track_caller]
    pub fn clear(&self, selector: &str) {
        self.wait(&format!("clear `{selector}`"), async { self.find(selector).await?.clear().await });
    }

    /// Chooses what has this value from a list.
    #[track_caller]
    pub fn choose(&self, selector: &str, value: &str) {
        let chosen = async { self.find(selector).await?.select_by_value(value).await };
        self.wait(&format!("choose `{value}` from `{selector}`"), chosen);
    }

    /// Presses keys where the focus is; [`Key`](super::Key) has those that are no letters.
    #[track_caller]
    pub fn press(&self, keys: &str) {
        self.wait("press keys", async { self.client.active_element().await?.send_keys(keys).await });
    }

    /// How many elements there are now.
    #[must_use]
    #[track_caller]
    pub fn count(&self, selector: &str) -> usize {
        self.wait("count elements", self.client.find_all(Locator::Css(selector))).len()
    }

    /// The text of the first such element, as it is seen.
    #[must_use]
    #[track_caller]
    pub fn text(&self, selector: &str) -> String {
        self.wait_for(selector);
        self.text_now(selector).unwrap_or_default()
    }

    /// An attribute of the first such element.
    #[must_use]
    #[track_caller]
    pub fn attribute(&self, selector: &str, name: &str) -> Option<String> {
        self.wait(&format!("read `{selector}`"), async { self.find(selector).await?.attr(name).await })
    }

    /// Waits until there is such an element.
    #[track_caller]
    pub fn wait_for(&self, selector: &str) {
        self.wait(&format!("find `{selector}`"), self.find(selector));
    }

    /// Waits until the first such element shows a text.
    #[track_caller]
    pub fn wait_for_text(&self, selector: &str, text: &str) {
        wait_until(|| self.text_now(selector).is_some_and(|seen| seen.contains(text)), TIMEOUT);
    }

    /// Runs a script in the page and gives what it returns.
    #[track_caller]
    pub fn run(&self, script: &str, arguments: Vec<Value>) -> Value {
        self.wait("run a script", self.client.execute(script, arguments))
    }

    /// Writes what is seen of the page to a PNG file.
    #[track_caller]
    pub fn screenshot(&self, path: &Path) {
        let image = self.wait("take a screenshot", self.client.screenshot());
        fs::create_dir_all(path.parent().expect("a file has a parent")).expect("the directory can be made");
        fs::write(path, image).expect("the file can be written");
    }

    /// What was told since the last call.
    #[must_use]
    #[track_caller]
    pub fn console(&self) -> Vec<ConsoleEntry> {
        let entries = self.command("se/log", &json!({ "type": "browser" }));
        let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let entries = entries.as_array().expect("the log is a list").iter();
        let entry = |entry| ConsoleEntry {
            level: text(entry, "level"),
            source: text(entry, "source"),
            message: text(entry, "message"),
        };
        entries.map(entry).collect()
    }

    /// Asserts that no script failed, no policy was violated and nothing was missing since the last look at the console.
    #[track_caller]
    pub fn expect_no_complaints(&self) {
        let console = self.console();
        let complaints: Vec<_> = console.iter().filter(|entry| entry.level != "INFO").collect();
        assert!(complaints.is_empty(), "the browser complains: {complaints:#?}");
    }

    async fn find(&self, selector: &str) -> Result<fantoccini::elements::Element, CmdError> {
        self.client.wait().at_most(TIMEOUT).for_element(Locator::Css(selector)).await
    }

    /// In one step, so that the element can't go between finding and reading.
    fn text_now(&self, selector: &str) -> Option<String> {
        let script = "return document.querySelector(arguments[0])?.innerText ?? null";
        self.run(script, vec![json!(selector)]).as_str().map(str::to_owned)
    }

    #[track_caller]
    fn wait<T>(&self, what: &str, work: impl Future<Output = Result<T, CmdError>>) -> T {
        match self.runtime.block_on(work) {
            Ok(value) => value,
            Err(error) => panic!("the browser can't {what}: {error}"),
        }
    }

    #[track_caller]
    fn devtools(&self, method: &str, parameters: &Value) -> Value {
        self.command("goog/cdp/execute", &json!({ "cmd": method, "params": parameters }))
    }

    #[track_caller]
    fn command(&self, name: &str, body: &Value) -> Value {
        let target = format!("/session/{}/{name}", self.session);
        self.driver_client.post(&target, body).expects(200).json()["value"].take()
    }
}

fn capabilities(profile: &Path) -> Value {
    let arguments = [
        "--headless",
        // Root has none; and what is tested is the page.
        "--no-sandbox",
        "--disable-gpu",
        // Containers have little of it.
        "--disable-dev-shm-usage",
        "--disable-breakpad",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--hide-scrollbars",
        "--force-color-profile=srgb",
        &format!("--user-data-dir={}", profile.display()),
    ];
    json!({
        "browserName": "chrome",
        // The certificates of tests are their own.
        "acceptInsecureCerts": true,
        "timeouts": { "pageLoad": 30_000, "script": 20_000 },
        "goog:loggingPrefs": { "browser": "ALL" },
        "goog:chromeOptions": { "binary": browser_program(), "args": arguments },
    })
}
