//! `shell-init` and `completions` in real shells.

use std::path::Path;

use crate::support::common::{BINARY, Story, Workspace};
use spinney_testkit::{Cli, Ran};

struct Shell {
    name: &'static str,
    cli: Cli,
}

impl Shell {
    /// A shell in a story's main checkout with `spinney` on its path; none where the shell is not installed.
    fn find(story: &Story, name: &'static str) -> Option<Self> {
        let found = ["/bin", "/usr/bin"].iter().map(|place| Path::new(place).join(name)).find(|path| path.is_file());
        let Some(program) = found else {
            assert_ne!(name, "bash", "every machine has bash");
            println!("SKIPPED: {name} is not installed");
            return None;
        };
        let binaries = Path::new(BINARY).parent().unwrap();
        let cli = story.sandbox().cli(program).in_directory(story.repository.path()).with_path_first(binaries);
        Some(Self { name, cli })
    }

    /// Runs a script in it after the set-up line of the documentation.
    fn run(&self, script: &str) -> Ran {
        let set_up = match self.name {
            "fish" => "spinney shell-init fish | source".to_owned(),
            name => format!("eval \"$(spinney shell-init {name})\""),
        };
        let no_files: &[&str] = match self.name {
            "bash" => &["--norc", "--noprofile"],
            "zsh" => &["--no-rcs"],
            _ => &["--no-config"],
        };
        self.cli.run(&[no_files, &["-c", &format!("{set_up}\n{script}")]].concat())
    }
}

fn shells(story: &Story) -> Vec<Shell> {
    ["bash", "zsh", "fish"].into_iter().filter_map(|name| Shell::find(story, name)).collect()
}

fn a_workspace(story: &Story) -> Workspace {
    let workspace = story.make(&["--issue", "42", "--title", "Dark mode"]);
    story.make(&["--task", "Tidy up"]);
    story.make(&["--issue", "7"]);
    story.cli.run(&["rm", "issue-7"]).ok();
    workspace
}

#[test]
fn cd_changes_the_shells_directory() {
    let story = Story::new();
    let workspace = a_workspace(&story);
    let path = workspace.text("path");
    for shell in shells(&story) {
        let ran = shell.run("spinney cd issue-42; pwd -P");
        assert_eq!(ran.stdout.trim_end(), path, "{}: {}", shell.name, ran.told());
        let back = shell.run("spinney cd issue-42; spinney cd task-tidy-up; spinney cd issue-42; pwd -P").ok();
        assert_eq!(back.stdout.trim_end(), path, "{}", shell.name);
        // The status and the directory stay when it fails.
        let ran = shell.run(if shell.name == "fish" {
            "spinney cd nope; echo $status; pwd -P"
        } else {
            "spinney cd nope; echo $?; pwd -P"
        });
        assert_eq!(ran.stdout, format!("4\n{}\n", story.repository.path().display()), "{}", ran.told());
        assert!(ran.stderr.contains("no workspace is called `nope`"), "{}", ran.told());
        // What is not there yet is made first.
        let number = shell.name.len() + 100;
        let ran = shell.run(&format!("spinney cd --issue {number}; pwd -P")).ok();
        let made = story.show(&format!("issue-{number}"));
        assert_eq!(ran.stdout.trim_end(), made.text("path"), "{}", shell.name);
        // Global options are no work, wherever they stand.
        for options in ["-q issue-42", "--repo local/app issue-42", "-- issue-42", "issue-42 --quiet"] {
            let ran = shell.run(&format!("spinney cd {options}; pwd -P")).ok();
            assert_eq!(ran.stdout.trim_end(), path, "{}: {options}: {}", shell.name, ran.told());
        }
        // All else goes to the program as it is, arguments with spaces and quotes too.
        let ran = shell.run("spinney path issue-42; spinney exec issue-42 -- echo 'a  b' \"c'd\"").ok();
        assert_eq!(ran.stdout, format!("{path}\na  b c'd\n"), "{}", shell.name);
        // The prompt names the workspace, and there are ways back.
        let link = workspace.text("link");
        let ran = shell.run("spinney cd issue-42; pwd; spinney switch tidy; pwd -P; spinney cd; pwd -P").ok();
        let (root, tidy) = (story.repository.path().display(), story.show("task-tidy-up"));
        assert_eq!(ran.stdout, format!("{link}\n{}\n{root}\n", tidy.text("path")), "{}", shell.name);
        let ran = shell.run("spinney cd issue-42; spinney cd main; spinney cd - >/dev/null; pwd").ok();
        assert_eq!(ran.stdout, format!("{link}\n"), "{}", shell.name);
        let help = shell.run("spinney cd --help; pwd -P").ok();
        assert!(help.stdout.contains("Usage: spinney cd"), "{}", help.told());
        assert!(help.stdout.ends_with(&format!("{}\n", story.repository.path().display())), "{}", help.told());
    }
}

/// The candidates that the program gives a shell for the last of some words, as the generated script asks.
fn candidates(story: &Story, shell: &str, words: &[&str]) -> Vec<String> {
    let index = (words.len() - 1).to_string();
    let cli = story
        .cli
        .with_variable("SPINNEY_COMPLETE", shell)
        .with_variable("_CLAP_COMPLETE_INDEX", &index)
        .with_variable("_CLAP_COMPLETE_COMP_TYPE", "9")
        .with_variable("_CLAP_COMPLETE_SPACE", "true")
        .with_variable("_CLAP_IFS", "\n");
    let ran = cli.run(&[&["--"], words].concat()).ok();
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn the_names_of_now_complete() {
    let story = Story::new();
    a_workspace(&story);
    for command in ["cd", "path", "show", "why", "rm", "exec"] {
        let names = candidates(&story, "bash", &["spinney", command, ""]);
        assert!(["issue-42", "task-tidy-up"].iter().all(|name| names.contains(&(*name).to_owned())), "{names:?}");
        assert!(!names.iter().any(|name| name.contains("issue-7")), "{command}: {names:?}");
    }
    assert_eq!(candidates(&story, "bash", &["spinney", "path", "iss"]), ["issue-42"]);
    assert_eq!(candidates(&story, "bash", &["spinney", "restore", "iss"]), ["issue-7"]);
    assert_eq!(candidates(&story, "bash", &["spinney", "rm", "issue-42", "task"]), ["task-tidy-up"]);
    let fish = candidates(&story, "fish", &["spinney", "cd", "iss"]);
    assert_eq!(fish, ["issue-42\tDark mode"], "with its title, where a shell shows one");
    assert!(candidates(&story, "bash", &["spinney", "rest"]).contains(&"restore".to_owned()));
    assert!(
        candidates(&story, "bash", &["spinney", "rm", "issue-42", "--allow", "unp"]).contains(&"unpushed".to_owned())
    );
    // Somebody who completes sees no error and makes nothing.
    let nowhere = story.sandbox().path().join("file");
    std::fs::write(&nowhere, "").unwrap();
    let broken = story.cli.with_variable("SPINNEY_HOME", nowhere).with_variable("SPINNEY_COMPLETE", "bash");
    let ran = broken.with_variable("_CLAP_COMPLETE_INDEX", "2").run(&["--", "spinney", "path", ""]).ok();
    assert_eq!(ran.stderr, "", "{}", ran.told());
}

#[test]
fn bash_completes_through_the_function_it_was_given() {
    let story = Story::new();
    a_workspace(&story);
    let bash = Shell::find(&story, "bash").unwrap();
    // What bash itself does when a person presses the tab key.
    let press = "COMP_WORDS=(spinney cd iss) COMP_CWORD=2 COMP_TYPE=9\n\
        function=$(complete -p spinney | sed 's/.*-F \\([^ ]*\\) .*/\\1/')\n\
        $function spinney iss cd 2>/dev/null\necho \"${COMPREPLY[@]}\"";
    let ran = bash.run(press).ok();
    assert_eq!(ran.stdout.trim_end(), "issue-42", "{}", ran.told());
}

#[test]
fn fish_completes_through_what_it_was_given() {
    let story = Story::new();
    a_workspace(&story);
    let Some(fish) = Shell::find(&story, "fish") else { return };
    let ran = fish.run("complete --do-complete 'spinney cd iss'").ok();
    assert_eq!(ran.stdout.trim_end(), "issue-42\tDark mode", "{}", ran.told());
}

#[test]
fn zsh_completes_through_the_function_it_was_given() {
    let story = Story::new();
    a_workspace(&story);
    let Some(zsh) = Shell::find(&story, "zsh") else { return };
    let ran = zsh.run("echo ${_comps[spinney]}; functions ${_comps[spinney]} | grep -c SPINNEY_COMPLETE").ok();
    let lines: Vec<_> = ran.stdout.lines().collect();
    assert!(matches!(lines.as_slice(), [name, count] if !name.is_empty() && *count != "0"), "{}", ran.told());
}

#[test]
fn without_the_function_cd_says_how_to_get_it() {
    let story = Story::new();
    a_workspace(&story);
    let refusal = crate::support::common::refused(&story.cli, 2, &["cd", "issue-42"]);
    refusal
        .says(&["`cd` is a function of the shell"])
        .hints(&["spinney shell-init bash", "spinney path --link issue-42"]);
    crate::support::common::refused(&story.cli, 2, &["shell-init", "powershell"])
        .says(&["`powershell`"])
        .hints(&["`bash`", "`zsh`", "`fish`"]);
}
