//! Every page of help, and many messages, as people read them.

use crate::support::common::{BINARY, Story};
use spinney_testkit::{Cli, Ran, Sandbox};

/// Every page: that of a command, then those of its own commands.
fn pages(cli: &Cli, command: &[&str], page: &str, found: &mut Vec<(String, String)>) {
    found.push((command.join(" "), page.to_owned()));
    let start = if command.is_empty() { "Start " } else { "Commands:" };
    let lines = page.lines().skip_while(|line| !line.starts_with(start)).skip(usize::from(!command.is_empty()));
    for line in lines.take_while(|line| !line.is_empty()) {
        let column = if command.is_empty() { 17 } else { 2 };
        let name = line.get(column..).filter(|rest| !rest.starts_with(' ')).and_then(|rest| rest.split(' ').next());
        // The platform for tests is in no release.
        let Some(name) = name.filter(|name| !matches!(*name, "" | "help" | "trial")) else { continue };
        let child = [command, &[name]].concat();
        let page = cli.run(&[&child[..], &["--help"]].concat()).ok().stdout;
        pages(cli, &child, &page, found);
    }
}

#[test]
fn every_page_of_help() {
    let cli = Sandbox::new().cli(BINARY);
    let first = cli.run(&["--help"]).ok().stdout;
    let mut found = vec![("-h".to_owned(), cli.run(&["-h"]).ok().stdout)];
    pages(&cli, &[], &first, &mut found);
    assert!(found.len() > 60, "{}", found.len());
    let text = found.iter().map(|(command, page)| format!("=== spinney {command}\n{}\n", page.trim_end()));
    // What only a build for tests has.
    let text = text.collect::<Vec<_>>().join("\n").replace("  trial     Messages of tests\n", "");
    insta::assert_snapshot!("pages", text);
}

/// A text without the places and ids of this run.
fn steady(story: &Story, ran: &Ran, ids: &[(String, &str)]) -> String {
    let mut text = format!("{}{}", ran.stderr, ran.stdout);
    for (id, name) in ids {
        text = text.replace(id, name);
    }
    text.replace(story.sandbox().path().to_str().unwrap(), "[sandbox]")
}

#[test]
fn many_messages() {
    let story = Story::new();
    let one = story.make(&["--issue", "42"]);
    let two = story.make(&["--task", "Add dark mode"]);
    let gone = story.make(&["--issue", "7"]);
    story.cli.run(&["rm", "issue-7"]).ok();
    let ids: Vec<(String, &str)> = [(&one, "[one]"), (&two, "[two]"), (&gone, "[gone]")]
        .map(|(workspace, name)| (workspace.text("id").to_owned(), name))
        .into_iter()
        .chain([(story.repository.head()[..7].to_owned(), "[base]")])
        .collect();
    let lines = include_str!("messages.txt").lines().filter(|line| !line.is_empty());
    let mut told = String::new();
    for line in lines {
        // A word in quotes is one argument.
        let words: Vec<&str> = match line.split_once('"') {
            None => line.split(' ').collect(),
            Some((before, quoted)) => before.split_whitespace().chain([quoted.trim_end_matches('"')]).collect(),
        };
        let ran = story.cli.run(&words);
        told.push_str(&format!("$ spinney {line}   [{}]\n{}\n", ran.status, steady(&story, &ran, &ids)));
    }
    insta::assert_snapshot!("messages", told);
}
