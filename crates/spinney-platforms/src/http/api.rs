//! A platform's API over HTTP: asks once, and tells what went wrong as a [`SendError`].

use std::time::Duration;

use spinney_core::config::ApiUrl;
use spinney_core::{Platform, Secret};
use spinney_forge::http::{Call, Client, Failure, HeaderValue, Later, Proxy, Reply, Url};

use crate::SendError;

/// One answer, from the connection to its last byte.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Why a platform can't be spoken to as it is configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    #[error("the address of {0}'s API is not valid")]
    BadUrl(Platform),
    #[error("a secret of {0} has characters that are not allowed in one")]
    BadSecret(Platform),
    #[error("the proxy's address is not valid")]
    BadProxy,
}

/// An API, and the token for it, which no error shows.
#[derive(Debug, Clone)]
pub(crate) struct Api {
    platform: Platform,
    client: Client,
    token: Secret,
}

impl Api {
    /// `scheme` stands before the token in the header: `Bearer`, `Bot`; none where the token is in each path.
    pub fn new(
        platform: Platform,
        api_url: &ApiUrl,
        scheme: Option<&str>,
        token: Secret,
        proxy: Option<&Secret>,
    ) -> Result<Self, OpenError> {
        // An `ApiUrl` is encrypted, or of this machine.
        let url = Url::parse(api_url.as_str()).filter(Url::is_safe).ok_or(OpenError::BadUrl(platform))?;
        let proxy = proxy.map(|proxy| Proxy::new(proxy.expose())).transpose().map_err(|_| OpenError::BadProxy)?;
        let is_plain = !token.expose().is_empty() && token.expose().bytes().all(|byte| byte.is_ascii_graphic());
        if !is_plain {
            return Err(OpenError::BadSecret(platform));
        }
        let mut headers = Vec::new();
        if let Some(scheme) = scheme {
            let value = HeaderValue::from_str(&format!("{scheme} {}", token.expose()));
            let mut value = value.map_err(|_| OpenError::BadSecret(platform))?;
            value.set_sensitive(true);
            headers.push(("authorization", value));
        }
        Ok(Self { platform, client: Client::new(api_url.as_str(), url, proxy, headers), token })
    }

    /// Asks once. A request to come back later is an error; any other refusal is an answer.
    pub async fn ask(&self, call: Call) -> Result<Reply, SendError> {
        self.ask_within(call, TIMEOUT).await
    }

    /// Asks for what may be long in coming.
    pub async fn ask_within(&self, call: Call, timeout: Duration) -> Result<Reply, SendError> {
        let platform = self.platform;
        self.client.ask_once(&call, timeout).await.map_err(|failure| match failure {
            Failure::Later(Later::RateLimited(after)) => SendError::RateLimited { platform, after },
            Failure::Later(Later::Outage { detail, .. }) | Failure::Untrusted(detail) => {
                SendError::Unreachable { platform, detail: self.token.redact(&detail) }
            }
            Failure::Unexpected(detail) | Failure::Refused { said: detail, .. } => self.refused(&detail),
        })
    }

    /// An error that trying again would not mend, without the token.
    pub fn refused(&self, detail: &str) -> SendError {
        SendError::Refused { platform: self.platform, detail: self.token.redact(detail) }
    }

    /// What the API said about a refusal, as an error.
    pub fn refusal(&self, reply: &Reply) -> SendError {
        let said = reply.said(Some(&self.token));
        self.refused(&if said.is_empty() { format!("status {}", reply.status) } else { said })
    }
}

#[cfg(test)]
mod tests {
    use spinney_testkit::{TestForge, Trouble};

    use super::*;

    fn api(url: &str, token: &str) -> Api {
        Api::new(Platform::on("slack"), &url.parse().unwrap(), Some("Bearer"), Secret::new(token), None).unwrap()
    }

    fn call() -> Call {
        Call::post("/repos/acme/app/pulls".to_owned(), serde_json::json!({}))
    }

    #[tokio::test]
    async fn what_goes_wrong_tells_whether_to_try_again() {
        let server = TestForge::github("acme/app");
        let api = api(&server.api_url(), server.token());
        server.trouble(Trouble::RetryAfter(429, 7));
        let limited = api.ask(call()).await.unwrap_err();
        assert!(matches!(limited, SendError::RateLimited { after, .. } if after.as_secs() == 7), "{limited}");
        for trouble in [Trouble::Status(503), Trouble::Dropped] {
            server.trouble(trouble);
            assert!(matches!(api.ask(call()).await, Err(SendError::Unreachable { .. })));
        }
        server.trouble(Trouble::Stalled);
        let late = api.ask_within(call(), Duration::from_millis(200)).await;
        assert!(matches!(late, Err(SendError::Unreachable { .. })), "{late:?}");
        server.trouble(Trouble::Huge(9 * 1024 * 1024));
        assert!(matches!(api.ask(call()).await, Err(SendError::Refused { .. })));
        assert!(api.ask(call()).await.is_ok_and(|reply| !reply.is_success()));
    }

    #[tokio::test]
    async fn a_token_follows_no_redirect_to_another_host() {
        let (server, other) = (TestForge::github("acme/app"), TestForge::github("acme/app"));
        let api = api(&server.api_url(), server.token());
        for status in [301, 307, 308] {
            server.trouble(Trouble::Redirected(status, other.api_url()));
            let get = Call::get("/repos/acme/app".to_owned());
            assert!(matches!(api.ask(get).await, Err(SendError::Refused { .. })), "{status}");
        }
        assert!(other.exchanges().is_empty());
    }

    #[tokio::test]
    async fn no_error_shows_the_token() {
        let server = TestForge::github("acme/app");
        let api = api(&server.api_url(), server.token());
        server.trouble(Trouble::Forbidden(format!("no such {}", server.token())));
        let refusal = api.refusal(&api.ask(call()).await.unwrap());
        let bad = api.ask(Call::get(format!("/bot{}/ü x", server.token()))).await.unwrap_err();
        for text in [refusal.to_string(), bad.to_string(), format!("{api:?}"), format!("{bad:?}")] {
            assert!(!text.contains(server.token()), "{text}");
        }
    }

    #[test]
    fn a_secret_is_printable() {
        let url = "https://api.example".parse().unwrap();
        for token in ["", "a b", "a\n", "ü"] {
            let open = |scheme| Api::new(Platform::on("telegram"), &url, scheme, Secret::new(token), None);
            assert_eq!(open(None).unwrap_err(), OpenError::BadSecret(Platform::on("telegram")));
        }
    }
}
