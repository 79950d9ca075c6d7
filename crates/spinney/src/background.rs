//! Work that need not keep a person waiting: a process of its own, which leaves when it is done.

use std::io;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, SystemTime};

use spinney_app::housekeeping;
use spinney_app::own_program::OwnProgram;
use spinney_engine::{Context, Engine, Sizes};
use spinney_jobs::{Chore, Launcher};

use crate::app::App;
use crate::error::{CliError, Result};

/// Sizes that nobody waits for are measured no more often than this.
const MEASURE_EVERY: Duration = Duration::from_secs(60);

/// Starts a purge of what is due in the trash, if anything may be.
pub async fn purge_what_is_due(app: &App, engine: &Engine) -> Result<()> {
    if housekeeping::trash_wants_purging(engine).await? {
        start(app, engine, |own| own.start_chore(engine, Chore::PurgeTrash));
    }
    Ok(())
}

/// Starts filling a repository's pool, if it wants filling and nobody is at it.
pub async fn fill_pool(app: &App, engine: &Engine, context: &Context) -> Result<()> {
    if let Ok(own) = own_program(app, engine) {
        housekeeping::have_pool_filled(engine, &own, context).await?;
    }
    Ok(())
}

/// Starts measuring what is unknown or old, unless somebody is at it.
pub fn measure(app: &App, engine: &Engine) {
    if housekeeping::nobody_measures(engine) {
        let _ = std::fs::write(engine.home().root().join("measured"), "");
        start(app, engine, |own| own.start_command(engine, &["measure"]));
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

/// How this very program is started again on the same home.
pub fn own_program(app: &App, engine: &Engine) -> Result<OwnProgram> {
    let program = std::env::current_exe()
        .map_err(|error| CliError::failed(format!("this program does not find itself: {error}")))?;
    let named = app.environment.config().filter(|(_, is_named)| *is_named).map(|(path, _)| path);
    let config = app.global.config.clone().or(named);
    Ok(OwnProgram::on(program, engine.home().root(), config.as_deref()))
}

/// Starts this very program again, in a process of its own. A command that has done its work does not fail when this does.
fn start(app: &App, engine: &Engine, start: impl FnOnce(&OwnProgram) -> io::Result<Child>) {
    if let Ok(own) = own_program(app, engine) {
        let _ = start(&own);
    }
}
