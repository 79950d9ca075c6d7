//! The grammar as people read it: commands in groups on one screen, global options in one line a page.

use clap::builder::StyledStr;
use clap::{Command, CommandFactory};

use crate::cli::{Cli, STYLES};

/// Every command that people type, by what they are about to do.
const GROUPS: &[(&str, &[&str])] = &[
    ("Start", &["new", "cd", "exec", "demo"]),
    ("Workspaces", &["ls", "show", "path", "why", "rm", "restore", "undo", "trash", "pin", "unpin", "adopt", "import"]),
    ("Agents and jobs", &["run", "jobs", "logs", "cancel", "retry", "mcp"]),
    ("Review", &["conflicts", "deliver"]),
    ("Team", &["serve", "repo", "account", "token", "platform"]),
    ("Maintenance", &["status", "cleanup", "pool", "doctor"]),
    ("Setup", &["init", "trust", "config", "shell-init", "completions", "hook"]),
];

/// Where commands stand that are in no group: a test keeps it empty.
const UNGROUPED: &str = "More";

/// As wide as a terminal is at least.
const WIDTH: usize = 80;
const GROUP_WIDTH: usize = 17;
const NAME_WIDTH: usize = 13;

const LINKS: &str = "`spinney COMMAND --help` describes one command, with an example.";
const OPTIONS_OF_A_PAGE: &str = "{before-help}{about-with-newline}\n{usage-heading} {usage}\n\n{all-args}{after-help}";

/// The whole grammar, with its help: on its first page the names of the commands alone, or what each does.
pub fn grammar(is_long: bool) -> Command {
    let command = Cli::command();
    let globals = global_line(&command);
    let text = if is_long {
        format!("{}\n\n{}\n", descriptions(&command), options(&command))
    } else {
        format!("{}\n\n{globals}\n\n`spinney --help` says what each command does.", names(&command))
    };
    let page = StyledStr::from(format!("{OPTIONS_OF_A_PAGE}\n\n{globals}"));
    // The text is part of the template: what comes after the help would be wrapped once more.
    command.mut_subcommands(|child| with_template(child, &page)).help_template(StyledStr::from(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{text}\n{LINKS}"
    )))
}

/// Whether some arguments ask for the long help.
pub fn asks_for_long() -> bool {
    std::env::args_os().skip(1).any(|argument| argument == "--help" || argument == "help")
}

fn with_template(command: Command, page: &StyledStr) -> Command {
    command.help_template(page.clone()).mut_subcommands(|child| with_template(child, page))
}

/// `Global options: --json, …`.
fn global_line(command: &Command) -> String {
    let forms = command.get_arguments().filter(|argument| argument.is_global_set()).map(|argument| {
        let short = argument.get_short().map(|short| format!("-{short}"));
        let long = argument.get_long().map(|long| format!("--{long}"));
        let value = argument.get_value_names().filter(|_| argument.get_action().takes_values());
        let value = value.and_then(|names| names.first()).map(|name| format!(" {name}"));
        format!("{}{}", short.or(long).unwrap_or_default(), value.unwrap_or_default())
    });
    wrapped(&heading("Global options:"), "Global options:".len() + 1, 2, &forms.collect::<Vec<_>>())
}

/// The global options with what each does.
fn options(command: &Command) -> String {
    let mut text = heading("Global options:");
    for argument in command.get_arguments().filter(|argument| argument.is_global_set()) {
        let short = argument.get_short().map_or("    ".to_owned(), |short| format!("-{short}, "));
        let value = argument.get_value_names().filter(|_| argument.get_action().takes_values());
        let value = value.and_then(|names| names.first()).map(|name| format!(" {name}")).unwrap_or_default();
        let form = format!("{short}--{}{value}", argument.get_long().unwrap_or_default());
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        text.push_str(&format!("\n  {}{}{help}", literal(&form), pad(&form, 22)));
    }
    text
}

/// Each group with its commands, for a first look.
fn names(command: &Command) -> String {
    let lines = groups(command).into_iter().map(|(group, children)| {
        let names: Vec<String> = children.iter().map(|child| child.get_name().to_owned()).collect();
        wrapped(&format!("{}{}", heading(group), pad(group, GROUP_WIDTH)), GROUP_WIDTH, GROUP_WIDTH, &names)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Each group with its commands and what they do.
fn descriptions(command: &Command) -> String {
    let mut lines = Vec::new();
    for (group, children) in groups(command) {
        for (index, child) in children.iter().enumerate() {
            let label = if index == 0 { group } else { "" };
            let name = child.get_name();
            let about = child.get_about().map(ToString::to_string).unwrap_or_default();
            let (label_pad, name_pad) = (pad(label, GROUP_WIDTH), pad(name, NAME_WIDTH));
            lines.push(format!("{}{label_pad}{}{name_pad}{about}", heading(label), literal(name)));
        }
    }
    lines.join("\n")
}

/// The groups with the commands of them that there are.
fn groups(command: &Command) -> Vec<(&'static str, Vec<&Command>)> {
    let find = |name: &&str| command.get_subcommands().find(|child| child.get_name() == *name);
    let mut groups: Vec<_> =
        GROUPS.iter().map(|(group, names)| (*group, names.iter().filter_map(&find).collect())).collect();
    let is_grouped = |child: &&Command| GROUPS.iter().any(|(_, names)| names.contains(&child.get_name()));
    let rest: Vec<_> = command.get_subcommands().filter(|child| !child.is_hide_set() && !is_grouped(child)).collect();
    if !rest.is_empty() {
        groups.push((UNGROUPED, rest));
    }
    groups
}

/// Items in a row, broken before one that goes beyond the width.
fn wrapped(first: &str, first_width: usize, indent: usize, items: &[String]) -> String {
    let mut text = first.to_owned();
    let mut width = first_width;
    if first_width > indent {
        text.push(' ');
    }
    for (index, item) in items.iter().enumerate() {
        let comma = if index + 1 < items.len() { "," } else { "" };
        let space = usize::from(index > 0);
        if width + space + item.len() + comma.len() > WIDTH {
            text.push_str(&format!("\n{}", " ".repeat(indent)));
            width = indent;
        } else {
            text.push_str(&" ".repeat(space));
            width += space;
        }
        text.push_str(&format!("{}{comma}", literal(item)));
        width += item.len() + comma.len();
    }
    text
}

fn pad(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(text.len()).max(1))
}

fn heading(text: &str) -> String {
    let style = STYLES.get_header();
    format!("{style}{text}{style:#}")
}

fn literal(text: &str) -> String {
    let style = STYLES.get_literal();
    format!("{style}{text}{style:#}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn every_command_is_in_one_group() {
        let command = Cli::command();
        for child in command.get_subcommands().filter(|child| !child.is_hide_set()) {
            let count = GROUPS.iter().filter(|(_, names)| names.contains(&child.get_name())).count();
            assert_eq!(count, 1, "`{}`: put it into a group of `GROUPS`", child.get_name());
        }
    }

    #[test]
    fn all_commands_are_on_one_screen() {
        let help = plain(&grammar(false).render_help().ansi().to_string());
        assert!(help.lines().count() <= 24, "{help}");
        let long = plain(&grammar(true).render_long_help().ansi().to_string());
        for line in help.lines().chain(long.lines()) {
            assert!(line.chars().count() <= WIDTH, "too wide: {line}");
        }
    }

    #[test]
    fn a_page_has_the_global_options_in_one_line() {
        let mut grammar = grammar(false);
        grammar.build();
        let page = grammar.find_subcommand_mut("ls").unwrap().render_long_help();
        let page = plain(&page.to_string());
        assert_eq!(page.matches("--config").count(), 1, "{page}");
        let line = page.lines().find(|line| line.starts_with("Global options:")).unwrap();
        assert!(line.contains("--repo PATH|NAME, --json"), "{page}");
    }
}
