//! One file a command.

pub mod account;
pub mod adopt;
pub mod bare;
pub mod cancel;
pub mod cd;
pub mod cleanup;
pub mod completions;
pub mod config;
pub mod conflicts;
pub mod deliver;
pub mod demo;
pub mod doctor;
pub mod exec;
pub mod fan_out;
pub mod hook;
pub mod import;
pub mod init;
pub mod init_claude;
pub mod job_queue;
pub mod job_run;
pub mod jobs;
pub mod logs;
pub mod ls;
pub mod mcp;
pub mod measure;
pub mod new;
pub mod path;
pub mod pin;
pub mod platform;
pub mod pool;
pub mod repo;
pub mod restore;
pub mod retry;
pub mod rm;
pub mod run;
pub mod said;
pub mod serve;
pub mod shell_init;
pub mod show;
pub mod status;
pub mod token;
pub mod trash;
pub mod trust;
pub mod undo;
pub mod why;

use crate::app::App;
use crate::cli::Command;
use crate::error::Result;

/// Runs a command; gives its exit status.
pub async fn run(app: &App, command: Command) -> Result<u8> {
    match command {
        Command::New(args) => new::run(app, *args).await,
        Command::Ls(args) => ls::run(app, args).await,
        Command::Show(args) => show::run(app, args).await,
        Command::Path(args) => path::run(app, args).await,
        Command::Cd(args) => cd::run(&args),
        Command::Status(args) => status::run(app, args).await,
        Command::Why(args) => why::run(app, args).await,
        Command::Rm(args) => rm::run(app, args).await,
        Command::Trash(args) => trash::run(app, args).await,
        Command::Cleanup(args) => cleanup::run(app, args).await,
        Command::Pin(args) => pin::run(app, args).await,
        Command::Unpin(args) => pin::run_unpin(app, args).await,
        Command::Restore(args) => restore::run(app, args).await,
        Command::Undo(args) => undo::run(app, args).await,
        Command::Adopt(args) => adopt::run(app, args).await,
        Command::Import(args) => import::run(app, args).await,
        Command::Pool(args) => pool::run(app, args).await,
        Command::Deliver(args) => deliver::run(app, args).await,
        Command::Exec(args) => exec::run(app, args).await,
        Command::Run(args) => run::run(app, *args).await,
        Command::Jobs(args) => jobs::run(app, args).await,
        Command::Logs(args) => logs::run(app, args).await,
        Command::Cancel(args) => cancel::run(app, args).await,
        Command::Retry(args) => retry::run(app, args).await,
        Command::Conflicts(args) => conflicts::run(app, args).await,
        Command::Repo(args) => repo::run(app, args).await,
        Command::Account(args) => account::run(app, args).await,
        Command::Platform(args) => platform::run(app, args).await,
        Command::Token(args) => token::run(app, args).await,
        Command::Init(args) => init::run(app, args).await,
        Command::Hook(args) => hook::run(app, args).await,
        Command::Trust(args) => trust::run(app, args).await,
        Command::Config(args) => config::run(app, args).await,
        Command::Doctor(args) => doctor::run(app, args).await,
        Command::Completions(args) => completions::run(app, &args),
        Command::ShellInit(args) => shell_init::run(app, &args),
        Command::Demo(args) => demo::run(app, args).await,
        Command::Mcp(args) => mcp::run(app, args).await,
        Command::Measure(args) => measure::run(app, args).await,
        Command::Serve(args) => serve::run(app, args).await,
        Command::JobQueue(args) => job_queue::run(app, args).await,
        Command::JobRun(args) => job_run::run(app, args).await,
    }
}
