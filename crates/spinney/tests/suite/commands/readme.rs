//! What the README shows is what the program prints, and what it says to type works in an empty home.

use std::path::Path;

use crate::support::common::{BINARY, Story};
use spinney_testkit::Cli;

const README: &str = include_str!("../../../../../README.md");
const MOST_CHARACTERS: usize = 9000;

/// The blocks of a language.
fn blocks(language: &str) -> Vec<&'static str> {
    let open = format!("```{language}\n");
    README.split(&open).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// A shell in a story's main checkout, whose home has nothing of Spinney's.
fn shell(story: &Story) -> Cli {
    let binaries = Path::new(BINARY).parent().unwrap();
    let cli = story.sandbox().cli("/bin/bash").in_directory(story.repository.path()).with_path_first(binaries);
    cli.without_variable("SPINNEY_HOME").without_variable("XDG_CONFIG_HOME")
}

/// A text without what differs from run to run: hashes, numbers, times, dates, the home.
fn steady(text: &str, home: &str) -> String {
    let word = |word: &str| {
        let bare = word.trim_matches([',', ';', ':', '(', ')', '.']);
        let is_hash = bare.len() == 7 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_number = !bare.is_empty() && bare.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let is_age = bare.strip_suffix('s').is_some_and(|age| age.parse::<u32>().is_ok());
        let is_month =
            bare.len() == 3 && bare.starts_with(|c: char| c.is_ascii_uppercase()) && word.ends_with([',', ';']);
        match () {
            () if is_hash => word.replace(bare, "HASH"),
            () if is_number => word.replace(bare, "N"),
            () if is_age => word.replace(bare, "Ns"),
            () if is_month => word.replace(bare, "MONTH"),
            () => word.to_owned(),
        }
    };
    let line = |line: &str| line.split(' ').map(word).collect::<Vec<_>>().join(" ");
    let text = text.replace(home, "~").replace("just now", "0 s ago");
    text.lines().map(line).collect::<Vec<_>>().join("\n").replace("N ms", "N s").trim_end().to_owned()
}

#[test]
fn the_readme_is_short_and_its_picture_is_true() {
    assert!(README.chars().count() < MOST_CHARACTERS, "{} characters", README.chars().count());
    let story = Story::new();
    let (shell, home) = (shell(&story), story.sandbox().home());
    let shown = blocks("console")[0];
    let mut printed = String::new();
    for command in shown.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let ran = shell.run(&["-c", &format!("{{ {command}; }} 2>&1")]);
        printed.push_str(&format!("$ {command}\n{}", ran.stdout));
    }
    let home = home.to_str().unwrap();
    assert_eq!(steady(&printed, home), steady(shown, home), "write what it prints into README.md:\n{printed}");
}

#[test]
fn what_the_readme_says_to_type_works_in_an_empty_home() {
    let story = Story::new();
    let shell = shell(&story);
    let blocks = blocks("sh");
    let find = |text: &str| blocks.iter().find(|block| block.contains(text)).unwrap();
    for block in [find("spinney undo"), find("config.toml")] {
        shell.run(&["-euc", block]).ok();
    }
    shell.run(&["-c", "spinney config validate"]).ok();
    let agents = shell.run(&["-c", "spinney config show"]).ok().stdout;
    assert!(agents.contains("agents.coder"), "{agents}");
}

#[test]
fn every_link_of_the_readme_leads_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let links = README.split("](").skip(1).map(|rest| rest.split(')').next().unwrap());
    for link in links.filter(|link| !link.starts_with("http")) {
        assert!(root.join(link).exists(), "{link}");
    }
}
