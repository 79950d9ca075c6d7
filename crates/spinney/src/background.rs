//! Work that need not keep a person waiting: a process of its own, which leaves when it is done.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use spinney_engine::{Context, Engine, Sizes};

use crate::app::App;
use crate::error::Result;

/// Sizes that nobody waits for are measured no more often than this.
const MEASURE_EVERY: Duration = Duration::from_secs(60);

/// Starts a purge of what is due in the trash, if anything may be.
pub async fn purge_what_is_due(app: &App, engine: &Engine) -> Result<()> {
    if engine.trash_wants_purging().await? {
        start(app, engine, &["trash", "purge", "--background"]);
    }
    Ok(())
}

/// Starts filling a repository's pool, if it wants filling and nobody is at it.
pub async fn fill_pool(app: &App, engine: &Engine, context: &Context) -> Result<()> {
    if engine.pool_wants_filling(context).await? {
        let repository = context.repository.name.to_string();
        start(app, engine, &["--repo", &repository, "pool", "fill", "--background"]);
    }
    Ok(())
}

/// Starts measuring what is unknown or old, unless somebody is at it.
pub fn measure(app: &App, engine: &Engine) {
    if matches!(engine.become_measurer(), Ok(Some(_))) {
        let _ = std::fs::write(engine.home().root().join("measured"), "");
        start(app, engine, &["measure"]);
    }
}

/// The same for a command that shows only what is known: when that is little, and not all the time.
pub fn measure_if_much_is_due(app: &App, engine: &Engine, sizes: &Sizes) {
    let lately = age(&engine.home().root().join("measured")).is_some_and(|age| age < MEASURE_EVERY);
    if sizes.due * 4 > sizes.trees && !lately {
        measure(app, engine);
    }
}

/// Lets whatever else runs go first, from here on: the disk too, as far as the system ties it to this.
pub fn give_way() {
    let _ = rustix::process::nice(19);
}

/// How long ago a file was written.
fn age(file: &Path) -> Option<Duration> {
    SystemTime::now().duration_since(std::fs::metadata(file).ok()?.modified().ok()?).ok()
}

/// What this very program needs to be told to be started again on the same home: goes before a command.
pub fn own_arguments(app: &App, engine: &Engine) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["--quiet".into(), "--home".into(), engine.home().root().into()];
    // A relative path is meant from here, not from where that process runs.
    let named = app.environment.config().filter(|(_, is_named)| *is_named).map(|(path, _)| path);
    if let Some(config) = app.global.config.clone().or(named) {
        arguments.extend(["--config".into(), std::path::absolute(&config).unwrap_or(config).into()]);
    }
    arguments
}

/// Starts this very program with other arguments, in a process of its own. A command that has done its work does not
/// fail when this does.
fn start(app: &App, engine: &Engine, arguments: &[&str]) {
    let Ok(program) = std::env::current_exe() else { return };
    #[expect(clippy::disallowed_methods, reason = "this very program, which does its work and leaves")]
    let mut command = std::process::Command::new(program);
    command.args(own_arguments(app, engine)).args(arguments).args(["--account", engine.account()]);
    command.current_dir(engine.home().root());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let _ = command.spawn();
}
