//! What the forms do, asked without a browser.

use std::fs;

use spinney_core::{JobId, Timestamp};
use spinney_store::{Store, StoreUrl};
use spinney_testkit::{HttpClient, Reply, wait_until};

use crate::dashboard::trouble::csrf;
use crate::support::serve::{LONG, Place};

/// A place, and a browser that is logged in as its owner.
struct Owner {
    place: Place,
    browser: HttpClient,
    csrf: String,
}

impl Owner {
    fn new() -> Self {
        let place = Place::new();
        let (_, token) = place.token("owner", "admin", &[]);
        let browser = place.client().with_header("Cookie", &place.session(&token));
        let csrf = csrf(&browser);
        Self { place, browser, csrf }
    }

    #[track_caller]
    fn post(&self, target: &str, fields: &[(&str, &str)]) -> Reply {
        self.browser.post_form(target, &[&[("csrf", self.csrf.as_str())], fields].concat())
    }

    /// Sends a form, and follows where it leads.
    #[track_caller]
    fn post_and_follow(&self, target: &str, fields: &[(&str, &str)]) -> (String, String) {
        let place = self.post(target, fields).expects(303).header("location").expect("it leads on").to_owned();
        let page = self.browser.get(&place).expects(200).text();
        (place, page)
    }
}

#[test]
fn a_repository_is_added() {
    let owner = Owner::new();
    let other = owner.place.workshop.story.sandbox().repository("other");
    assert!(owner.browser.get("/repositories").expects(200).text().contains("name=\"place\""));
    let path = other.path().to_str().unwrap();
    let (place, page) = owner.post_and_follow("/repositories", &[("place", path), ("name", "acme/other")]);
    assert!(place.starts_with("/repositories/") && place.contains("?did=added."), "{place}");
    assert!(page.contains("acme/other") && page.contains("The repository is known"), "{page}");
    // An address that somebody made up says nothing of it.
    let page = owner.browser.get("/repositories?did=added").expects(200).text();
    assert!(!page.contains("The repository is known"), "{page}");

    for (place, told) in [("", "say where it is"), ("not/a/place", "`path`"), ("ext::sh -c x", "")] {
        let page = owner.post("/repositories", &[("place", place)]);
        assert!((400..500).contains(&page.status), "`{place}`: {}", page.status);
        let told = told.replace("`path`", "<code>path</code>");
        assert!(page.text().contains(&told), "`{place}`: {}", page.text());
    }
    // Which place another account may have is the owner's to say.
    owner.place.cli().run(&["account", "add", "other"]).ok();
    let (_, token) = owner.place.token("theirs", "admin", &["--account", "other"]);
    let theirs = owner.place.client().with_header("Cookie", &owner.place.session(&token));
    assert!(!theirs.get("/repositories").expects(200).text().contains("name=\"place\""));
    let url = owner.place.workshop.story.remote().url();
    for place in [path, &format!("file://{url}"), "https://forge.invalid/acme/app.git"] {
        let told = theirs.post_form("/repositories", &[("csrf", &csrf(&theirs)), ("place", place)]).expects(403);
        assert!(told.text().contains("by the owner of the home"), "{}", told.text());
    }
    owner.place.daemon.terminate();
}

#[test]
fn what_is_purged_can_come_back() {
    let owner = Owner::new();
    let story = &owner.place.workshop.story;
    let workspace = story.make(&["--issue", "7"]);
    fs::write(workspace.path().join("plan.md"), "keep me").unwrap();
    let page = format!("/workspaces/{}", workspace.text("id"));
    let (_, told) = owner.post_and_follow(&format!("{page}/remove"), &[("force", "yes")]);
    assert!(told.contains("It is in the trash") && told.contains("Undo: bring it back"), "{told}");
    assert!(told.contains("Purge its tree") && told.contains("is archived first"), "{told}");

    let (_, told) = owner.post_and_follow(&format!("{page}/purge"), &[]);
    assert!(told.contains("Its tree is gone") && told.contains("Undo: bring it back"), "{told}");
    assert!(!owner.browser.get("/trash").expects(200).text().contains(workspace.text("id")));
    let (_, told) = owner.post_and_follow(&format!("{page}/restore"), &[]);
    assert!(told.contains("It is back"), "{told}");
    assert_eq!(fs::read_to_string(workspace.path().join("plan.md")).unwrap(), "keep me");

    owner.post(&format!("{page}/remove"), &[("force", "yes")]).expects(303);
    assert!(owner.browser.get("/trash").expects(200).text().contains("Purge 1 tree"));
    let (_, told) = owner.post_and_follow("/trash/purge", &[]);
    assert!(told.contains("The trash is empty") && !told.contains(workspace.text("id")), "{told}");
    owner.place.daemon.terminate();
}

#[test]
fn chores_run_pause_and_go_on() {
    let owner = Owner::new();
    let state = |told: &str| {
        let rows = told.split("<tr>").find(|row| row.contains(">sessions</td>")).expect("it is listed").to_owned();
        (rows.contains("paused"), rows.contains(">Resume<"))
    };
    let chore = [("agent", "-"), ("name", "sessions")];
    assert_eq!(state(&owner.browser.get("/schedules").expects(200).text()), (false, false));
    assert_eq!(state(&owner.post_and_follow("/schedules/pause", &chore).1), (true, true));
    assert_eq!(state(&owner.post_and_follow("/schedules/resume", &chore).1), (false, false));
    owner.post_and_follow("/schedules/run", &chore);
    let has_run = || {
        let listed = owner.browser.get("/api/v1/schedules").expects(200).json();
        let rows = listed["schedules"].as_array().unwrap().clone();
        rows.iter().any(|row| row["name"] == "sessions" && !row["last_started_at"].is_null())
    };
    wait_until(has_run, LONG);
    owner.place.daemon.terminate();
}

#[test]
fn older_jobs_are_on_further_pages() {
    let owner = Owner::new();
    let first = owner.place.workshop.jobs()[0].id().to_owned();
    copy_job(&owner.place, &first, 150);
    let page = |path: &str| {
        let text = owner.browser.get(path).expects(200).text();
        let next = text.split("href=\"").find(|part| part.contains("rel=\"next\""));
        let next = next.map(|part| part.split('"').next().unwrap().replace("&#38;", "&").replace("&amp;", "&"));
        (text.matches("<td class=\"name nowrap\"><a href=\"/jobs/").count(), text.contains(&first), next)
    };
    let (count, has_first, next) = page("/jobs?show=completed&agent=coder");
    assert_eq!((count, has_first), (100, false));
    let next = next.expect("there are more");
    assert!(next.contains("show=completed") && next.contains("agent=coder"), "{next}");
    assert_eq!(page(&next), (51, true, None));
    assert_eq!(page("/jobs?agent=nobody").0, 0);
    assert!(owner.browser.get("/jobs?cursor=x").expects(400).text().contains("class=\"ways\""));
    owner.place.daemon.terminate();
}

/// Puts as many more jobs like this one into the store, each a bit newer.
fn copy_job(place: &Place, id: &str, count: u32) {
    let path = place.workshop.story.sandbox().spinney_home().join("spinney.db");
    let url = StoreUrl::parse(&format!("sqlite:{}", path.display())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(&url).await.unwrap();
        let mut db = store.write().await.unwrap();
        let mut job = db.job(&id.parse::<JobId>().unwrap()).await.unwrap().unwrap();
        for number in 1..=count {
            let at = job.created_at.as_millisecond() + i64::from(number);
            (job.id, job.created_at) = (JobId::generate(), Timestamp::from_millisecond(at));
            db.insert_job(&job).await.unwrap();
        }
        db.commit().await.unwrap();
    });
}
