//! `spinney demo`.

use clap::Args;

use crate::app::App;
use crate::error::Result;

/// Show the main job in a repository of its own
#[derive(Debug, Args)]
pub struct DemoArgs {}

pub async fn run(_app: &App, _args: DemoArgs) -> Result<u8> {
    Ok(0)
}
