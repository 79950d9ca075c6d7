//! `spinney token`: what callers of the daemon show.

use std::time::Duration;

use clap::{Args, Subcommand};
use spinney_app::document;
use spinney_core::quantity::Span;
use spinney_core::{Scope, Timestamp, Token, TokenKind, TokenName};
use spinney_engine::NewToken;

use crate::app::App;
use crate::completion::token_names;
use crate::error::{CliError, Result};
use crate::ui::table::{Cell, Table};
use crate::ui::{style, words};

/// How long a login link is good for.
const LINK_FOR: Duration = Duration::from_secs(600);

/// Make, list and revoke the tokens of an account
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  spinney token create --name ci --scope write --expires 30d\n  spinney token link")]
pub struct TokenArgs {
    #[command(subcommand)]
    command: TokenCommand,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Make a token, and print it this once
    #[command(after_help = "Only its hash is kept: what is lost is made anew.\n\n\
        Example: spinney token create --name ci --scope write --account acme --expires 30d")]
    Create {
        /// What you call it; each of an account has its own name
        #[arg(long)]
        name: TokenName,
        /// What it may do: `read`, `write`, `admin`
        #[arg(long)]
        scope: Scope,
        /// After this time it counts no more: `12h`, `30d` [default: never]
        #[arg(long, value_name = "TIME")]
        expires: Option<Span>,
    },
    /// List the tokens, without their secrets
    #[command(after_help = "Example: spinney token ls --account acme")]
    Ls,
    /// Revoke a token: from now on it counts no more
    #[command(after_help = "Example: spinney token revoke ci")]
    Revoke {
        #[arg(value_name = "ID|NAME", add = token_names())]
        token: String,
    },
    /// Print a link that logs a browser in, once, within ten minutes
    #[command(after_help = "Example: xdg-open \"$(spinney token link)\"")]
    Link {
        /// What the browser may do: `read`, `write`, `admin`
        #[arg(long, default_value_t = Scope::Admin)]
        scope: Scope,
    },
}

pub async fn run(app: &App, args: TokenArgs) -> Result<u8> {
    match args.command {
        TokenCommand::Create { name, scope, expires } => create(app, name, scope, expires).await,
        TokenCommand::Ls => ls(app).await,
        TokenCommand::Revoke { token } => revoke(app, &token).await,
        TokenCommand::Link { scope } => link(app, scope).await,
    }
}

async fn create(app: &App, name: TokenName, scope: Scope, expires: Option<Span>) -> Result<u8> {
    if expires.is_some_and(|expires| expires.0.is_zero()) {
        return Err(CliError::usage("a token that expires at once is of no use")
            .hinted("leave `--expires` out for one that never does"));
    }
    let engine = app.open_engine().await?;
    let new = NewToken { kind: TokenKind::Api, name, scope, time: expires.map(|expires| expires.0) };
    let (token, secret) = engine.create_token(new).await?;
    if app.ui.json {
        app.ui.print_json(&document::CreatedToken::of(&token, &secret));
        return Ok(0);
    }
    let Token { name, account, scope, .. } = &token;
    let until = token.expires_at.map_or_else(|| "never expires".to_owned(), |at| format!("expires {at}"));
    app.ui.say(format!("{} of {account}, {scope}, {until}; it is shown this once", style::paint(style::NAME, name)));
    app.ui.print(secret.expose());
    Ok(0)
}

async fn ls(app: &App) -> Result<u8> {
    let engine = app.open_engine().await?;
    let tokens = engine.tokens().await?;
    if app.ui.json {
        let list: Vec<_> = tokens.iter().map(document::Token::of).collect();
        app.ui.print_json(&document::Tokens { tokens: list });
        return Ok(0);
    }
    if tokens.is_empty() {
        let account = engine.account();
        app.ui.say(format!("account {account} has none; `spinney token create --name ci --scope write` makes one"));
        return Ok(0);
    }
    let now = Timestamp::now();
    let mut table = Table::with_header(&["NAME", "ID", "SCOPE", "CREATED", "LAST USED", "EXPIRES"]);
    for token in &tokens {
        let expires = match token.expires_at {
            None => "never".to_owned(),
            Some(_) if token.is_expired(now) => "expired".to_owned(),
            Some(at) => at.to_string(),
        };
        table.row([
            Cell::styled(token.name.to_string(), style::NAME),
            Cell::from(token.id.to_string()),
            Cell::from(token.scope.to_string()),
            Cell::from(words::ago(token.created_at)),
            Cell::from(token.last_used_at.map_or_else(|| "never".to_owned(), words::ago)),
            Cell::from(expires),
        ]);
    }
    app.ui.print(table.render());
    Ok(0)
}

async fn revoke(app: &App, text: &str) -> Result<u8> {
    let token = app.open_engine().await?.revoke_token(text).await?;
    if app.ui.json {
        app.ui.print_json(&document::Token::of(&token));
    } else {
        app.ui.say(format!("{} of {} is revoked", style::paint(style::NAME, &token.name), token.account));
    }
    Ok(0)
}

async fn link(app: &App, scope: Scope) -> Result<u8> {
    let engine = app.open_engine().await?;
    let kind = TokenKind::Login;
    let (token, secret) =
        engine.create_token(NewToken { kind, name: kind.into(), scope, time: Some(LINK_FOR) }).await?;
    // A daemon may listen elsewhere than where it is configured to.
    let running = spinney_server::running_url(engine.home().root());
    let url = running.unwrap_or_else(|| engine.config().server.base_url());
    let link = document::LoginLink::of(&url, &token, &secret);
    if app.ui.json {
        app.ui.print_json(&link);
        return Ok(0);
    }
    app.ui.say(format!("logs a browser in to {} as {scope}, once, within ten minutes", token.account));
    app.ui.print(link.url);
    Ok(0)
}
