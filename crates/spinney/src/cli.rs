//! The command line's grammar: global options and the list of commands.

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};
use spinney_core::AccountName;

use crate::commands;
use crate::completion::account_names;

const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// An isolated, build-ready copy of a repository for every coding agent, and no work lost.
#[derive(Debug, Parser)]
#[command(name = "spinney", version, styles = STYLES, max_term_width = 100, propagate_version = false)]
#[command(after_help = "Example: cd \"$(spinney new --issue 42)\"")]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// The repository: a path in it, or its `owner/name` [default: that of the current directory]
    #[arg(long, global = true, value_name = "PATH|NAME")]
    pub repo: Option<String>,
    /// Print one JSON document on stdout, and nothing else
    #[arg(long, global = true)]
    pub json: bool,
    /// Spinney's home [default: `SPINNEY_HOME`, else `~/.spinney`]
    #[arg(long, global = true, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// The configuration file [default: `SPINNEY_CONFIG`, else `$XDG_CONFIG_HOME/spinney/config.toml`]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Act for this account, of those that `spinney account ls` shows [default: `local`]
    #[arg(long, global = true, value_name = "NAME", add = account_names())]
    pub account: Option<AccountName>,
    /// Tell what happens, step by step
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// Tell nothing but errors
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// When to use colours
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    pub color: Color,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    New(Box<commands::new::NewArgs>),
    Ls(commands::ls::LsArgs),
    Show(commands::show::ShowArgs),
    Path(commands::path::PathArgs),
    Cd(commands::cd::CdArgs),
    Status(commands::status::StatusArgs),
    Why(commands::why::WhyArgs),
    Rm(commands::rm::RmArgs),
    Trash(commands::trash::TrashArgs),
    Cleanup(commands::cleanup::CleanupArgs),
    Pin(commands::pin::PinArgs),
    Unpin(commands::pin::UnpinArgs),
    Restore(commands::restore::RestoreArgs),
    Adopt(commands::adopt::AdoptArgs),
    Import(commands::import::ImportArgs),
    Pool(commands::pool::PoolArgs),
    Exec(commands::exec::ExecArgs),
    Run(Box<commands::run::RunArgs>),
    Jobs(commands::jobs::JobsArgs),
    Logs(commands::logs::LogsArgs),
    Cancel(commands::cancel::CancelArgs),
    Retry(commands::retry::RetryArgs),
    Serve(commands::serve::ServeArgs),
    Conflicts(commands::conflicts::ConflictsArgs),
    Repo(commands::repo::RepoArgs),
    Account(commands::account::AccountArgs),
    Platform(commands::platform::PlatformArgs),
    Token(commands::token::TokenArgs),
    Init(commands::init::InitArgs),
    Hook(commands::hook::HookArgs),
    Trust(commands::trust::TrustArgs),
    Config(commands::config::ConfigArgs),
    Doctor(commands::doctor::DoctorArgs),
    Completions(commands::completions::CompletionsArgs),
    ShellInit(commands::shell_init::ShellInitArgs),
    Demo(commands::demo::DemoArgs),
    Measure(commands::measure::MeasureArgs),
    JobRun(commands::job_run::JobRunArgs),
}
