//! What is said of a platform in the configuration: by flags, or when asked.

use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use spinney_core::config::TelegramMode;
use spinney_core::{AgentName, Platform, RepositoryName};
use toml::Value;

use crate::app::App;
use crate::error::{CliError, Result};

#[derive(Debug, Subcommand)]
pub(super) enum Wanted {
    /// Issues, pull requests, reviews and their comments
    #[command(after_help = "Examples:\n  spinney platform add github --allow-user 583231\n  \
        spinney platform add github --allow-user 583231 --app-id 12345 --private-key-file /etc/spinney/app.pem")]
    Github(GithubArgs),
    /// Mentions, direct messages and slash commands
    #[command(after_help = "Example: spinney platform add slack --allow-user U012AB3CD --repository acme/app")]
    Slack(ChatArgs),
    /// Mentions, direct messages and slash commands
    #[command(after_help = "Example: spinney platform add discord --allow-user 80351110224678912 --public-key KEY")]
    Discord(DiscordArgs),
    /// Private chats and groups
    #[command(after_help = "Examples:\n  spinney platform add telegram --allow-user 583231 --mode poll\n  \
        SPINNEY_SERVER__PUBLIC_URL=https://spinney.example.org spinney platform add telegram --allow-user 583231")]
    Telegram(TelegramArgs),
}

#[derive(Debug, Args)]
pub(super) struct CommonArgs {
    /// Who may ask, by the platform's own id; may be repeated
    #[arg(long = "allow-user", value_name = "ID")]
    allow_users: Vec<String>,
    /// Who does the work: one of your `[agents.…]`
    #[arg(long, value_name = "NAME")]
    agent: Option<AgentName>,
}

#[derive(Debug, Args)]
pub(super) struct GithubArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// How people call the bot, as `@spinney`
    #[arg(long, value_name = "@NAME")]
    mention: Option<String>,
    /// The id of a GitHub App, instead of a token
    #[arg(long, value_name = "ID", requires = "private_key_file")]
    app_id: Option<String>,
    /// The App's private key, in PEM
    #[arg(long, value_name = "FILE", requires = "app_id")]
    private_key_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct ChatArgs {
    #[command(flatten)]
    common: CommonArgs,
    /// The repository that chats are about, until `/repo NAME` says otherwise there
    #[arg(long, value_name = "OWNER/NAME")]
    repository: Option<RepositoryName>,
}

#[derive(Debug, Args)]
pub(super) struct DiscordArgs {
    #[command(flatten)]
    chat: ChatArgs,
    /// The application's public key, for slash commands
    #[arg(long, value_name = "HEX")]
    public_key: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct TelegramArgs {
    #[command(flatten)]
    chat: ChatArgs,
    /// `webhook`: Telegram calls the daemon; `poll`: the daemon asks, from behind any firewall
    #[arg(long, value_name = "MODE")]
    mode: Option<TelegramMode>,
}

/// A key of the platform's section, and what it is to be.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Setting {
    /// Who is wrong if it is.
    pub flag: &'static str,
    pub key: &'static str,
    pub value: Value,
}

impl Wanted {
    pub fn platform(&self) -> Platform {
        match self {
            Self::Github(_) => Platform::Github,
            Self::Slack(_) => Platform::Slack,
            Self::Discord(_) => Platform::Discord,
            Self::Telegram(_) => Platform::Telegram,
        }
    }

    /// The repository that is named, which must be there.
    pub fn repository(&self) -> Option<&RepositoryName> {
        match self {
            Self::Github(_) => None,
            Self::Slack(chat) => chat.repository.as_ref(),
            Self::Discord(discord) => discord.chat.repository.as_ref(),
            Self::Telegram(telegram) => telegram.chat.repository.as_ref(),
        }
    }

    /// Asks for what no flag says, where somebody is there to be asked. `has_users`: some are listed already.
    pub fn ask(&mut self, app: &App, has_users: bool) -> Result<()> {
        let platform = self.platform();
        let is_asked = !app.ui.json && std::io::stdin().is_terminal();
        let users = &mut self.common().allow_users;
        if users.is_empty() && !has_users {
            if !is_asked {
                return Err(CliError::usage("nobody may ask yet, and nobody is there to say who may")
                    .hinted(format!("`--allow-user ID`, {}", id_help(platform))));
            }
            let answer =
                question(app, &format!("Who may ask? Their ids, {}, with spaces between:", id_help(platform)))?;
            users.extend(answer.split([' ', ',']).filter(|id| !id.is_empty()).map(str::to_owned));
            if users.is_empty() {
                return Err(CliError::usage("nobody may ask: nobody was named"));
            }
        }
        if !is_asked || has_users {
            return Ok(());
        }
        if self.common().agent.is_none() {
            self.common().agent = parsed(app, "Which agent does the work? [coder]")?;
        }
        match self {
            Self::Github(_) => {}
            Self::Slack(chat) => chat.ask(app)?,
            Self::Discord(discord) => {
                discord.chat.ask(app)?;
                if discord.public_key.is_none() {
                    let answer = question(app, "The application's public key, for slash commands? [none]")?;
                    discord.public_key = Some(answer).filter(|answer| !answer.is_empty());
                }
            }
            Self::Telegram(telegram) => {
                telegram.chat.ask(app)?;
                if telegram.mode.is_none() {
                    telegram.mode = parsed(app, "`webhook`, or `poll` from behind a firewall? [webhook]")?;
                }
            }
        }
        Ok(())
    }

    /// All that was said, in the order of the section.
    pub fn settings(&mut self) -> Vec<Setting> {
        let mut settings = Vec::new();
        let mut set = |flag, key, value: Option<Value>| {
            settings.extend(value.map(|value| Setting { flag, key, value }));
        };
        let common = self.common();
        let users: Vec<_> = common.allow_users.iter().map(|id| id_value(id)).collect();
        let users = (!users.is_empty()).then_some(Value::Array(users));
        set("--allow-user", "allowed_users", users);
        set("--agent", "agent", common.agent.as_ref().map(|agent| agent.to_string().into()));
        let repository = self.repository().map(|repository| repository.to_string().into());
        set("--repository", "repository", repository);
        match self {
            Self::Github(github) => {
                set("--mention", "mention", github.mention.clone().map(Value::from));
                set("--app-id", "app_id", github.app_id.clone().map(Value::from));
                let file = github.private_key_file.as_ref().map(|file| file.display().to_string().into());
                set("--private-key-file", "private_key_file", file);
            }
            Self::Slack(_) => {}
            Self::Discord(discord) => set("--public-key", "public_key", discord.public_key.clone().map(Value::from)),
            Self::Telegram(telegram) => set("--mode", "mode", telegram.mode.map(|mode| mode.as_str().into())),
        }
        settings
    }

    fn common(&mut self) -> &mut CommonArgs {
        match self {
            Self::Github(github) => &mut github.common,
            Self::Slack(chat) => &mut chat.common,
            Self::Discord(discord) => &mut discord.chat.common,
            Self::Telegram(telegram) => &mut telegram.chat.common,
        }
    }
}

impl ChatArgs {
    fn ask(&mut self, app: &App) -> Result<()> {
        if self.repository.is_none() {
            self.repository = parsed(app, "The repository that chats are about, as `acme/app`? [each chat is asked]")?;
        }
        Ok(())
    }
}

/// As numbers, where they are some: that is how people write them.
fn id_value(id: &str) -> Value {
    id.parse::<i64>().ok().filter(|number| number.to_string() == id).map_or_else(|| id.into(), Value::from)
}

/// Where to find a person's id.
fn id_help(platform: Platform) -> &'static str {
    match platform {
        Platform::Github => "as `gh api user --jq .id` prints them",
        Platform::Slack => "as `U012AB3CD`: a profile's menu copies its member id",
        Platform::Discord => "as numbers: developer mode copies a user's id",
        _ => "as numbers: @userinfobot tells yours",
    }
}

fn parsed<T: std::str::FromStr<Err: std::fmt::Display>>(app: &App, asked: &str) -> Result<Option<T>> {
    let answer = question(app, asked)?;
    let parse = || answer.parse().map_err(|error: T::Err| CliError::usage(error.to_string()));
    if answer.is_empty() { Ok(None) } else { parse().map(Some) }
}

fn question(app: &App, asked: &str) -> Result<String> {
    app.ui.say(asked);
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.map_err(|error| CliError::failed(format!("no answer could be read: {error}")))?;
    Ok(answer.trim().to_owned())
}
