//! What a person sees when something is not as it should be: a page with a way on.

use std::fs;

use spinney_testkit::{HttpClient, Reply};

use crate::support::serve::Place;

/// Stands on every page around its content.
const FRAME: &str = "aria-label=\"Parts of the dashboard\"";

/// Asserts that an answer is a page with this status, with the frame of somebody who is logged in, or of nobody.
#[track_caller]
fn expect_page(reply: &Reply, status: u16, is_known: bool, text: &str) {
    let page = reply.text();
    assert_eq!(reply.status, status, "{page}");
    assert!(reply.header("content-type").is_some_and(|kind| kind.starts_with("text/html")), "{:?}", reply.headers);
    assert!(page.contains(FRAME) && page.contains("class=\"ways\""), "{page}");
    assert_eq!(page.contains("Log out"), is_known, "{page}");
    assert!(page.contains(text), "`{text}` is not in {page}");
}

/// A browser with a session of this scope.
fn browser(place: &Place, scope: &str) -> HttpClient {
    let (_, token) = place.token(&format!("of-{scope}"), scope, &[]);
    place.client().with_header("Cookie", &place.session(&token))
}

/// The CSRF token of a session.
#[track_caller]
pub fn csrf(browser: &HttpClient) -> String {
    let text = browser.get("/").expects(200).text();
    let (_, rest) = text.split_once("name=\"csrf\" value=\"").expect("the page has a form");
    rest.split('"').next().unwrap().to_owned()
}

#[test]
fn what_fails_is_told_on_a_page_with_a_way_on() {
    let place = Place::new();
    let (admin, reader) = (browser(&place, "admin"), browser(&place, "read"));
    let (token, of_reader) = (csrf(&admin), csrf(&reader));
    let job = place.workshop.jobs()[0].clone();
    let workspace = format!("/workspaces/{}", job.text("workspace_id"));

    expect_page(&admin.get("/nowhere"), 404, true, "there is nothing here");
    expect_page(&admin.get("/workspaces/0000000000"), 404, true, "Not found");
    expect_page(&place.client().get("/nowhere"), 404, false, "there is nothing here");
    let pin = format!("{workspace}/pin");
    expect_page(&reader.post_form(&pin, &[("csrf", &of_reader)]), 403, true, "<code>write</code>");
    expect_page(&admin.post_form(&pin, &[("csrf", &of_reader)]), 403, true, "reload the page");
    let foreign = admin.with_header("Origin", "https://evil.example").post_form("/login", &[("key", "x")]);
    expect_page(&foreign, 403, true, "another origin");
    expect_page(&place.client().post_form(&pin, &[]), 401, false, "href=\"/login\"");
    let purge = admin.post_form(&format!("{workspace}/purge"), &[("csrf", &token)]);
    expect_page(&purge, 409, true, "is not in the trash");
    expect_page(&admin.get(&format!("{workspace}/purge")), 405, true, "this method is not allowed here");
    // Whoever asks under another name is told nothing of who they are.
    expect_page(
        &admin.with_header("Host", "evil.example").get("/"),
        403,
        false,
        "a host that this server does not serve",
    );

    // A log that can't be read is nobody's fault who asks.
    let log = job.text("log");
    fs::remove_file(log).unwrap();
    fs::create_dir(log).unwrap();
    expect_page(&admin.get(&format!("/jobs/{}", job.id())), 500, true, "Internal error");
    fs::remove_dir(log).unwrap();

    let program = admin.get("/api/v1/nowhere").expects(404);
    assert_eq!(program.json()["error"]["kind"], "not_found");
    place.daemon.terminate();
}

#[test]
fn whoever_is_not_let_in_sees_why_where_they_log_in() {
    let place = Place::new();
    let client = place.client();
    let is_form = |reply: &Reply, text: &str| {
        let page = reply.text();
        assert!(page.contains("role=\"alert\"") && page.contains("name=\"key\"") && page.contains(text), "{page}");
    };
    let unknown = format!("spn_{}", "1".repeat(64));
    is_form(&client.post_form("/login", &[("key", &unknown)]).expects(401), "unknown, expired or used up");
    is_form(&client.post_form("/login", &[("next", "/jobs")]).expects(422), "send it again");
    is_form(&client.post("/login", &serde_json::json!({ "key": unknown })).expects(415), "send it again");
    let limited = (0..100).map(|_| client.post_form("/login", &[("key", &unknown)])).find(|reply| reply.status != 401);
    let limited = limited.expect("nobody guesses for ever").expects(429);
    assert!(limited.header("retry-after").is_some());
    is_form(&limited, "role=\"alert\"");
    place.daemon.terminate();
}
