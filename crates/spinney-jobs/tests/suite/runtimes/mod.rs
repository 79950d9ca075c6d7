//! What the runtimes make of real output, recorded from the command lines and trimmed by hand.

mod acp;
mod claude;
mod codex;
mod gemini;
mod hostile;
mod opencode;

use std::path::Path;

use spinney_core::JobEvent;
use spinney_jobs::runtime::{Conversation, Exit, Protocol, Settings, Turn, TurnEnd};
use spinney_jobs::runtimes;

/// Gives a recorded stream to a runtime's reader.
fn read(turn: &Turn<'_>, runtime: &str, recorded: &str, exit: &Exit) -> (Vec<JobEvent>, TurnEnd) {
    let Protocol::Lines(mut reader) = runtimes::find(runtime).unwrap().protocol(turn) else {
        panic!("`{runtime}` does not read lines");
    };
    let mut events = Vec::new();
    for line in recorded.lines() {
        reader.line(line.as_bytes(), &mut events);
    }
    (events, reader.end(exit))
}

/// The same for the first turn of a conversation, of a program that said that all went well.
fn read_plainly(runtime: &str, recorded: &str) -> (Vec<JobEvent>, TurnEnd) {
    let settings = Settings::default();
    let turn = Turn::new(&settings, Path::new("/workspace"), Conversation::New(None));
    read(&turn, runtime, recorded, &success())
}

fn success() -> Exit {
    Exit { status: Some(0), ..Exit::default() }
}

fn failed(stderr: &str) -> Exit {
    Exit { status: Some(1), stderr: stderr.into(), ..Exit::default() }
}

fn arguments(runtime: &str, turn: &Turn<'_>) -> Vec<String> {
    let program = runtimes::find(runtime).unwrap().program(turn);
    program.arguments.iter().map(|argument| argument.to_str().unwrap().to_owned()).collect()
}

#[test]
fn each_runtime_is_found_by_its_name() {
    for runtime in runtimes::all() {
        assert_eq!(runtimes::find(runtime.name()).unwrap().name(), runtime.name());
    }
    assert!(runtimes::find("Claude").is_none());
}

#[test]
fn no_runtime_asks_for_a_token_of_a_forge_or_of_ours() {
    for runtime in runtimes::all() {
        for variable in runtime.variables() {
            let name = variable.trim_end_matches('*');
            for secret in ["GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "SPINNEY_DATABASE_URL", "DATABASE_URL"] {
                let matches = if variable.ends_with('*') { secret.starts_with(name) } else { secret == name };
                assert!(!matches, "`{}` asks for `{variable}`", runtime.name());
            }
        }
    }
}
