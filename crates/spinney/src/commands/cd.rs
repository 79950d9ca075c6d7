//! `spinney cd`: the shell's own function, known here for help and completion.

use clap::Args;

use crate::completion::workspace_names;
use crate::error::{CliError, Result};

/// Change into a workspace (a function of your shell: see `spinney shell-init --help`)
#[derive(Debug, Args)]
#[command(after_help = "Example: eval \"$(spinney shell-init bash)\"; spinney cd issue-42")]
pub struct CdArgs {
    /// A name, id, beginning of an id, or branch
    #[arg(add = workspace_names(), allow_hyphen_values = true, trailing_var_arg = true, required = true)]
    name: Vec<String>,
}

pub fn run(args: &CdArgs) -> Result<u8> {
    let name = args.name.join(" ");
    Err(CliError::usage("a program can't change its shell's directory, so `cd` is a function of the shell")
        .hinted("`eval \"$(spinney shell-init bash)\"` defines it (zsh and fish likewise)")
        .hinted(format!("without it: `cd \"$(spinney path {name})\"`")))
}
