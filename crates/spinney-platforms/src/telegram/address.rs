//! Where a conversation is on Telegram: a chat, or a topic of a group that has them.

use serde::{Deserialize, Serialize};

use crate::Place;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Address {
    pub chat: i64,
    pub topic: Option<i64>,
}

impl Address {
    pub fn conversation(self) -> String {
        match self.topic {
            Some(topic) => format!("{}:{topic}", self.chat),
            None => self.chat.to_string(),
        }
    }

    pub fn place(self) -> Place {
        Place(serde_json::json!(self))
    }

    pub fn of(place: &Place) -> Option<Self> {
        serde_json::from_value(place.0.clone()).ok()
    }
}
