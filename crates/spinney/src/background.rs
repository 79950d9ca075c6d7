//! Work that need not keep a person waiting: a process of its own, which leaves when it is done.

use std::os::unix::process::CommandExt;
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use spinney_core::Timestamp;
use spinney_engine::Engine;

use crate::app::App;
use crate::error::Result;

/// The quota is looked at no more often than this: it takes a walk through the trash.
const LOOK_EVERY: Duration = Duration::from_secs(60 * 60);

/// Starts a purge of what is due in the trash, if anything may be.
pub async fn purge_what_is_due(app: &App, engine: &Engine) -> Result<()> {
    let now = Timestamp::now();
    let keeps = !engine.config().cleanup.trash_for.0.is_zero();
    let due = keeps && engine.trash(false).await?.iter().any(|trashed| trashed.until <= now);
    let stamp = engine.home().root().join("purged");
    let looked = std::fs::metadata(&stamp).and_then(|metadata| metadata.modified());
    let long_ago = looked.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > LOOK_EVERY));
    // Nothing here is worth failing a command that has done its work.
    let _ = std::fs::OpenOptions::new().create(true).append(true).open(&stamp);
    if !due && !long_ago {
        return Ok(());
    }
    let _ = std::fs::write(&stamp, "");
    let Ok(program) = std::env::current_exe() else { return Ok(()) };
    #[expect(clippy::disallowed_methods, reason = "this very program, which purges and leaves")]
    let mut command = std::process::Command::new(program);
    command.args(["--quiet", "--home"]).arg(engine.home().root());
    if let Some(config) = &app.global.config {
        command.arg("--config").arg(config);
    }
    command.args(["trash", "purge", "--background"]).current_dir(engine.home().root());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
    let _ = command.spawn();
    Ok(())
}
