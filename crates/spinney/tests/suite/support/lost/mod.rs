//! What the tests about lost work share: kinds of content with a token each, and the search for tokens.

pub mod inside;
pub mod kinds;
pub mod mount;
pub mod tokens;
pub mod work;

pub use work::Work;
