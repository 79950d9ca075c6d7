//! `spinney token`: what callers of the daemon show.

use clap::{Args, Subcommand};
use spinney_app::{accounts, document};
use spinney_core::quantity::Span;
use spinney_core::{Scope, Timestamp, Token, TokenName};

use crate::app::App;
use crate::completion::token_names;
use crate::error::Result;
use crate::ui::table::{Cell, Table};
use crate::ui::{style, words};

/// List, make and revoke tokens
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  spinney token create --name ci --scope write --expires 30d\n  spinney token link")]
pub struct TokenArgs {
    #[command(subcommand)]
    command: Option<TokenCommand>,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Make a token, and print it this once
    #[command(after_help = "Only its hash is stored. A lost token has to be replaced.\n\n\
        Example: spinney token create --name ci --scope write --account acme --expires 30d")]
    Create {
        /// What you call it; each of an account has its own name
        #[arg(long)]
        name: TokenName,
        /// What it may do: `read`, `write`, `admin`
        #[arg(long)]
        scope: Scope,
        /// After this time it is no longer valid: `12h`, `30d` [default: never]
        #[arg(long, value_name = "TIME")]
        expires: Option<Span>,
    },
    /// List the tokens, without their secrets
    #[command(after_help = "Example: spinney token ls --account acme")]
    Ls,
    /// Revoke a token: it is no longer valid
    #[command(after_help = "Example: spinney token revoke ci")]
    Revoke {
        /// The token
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
    match args.command.unwrap_or(TokenCommand::Ls) {
        TokenCommand::Create { name, scope, expires } => create(app, name, scope, expires).await,
        TokenCommand::Ls => ls(app).await,
        TokenCommand::Revoke { token } => revoke(app, &token).await,
        TokenCommand::Link { scope } => link(app, scope).await,
    }
}

async fn create(app: &App, name: TokenName, scope: Scope, expires: Option<Span>) -> Result<u8> {
    let (token, secret) = accounts::create_token(&app.open_engine().await?, name, scope, expires).await?;
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
    let tokens = accounts::tokens(&engine).await?;
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
    app.ui.print_table(&table);
    Ok(0)
}

async fn revoke(app: &App, text: &str) -> Result<u8> {
    let token = accounts::revoke_token(&app.open_engine().await?, text).await?;
    if app.ui.json {
        app.ui.print_json(&document::Token::of(&token));
    } else {
        app.ui.say(format!("{} of {} is revoked", style::paint(style::NAME, &token.name), token.account));
    }
    Ok(0)
}

async fn link(app: &App, scope: Scope) -> Result<u8> {
    let engine = app.open_engine().await?;
    let (token, secret) = accounts::make_login(&engine, scope).await?;
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
