//! Who asks: nobody, the owner of a token, or an app.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use ureq::http::HeaderValue;

use crate::App;
use crate::client::{Client, Failure};

pub(crate) enum Credentials {
    None,
    /// The header's whole value.
    Token(HeaderValue),
    App {
        app: Arc<App>,
        /// As `owner/name`: each installation has tokens of its own.
        repository: String,
    },
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Token(_) => "Token",
            Self::App { .. } => "App",
        })
    }
}

impl Credentials {
    /// What stands in the header of the next request.
    pub async fn header(&self, client: &Client, timeout: Duration) -> Result<Option<HeaderValue>, Failure> {
        match self {
            Self::None => Ok(None),
            Self::Token(value) => Ok(Some(value.clone())),
            Self::App { app, repository } => app.authorization(client, repository, timeout).await.map(Some),
        }
    }

    /// Forgets a token that was not accepted; tells whether there can be another.
    pub async fn renew(&self) -> bool {
        match self {
            Self::App { app, repository } => app.forget(repository).await,
            _ => false,
        }
    }
}

/// A header that no log shows; none where the text can't stand in one.
pub(crate) fn sensitive(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    value.set_sensitive(true);
    Some(value)
}
