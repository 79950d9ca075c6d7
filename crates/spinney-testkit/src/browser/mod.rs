//! A real browser, for what only a browser can tell.

mod driver;
mod page;
#[cfg(test)]
mod tests;

pub use fantoccini::key::Key;
pub use page::{Browser, ColorScheme, ConsoleEntry, Window};
