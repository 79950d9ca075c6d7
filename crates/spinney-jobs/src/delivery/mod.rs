//! Delivery: what a workspace holds goes to its remote, and is offered as a pull request.
//!
//! A job delivers what its agent did ([`crate::runner`]), and a person what they name ([`wish`]). Both ask here whose a branch
//! is ([`branch`]), what must not leave the machine unseen ([`held`]), for what it is called ([`subject`]), and for the
//! pull request ([`offer`]).

pub(crate) mod branch;
pub(crate) mod held;
pub(crate) mod offer;
pub(crate) mod subject;
mod wish;

pub use wish::{Delivered, NoOffer, Offer, OfferWish, PushState, Wish, deliver};

use std::path::Path;

/// A path for people.
pub(crate) fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}
