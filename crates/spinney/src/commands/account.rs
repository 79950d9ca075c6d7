//! `spinney account`: who there is beside the owner of the home.

use clap::{Args, Subcommand};
use spinney_app::{accounts, document};
use spinney_core::AccountName;

use crate::app::App;
use crate::error::Result;
use crate::ui::table::{Cell, Table};
use crate::ui::{style, words};

/// List and add accounts
///
/// An account has its own repositories, workspaces, jobs and tokens, and sees nobody else's. `local` is the owner's.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  spinney account add acme\n  \
    spinney token create --account acme --name ci --scope write")]
pub struct AccountArgs {
    #[command(subcommand)]
    command: Option<AccountCommand>,
}

#[derive(Debug, Subcommand)]
enum AccountCommand {
    /// Add an account
    #[command(after_help = "Example: spinney account add acme")]
    Add {
        /// At most 39 lowercase letters, digits and `-`
        name: AccountName,
    },
    /// List the accounts
    #[command(after_help = "Example: spinney account ls")]
    Ls,
}

pub async fn run(app: &App, args: AccountArgs) -> Result<u8> {
    match args.command.unwrap_or(AccountCommand::Ls) {
        AccountCommand::Add { name } => add(app, name).await,
        AccountCommand::Ls => ls(app).await,
    }
}

async fn add(app: &App, name: AccountName) -> Result<u8> {
    let account = accounts::add(&app.open_engine().await?, name).await?;
    if app.ui.json {
        app.ui.print_json(&document::Account::of(&account));
    } else {
        let name = &account.name;
        app.ui.say(format!(
            "{}: added; next: spinney token create --account {name} --name ci --scope write",
            style::paint(style::NAME, name)
        ));
    }
    Ok(0)
}

async fn ls(app: &App) -> Result<u8> {
    let known = accounts::list(&app.open_engine().await?, &AccountName::local()).await?;
    if app.ui.json {
        let list: Vec<_> = known.iter().map(document::Account::of).collect();
        app.ui.print_json(&document::Accounts { accounts: list });
        return Ok(0);
    }
    let mut table = Table::with_header(&["NAME", "CREATED"]);
    for account in &known {
        let name = Cell::styled(account.name.to_string(), style::NAME);
        table.row([name, Cell::from(words::ago(account.created_at))]);
    }
    app.ui.print_table(&table);
    Ok(0)
}
