use std::fs;
use std::panic;
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::http::{HttpServer, Response};
use crate::{Sandbox, wait_until};

const PAGE: &str = "<!doctype html>
<html lang=en>
<meta charset=utf-8>
<meta name=viewport content='width=device-width, initial-scale=1'>
<title>A page</title>
<link rel=icon href='data:,'>
<style>
  body { background: white }
  @media (prefers-color-scheme: dark) { body { background: black } }
  .wide { display: none }
  @media (min-width: 800px) { .wide { display: block } }
</style>
<p class=wide>wide</p>
<form><input id=name><select id=kind><option value=a>A<option value=b>B</select></form>
<button id=greet>Greet</button>
<p id=said></p>
<script src=/script.js></script>
";
const SCRIPT: &str = "
const at = id => document.getElementById(id);
at('greet').addEventListener('click', () =>
  setTimeout(() => { at('said').innerText = `hello ${at('name').value} ${at('kind').value}` }, 50));
";
/// As strict as a page can have it, but for the style that the page carries.
const POLICY: &str =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data:";

fn site() -> HttpServer {
    HttpServer::start(|request| {
        let (kind, body) = match request.raw_path() {
            "/" => ("text/html", PAGE.to_owned()),
            "/script.js" => ("text/javascript", SCRIPT.to_owned()),
            "/inline" => ("text/html", format!("{PAGE}<script>document.title = 'ran'</script>")),
            "/failing" => ("text/html", format!("{PAGE}<script src=/failing.js></script>")),
            "/failing.js" => ("text/javascript", "throw new Error('some reason')".to_owned()),
            "/missing" => ("text/html", format!("{PAGE}<script src=/none.js></script>")),
            _ => return Ok(Response::new(404, "text/plain", "")),
        };
        Ok(Response::text("200 OK", &[format!("Content-Type: {kind}"), POLICY.to_owned()], body))
    })
}

fn opened(window: Window) -> (HttpServer, Sandbox, Browser) {
    let (site, sandbox) = (site(), Sandbox::new());
    let browser = Browser::start(&sandbox, window);
    browser.open(&format!("http://{}/", site.address()));
    (site, sandbox, browser)
}

/// What the page's background is now.
fn background(browser: &Browser) -> String {
    browser.run("return getComputedStyle(document.body).backgroundColor", vec![]).as_str().unwrap().to_owned()
}

/// Width and height, from the image's head.
fn size(image: &[u8]) -> (u32, u32) {
    assert_eq!(&image[..8], b"\x89PNG\r\n\x1a\n");
    let number = |at: usize| u32::from_be_bytes(image[at..at + 4].try_into().unwrap());
    (number(16), number(20))
}

#[test]
fn a_person_can_use_a_page() {
    let (site, _sandbox, browser) = opened(Window::DESKTOP);
    assert_eq!((browser.title().as_str(), browser.url()), ("A page", format!("http://{}/", site.address())));
    browser.type_into("#name", "nobody");
    browser.clear("#name");
    browser.type_into("#name", "World");
    browser.choose("#kind", "b");
    browser.click("#greet");
    browser.wait_for_text("#said", "hello World");
    assert_eq!(browser.text("#said"), "hello World b");
    assert_eq!((browser.count("p"), browser.count("video")), (2, 0));
    assert_eq!(browser.attribute("html", "lang").as_deref(), Some("en"));
    browser.reload();
    assert_eq!(browser.text("#said"), "");
    // By keyboard alone.
    for keys in ["\u{e004}me", "\u{e004}", "\u{e004}", "\u{e007}"] {
        browser.press(keys);
    }
    browser.wait_for_text("#said", "hello me a");
    assert_eq!(String::from(char::from(Key::Tab)), "\u{e004}");
    browser.expect_no_complaints();
}

#[test]
fn light_dark_and_narrow_look_different() {
    let (_site, sandbox, browser) = opened(Window::DESKTOP);
    let image = |name: &str| {
        let path = sandbox.path().join("images").join(name);
        browser.screenshot(&path);
        fs::read(path).unwrap()
    };
    assert_eq!(background(&browser), "rgb(255, 255, 255)");
    let light = image("light.png");
    browser.prefer(ColorScheme::Dark);
    assert_eq!(background(&browser), "rgb(0, 0, 0)");
    let dark = image("dark.png");
    assert_eq!((size(&light), size(&dark)), ((1280, 800), (1280, 800)));
    assert_ne!(light, dark);
    let is_wide = || browser.run("return document.querySelector('.wide').offsetWidth > 0", vec![]) == json!(true);
    assert!(is_wide());
    browser.resize(Window::PHONE);
    assert!(!is_wide());
    assert_eq!(size(&image("narrow.png")), (390, 844));
    // Both outlive the page that they were set on.
    browser.reload();
    assert!(!is_wide());
    assert_eq!(background(&browser), "rgb(0, 0, 0)");
}

#[test]
fn what_the_browser_complains_about_is_heard() {
    let (site, _sandbox, browser) = opened(Window::DESKTOP);
    browser.expect_no_complaints();
    for (path, source, text) in
        [("inline", "security", "script-src"), ("failing", "javascript", "some reason"), ("missing", "network", "404")]
    {
        browser.open(&format!("http://{}/{path}", site.address()));
        assert_eq!(browser.title(), "A page", "the policy holds");
        let console = browser.console();
        let told = console
            .iter()
            .any(|entry| entry.level == "SEVERE" && entry.source == source && entry.message.contains(text));
        assert!(told, "{path}: {console:#?}");
        browser.reload();
        let outcome = panic::catch_unwind(panic::AssertUnwindSafe(|| browser.expect_no_complaints()));
        assert!(outcome.is_err(), "{path} goes unnoticed");
    }
}

#[test]
fn it_ends_with_its_test_and_leaves_nothing_behind() {
    let (_site, sandbox, browser) = opened(Window::DESKTOP);
    let path = sandbox.path().to_owned();
    let marker = path.clone();
    // The browser's profile is in the command line of each of its processes.
    let processes = move || {
        let directories =
            fs::read_dir("/proc").unwrap().filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok());
        directories.filter(|line| String::from_utf8_lossy(line).contains(marker.to_str().unwrap())).count()
    };
    assert!(processes() > 0);
    let outcome = panic::catch_unwind(panic::AssertUnwindSafe(move || {
        let _sandbox = sandbox;
        browser.click("#name::nonsense");
    }));
    assert!(outcome.is_err());
    assert!(!path.exists());
    wait_until(|| processes() == 0, Duration::from_secs(10));
}
