//! What is said, before any platform's markup. Every adapter writes it in its own, and escapes what others wrote.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use spinney_core::names::visible;

/// A message: spans in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message(pub Vec<Span>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Span {
    /// Shown as it is, whatever is in it.
    Plain(String),
    Strong(String),
    /// Names, branches, commits, commands.
    Code(String),
    /// A link with a text; both may be hostile.
    Link {
        text: String,
        url: String,
    },
    /// Lines in a fixed width.
    Block(String),
    /// What an agent says, in Markdown: formatted where the platform can, and never able to call anybody.
    Prose(String),
    Break,
}

/// Somebody else's text may turn what follows it around, on every platform.
fn shown(text: impl Into<String>) -> String {
    let text = text.into();
    match visible(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(shown) => shown,
    }
}

impl Message {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn plain(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Plain(shown(text)));
        self
    }

    #[must_use]
    pub fn strong(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Strong(shown(text)));
        self
    }

    #[must_use]
    pub fn code(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Code(shown(text)));
        self
    }

    #[must_use]
    pub fn link(mut self, text: impl Into<String>, url: impl Into<String>) -> Self {
        self.0.push(Span::Link { text: shown(text), url: shown(url) });
        self
    }

    #[must_use]
    pub fn block(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Block(shown(text)));
        self
    }

    #[must_use]
    pub fn prose(mut self, text: impl Into<String>) -> Self {
        self.0.push(Span::Prose(shown(text)));
        self
    }

    /// A new line.
    #[must_use]
    pub fn line(mut self) -> Self {
        self.0.push(Span::Break);
        self
    }

    #[must_use]
    pub fn then(mut self, mut other: Self) -> Self {
        self.0.append(&mut other.0);
        self
    }

    /// A sentence of ours, in which backticks stand around names: `why` and the other words are written so.
    #[must_use]
    pub fn sentence(mut self, text: &str) -> Self {
        for (index, part) in text.split('`').enumerate() {
            if !part.is_empty() {
                let part = shown(part);
                self.0.push(if index % 2 == 0 { Span::Plain(part) } else { Span::Code(part) });
            }
        }
        self
    }
}
