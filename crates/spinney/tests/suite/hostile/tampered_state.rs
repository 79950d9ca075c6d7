//! State that somebody else can write: what lies in the trash, in a worktree's git dir, in an archive. It is read as input,
//! and leads nowhere.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::common::Story;
use crate::support::lost::Work;
use serde_json::{Value, json};

/// A workspace in the trash, with an untracked file.
fn trashed(story: &Story) -> Work {
    let work = Work::new(story, "1");
    work.write("new.txt", "new");
    story.cli.run(&["rm", &work.name, "--force"]).ok();
    work
}

fn state_dir(story: &Story) -> PathBuf {
    story.repository.path().join(".git/spinney")
}

/// Changes one field of a JSON file.
fn tamper(file: &Path, field: &str, value: Value) {
    let mut document: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    document[field] = value;
    fs::write(file, document.to_string()).unwrap();
}

fn lose_database(story: &Story) {
    for name in ["spinney.db", "spinney.db-wal", "spinney.db-shm"] {
        let _ = fs::remove_file(story.sandbox().spinney_home().join(name));
    }
}

#[test]
fn a_name_in_the_trash_leads_to_no_other_place() {
    let story = Story::new();
    let work = trashed(&story);
    let aim = story.sandbox().path().join("aim");
    let names = [aim.to_str().unwrap(), "../../../aim", "..", ".", "", "a/../../../../aim", "a\nb"];
    for name in names {
        tamper(&state_dir(&story).join(&work.id).join("spinney-removal.json"), "admin_name", json!(name));
        let told = story.cli.run(&["restore", &work.name]).ok();
        assert!(told.stderr.contains("spinney-removal.json"), "{name}: {}", told.told());
        assert!(!aim.exists() && !story.repository.path().join("aim").exists(), "{name}");
        let admin_dir = PathBuf::from(work.git(&["rev-parse", "--absolute-git-dir"]));
        assert_eq!(admin_dir.parent().unwrap(), story.repository.path().join(".git/worktrees"), "{name}");
        assert_eq!(work.git(&["status", "--porcelain"]), "?? new.txt");
        story.cli.run(&["rm", &work.name, "--force"]).ok();
    }
}

#[test]
fn the_trash_gives_a_workspace_no_other_work() {
    let story = Story::new();
    let work = trashed(&story);
    let works =
        json!([{"kind": "issue", "key": "1"}, {"kind": "issue", "key": "99"}, {"kind": "task", "key": "\u{1b}"}]);
    tamper(&state_dir(&story).join(&work.id).join("spinney-removal.json"), "works", works);
    story.cli.run(&["restore", &work.name]).ok();
    let other = story.make(&["--issue", "99"]);
    assert_eq!(other.text("method"), "created");
    assert_ne!(other.path(), work.path);
}

#[test]
fn a_place_in_the_trash_is_one_where_workspaces_lie() {
    let story = Story::new();
    for status in ["trashed", "purged"] {
        let work = trashed(&story);
        let aim = story.sandbox().path().join("home").join(format!("aim {status}"));
        tamper(&state_dir(&story).join(&work.id).join("spinney.json"), "path", json!(aim));
        if status == "purged" {
            story.cli.run(&["trash", "purge", "--all"]).ok();
        }
        lose_database(&story);
        story.cli.run(&["cleanup", "orphans"]).ok();
        story.cli.run(&["restore", &work.id]).ok();
        assert!(!aim.exists(), "{status}");
        let back = story.show(&work.id);
        assert!(back.path().starts_with(story.sandbox().spinney_home().join("trees")), "{}", back.0);
        assert_eq!(fs::read_to_string(back.path().join("new.txt")).unwrap(), "new");
        story.cli.run(&["rm", &work.id, "--force"]).ok();
        story.cli.run(&["trash", "purge", "--all"]).ok();
    }
}

#[test]
fn a_marker_that_we_could_not_have_written_counts_for_nothing() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    let tip = work.commit("a.txt", "a");
    let marker = PathBuf::from(work.git(&["rev-parse", "--absolute-git-dir"])).join("spinney.json");
    let before = fs::read(&marker).unwrap();
    for (field, value) in [
        ("id", json!("../../../../aim")),
        ("id", json!("")),
        ("base_commit", json!("x")),
        ("base_commit", json!("--output=aim")),
        ("branch", json!("--aim")),
        ("work", json!({"kind": "issue", "key": "../../aim"})),
        ("path", json!("relative/../../aim")),
    ] {
        fs::write(&marker, &before).unwrap();
        tamper(&marker, field, value.clone());
        lose_database(&story);
        for arguments in [&["cleanup", "orphans"][..], &["doctor"], &["ls"], &["adopt", "--all"]] {
            let told = story.cli.run(arguments);
            assert!(told.status < 100 && !told.stderr.contains("panicked"), "{field} {value}: {}", told.told());
        }
        assert_eq!(story.names(), Vec::<String>::new(), "{field} {value}");
    }
    // With its own tip for a base, its commits would count as merged.
    fs::write(&marker, &before).unwrap();
    tamper(&marker, "base_commit", json!(tip));
    tamper(&marker, "base_branch", json!("issue-1"));
    lose_database(&story);
    story.cli.run(&["cleanup", "orphans"]).ok();
    let why = story.cli.run(&["why", "issue-1", "--json"]).ok().json();
    assert!(why.to_string().contains("unpushed"), "{why}");
}

#[test]
fn a_copied_mark_does_not_move_another_workspace() {
    let story = Story::new();
    let (lost, thief) = (Work::new(&story, "1"), Work::new(&story, "2"));
    let admin_dir = |work: &Work| PathBuf::from(work.git(&["rev-parse", "--absolute-git-dir"])).join("spinney.json");
    let (mark, place) = (fs::read(admin_dir(&lost)).unwrap(), admin_dir(&thief));
    let away = story.sandbox().path().join("away");
    fs::rename(&lost.path, &away).unwrap();
    let tree = story.foreign_worktree("thief", "thief");
    let own = PathBuf::from(story.sandbox().git(&tree, &["rev-parse", "--absolute-git-dir"])).join("spinney.json");
    fs::write(own, &mark).unwrap();
    drop(place);
    let told = story.cli.run(&["cleanup", "orphans"]).ok();
    assert!(told.told().contains("not on its branch"), "{}", told.told());
    assert_eq!(story.show("issue-1").path(), lost.path);
}
