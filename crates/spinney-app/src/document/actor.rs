//! Who did something.

use serde::Serialize;
use utoipa::ToSchema;

/// Who did something. What does not apply is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Actor {
    /// `command_line`, `owner` (at the daemon's socket), `token`, `session`, `stranger`, `platform_user`, `schedule`, `job`,
    /// `daemon`, or `unknown` for what an older version wrote.
    pub kind: String,
    /// Of a token, session or job; of a user, the platform's own.
    #[schema(required)]
    pub id: Option<String>,
    /// Of a token, session, schedule or user of the command line.
    #[schema(required)]
    pub name: Option<String>,
    /// Where a user or a schedule is: the platform, or the agent.
    #[schema(required)]
    pub of: Option<String>,
    /// Where a request came from, over the network.
    #[schema(required)]
    pub address: Option<String>,
}

impl Actor {
    #[must_use]
    pub fn of(actor: &spinney_core::Actor) -> Self {
        use spinney_core::Actor as A;
        let (id, name, of, address) = match actor {
            A::CommandLine { user } => (None, user.clone(), None, None),
            A::Token { id, name, address } | A::Session { id, name, address } => {
                (Some(id.to_string()), Some(name.to_string()), None, address.clone())
            }
            A::Stranger { address } => (None, None, None, address.clone()),
            A::PlatformUser { platform, user } => (Some(user.clone()), None, Some(platform.to_string()), None),
            A::Schedule { agent, name } => {
                (None, Some(name.to_string()), agent.as_ref().map(ToString::to_string), None)
            }
            A::Job { id } => (Some(id.to_string()), None, None, None),
            A::Owner | A::Daemon | A::Unknown => (None, None, None, None),
        };
        Self { kind: actor.kind().to_owned(), id, name, of, address }
    }
}
