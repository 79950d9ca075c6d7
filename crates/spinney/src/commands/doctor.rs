//! `spinney doctor`: a mark, a fact and, where it is not good, what to type.

use clap::Args;
use serde_json::json;
use spinney_engine::{Check, Mark};
use spinney_jobs::schedules::Schedules;
use spinney_server::Standing;

use crate::app::App;
use crate::error::Result;
use crate::jobs;
use crate::ui::checks;

/// Check the installation and say what to fix
///
/// Checks git, disk, store, locks, orphans, forges, agents, jobs, schedules and platforms. Exits with 1 when something is bad.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  spinney doctor\n  spinney doctor --fix")]
pub struct DoctorArgs {
    /// Set refs of Spinney aside that lead to what is missing, so that git works in the repository again
    #[arg(long)]
    fix: bool,
}

pub async fn run(app: &App, args: DoctorArgs) -> Result<u8> {
    app.ui.progress.set("looking at everything".to_owned());
    let mut fixed = Vec::new();
    let mut checks = match app.engine().await {
        Ok(engine) => {
            if args.fix && engine.git().await.is_ok() {
                fixed = engine.fix_broken_refs().await?;
            }
            let mut checks = engine.diagnose().await?;
            if engine.git().await.is_ok() {
                let jobs = jobs::open(app, &engine)?;
                checks.extend(jobs.diagnose().await?);
                checks.extend(Schedules::new(jobs, None).diagnose().await?);
            }
            checks.extend(spinney_platforms::diagnose(&engine).await);
            checks
        }
        Err(error) => vec![error.as_check("start")],
    };
    checks.extend(check_daemon(app));
    let checks = checks::told(checks);
    app.ui.progress.clear();
    let bad = checks.iter().any(|check| check.mark == Mark::Bad);
    if app.ui.json {
        app.ui.print_json(&json!({ "checks": checks, "healthy": !bad, "fixed": fixed }));
        return Ok(u8::from(bad));
    }
    for line in &fixed {
        app.ui.say(line);
    }
    app.ui.print_table(&checks::table(&checks));
    Ok(u8::from(bad))
}

/// What of the configuration the daemon does not go by, where one runs.
fn check_daemon(app: &App) -> Option<Check> {
    let Standing { error, needs_restart } = spinney_server::running_standing(&app.home().ok()?)?;
    if let Some(error) = error {
        let fact = format!("the daemon goes on with its configuration of before: {error}");
        return Some(Check::bad("daemon", fact, "mend the file; the daemon reads it again by itself"));
    }
    let keys: Vec<_> = needs_restart.iter().map(|key| format!("`{key}`")).collect();
    let fact = format!("{} changed, and the daemon still has the value that it was started with", keys.join(", "));
    (!keys.is_empty()).then(|| Check::notice("daemon", fact, "restart `spinney serve`"))
}
