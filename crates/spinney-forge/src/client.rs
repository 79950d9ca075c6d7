//! One request and its answer, over HTTP.
//!
//! The work is done on threads of its own (`threads.rs`), so that a caller who goes away, or a runtime that ends, waits for
//! nothing.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustls::crypto::ring;
use spinney_core::ForgeError;
use spinney_core::forge::Outage;
use tokio::sync::oneshot;
use ureq::config::Config;
use ureq::http::{HeaderValue, Method, Request, StatusCode, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout, time};
use ureq::{Agent, Proxy};

use crate::answer::Reply;
use crate::credentials::Credentials;
use crate::dialect::Call;
use crate::patience::{Later, Waits};
use crate::threads;
use crate::url::Url;

/// More than any answer that is asked for.
const MAX_ANSWER: u64 = 8 * 1024 * 1024;
const MAX_REDIRECTS: u32 = 3;
/// How long the end of a request may take beyond its own time.
const GRACE: Duration = Duration::from_secs(1);

/// An HTTP API; cheap to clone.
#[derive(Debug, Clone)]
pub struct Client(Arc<Inner>);

struct Inner {
    api_url: String,
    api: Url,
    proxy: Option<Proxy>,
    headers: Vec<(&'static str, HeaderValue)>,
    credentials: Credentials,
    agent: OnceLock<Agent>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("api_url", &self.api_url).finish_non_exhaustive()
    }
}

/// What a request ended with when it did not end with an answer.
#[derive(Debug)]
pub enum Failure {
    Later(Later),
    /// The server's certificate is not to be trusted. Waiting does not mend that.
    Untrusted(String),
    /// What came is of no use, and would not be another time.
    Unexpected(String),
    /// There is no token to ask with.
    Refused {
        status: u16,
        said: String,
    },
}

impl Failure {
    /// Why to try again later, where that is of any use.
    pub(crate) fn later(self, forge: &str) -> Result<Later, ForgeError> {
        match self {
            Self::Later(later) => Ok(later),
            Self::Untrusted(detail) => {
                Err(ForgeError::Unreachable { forge: forge.to_owned(), tries: 1, source: Outage::new(&detail) })
            }
            Self::Unexpected(detail) => Err(ForgeError::unexpected(forge, &detail)),
            Self::Refused { status, said } => Err(ForgeError::refused(forge, status, &said)),
        }
    }
}

impl Client {
    /// For who asks by one of the headers, or by none.
    #[must_use]
    pub fn new(api_url: &str, api: Url, proxy: Option<Proxy>, headers: Vec<(&'static str, HeaderValue)>) -> Self {
        Self::of(api_url, api, proxy, headers, Credentials::None)
    }

    pub(crate) fn of(
        api_url: &str,
        api: Url,
        proxy: Option<Proxy>,
        headers: Vec<(&'static str, HeaderValue)>,
        credentials: Credentials,
    ) -> Self {
        let api_url = api_url.to_owned();
        Self(Arc::new(Inner { api_url, api, proxy, headers, credentials, agent: OnceLock::new() }))
    }

    /// Asks until there is an answer that is no request to come back later. Not for what must not arrive twice.
    pub(crate) async fn ask(&self, forge: &str, call: &Call, waits: &mut Waits<'_>) -> Result<Reply, ForgeError> {
        loop {
            match self.ask_once(call, waits.answer_timeout()).await {
                Ok(reply) => return Ok(reply),
                Err(failure) => waits.wait(failure.later(forge)?).await?,
            }
        }
    }

    /// Asks once; twice where the token is an app's and was taken back before its time. What is limited, or down for a moment,
    /// is a [`Failure::Later`].
    pub async fn ask_once(&self, call: &Call, timeout: Duration) -> Result<Reply, Failure> {
        let reply = self.ask_as(call, self.0.credentials.header(self, timeout).await?, timeout).await?;
        if reply.status == 401 && self.0.credentials.renew().await {
            return self.ask_as(call, self.0.credentials.header(self, timeout).await?, timeout).await;
        }
        Ok(reply)
    }

    /// Asks with this in the header that says who asks.
    pub async fn ask_as(
        &self,
        call: &Call,
        authorization: Option<HeaderValue>,
        timeout: Duration,
    ) -> Result<Reply, Failure> {
        let (inner, call) = (Arc::clone(&self.0), call.clone());
        let (sender, receiver) = oneshot::channel();
        let asking = move || {
            // Who asked may be gone: before its turn came, or by now.
            if !sender.is_closed() {
                let _ = sender.send(inner.exchange(&call, authorization.as_ref(), timeout));
            }
        };
        let outage = |detail: String| Failure::Later(Later::Outage { detail, after: None });
        threads::run(asking).map_err(|error| outage(error.to_string()))?;
        // Its own time runs from where it begins; until then, and for as long as the system looks a name up, it runs here.
        let answered = tokio::time::timeout(timeout + GRACE, receiver).await;
        let answered = answered.map_err(|_| outage("no answer in time".to_owned()))?;
        let reply = answered.map_err(|_| Failure::Unexpected("the request broke off".to_owned()))??;
        match reply.later() {
            Some(later) => Err(Failure::Later(later)),
            None => Ok(reply),
        }
    }
}

impl Inner {
    /// Sends the request, and again to where it is redirected on the same host.
    fn exchange(&self, call: &Call, authorization: Option<&HeaderValue>, timeout: Duration) -> Result<Reply, Failure> {
        let mut url = format!("{}{}", self.api_url, call.target());
        for _ in 0..=MAX_REDIRECTS {
            let reply = self.send(call, &url, authorization, timeout).map_err(|error| failure(&error))?;
            // The other redirects turn a change into a GET.
            let moved =
                matches!(reply.status, 307 | 308) || (matches!(reply.status, 301 | 302) && call.method == Method::GET);
            let Some(location) = reply.header("location").filter(|_| moved) else { return Ok(reply) };
            url = self.redirected(location)?;
        }
        Err(Failure::Unexpected("it redirects again and again".to_owned()))
    }

    /// Where a redirect leads; an error when that is elsewhere, where the token must not go.
    fn redirected(&self, location: &str) -> Result<String, Failure> {
        let origin = || self.api_url.split('/').take(3).collect::<Vec<_>>().join("/");
        let url = if location.starts_with('/') && !location.starts_with("//") {
            format!("{}{location}", origin())
        } else {
            location.to_owned()
        };
        match Url::parse(&url) {
            Some(target) if target.same_origin(&self.api) => Ok(url),
            Some(target) => Err(Failure::Unexpected(format!(
                "it redirects to `{}://{}`; where that is the same API, set its `api_url` so",
                target.scheme,
                target.place()
            ))),
            None => Err(Failure::Unexpected("it redirects to what is no address".to_owned())),
        }
    }

    fn send(
        &self,
        call: &Call,
        url: &str,
        authorization: Option<&HeaderValue>,
        timeout: Duration,
    ) -> Result<Reply, ureq::Error> {
        let mut request = Request::builder().method(call.method.clone()).uri(url);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        let body = call.body.as_ref().map(|body| body.to_string().into_bytes());
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let agent = self.agent();
        let mut response = match body {
            Some(body) => agent.run(agent.configure_request(request.body(body)?).timeout_global(Some(timeout)).build()),
            None => agent.run(agent.configure_request(request.body(())?).timeout_global(Some(timeout)).build()),
        }?;
        let headers = response
            .headers()
            .iter()
            .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())));
        let headers = headers.collect();
        let body = match response.status() {
            StatusCode::NO_CONTENT => Vec::new(),
            _ => response.body_mut().with_config().limit(MAX_ANSWER).read_to_vec()?,
        };
        Ok(Reply { status: response.status().as_u16(), headers, body })
    }

    /// The connections; made with the first request, as reading the system's roots takes a moment.
    fn agent(&self) -> &Agent {
        self.agent.get_or_init(|| {
            let mut config = Agent::config_builder()
                .http_status_as_error(false)
                .max_redirects(0)
                .max_redirects_will_error(false)
                .user_agent(concat!("spinney/", env!("CARGO_PKG_VERSION")))
                .proxy(self.proxy.clone());
            if self.api.scheme == "https" {
                config = config.tls_config(tls());
            }
            Agent::with_parts(config.build(), DefaultConnector::default(), SameThread::default())
        })
    }
}

/// Looks names up on the thread that makes the request: the client's own way starts another for each.
#[derive(Debug, Default)]
struct SameThread(DefaultResolver);

impl Resolver for SameThread {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        mut timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        timeout.after = time::Duration::NotHappening;
        self.0.resolve(uri, config, timeout)
    }
}

fn tls() -> TlsConfig {
    let roots = rustls_native_certs::load_native_certs();
    for error in roots.errors {
        tracing::debug!(%error, "a root certificate of the system can't be read");
    }
    let roots: Vec<_> = roots.certs.iter().map(|root| Certificate::from_der(root).to_owned()).collect();
    TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(ring::default_provider()))
        .root_certs(RootCerts::Specific(Arc::new(roots)))
        .build()
}

/// Whether a request that failed on its way is worth another try.
fn failure(error: &ureq::Error) -> Failure {
    // Reading the body wraps the error of the client, and the client that of TLS.
    let cause = match error {
        ureq::Error::Io(cause) => cause.get_ref().map(|cause| cause as &(dyn Error + 'static)),
        _ => None,
    };
    let tls = match error {
        ureq::Error::Rustls(tls) => Some(tls),
        _ => cause.and_then(|cause| cause.downcast_ref::<rustls::Error>()),
    };
    let client = cause.and_then(|cause| cause.downcast_ref()).unwrap_or(error);
    match (tls, client) {
        (Some(rustls::Error::InvalidCertificate(_)), _) => Failure::Untrusted(error.to_string()),
        (_, ureq::Error::BodyExceedsLimit(_)) => Failure::Unexpected(format!("more than {MAX_ANSWER} bytes")),
        (_, ureq::Error::Http(_) | ureq::Error::BadUri(_) | ureq::Error::Protocol(_)) => {
            Failure::Unexpected(error.to_string())
        }
        _ => Failure::Later(Later::Outage { detail: error.to_string(), after: None }),
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use rustls::CertificateError;

    use super::*;

    #[test]
    fn what_will_not_pass_is_not_waited_out() {
        let wrapped = |error: Box<dyn Error + Send + Sync>| failure(&io::Error::other(error).into());
        let untrusted = || rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer);
        for failure in [wrapped(Box::new(untrusted())), failure(&ureq::Error::Rustls(untrusted()))] {
            assert!(matches!(&failure, Failure::Untrusted(detail) if detail.contains("certificate")), "{failure:?}");
            assert!(matches!(failure.later("GitHub"), Err(ForgeError::Unreachable { tries: 1, .. })));
        }
        assert!(matches!(wrapped(Box::new(ureq::Error::BodyExceedsLimit(1))), Failure::Unexpected(_)));
        assert!(matches!(wrapped("connection reset".into()), Failure::Later(_)));
        assert!(matches!(failure(&ureq::Error::HostNotFound), Failure::Later(_)));
    }
}
