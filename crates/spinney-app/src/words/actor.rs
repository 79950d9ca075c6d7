//! Who did something, in words.

use spinney_core::Actor;

/// `token ci from 10.0.0.7`; nothing where nobody knows.
#[must_use]
pub fn actor(actor: &Actor) -> String {
    actor.to_string()
}
