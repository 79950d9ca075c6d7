//! What exactly is wrong with a payload that was verified and can't be read.

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use ring::digest;
use serde::de::DeserializeOwned;
use spinney_core::ignored::quoted;
use spinney_core::{IgnoreReason, Platform};

use crate::Ignored;

/// What stands before the name in the message of serde.
const MISSING: &str = "missing field `";
/// How much of a digest names a payload that has no id.
const ID_BYTES: usize = 16;

/// Reads a payload, or tells the field that is in the way.
pub(crate) fn read<T: DeserializeOwned>(payload: &str, body: &[u8]) -> Result<T, IgnoreReason> {
    let mut text = serde_json::Deserializer::from_slice(body);
    serde_path_to_error::deserialize(&mut text).map_err(|error| {
        let path = error.path().to_string();
        // What is no JSON has no fields.
        let path = if path == "." || !error.inner().is_data() { String::new() } else { path };
        let message = error.inner().to_string();
        let missing = message.strip_prefix(MISSING).and_then(|rest| rest.split_once('`'));
        let field = match missing {
            Some((name, _)) if path.is_empty() => name.to_owned(),
            Some((name, _)) => format!("{path}.{name}"),
            None => path,
        };
        malformed(payload, Some(&field).filter(|field| !field.is_empty()).map(String::as_str), missing.is_some())
    })
}

/// A payload with a field that is missing, or whose value is not valid.
pub(crate) fn malformed(payload: &str, field: Option<&str>, is_missing: bool) -> IgnoreReason {
    IgnoreReason::Malformed { payload: quoted(payload), field: field.map(quoted), is_missing }
}

/// What came with a content type that is not read.
pub(crate) fn content_type(headers: &HeaderMap) -> IgnoreReason {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    IgnoreReason::ContentType { given: quoted(given) }
}

/// What could not be read at all. It is named by its content, so that it counts once.
pub(crate) fn unread(platform: Platform, body: &[u8], reason: IgnoreReason) -> Ignored {
    let digest = digest::digest(&digest::SHA256, body);
    let delivery = format!("body:{}", ::hex::encode(&digest.as_ref()[..ID_BYTES]));
    Ignored { platform, delivery, conversation: String::new(), author: String::new(), reason }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Outer {
        #[expect(dead_code, reason = "it is only read")]
        inner: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    struct Inner {
        #[expect(dead_code, reason = "it is only read")]
        id: u64,
    }

    #[test]
    fn the_field_is_named_with_its_way() {
        let fault = |body: &str| read::<Outer>("x", body.as_bytes()).unwrap_err();
        assert_eq!(fault("{}"), malformed("x", Some("inner"), true));
        assert_eq!(fault(r#"{"inner":[{"id":1},{}]}"#), malformed("x", Some("inner[1].id"), true));
        assert_eq!(fault(r#"{"inner":[{"id":"1"}]}"#), malformed("x", Some("inner[0].id"), false));
        assert_eq!(fault("{"), malformed("x", None, false));
    }
}
