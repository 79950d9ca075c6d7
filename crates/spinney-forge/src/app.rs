//! A GitHub App: it signs for itself, and gets a token for an hour wherever it is installed.

use std::collections::HashMap;
use std::fmt;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::rsa::KeyPair;
use ring::signature::RSA_PKCS1_SHA256;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use serde::Deserialize;
use serde_json::json;
use spinney_core::{Secret, Timestamp};
use tokio::sync::Mutex;
use ureq::http::HeaderValue;

use crate::answer::Reply;
use crate::client::{Client, Failure};
use crate::credentials::sensitive;
use crate::dialect::Call;
use crate::url::encode;

/// GitHub takes no signature that is good for more than ten minutes; its clock may be behind ours.
const SIGNED_FOR: Duration = Duration::from_secs(9 * 60);
const CLOCKS_DIFFER: Duration = Duration::from_secs(60);
/// A token is not used for what may still be on its way when it ends.
const LEFT_OVER: Duration = Duration::from_secs(5 * 60);

/// An app, and the tokens that it has at the moment.
pub struct App {
    id: String,
    key: KeyPair,
    tokens: Mutex<HashMap<String, Token>>,
}

struct Token {
    header: HeaderValue,
    ends: Timestamp,
}

/// Why a private key is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AppKeyError {
    #[error("it is not a private key in PEM, as GitHub hands it out")]
    NotPem,
    #[error("it is not an RSA key of 2048 bits or more")]
    NotRsa,
}

#[derive(Deserialize)]
struct Installation {
    id: u64,
}

#[derive(Deserialize)]
struct AccessToken {
    token: String,
    expires_at: String,
}

impl fmt::Debug for App {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("App").field("id", &self.id).finish_non_exhaustive()
    }
}

impl App {
    /// An app by its id, or client id, and its private key: PKCS#1, as GitHub hands it out, or PKCS#8.
    pub fn new(id: &str, private_key: &Secret) -> Result<Self, AppKeyError> {
        let key = PrivateKeyDer::from_pem_slice(private_key.expose().as_bytes()).map_err(|_| AppKeyError::NotPem)?;
        let key = match &key {
            PrivateKeyDer::Pkcs1(der) => KeyPair::from_der(der.secret_pkcs1_der()),
            PrivateKeyDer::Pkcs8(der) => KeyPair::from_pkcs8(der.secret_pkcs8_der()),
            _ => return Err(AppKeyError::NotRsa),
        };
        let key = key.map_err(|_| AppKeyError::NotRsa)?;
        Ok(Self { id: id.to_owned(), key, tokens: Mutex::default() })
    }

    /// The header for requests about a repository, with a token that lasts.
    pub(crate) async fn authorization(
        &self,
        client: &Client,
        repository: &str,
        timeout: Duration,
    ) -> Result<HeaderValue, Failure> {
        // Held while asking, so that many who wait ask for one token.
        let mut tokens = self.tokens.lock().await;
        let now = Timestamp::now();
        if let Some(token) = tokens.get(repository).filter(|token| token.ends > now.plus(LEFT_OVER)) {
            return Ok(token.header.clone());
        }
        let token = self.fetch_token(client, repository, timeout).await?;
        let header = token.header.clone();
        tokens.insert(repository.to_owned(), token);
        Ok(header)
    }

    /// Forgets a repository's token; tells whether there was one.
    pub(crate) async fn forget(&self, repository: &str) -> bool {
        self.tokens.lock().await.remove(repository).is_some()
    }

    async fn fetch_token(&self, client: &Client, repository: &str, timeout: Duration) -> Result<Token, Failure> {
        let path = repository.split('/').map(encode).collect::<Vec<_>>().join("/");
        let signed = self.sign(Timestamp::now()).as_deref().and_then(sensitive);
        let signed = signed.ok_or_else(|| Failure::Unexpected("the app can't sign".to_owned()))?;
        let call = Call::get(format!("/repos/{path}/installation"));
        let reply = client.ask_as(&call, Some(signed.clone()), timeout).await?;
        let installation: Installation = read(&reply, &format!("the app is not installed on `{repository}`"))?;
        let call = Call::post(format!("/app/installations/{}/access_tokens", installation.id), json!({}));
        let reply = client.ask_as(&call, Some(signed), timeout).await?;
        let given: AccessToken = read(&reply, "the app gets no token")?;
        let (header, ends) = (sensitive(&format!("Bearer {}", given.token)), Timestamp::parse(&given.expires_at));
        match (header, ends) {
            (Some(header), Some(ends)) => Ok(Token { header, ends }),
            _ => Err(Failure::Unexpected("a token that is none".to_owned())),
        }
    }

    /// By which the app asks for itself, within a few minutes.
    #[must_use]
    pub fn signature(&self) -> Option<Secret> {
        self.sign(Timestamp::now()).as_deref().and_then(|header| header.strip_prefix("Bearer ")).map(Secret::new)
    }

    /// The header by which the app asks for itself: a JSON Web Token.
    fn sign(&self, now: Timestamp) -> Option<String> {
        let seconds = |time: Timestamp| time.as_millisecond() / 1000;
        let claims = json!({
            "iat": seconds(now.minus(CLOCKS_DIFFER)),
            "exp": seconds(now.plus(SIGNED_FOR)),
            "iss": self.id,
        });
        let encode = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
        let header = json!({ "alg": "RS256", "typ": "JWT" });
        let signed = format!("{}.{}", encode(header.to_string().as_bytes()), encode(claims.to_string().as_bytes()));
        let mut signature = vec![0; self.key.public().modulus_len()];
        self.key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature).ok()?;
        Some(format!("Bearer {signed}.{}", encode(&signature)))
    }
}

/// What an answer to the app itself holds.
fn read<T: for<'de> Deserialize<'de>>(reply: &Reply, otherwise: &str) -> Result<T, Failure> {
    match reply.status {
        401 => {
            Err(Failure::Refused { status: 401, said: "it does not accept the app's id and private key".to_owned() })
        }
        404 => Err(Failure::Refused { status: 404, said: otherwise.to_owned() }),
        status if !reply.is_success() => Err(Failure::Refused { status, said: reply.said(None) }),
        // Its own words would show the token.
        _ => {
            serde_json::from_slice(&reply.body).map_err(|_| Failure::Unexpected(format!("{otherwise}: an odd answer")))
        }
    }
}
