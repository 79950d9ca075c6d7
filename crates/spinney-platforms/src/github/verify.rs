//! Whether a webhook is GitHub's: an HMAC over the raw bytes, with a secret that only the two of us know.

use std::borrow::Cow;

use http::HeaderMap;
use ring::hmac;
use spinney_core::Secret;

use crate::Refusal;
use crate::http::header::only;
use crate::http::{form, hex};

const SIGNATURE: &str = "x-hub-signature-256";
const EVENT: &str = "x-github-event";
const DELIVERY: &str = "x-github-delivery";
const LONGEST_NAME: usize = 64;

/// Knows the secrets: one, or two while they change.
pub(super) struct Verifier(Vec<hmac::Key>);

/// A webhook that is GitHub's own.
#[derive(Debug)]
pub(super) struct Hook<'a> {
    pub event: &'a str,
    pub delivery: &'a str,
    pub payload: Cow<'a, [u8]>,
}

impl Verifier {
    /// Takes secrets that are separated by commas; none where there is none.
    pub fn new(secrets: &Secret) -> Option<Self> {
        let secrets = secrets.expose().split(',').map(str::trim).filter(|secret| !secret.is_empty());
        let keys: Vec<_> = secrets.map(|secret| hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes())).collect();
        (!keys.is_empty()).then_some(Self(keys))
    }

    /// The keys, the one that signs first.
    pub fn keys(&self) -> &[hmac::Key] {
        &self.0
    }

    pub fn verify<'a>(&self, headers: &'a HeaderMap, body: &'a [u8]) -> Result<Hook<'a>, Refusal> {
        let signature =
            only(headers, SIGNATURE).and_then(|text| text.strip_prefix("sha256=")).and_then(hex::decode::<32>);
        let signature = signature.ok_or(Refusal::Unsigned)?;
        if !self.0.iter().any(|key| hmac::verify(key, body, &signature).is_ok()) {
            return Err(Refusal::Unsigned);
        }
        let content_type = only(headers, "content-type").and_then(|text| text.split(';').next()).unwrap_or_default();
        let payload = match content_type.trim().to_ascii_lowercase().as_str() {
            "application/json" => Cow::Borrowed(body),
            "application/x-www-form-urlencoded" => Cow::Owned(form_payload(body).ok_or(Refusal::Malformed)?),
            _ => return Err(Refusal::ContentType),
        };
        let named = |name, is_part: fn(u8) -> bool| {
            let text = only(headers, name).filter(|text| (1..=LONGEST_NAME).contains(&text.len()));
            text.filter(|text| text.bytes().all(is_part)).ok_or(Refusal::Malformed)
        };
        let event = named(EVENT, |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_')?;
        let delivery = named(DELIVERY, |byte| byte.is_ascii_alphanumeric() || byte == b'-')?;
        Ok(Hook { event, delivery, payload })
    }
}

/// The one field of a form that holds the payload.
fn form_payload(body: &[u8]) -> Option<Vec<u8>> {
    let mut payloads = form::fields(body)?.into_iter().filter(|(name, _)| name == "payload").map(|(_, value)| value);
    let payload = payloads.next()?;
    payloads.next().is_none().then(|| payload.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_has_one_payload() {
        let payload = |body: &str| form_payload(body.as_bytes()).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(payload("payload=%7B%22a%22%3A+1%7D").unwrap(), r#"{"a": 1}"#);
        assert_eq!(payload("x=1&payload=%c3%BC&y").unwrap(), "ü");
        for body in ["", "x=payload=1", "payload=%", "payload=%zz", "payload=%ff", "payload=1&payload=2"] {
            assert_eq!(payload(body), None, "{body}");
        }
    }

    #[test]
    fn empty_secrets_are_none() {
        for secrets in ["", " ", ",", " , ,"] {
            assert!(Verifier::new(&Secret::new(secrets)).is_none(), "{secrets:?}");
        }
        assert_eq!(Verifier::new(&Secret::new(" a ,b,")).unwrap().keys().len(), 2);
    }
}
