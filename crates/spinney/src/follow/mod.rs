//! Follows jobs from a terminal or a pipe. They run in processes of their own: whatever becomes of this one, they go on.

mod ending;
mod interrupts;
mod live;
mod view;
mod watched;

use std::time::Duration;

use spinney_app::document;
use spinney_core::{Cancel, Job};
use spinney_engine::Engine;
use spinney_jobs::{Error, Jobs};

pub use ending::tell_all;
pub use interrupts::Interrupts;
pub use watched::Watched;

use crate::app::App;
use crate::error::{CliError, Result};
use crate::jobs;
use interrupts::Heard;
use view::View;

/// How often logs and locks are looked at. It takes a few microseconds.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The same while there is more to read: long enough for a signal to be seen.
const BREATH: Duration = Duration::from_millis(1);

/// How a person asked.
#[derive(Debug, Default)]
pub struct Asked {
    /// For several jobs at once: one table, one list.
    pub many: bool,
    /// What could not be started, beside the jobs that were.
    pub failed: Vec<(String, CliError)>,
}

/// Follows jobs until nothing more happens to any of them; tells what they came to. Gives the exit status.
pub async fn to_the_end(
    app: &App,
    engine: &Engine,
    jobs: &Jobs<'_>,
    watched: Vec<Watched>,
    asked: &Asked,
    mut interrupts: Interrupts,
) -> Result<u8> {
    let (watched, left) = follow(app, jobs, watched, asked.many, Some(&mut interrupts)).await?;
    if let Some(status) = left {
        return Ok(status);
    }
    let over: Vec<_> = watched.into_iter().map(|watched| watched.job).collect();
    if app.ui.json {
        print_documents(app, engine, jobs, &over, asked).await?;
    } else if let ([job], false) = (over.as_slice(), asked.many) {
        ending::tell(app, engine, job).await?;
    } else {
        tell_all(app, engine, &over).await?;
        asked.failed.iter().for_each(|(_, error)| error.print(false));
    }
    let statuses = over.iter().map(jobs::exit_status);
    Ok(jobs::worst(statuses.chain(asked.failed.iter().map(|_| 1))))
}

/// Leaves jobs to themselves, and tells their ids.
pub async fn hand_over(app: &App, engine: &Engine, jobs: &Jobs<'_>, over: &[Job], asked: &Asked) -> Result<u8> {
    if app.ui.json {
        print_documents(app, engine, jobs, over, asked).await?;
    } else {
        for job in over {
            let (id, agent, work) = (&job.id, &job.agent, job.work.workspace_name());
            app.ui.say(format!("{agent} works on {work} by itself; `spinney logs {id} -f` follows it"));
            app.ui.print(id);
        }
        asked.failed.iter().for_each(|(_, error)| error.print(false));
    }
    Ok(jobs::worst(asked.failed.iter().map(|_| 1)))
}

async fn print_documents(app: &App, engine: &Engine, jobs: &Jobs<'_>, over: &[Job], asked: &Asked) -> Result<()> {
    let mut documents = Vec::new();
    for job in over {
        documents.push(jobs::document(engine, jobs, job).await?);
    }
    if let ([only], false) = (documents.as_slice(), asked.many) {
        app.ui.print_json(only);
        return Ok(());
    }
    let failed = asked.failed.iter().map(|(name, error)| error.as_failure(name));
    app.ui.print_json(&document::Jobs { jobs: documents, failed: Some(failed.collect()) });
    Ok(())
}

/// Follows jobs; with an exit status when the person left before they were over. Without interrupts, nobody can.
pub async fn follow(
    app: &App,
    jobs: &Jobs<'_>,
    mut watched: Vec<Watched>,
    many: bool,
    mut interrupts: Option<&mut Interrupts>,
) -> Result<(Vec<Watched>, Option<u8>)> {
    app.ui.progress.clear();
    let mut view = View::new(&app.ui, &watched, many);
    loop {
        let mut has_more = false;
        for watched in &mut watched {
            has_more |= watched.look(jobs, |watched, news| view.tell(watched, news)).await?;
        }
        view.draw(&watched);
        if watched.iter().all(|watched| watched.over) {
            return Ok((watched, None));
        }
        let pause = if has_more { BREATH } else { LOOK_EVERY };
        let heard = match &mut interrupts {
            Some(interrupts) => interrupts.within(pause).await,
            None => {
                tokio::time::sleep(pause).await;
                None
            }
        };
        match heard {
            None => {}
            Some(Heard::Interrupt(1)) => {
                view.say("cancelling… Ctrl-C again ends it at once");
                cancel(jobs, &watched, Cancel::Asked).await?;
            }
            Some(Heard::Interrupt(2)) => {
                view.say("ending it at once");
                cancel(jobs, &watched, Cancel::AtOnce).await?;
            }
            Some(heard) => {
                if heard.somebody_reads() {
                    let going_on = watched.iter().filter(|watched| !watched.over).map(|watched| &watched.job.id);
                    going_on.for_each(|id| view.say(&format!("job {id} goes on; `spinney logs {id} -f` follows it")));
                }
                return Ok((watched, Some(heard.exit_status())));
            }
        }
    }
}

async fn cancel(jobs: &Jobs<'_>, watched: &[Watched], how: Cancel) -> Result<()> {
    for watched in watched.iter().filter(|watched| !watched.over) {
        match jobs.cancel(&watched.job, how).await {
            // It has come to its end by itself.
            Ok(()) | Err(Error::NotRunning { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
