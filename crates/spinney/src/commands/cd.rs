//! `spinney cd`: the shell's own function, known here for help and completion.

use clap::Args;

use crate::completion::workspace_names;
use crate::error::{CliError, Result};

/// Change into a workspace (a shell function)
///
/// Without a name: into the main checkout; `-` is the directory before. `spinney shell-init --help` shows how a shell gets
/// the function.
#[derive(Debug, Args)]
#[command(after_help = "Example: eval \"$(spinney shell-init bash)\"; spinney cd issue-42")]
pub struct CdArgs {
    /// The workspace: see `spinney ls --help`
    #[arg(add = workspace_names(), allow_hyphen_values = true, trailing_var_arg = true)]
    name: Vec<String>,
}

pub fn run(args: &CdArgs) -> Result<u8> {
    let without = match args.name.join(" ").as_str() {
        "" => "cd \"$(spinney path --main)\"".to_owned(),
        "-" => "cd -".to_owned(),
        name => format!("cd \"$(spinney path --link {name})\""),
    };
    Err(CliError::usage("a program can't change its shell's directory, so `cd` is a function of the shell")
        .hinted("`eval \"$(spinney shell-init bash)\"` defines it (zsh and fish likewise)")
        .hinted(format!("without it: `{without}`")))
}
