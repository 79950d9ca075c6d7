//! What a forge can get into.

use std::time::{Duration, SystemTime};

use serde_json::json;

use crate::http::Response;

/// What happens to a request instead of an ordinary answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// Answered with this status, and no more.
    Status(u16),
    /// Refused with this status and `Retry-After` in seconds.
    RetryAfter(u16, u64),
    /// Refused because there were too many requests, with the time at which they are counted anew.
    LimitReached(Duration),
    /// Refused as GitHub does when requests come too fast, without a time.
    SecondaryLimit,
    /// Refused for good, in these words.
    Forbidden(String),
    /// The connection closes before anything is done.
    Dropped,
    /// All is done, and the connection closes without the answer.
    AnswerLost,
    /// No answer ever comes.
    Stalled,
    /// Somebody else opens a pull request from the same branch just before.
    Rival,
    /// Redirected to this address.
    Redirected(u16, String),
    /// Answered with something else than JSON.
    Garbage,
    /// Answered with this many bytes.
    Huge(usize),
}

impl Trouble {
    /// The answer, for those that are one.
    pub(crate) fn response(&self) -> Option<Response> {
        let refusal = |status: &str, headers: &[String], words: &str| {
            Some(Response::json(
                status,
                headers,
                &json!({ "message": words, "documentation_url": "https://docs.example" }),
            ))
        };
        match self {
            Self::Status(status) => {
                Some(Response::text(&format!("{status} Trouble"), &[], "<html>down</html>".to_owned()))
            }
            Self::RetryAfter(status, seconds) => {
                refusal(&format!("{status} Trouble"), &[format!("Retry-After: {seconds}")], "Too many requests")
            }
            Self::LimitReached(ahead) => {
                let reset = (SystemTime::now() + *ahead).duration_since(SystemTime::UNIX_EPOCH);
                let reset = reset.expect("the clock is set").as_secs();
                let headers = ["X-RateLimit-Remaining: 0".to_owned(), format!("X-RateLimit-Reset: {reset}")];
                refusal("403 Forbidden", &headers, "API rate limit exceeded for user ID 1.")
            }
            Self::SecondaryLimit => {
                let words = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.";
                refusal("403 Forbidden", &[], words)
            }
            Self::Forbidden(words) => refusal("403 Forbidden", &["X-RateLimit-Remaining: 4999".to_owned()], words),
            Self::Redirected(status, address) => {
                refusal(&format!("{status} Moved"), &[format!("Location: {address}")], "Moved")
            }
            Self::Garbage => Some(Response::text("200 OK", &[], "<html>Please log in</html>".to_owned())),
            Self::Huge(bytes) => Some(Response::text("200 OK", &[], "x".repeat(*bytes))),
            Self::Dropped | Self::AnswerLost | Self::Stalled | Self::Rival => None,
        }
    }
}
