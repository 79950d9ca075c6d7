//! What is known of the place that a message came from: its conversation, its repository, its work.

use spinney_core::{AgentName, Platform, Repository};
use spinney_engine::{Context, Engine};
use spinney_jobs::Jobs;

use crate::{Inbound, Result, Where};

/// One message's desk: what commands and requests need to be carried out.
#[derive(Debug)]
pub struct Desk<'a> {
    pub engine: &'a Engine,
    pub jobs: &'a Jobs<'a>,
    pub platform: Platform,
    pub conversation: &'a str,
    /// The one that the conversation is about; none where nobody said.
    pub repository: Option<Context>,
    /// Whether the place itself tells the repository, and nobody can name another.
    pub is_bound_by_forge: bool,
    /// Who does the work on this platform.
    pub agent: &'a AgentName,
}

/// Which repository a message is about.
pub(crate) enum About {
    Known(Box<Context>),
    /// A forge's that is none of ours.
    NotOurs,
    /// A chat that nobody bound to one yet.
    NobodySaid,
}

/// Finds the repository that a message is about.
pub(crate) async fn repository_of(engine: &Engine, inbound: &Inbound) -> Result<About> {
    let home = engine.home().root();
    match &inbound.repository {
        Where::Forge(name) => {
            for repository in engine.repositories().await? {
                // One that is broken or gone is not in the others' way.
                let Ok(context) = engine.repository(Some(&repository.name.to_string()), home).await else { continue };
                let Ok(place) = engine.forge_place(&context).await else { continue };
                let is_it = place.is_some_and(|place| {
                    place.kind == spinney_core::ForgeKind::Github
                        && format!("{}/{}", place.owner, place.name).eq_ignore_ascii_case(&name.to_string())
                });
                if is_it {
                    return Ok(About::Known(Box::new(context)));
                }
            }
            Ok(About::NotOurs)
        }
        Where::Chat => {
            let mut db = engine.store().read().await?;
            let named =
                db.repository_of_conversation(engine.account(), inbound.platform, &inbound.conversation).await?;
            drop(db);
            let platforms = &engine.config().platforms;
            let configured = match inbound.platform {
                Platform::Slack => platforms.slack.repository.clone(),
                Platform::Discord => platforms.discord.repository.clone(),
                Platform::Telegram => platforms.telegram.repository.clone(),
                _ => None,
            };
            match named.or(configured) {
                Some(name) => Ok(About::Known(Box::new(engine.repository(Some(&name.to_string()), home).await?))),
                None => Ok(About::NobodySaid),
            }
        }
    }
}

/// The names of an account's repositories, for a question.
pub(crate) async fn names(engine: &Engine) -> Result<Vec<String>> {
    let named = |repository: Repository| repository.name.to_string();
    Ok(engine.repositories().await?.into_iter().map(named).collect())
}
