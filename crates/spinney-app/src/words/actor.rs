//! Who did something, in words.

use spinney_core::Actor;

/// `token ci from 10.0.0.7`; nothing where nobody knows.
#[must_use]
pub fn actor(actor: &Actor) -> String {
    let (who, address) = match actor {
        Actor::CommandLine { user: Some(user) } => (format!("{user}, command line"), &None),
        Actor::CommandLine { user: None } => ("command line".to_owned(), &None),
        Actor::Owner => ("owner, daemon's socket".to_owned(), &None),
        Actor::Token { name, address, .. } => (format!("token {name}"), address),
        Actor::Session { name, address, .. } => (format!("browser, {name}"), address),
        Actor::Stranger { address } => ("stranger".to_owned(), address),
        Actor::PlatformUser { platform, user } => (format!("{user} on {platform}"), &None),
        Actor::Schedule { agent: Some(agent), name } => (format!("schedule {name} of {agent}"), &None),
        Actor::Schedule { agent: None, name } => (format!("chore {name}"), &None),
        Actor::Job { id } => (format!("job {id}"), &None),
        Actor::Daemon => ("daemon".to_owned(), &None),
        Actor::Unknown => (String::new(), &None),
    };
    match address {
        Some(address) => format!("{who} from {address}"),
        None => who,
    }
}
