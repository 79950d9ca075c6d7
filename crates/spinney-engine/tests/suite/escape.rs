//! What happens in the main checkout while a job runs is seen, by path; nothing else is, and nothing is touched.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, SystemTime};

use spinney_core::Work;
use spinney_engine::{CheckoutPrint, Request};
use spinney_testkit::{Sandbox, wait_until};

use crate::setup::Story;

async fn look(story: &Story, since: SystemTime) -> CheckoutPrint {
    CheckoutPrint::look(&story.context().await.main_checkout(), since).await.unwrap().unwrap()
}

/// Now, and the file system's clock, which goes in steps, has passed it.
fn now(story: &Story) -> SystemTime {
    let (since, clock) = (SystemTime::now(), story.app.sandbox().path().join("clock"));
    let passed = || {
        fs::write(&clock, "x").unwrap();
        fs::metadata(&clock).unwrap().modified().unwrap() > since
    };
    wait_until(passed, Duration::from_secs(10));
    since
}

#[tokio::test]
async fn every_kind_of_change_is_told_by_path() {
    let story = Story::new().await;
    let write = |name: &str, text: &str| story.app.write(name, text);
    for name in ["same size", "deleted", "staged", "mode", "link", "directory/a", "to stage"] {
        write(name, "one");
    }
    story.app.commit("files");
    write("dirty before", "x");
    write("untracked before", "x");
    write(".env", "ignored");
    fs::remove_file(story.file("directory/a")).unwrap();
    let since = now(&story);
    let index = fs::metadata(story.file(".git/index")).unwrap().modified().unwrap();
    let before = look(&story, since).await;
    assert_eq!(before.compare(&look(&story, since).await), Vec::<String>::new());

    // The agent's own place, where all changes belong.
    let workspace = story.make(&Request::new(Work::issue(1))).await;
    story.commit(&workspace, "inside");
    fs::write(workspace.path.join("README.md"), "changed").unwrap();
    story.git(&workspace.path, &["stash", "--quiet"]);
    assert_eq!(before.compare(&look(&story, since).await), Vec::<String>::new());
    assert_eq!(fs::metadata(story.file(".git/index")).unwrap().modified().unwrap(), index);

    // Same size, and the time put back.
    let modified = fs::metadata(story.file("same size")).unwrap().modified().unwrap();
    write("same size", "two");
    fs::File::options().write(true).open(story.file("same size")).unwrap().set_modified(modified).unwrap();
    fs::remove_file(story.file("deleted")).unwrap();
    fs::set_permissions(story.file("mode"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(story.file("link")).unwrap();
    symlink("one", story.file("link")).unwrap();
    write("new\nline", "x");
    write("untracked before", "y");
    write(".env", "nobody minds");
    write("staged", "three");
    story.app.git(&["add", "staged"]);
    story.app.git(&[
        "update-index",
        "--cacheinfo",
        &format!("100644,{},to stage", story.app.git(&["rev-parse", ":staged"])),
    ]);
    let told = before.compare(&look(&story, since).await);
    let expected = [
        "deleted (deleted)",
        "link (changed)",
        "mode (changed)",
        "new\\nline (new)",
        "same size (changed)",
        "staged (changed)",
        "to stage (staged)",
        "untracked before (changed)",
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn head_and_the_stash_of_the_checkout_are_watched() {
    let story = Story::new().await;
    let since = now(&story);
    let before = look(&story, since).await;
    story.app.write("README.md", "changed");
    story.app.git(&["stash", "--quiet"]);
    let told = before.compare(&look(&story, since).await);
    assert_eq!(told, ["stash (of main)", "README.md (changed)"]);
    story.app.git(&["commit", "--quiet", "--allow-empty", "-m", "x"]);
    let told = before.compare(&look(&story, since).await);
    assert_eq!(told[0], format!("HEAD (main → {})", &story.app.head()[..7]));
    story.app.git(&["switch", "--quiet", "-c", "other"]);
    assert_eq!(before.compare(&look(&story, since).await)[0], "HEAD (main → other)");
    story.app.git(&["switch", "--quiet", "--detach"]);
    let told = before.compare(&look(&story, since).await);
    assert_eq!(told[0], format!("HEAD (main → {})", &story.app.head()[..7]));
}

#[tokio::test]
async fn a_first_look_that_comes_late_still_finds_what_happened_before_it() {
    let story = Story::new().await;
    story.app.write("directory/a", "x").write("directory/b", "x").write("gone before", "x");
    story.app.commit("files");
    fs::remove_file(story.file("gone before")).unwrap();
    let since = now(&story);
    story.app.write("README.md", "changed").write("new", "x");
    fs::remove_file(story.file("directory/a")).unwrap();
    let late = look(&story, since).await;
    let told = late.compare(&look(&story, since).await);
    // That the root has changed says nothing sure of what was missing in it already: it is told, not hidden.
    assert_eq!(told, ["README.md (changed)", "directory/a (deleted)", "gone before (deleted)", "new (changed)"]);
    story.app.git(&["switch", "--quiet", "-c", "other"]);
    let late = look(&story, since).await;
    assert_eq!(late.compare(&look(&story, since).await)[0], "HEAD (moved)");
}

#[tokio::test]
async fn very_many_paths_are_counted() {
    let story = Story::new().await;
    let since = now(&story);
    let before = look(&story, since).await;
    for number in 0..1234 {
        story.app.write(format!("many/{number:04}"), "x");
    }
    let told = before.compare(&look(&story, since).await);
    assert_eq!((told.len(), told.first().unwrap().as_str()), (1001, "many/0000 (new)"));
    assert_eq!(told.last().unwrap(), "and 234 more");
}

#[tokio::test]
async fn a_bare_repository_has_nothing_to_look_at() {
    let story = Story::of(Sandbox::new().repository("app").with_remote()).await;
    let context = story.engine.find_context(None, story.app.remote().path()).await.unwrap();
    assert!(CheckoutPrint::look(&context.main_checkout(), SystemTime::now()).await.unwrap().is_none());
}
