//! What is said of a platform in the configuration: by flags, or when asked. Which flags there are is said by its row.

use std::io::{BufRead, IsTerminal};

use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches, Subcommand};
use spinney_core::{AgentName, RepositoryName};
use spinney_platforms::{Descriptor, PLATFORMS};
use toml::Value;

use crate::app::App;
use crate::error::{CliError, Result};

const ALLOW_USER: &str = "allow-user";
const AGENT: &str = "agent";
const REPOSITORY: &str = "repository";

/// A platform, and what was said of it.
#[derive(Debug)]
pub(super) struct Wanted {
    pub row: &'static Descriptor,
    allow_users: Vec<String>,
    agent: Option<AgentName>,
    repository: Option<RepositoryName>,
    /// The values of the row's own settings, in their order.
    own: Vec<Option<String>>,
}

/// A key of the platform's section, and what it is to be.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Setting {
    /// Who is wrong if it is.
    pub flag: &'static str,
    pub key: &'static str,
    pub value: Value,
}

/// One subcommand for each platform.
impl Subcommand for Wanted {
    fn augment_subcommands(command: Command) -> Command {
        command
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommands(PLATFORMS.iter().map(|row| subcommand(row)))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        PLATFORMS.iter().any(|row| row.name == name)
    }
}

fn subcommand(row: &'static Descriptor) -> Command {
    let mut command = Command::new(row.name).about(row.about).after_help(row.examples);
    command = command
        .arg(
            Arg::new(ALLOW_USER)
                .long(ALLOW_USER)
                .value_name("ID")
                .action(ArgAction::Append)
                .help("A user who may send requests, by the platform's own id; can be repeated"),
        )
        .arg(
            Arg::new(AGENT)
                .long(AGENT)
                .value_name("NAME")
                .value_parser(|text: &str| text.parse::<AgentName>())
                .help("Who does the work: one of your `[agents.…]`"),
        );
    if row.forge.is_none() {
        command = command.arg(
            Arg::new(REPOSITORY)
                .long(REPOSITORY)
                .value_name("OWNER/NAME")
                .value_parser(|text: &str| text.parse::<RepositoryName>())
                .help("The repository that chats are about, until `/repo NAME` says otherwise there"),
        );
    }
    for setting in row.settings {
        let name = setting.flag.trim_start_matches('-');
        let checked = |text: &str| (setting.check)(text).map(|()| text.to_owned());
        let arg = Arg::new(name).long(name).value_name(setting.value_name).value_parser(checked).help(setting.help);
        command = command.arg(match setting.requires {
            Some(other) => arg.requires(other),
            None => arg,
        });
    }
    command
}

impl FromArgMatches for Wanted {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (name, given) = matches.subcommand().ok_or_else(missing)?;
        let row = PLATFORMS.iter().copied().find(|row| row.name == name).ok_or_else(missing)?;
        let own = row.settings.iter().map(|setting| given.get_one(setting.flag.trim_start_matches('-')).cloned());
        Ok(Self {
            row,
            allow_users: given.get_many(ALLOW_USER).into_iter().flatten().cloned().collect(),
            agent: given.get_one(AGENT).cloned(),
            // A platform of a forge has no such flag.
            repository: given.try_get_one(REPOSITORY).ok().flatten().cloned(),
            own: own.collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Wanted {
    /// The repository that is named, which must be there.
    pub fn repository(&self) -> Option<&RepositoryName> {
        self.repository.as_ref()
    }

    /// Asks for what no flag says, where somebody is there to be asked. `has_users`: some are listed already.
    pub fn ask(&mut self, app: &App, has_users: bool) -> Result<()> {
        let ids = self.row.user_ids;
        let is_asked = !app.ui.json && std::io::stdin().is_terminal();
        if self.allow_users.is_empty() && !has_users {
            if !is_asked {
                return Err(CliError::usage("no user is listed yet, and there is no terminal to ask for one")
                    .hinted(format!("`--allow-user ID`, {ids}")));
            }
            let answer =
                question(app, &format!("Which users may send requests? Their ids, {ids}, separated by spaces:"))?;
            self.allow_users.extend(answer.split([' ', ',']).filter(|id| !id.is_empty()).map(str::to_owned));
            if self.allow_users.is_empty() {
                return Err(CliError::usage("no user id was given: at least one user must be listed"));
            }
        }
        if !is_asked || has_users {
            return Ok(());
        }
        if self.agent.is_none() {
            self.agent = parsed(app, "Which agent does the work? [coder]")?;
        }
        if self.row.forge.is_none() && self.repository.is_none() {
            self.repository = parsed(app, "The repository that chats are about, as `acme/app`? [each chat is asked]")?;
        }
        for (setting, value) in self.row.settings.iter().zip(&mut self.own) {
            if let (Some(asked), None) = (setting.question, &value) {
                let answer = Some(question(app, asked)?).filter(|answer| !answer.is_empty());
                answer.as_deref().map(setting.check).transpose().map_err(CliError::usage)?;
                *value = answer;
            }
        }
        Ok(())
    }

    /// All that was said, in the order of the section.
    pub fn settings(&self) -> Vec<Setting> {
        let mut settings = Vec::new();
        let mut set = |flag, key, value: Option<Value>| {
            settings.extend(value.map(|value| Setting { flag, key, value }));
        };
        let users: Vec<_> = self.allow_users.iter().map(|id| id_value(id)).collect();
        let users = (!users.is_empty()).then_some(Value::Array(users));
        set("--allow-user", "allowed_users", users);
        set("--agent", "agent", self.agent.as_ref().map(|agent| agent.to_string().into()));
        set("--repository", "repository", self.repository.as_ref().map(|repository| repository.to_string().into()));
        for (setting, value) in self.row.settings.iter().zip(&self.own) {
            set(setting.flag, setting.key, value.clone().map(Value::from));
        }
        settings
    }
}

/// As numbers, where they are some: that is how people write them.
fn id_value(id: &str) -> Value {
    id.parse::<i64>().ok().filter(|number| number.to_string() == id).map_or_else(|| id.into(), Value::from)
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
