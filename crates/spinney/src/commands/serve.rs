//! `spinney serve`: the daemon.

use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use serde_json::json;
use spinney_core::Actor;
use spinney_server::{ConfigSource, Listening, ServeError, ServeOptions};

use crate::app::{App, read_layers};
use crate::background;
use crate::error::{CliError, Result};

/// Run the daemon: API, dashboard, schedules
#[derive(Debug, Args)]
#[command(after_help = "\
On its first start it prints a link that logs a browser in, once; `spinney token link` makes another.

Examples:
  spinney serve
  spinney serve --listen 0.0.0.0:7420     for others, with `server.tls_cert` or behind a proxy
  spinney --json serve                    its log as JSON, an object a line")]
pub struct ServeArgs {
    /// Where to listen, instead of `server.listen`; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// The Unix socket for this user, instead of `server.socket`
    #[arg(long, value_name = "PATH")]
    socket: Option<PathBuf>,
}

pub async fn run(app: &App, args: ServeArgs) -> Result<u8> {
    app.take_interrupts();
    let engine = app.open_engine().await?.acting_as(Actor::Daemon);
    let launcher = Arc::new(background::own_program(app, &engine)?);
    let options = ServeOptions { engine, source: source(app), launcher, listen: args.listen, socket: args.socket };
    spinney_server::serve(options, |listening| announce(app, listening)).await?;
    Ok(0)
}

/// Where the configuration of this run comes from. Of the environment, only what the daemon was started with counts.
fn source(app: &App) -> ConfigSource {
    let (file, environment) = (app.config_file(), app.environment.clone());
    ConfigSource {
        files: file.iter().map(|(path, _)| path.clone()).collect(),
        read: Box::new(move || read_layers(file.clone(), &environment)),
    }
}

/// Says where it is to be found. The link is for whoever sees this terminal, so it does not go to the log.
fn announce(app: &App, listening: &Listening) {
    let Listening { address, url, socket, link } = listening;
    if app.global.json {
        // What a program collects is kept: the link is for a person, who can ask for another.
        let link = link.as_ref().filter(|_| std::io::stdout().is_terminal());
        let started = json!({ "address": address, "url": url, "socket": socket, "link": link });
        anstream::println!("{started}");
        tracing::info!("listening on {url}");
        return;
    }
    anstream::eprintln!("listening on {url}");
    match link {
        Some(link) => anstream::eprintln!("log in, once: {link}"),
        None => anstream::eprintln!("log in: `spinney token link` prints a link that works once"),
    }
    if !address.ip().is_loopback() && url.starts_with("http:") {
        app.ui.warn("other machines can reach this address, and the connection is not encrypted: set `server.tls_cert` and `server.tls_key`");
    }
}

impl From<ServeError> for CliError {
    fn from(error: ServeError) -> Self {
        let told = spinney_core::in_full(&error);
        match &error {
            ServeError::Taken(_) => Self::stuck(told).hinted("all other commands work while that daemon runs"),
            ServeError::Listen { .. } => Self::failed(told).hinted("`--listen ADDRESS` chooses another place"),
            ServeError::Tls(_) => Self::usage(told).hinted("see `server.tls_cert` and `server.tls_key`"),
            _ => Self::failed(told),
        }
    }
}
