//! The command line's grammar: global options and the list of commands.

use std::path::PathBuf;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Args, Parser, Subcommand, ValueEnum};
use spinney_core::AccountName;
use spinney_core::account::LOCAL;

use crate::commands;
use crate::completion::account_names;

pub const STYLES: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

#[derive(Debug, Parser)]
#[command(about = "Isolated, build-ready copies of a repository for coding agents. No work is lost.")]
#[command(name = "spinney", version, styles = STYLES, max_term_width = 100, propagate_version = false)]
pub struct Cli {
    #[command(flatten)]
    pub global: Global,
    /// Without one: the counts of the repository that one stands in, else help.
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Clone, Args)]
pub struct Global {
    /// The repository: a path in it, or its name [default: `.`]
    #[arg(long, global = true, value_name = "PATH|NAME", hide_short_help = true, hide_long_help = true)]
    pub repo: Option<String>,
    /// Print one JSON document on stdout, and nothing else
    #[arg(long, global = true, hide_short_help = true, hide_long_help = true)]
    pub json: bool,
    /// Spinney's home [default: `SPINNEY_HOME`, `~/.spinney`]
    #[arg(long, global = true, value_name = "DIR", hide_short_help = true, hide_long_help = true)]
    pub home: Option<PathBuf>,
    /// The configuration file; see `spinney config --help`
    #[arg(long, global = true, value_name = "FILE", hide_short_help = true, hide_long_help = true)]
    pub config: Option<PathBuf>,
    /// Act for this account; see `spinney account ls`
    #[arg(
        long, global = true, value_name = "NAME", add = account_names(), hide_short_help = true, hide_long_help = true
    )]
    pub account: Option<AccountName>,
    /// Say what happens, step by step
    #[arg(short, long, global = true, hide_short_help = true, hide_long_help = true)]
    pub verbose: bool,
    /// Say nothing but errors
    #[arg(short, long, global = true, hide_short_help = true, hide_long_help = true)]
    pub quiet: bool,
    /// `auto`, `always` or `never`
    #[arg(
        long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN", hide_short_help = true,
        hide_long_help = true
    )]
    pub color: Color,
}

impl Global {
    /// Whether it acts for somebody else than the owner of the home: only the owner adds repositories that stand on this machine.
    pub fn is_other_account(&self) -> bool {
        self.account.as_ref().is_some_and(|account| account.as_str() != LOCAL)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    #[command(visible_alias = "create")]
    New(Box<commands::new::NewArgs>),
    #[command(visible_alias = "list")]
    Ls(commands::ls::LsArgs),
    Show(commands::show::ShowArgs),
    Path(commands::path::PathArgs),
    #[command(visible_alias = "switch")]
    Cd(commands::cd::CdArgs),
    Status(commands::status::StatusArgs),
    Why(commands::why::WhyArgs),
    #[command(visible_alias = "remove")]
    Rm(commands::rm::RmArgs),
    Trash(commands::trash::TrashArgs),
    Cleanup(commands::cleanup::CleanupArgs),
    Pin(commands::pin::PinArgs),
    Unpin(commands::pin::UnpinArgs),
    Restore(commands::restore::RestoreArgs),
    Undo(commands::undo::UndoArgs),
    Adopt(commands::adopt::AdoptArgs),
    Import(commands::import::ImportArgs),
    Pool(commands::pool::PoolArgs),
    Deliver(commands::deliver::DeliverArgs),
    Exec(commands::exec::ExecArgs),
    Run(Box<commands::run::RunArgs>),
    Jobs(commands::jobs::JobsArgs),
    Logs(commands::logs::LogsArgs),
    Cancel(commands::cancel::CancelArgs),
    Retry(commands::retry::RetryArgs),
    Serve(commands::serve::ServeArgs),
    Mcp(commands::mcp::McpArgs),
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
    JobQueue(commands::job_queue::JobQueueArgs),
    JobRun(commands::job_run::JobRunArgs),
}
