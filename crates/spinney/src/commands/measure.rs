//! `spinney measure`: what workspaces take on disk, for those who ask later. Started by others, in the background.

use clap::Args;
use spinney_app::housekeeping;

use crate::app::App;
use crate::background;
use crate::error::Result;

/// Measure the workspaces whose size is unknown or old
#[derive(Debug, Args)]
#[command(hide = true, after_help = "Example: spinney measure")]
pub struct MeasureArgs {}

pub async fn run(app: &App, _args: MeasureArgs) -> Result<u8> {
    background::give_way();
    // What others left half done is for a command that a person sees.
    let engine = app.open_engine().await?;
    housekeeping::measure_all(&engine).await?;
    Ok(0)
}
