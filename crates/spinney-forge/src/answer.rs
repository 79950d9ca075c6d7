//! What an answer means: an answer indeed, a request to come back later, or a refusal.

use std::time::Duration;

use serde_json::Value;
use spinney_core::{Secret, Timestamp};

use crate::patience::Later;

/// What GitHub asks for when it does not say how long its secondary limit lasts.
const SECONDARY_LIMIT: Duration = Duration::from_secs(60);

/// An answer as it came.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Reply {
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    /// Whether a list goes on behind this page.
    #[must_use]
    pub fn has_next_page(&self) -> bool {
        self.header("link").is_some_and(|link| link.contains("rel=\"next\""))
    }

    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub fn json(&self) -> Result<Value, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }

    /// Why to come back later, if the answer says so.
    pub(crate) fn later(&self) -> Option<Later> {
        match self.status {
            400 if self.is_over_linears_limit() => {
                Some(Later::RateLimited(self.linears_limit().unwrap_or(SECONDARY_LIMIT)))
            }
            403 | 429 => self.rate_limit().map(Later::RateLimited),
            408 | 500..600 => {
                Some(Later::Outage { detail: format!("status {}", self.status), after: self.retry_after() })
            }
            _ => None,
        }
    }

    /// How long to wait where this refuses only because there were too many requests.
    fn rate_limit(&self) -> Option<Duration> {
        if let Some(after) = self.retry_after().or_else(|| self.said_retry_after()) {
            return Some(after);
        }
        if self.limit_header("remaining") == Some(0) {
            let reset = Timestamp::from_millisecond(self.limit_header("reset")?.saturating_mul(1000));
            let ahead = u64::try_from(reset.as_millisecond() - Timestamp::now().as_millisecond()).unwrap_or(0);
            // A second more, for clocks that differ.
            return Some(Duration::from_millis(ahead) + Duration::from_secs(1));
        }
        let limited = self.status == 429 || self.said(None).to_lowercase().contains("rate limit");
        limited.then_some(SECONDARY_LIMIT)
    }

    /// Linear refuses with 400, and tells why among the errors.
    fn is_over_linears_limit(&self) -> bool {
        let errors = self.json().ok().and_then(|value| value["errors"].as_array().cloned()).unwrap_or_default();
        errors.iter().any(|error| error["extensions"]["code"] == "RATELIMITED")
    }

    /// Linear counts requests and what they cost, each until a time of its own, in milliseconds.
    fn linears_limit(&self) -> Option<Duration> {
        if let Some(after) = self.retry_after() {
            return Some(after);
        }
        let spent = ["requests", "complexity"]
            .into_iter()
            .filter(|of| self.limit_header(&format!("{of}-remaining")).is_some_and(|remaining| remaining <= 0));
        let reset = spent.filter_map(|of| self.limit_header(&format!("{of}-reset"))).max()?;
        let ahead = reset.saturating_sub(Timestamp::now().as_millisecond());
        // A second more, for clocks that differ.
        Some(Duration::from_millis(u64::try_from(ahead).unwrap_or(0)) + Duration::from_secs(1))
    }

    fn retry_after(&self) -> Option<Duration> {
        self.header("retry-after")?.parse().ok().map(Duration::from_secs)
    }

    /// Discord's answer says it itself, in parts of a second; Telegram's among its `parameters`.
    fn said_retry_after(&self) -> Option<Duration> {
        let answer = self.json().ok()?;
        let seconds = answer["retry_after"].as_f64().or_else(|| answer["parameters"]["retry_after"].as_f64())?;
        Duration::try_from_secs_f64(seconds).ok()
    }

    /// GitHub and Forgejo write `x-ratelimit-…`, GitLab `ratelimit-…`.
    fn limit_header(&self, name: &str) -> Option<i64> {
        let value = self.header(&format!("x-ratelimit-{name}")).or_else(|| self.header(&format!("ratelimit-{name}")));
        value?.parse().ok()
    }

    /// The server's own words about a refusal, without the token.
    #[must_use]
    pub fn said(&self, token: Option<&Secret>) -> String {
        let mut said = Vec::new();
        if let Ok(value) = self.json() {
            for key in ["message", "error", "error_description", "errors"] {
                collect(&value[key], &mut said);
            }
        }
        let said = said.join("; ");
        token.map_or_else(|| said.clone(), |token| token.redact(&said))
    }
}

/// The texts of a value. GitHub's list of errors has `message` among other keys, GitLab's object a list for each field.
fn collect(value: &Value, said: &mut Vec<String>) {
    match value {
        Value::String(text) => said.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| collect(item, said)),
        Value::Object(fields) => match fields.get("message") {
            Some(message) => collect(message, said),
            None => {
                for (field, value) in fields {
                    let mut texts = Vec::new();
                    collect(value, &mut texts);
                    said.push(format!("{field} {}", texts.join(", ")));
                }
            }
        },
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reply(status: u16, headers: &[(&str, &str)], body: &str) -> Reply {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Reply { status, headers, body: body.into() }
    }

    fn seconds(reply: &Reply) -> u64 {
        match reply.later() {
            Some(Later::RateLimited(after)) => after.as_secs(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn limits_tell_how_long_to_wait() {
        assert_eq!(seconds(&reply(429, &[("retry-after", "7")], "")), 7);
        assert_eq!(seconds(&reply(403, &[("retry-after", "7"), ("x-ratelimit-remaining", "0")], "")), 7);
        let reset = (Timestamp::now().as_millisecond() / 1000 + 100).to_string();
        for prefix in ["x-ratelimit", "ratelimit"] {
            let headers = [(&*format!("{prefix}-remaining"), "0"), (&*format!("{prefix}-reset"), &*reset)];
            assert!((99..=101).contains(&seconds(&reply(403, &headers, ""))), "{prefix}");
        }
        let past = reply(403, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1")], "");
        assert_eq!(seconds(&past), 1);
        assert_eq!(seconds(&reply(403, &[], r#"{"message":"You have exceeded a secondary rate limit."}"#)), 60);
        assert_eq!(seconds(&reply(429, &[], "slow down")), 60);
        assert_eq!(seconds(&reply(429, &[], r#"{"retry_after":3.5,"global":false}"#)), 3);
        assert_eq!(seconds(&reply(429, &[], r#"{"ok":false,"parameters":{"retry_after":5}}"#)), 5);
        for odd in [r#"{"retry_after":-1}"#, r#"{"retry_after":1e300}"#, r#"{"retry_after":"5"}"#] {
            assert_eq!(seconds(&reply(429, &[], odd)), 60, "{odd}");
        }
    }

    #[test]
    fn linears_limit_is_a_bad_request() {
        let limited = r#"{"errors":[{"message":"Rate limit exceeded","extensions":{"code":"RATELIMITED"}}]}"#;
        assert_eq!(seconds(&reply(400, &[], limited)), 60);
        assert_eq!(seconds(&reply(400, &[("retry-after", "7")], limited)), 7);
        let reset = |seconds: i64| (Timestamp::now().as_millisecond() + seconds * 1000).to_string();
        let (requests, complexity) = (reset(100), reset(300));
        let headers = |requests_left, complexity_left| {
            [
                ("x-ratelimit-requests-remaining", requests_left),
                ("x-ratelimit-requests-reset", requests.as_str()),
                ("x-ratelimit-complexity-remaining", complexity_left),
                ("x-ratelimit-complexity-reset", complexity.as_str()),
            ]
        };
        assert!((99..=101).contains(&seconds(&reply(400, &headers("0", "12"), limited))));
        assert!((299..=301).contains(&seconds(&reply(400, &headers("12", "0"), limited))));
        assert!((299..=301).contains(&seconds(&reply(400, &headers("0", "0"), limited))));
        let wrong = r#"{"errors":[{"message":"no such field","extensions":{"code":"GRAPHQL_VALIDATION_FAILED"}}]}"#;
        assert!(reply(400, &headers("0", "0"), wrong).later().is_none());
    }

    #[test]
    fn a_refusal_is_no_limit() {
        let forbidden = r#"{"message":"Resource not accessible by personal access token"}"#;
        assert!(reply(403, &[("x-ratelimit-remaining", "12")], forbidden).later().is_none());
        for status in [200, 301, 400, 401, 404, 409, 422] {
            assert!(reply(status, &[("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1")], "").later().is_none());
        }
    }

    #[test]
    fn every_forges_words_are_found() {
        for (body, said) in [
            (
                r#"{"message":"Validation Failed","errors":[{"resource":"PullRequest","code":"custom","message":"exists"}]}"#,
                "Validation Failed; exists",
            ),
            (r#"{"message":"Validation Failed","errors":["a","b"]}"#, "Validation Failed; a; b"),
            (r#"{"message":{"base":["is missing","is odd"]}}"#, "base is missing, is odd"),
            (r#"{"message":["Another open merge request"]}"#, "Another open merge request"),
            (
                r#"{"error":"invalid_token","error_description":"Token was revoked."}"#,
                "invalid_token; Token was revoked.",
            ),
            ("<html>", ""),
        ] {
            assert_eq!(reply(422, &[], body).said(None), said);
        }
        let echo = reply(422, &[], r#"{"message":"no such s3cret"}"#);
        assert_eq!(echo.said(Some(&Secret::new("s3cret"))), "no such ***");
    }

    proptest! {
        #[test]
        fn any_header_is_handled(status in 200u16..600, value in ".{0,30}") {
            for name in ["retry-after", "x-ratelimit-remaining", "x-ratelimit-reset", "link"] {
                let headers = [(name, &*value), ("ratelimit-remaining", "0"), ("ratelimit-reset", &*value)];
                let _ = reply(status, &headers, "{}").later();
            }
        }
    }
}
