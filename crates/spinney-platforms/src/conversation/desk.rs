//! What is known of the place that a message came from: its conversation, its repository, its work.

use spinney_core::{AgentName, Platform, Repository, RepositoryName};
use spinney_engine::{Context, Engine, ErrorKind};
use spinney_jobs::Jobs;

use crate::table::descriptor;
use crate::{Adapter, Inbound, Result, Where};

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
    /// A forge's that is none of ours: its name, and where the one of ours is that has this name.
    NotOurs {
        name: RepositoryName,
        remote: Option<String>,
    },
    /// A chat that nobody bound to one yet.
    NobodySaid,
}

/// Finds the repository that a message is about.
pub(crate) async fn repository_of(engine: &Engine, adapter: &dyn Adapter, inbound: &Inbound) -> Result<About> {
    let home = engine.home().root();
    match &inbound.repository {
        Where::Forge(name) => {
            let forge = descriptor(inbound.platform).and_then(|row| row.forge);
            let Some(forge) = forge else { return Ok(About::NotOurs { name: name.clone(), remote: None }) };
            let config = engine.config().forge.of(forge.name);
            let api_url = config.and_then(|config| config.api_url.as_ref()).map(ToString::to_string);
            // However many repositories there are, only those of this name are opened.
            let mut elsewhere = None;
            for repository in engine.repositories_of_slug(&name.to_string()).await? {
                elsewhere = elsewhere.or(repository.remote());
                // One that is broken or gone is not in the others' way.
                let Ok(context) = engine.find_context(Some(&repository.name.to_string()), home).await else { continue };
                let Ok(place) = engine.forge_place(&context).await else { continue };
                let is_it = place.is_some_and(|place| {
                    place.kind == forge
                        && Some(place.api_url.as_str()) == api_url.as_deref()
                        && format!("{}/{}", place.owner, place.name).eq_ignore_ascii_case(&name.to_string())
                });
                if is_it {
                    return Ok(About::Known(Box::new(context)));
                }
            }
            if elsewhere.is_none() {
                let mut db = engine.store().read().await?;
                let named = db.repository_named(engine.account(), engine.home().node(), name).await?;
                elsewhere = named.and_then(|repository| repository.remote().or(repository.url));
            }
            Ok(About::NotOurs { name: name.clone(), remote: elsewhere })
        }
        Where::Chat => {
            let mut db = engine.store().read().await?;
            let (account, platform) = (engine.account(), inbound.platform);
            let mut named = db.repository_of_conversation(account, platform, &inbound.conversation).await?;
            if named.is_none()
                && let Some(parent) = adapter.parent(&inbound.place)
            {
                named = db.repository_of_conversation(account, platform, &parent).await?;
            }
            drop(db);
            let config = inbound.platform.name().and_then(|name| engine.config().platforms.of(name));
            let configured = config.and_then(|config| config.repository.clone());
            match named.or(configured) {
                Some(name) => match engine.find_context(Some(&name.to_string()), home).await {
                    Ok(context) => Ok(About::Known(Box::new(context))),
                    // It is gone: somebody must say another.
                    Err(error) if error.kind() == ErrorKind::NotFound => Ok(About::NobodySaid),
                    Err(error) => Err(error.into()),
                },
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
