//! Where a conversation is on Slack.

use serde::{Deserialize, Serialize};

use crate::Place;
use crate::http::bounds;

/// A channel, and a thread there; none for commands, which are written outside of threads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Address {
    pub team: String,
    pub channel: String,
    pub thread: Option<String>,
}

impl Address {
    /// An address of ids as Slack has them; none for any other.
    pub fn new(team: &str, channel: &str, thread: Option<&str>) -> Option<Self> {
        let is_right = bounds::is_id(team) && bounds::is_id(channel) && thread.is_none_or(is_time);
        let thread = thread.map(str::to_owned);
        is_right.then(|| Self { team: team.to_owned(), channel: channel.to_owned(), thread })
    }

    /// `C1:17.1`, as others name it too: a token is of one team, and its channels have ids of their own.
    pub fn conversation(&self) -> String {
        match &self.thread {
            Some(thread) => format!("{}:{thread}", self.channel),
            None => self.channel.clone(),
        }
    }

    pub fn place(&self) -> Place {
        Place(serde_json::json!(self))
    }

    pub fn of(place: &Place) -> Option<Self> {
        serde_json::from_value(place.0.clone()).ok()
    }
}

/// Whether a text is a message's time, which is its id: `1700000000.000100`.
fn is_time(text: &str) -> bool {
    let is_number = |part: &str| (1..=20).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once('.').is_some_and(|(seconds, part)| is_number(seconds) && is_number(part))
}
