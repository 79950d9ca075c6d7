//! Objects that are missing already: nothing pretends to keep them, and a ref that leads to nothing is found and set aside.

use std::fs;

use crate::support::common::{Story, refused};
use crate::support::lost::Work;
use spinney_testkit::Cli;

fn rescue(work: &Work) -> String {
    format!("refs/spinney/rescue/{}", work.id)
}

/// Takes a loose object away.
fn lose(story: &Story, object: &str) {
    let place = story.repository.path().join(".git/objects").join(&object[..2]).join(&object[2..]);
    fs::remove_file(place).unwrap();
}

/// Whether git works in the repository, for everybody.
fn works(story: &Story) -> bool {
    let calls = [&["fetch", "--quiet"][..], &["log", "--all", "--oneline"], &["gc", "--quiet", "--prune=now"]];
    calls.iter().all(|arguments| story.repository.try_git(arguments).status == 0)
}

fn doctor(cli: &Cli, arguments: &[&str]) -> (i32, String) {
    let ran = cli.run(&[&["doctor"], arguments].concat());
    (ran.status, ran.stdout + &ran.stderr)
}

#[test]
fn a_workspace_with_missing_objects_stays_and_goes_by_force_without_a_broken_ref() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    work.git(&["switch", "--quiet", "--detach"]);
    let whole = work.commit("whole.txt", "whole");
    let start = work.git(&["rev-parse", "HEAD~1"]);
    work.git(&["switch", "--quiet", "--detach", &start]);
    work.commit("lost.txt", "lost");
    lose(&story, &work.git(&["rev-parse", "HEAD:lost.txt"]));
    // Commits on no branch are agreed to; that something is missing is not known before.
    let told = refused(&story.cli, 3, &["rm", "issue-1", "--allow", "detached_commits,unpushed"]);
    told.says(&["missing"]).hints(&["--force"]);
    assert!(work.path.join("lost.txt").is_file());
    assert_eq!(story.show("issue-1").text("status"), "active");
    assert_eq!(story.repository.git(&["for-each-ref", "refs/spinney"]), "");
    let told = story.cli.run(&["rm", "issue-1", "--force"]).ok().stderr;
    assert!(told.contains("missing"), "{told}");
    assert!(works(&story));
    assert_eq!(
        story.repository.git(&["log", "--format=%H", &rescue(&work)]).lines().filter(|line| *line == whole).count(),
        1
    );
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(fs::read_to_string(work.path.join("lost.txt")).unwrap(), "lost");
}

#[test]
fn a_rescue_ref_that_leads_to_nothing_is_found_and_set_aside() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    work.git(&["switch", "--quiet", "--detach"]);
    work.commit("kept.txt", "kept");
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    assert_eq!(doctor(&story.cli, &[]).0, 0);
    // As a race left it: the ref is there, and nothing it leads to.
    let name = rescue(&work);
    let gone = "0123456789012345678901234567890123456789";
    let file = story.repository.path().join(".git").join(&name);
    fs::write(&file, format!("{gone}\n")).unwrap();
    assert!(!works(&story));
    let (status, told) = doctor(&story.cli, &[]);
    assert_eq!(status, 1, "{told}");
    assert!([name.as_str(), "issue-1", gone, "spinney doctor --fix"].iter().all(|text| told.contains(text)), "{told}");
    let (status, told) = doctor(&story.cli, &["--fix"]);
    assert_eq!(status, 0, "{told}");
    assert!([name.as_str(), gone, "set aside"].iter().all(|text| told.contains(text)), "{told}");
    assert!(works(&story));
    assert!(story.repository.path().join(".git/spinney/broken-refs").read_dir().unwrap().count() > 0);
    // The trash still named the commit: it is pinned anew, and comes back.
    story.cli.run(&["restore", "issue-1"]).ok();
    assert_eq!(work.git(&["show", "HEAD:kept.txt"]), "kept");
}

#[test]
fn a_ref_whose_file_is_damaged_is_set_aside() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    story.cli.run(&["rm", "issue-1"]).ok();
    let file = story.repository.path().join(".git").join(rescue(&work));
    fs::write(&file, "").unwrap();
    let (status, told) = doctor(&story.cli, &[]);
    assert_eq!(status, 1, "{told}");
    assert!(told.contains(&rescue(&work)), "{told}");
    assert_eq!(doctor(&story.cli, &["--fix"]).0, 0);
    assert_eq!(
        story.repository.git(&["for-each-ref", "--format=x", &rescue(&work)]),
        "x",
        "pinned anew from the trash"
    );
    story.cli.run(&["restore", "issue-1"]).ok();
}

#[test]
fn what_is_whole_of_a_broken_ref_is_kept() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    work.git(&["switch", "--quiet", "--detach"]);
    let whole = work.commit("whole.txt", "whole");
    work.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    let half = work.commit("half.txt", "half");
    let lost = work.git(&["rev-parse", "HEAD:half.txt"]);
    story.cli.run(&["rm", "issue-1", "--force"]).ok();
    story.cli.run(&["trash", "purge", "issue-1"]).ok();
    // Out of its pack, and gone.
    let packs = story.repository.path().join(".git/objects/pack");
    for pack in fs::read_dir(&packs)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().unwrap() == "pack")
    {
        let aside = story.sandbox().path().join("aside.pack");
        fs::rename(&pack, &aside).unwrap();
        fs::remove_file(pack.with_extension("idx")).unwrap();
        let shell = story.sandbox().cli("/bin/sh").in_directory(story.repository.path());
        shell.run(&["-c", "git unpack-objects -q < \"$0\"", aside.to_str().unwrap()]).ok();
    }
    lose(&story, &lost);
    let (status, told) = doctor(&story.cli, &[]);
    assert!(status == 1 && told.contains(&lost), "{told}");
    let (status, told) = doctor(&story.cli, &["--fix"]);
    assert!(status == 0 && told.contains("the rest of it is kept"), "{told}");
    let kept = story.repository.git(&["log", "--format=%H", &rescue(&work)]);
    assert!(kept.contains(&whole) && !kept.contains(&half), "{kept}");
    assert!(works(&story));
}
