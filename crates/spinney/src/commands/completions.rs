//! `spinney completions`: the script that teaches a shell to complete.

use clap::{Args, ValueEnum};
use serde_json::json;

use crate::app::App;
use crate::completion;
use crate::error::Result;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Shell {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bash => "bash",
            Self::Zsh => "zsh",
            Self::Fish => "fish",
        }
    }
}

/// Print a shell's completion script
///
/// It completes the names of workspaces and jobs, too. `spinney shell-init` prints it with the `cd` function.
#[derive(Debug, Args)]
#[command(after_help = "Example: source <(spinney completions bash)")]
pub struct CompletionsArgs {
    shell: Shell,
}

pub fn run(app: &App, args: &CompletionsArgs) -> Result<u8> {
    print_script(app, args.shell, completion::script(args.shell)?.trim_end());
    Ok(0)
}

/// Gives a script to be sourced.
pub fn print_script(app: &App, shell: Shell, script: &str) {
    if app.ui.json {
        app.ui.print_json(&json!({ "shell": shell.as_str(), "script": script }));
    } else {
        app.ui.print_raw(script);
    }
}
