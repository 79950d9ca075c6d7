//! Names of files with characters that steer a terminal or turn text around: people see their numbers, programs get them as
//! they are.

use std::fs;

use crate::support::common::Story;
use crate::support::lost::Work;
use spinney_testkit::Ran;

const NAME: &str = "a\u{202e}txt.exe\u{1b}[2J\u{1b}]0;owned\u{7}\nsecond\rline";

#[track_caller]
fn is_harmless(told: &Ran) {
    for text in [&told.stdout, &told.stderr] {
        let steers = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!text.contains(steers), "{text:?}");
        assert!(!text.contains("\nsecond"), "{text:?}");
    }
}

#[test]
fn no_name_steers_the_terminal() {
    let story = Story::new();
    let work = Work::new(&story, "1");
    work.write(NAME, "content");
    let why = story.cli.run(&["why", "issue-1"]).ok();
    is_harmless(&why);
    assert!(why.stdout.contains("a\\u{202e}txt.exe\\u{1b}[2J"), "{}", why.told());
    is_harmless(&story.cli.run(&["rm", "issue-1"]).exits(3));
    for arguments in [&["show", "issue-1"][..], &["ls", "-l"], &["cleanup", "--dry-run"], &["status"], &["doctor"]] {
        is_harmless(&story.cli.run(arguments));
    }
    // A program gets the name as it is.
    let json = story.cli.run(&["why", "issue-1", "--json"]).ok().json();
    assert!(json.to_string().contains(&serde_json::to_string(NAME).unwrap().trim_matches('"').to_owned()), "{json}");
    // Committed, in conflict with another.
    work.git(&["add", "."]);
    work.git(&["commit", "--quiet", "--message", "odd"]);
    let other = Work::new(&story, "2");
    other.write(NAME, "other");
    other.git(&["add", "."]);
    other.git(&["commit", "--quiet", "--message", "odd"]);
    is_harmless(&story.cli.run(&["conflicts"]));
    is_harmless(&story.cli.run(&["rm", "issue-1"]));
}

#[test]
fn no_name_of_a_copied_file_or_a_directory_steers_the_terminal() {
    let story = Story::new();
    story.change(|repository| {
        repository.write(".gitignore", "*.exe*\n");
        repository.commit("ignore");
        repository.push();
        std::os::unix::fs::symlink("/etc", repository.path().join(NAME)).unwrap();
    });
    story.sandbox().write_config("workspace.copy = [\"*.exe*\"]\n");
    let told = story.cli.run(&["new", "--issue", "1"]).ok();
    is_harmless(&told);
    assert!(told.stderr.contains("\\u{202e}"), "{}", told.told());
    let directory = story.sandbox().path().join(NAME);
    fs::create_dir(&directory).unwrap();
    is_harmless(&story.cli.run(&["adopt", directory.to_str().unwrap()]));
    is_harmless(&story.cli.run(&["--repo", directory.to_str().unwrap(), "ls"]));
}
