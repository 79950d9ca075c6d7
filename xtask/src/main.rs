//! The repository's own chores: `cargo xtask <chore>`.

#![expect(clippy::disallowed_methods, reason = "a chore starts cargo, git, npm, Python and PostgreSQL, and reads PATH")]

mod agents;
mod api;
mod bench;
mod browser;
mod chats;
mod chore;
mod ci;
mod crash;
mod description;
mod fuzz;
mod gits;
mod left_out;
mod mcp;
mod needs;
mod npm;
mod packages;
mod part;
mod postgres;
mod soak;
mod strings;
mod telegram;
mod test;
mod venv;
mod webhooks;

use std::env;
use std::process::ExitCode;

const USAGE: &str = "\
Usage: cargo xtask <CHORE>

Chores:
  test [--agents] [-- ARGS]
                  runs all tests, with a throw-away PostgreSQL, those of the daemon with their stores on that, too,
                  and those that touch git with every git on PATH; what is missing is installed where that is possible,
                  else told, and the tests that need it are left out;
                  ARGS go to `cargo test` (with `-p CRATE` among them, only that crate is tested). Claude Code is
                  installed for them; with `--agents` Codex, Gemini CLI and opencode, too
  test --api [--examples N]
                  sends the daemon what its description of the API allows, and what it does not, N times an operation,
                  and checks the answers against it; installs schemathesis for that
  bench [--repo PATH] [--rows NAME,…] [--rounds N] [--out DIR] [--no-images] [--spinney PATH]
                  measures Spinney beside git, and the peers on PATH, on a generated tree or on a clone of that
                  repository; a table goes to stdout and DIR/bench.md, every sample to DIR/bench.json. `--no-images`
                  mounts no file systems; `--spinney` measures that program instead of a fresh build
  crash [--rounds N] [--seed N]
                  lets Spinney die at every step of every operation, and N times at random
  crash --serve [--rounds N]
                  kills the daemon, as it is released, N times under the load that the bench puts on it, on SQLite
                  and on PostgreSQL
  soak [--jobs N]
                  leaves a daemon alone for a year of short days with N jobs, which end in every way, and prints what is
                  left of them, and why
  fuzz [--minutes N]
                  tries the parsers, verifiers and names with many more cases than their tests do, for so long
  strings [FILE]  prints every text that people can see, with its place, or writes it to FILE
  spell           looks for misspelt words in all of them
  ci              checks format and lints, then runs all tests
";

/// Wrong usage.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["test"] => test::run(false, &[]),
        ["test", "--agents"] => test::run(true, &[]),
        ["test", "--", rest @ ..] => test::run(false, rest),
        ["test", "--agents", "--", rest @ ..] => test::run(true, rest),
        ["test", "--api", rest @ ..] => api::run(rest),
        [part::CHORE, name, program, rest @ ..] => part::run(name, program, rest),
        ["bench", rest @ ..] => bench::run(rest),
        ["crash", rest @ ..] => crash::run(rest),
        ["fuzz", rest @ ..] => fuzz::run(rest),
        ["soak", rest @ ..] => soak::run(rest),
        ["strings"] => strings::print(None),
        ["strings", file] => strings::print(Some(file)),
        ["spell"] => strings::spell(),
        ["ci"] => ci::run(),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        _ => {
            eprint!("{USAGE}");
            return ExitCode::from(EXIT_USAGE);
        }
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
