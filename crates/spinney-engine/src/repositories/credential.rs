//! With what a repository's remote is asked: the token that the repository names, else what git itself has, else the token of
//! its forge.

use std::time::Duration;

use spinney_forge::{locate, token};
use spinney_git::{Credential, Error as Git, Known, Wanted};

use super::forge::{OPERATORS_ACCOUNT, token_variable, web_host};
use crate::repositories::context::Context;
use crate::{Engine, Error, Result};

/// With what a remote is asked, and whether it can be asked with something else.
#[derive(Debug)]
pub(crate) struct Asking {
    credential: Option<Credential>,
    is_last: bool,
}

impl Asking {
    pub(crate) fn credential(&self) -> Option<&Credential> {
        self.credential.as_ref()
    }
}

impl Engine {
    /// How a repository's remote is asked first.
    pub(crate) fn asking(&self, context: &Context) -> Result<Asking> {
        let credential = self.credential(&context.repository)?;
        Ok(Asking { is_last: credential.is_some(), credential })
    }

    /// How it is asked once more: where git had nothing that the remote takes, with the token of its forge. Gives the error
    /// back where there is nothing else to ask with.
    pub(crate) async fn ask_with_more(&self, context: &Context, asking: &mut Asking, error: Error) -> Result<()> {
        let refused = match error {
            Error::Git(refused @ Git::Auth { .. }) if !asking.is_last => refused,
            error => return Err(error),
        };
        asking.is_last = true;
        match self.forge_credential(context).await? {
            ForgeToken::Known(credential) => asking.credential = Some(credential),
            ForgeToken::Missing { variable } => return Err(Error::TokenWanted { variable, source: refused }),
            ForgeToken::None => return Err(refused.into()),
        }
        Ok(())
    }

    /// Fetches, with whatever the remote takes.
    pub(crate) async fn fetch_from(
        &self,
        context: &Context,
        remote: &str,
        wanted: &Wanted,
        max_age: Duration,
    ) -> Result<Known> {
        let mut asking = self.asking(context)?;
        loop {
            match context.fetch(remote, wanted, max_age, asking.credential()).await {
                Ok(known) => return Ok(known),
                Err(error) => self.ask_with_more(context, &mut asking, error.into()).await?,
            }
        }
    }

    /// The token of the forge that a repository is known to lie on, for that very origin. A remote that was changed since
    /// leads to no token: anybody who works in the repository can write that.
    async fn forge_credential(&self, context: &Context) -> Result<ForgeToken> {
        let Some(url) = &context.repository.url else { return Ok(ForgeToken::None) };
        // The environment is the operator's; so is what its tokens may do.
        if self.account() != OPERATORS_ACCOUNT || !url.starts_with("http") {
            return Ok(ForgeToken::None);
        }
        let Some(located) = locate(url, &self.forge_options(context)) else { return Ok(ForgeToken::None) };
        let named = token_variable(context, located.kind);
        let found = token::find(located.kind, &self.texts(), &named, web_host(&located.api_url)).await;
        Ok(match found.map(|token| Credential::token(token.expose()).only_for(url)) {
            Some(Some(credential)) => ForgeToken::Known(credential),
            Some(None) => ForgeToken::None,
            None if named.is_empty() => ForgeToken::Missing { variable: located.kind.token_variables[0].to_owned() },
            None => ForgeToken::Missing { variable: named },
        })
    }
}

/// The token of a forge.
enum ForgeToken {
    Known(Credential),
    /// It is in no variable, nor does another program know one.
    Missing {
        variable: String,
    },
    /// There is no forge whose token is meant.
    None,
}
