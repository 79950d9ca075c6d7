//! Delivering a workspace: what is pushed is known by its row, and whoever delivers it does so alone.

mod alone;
mod push;

pub use alone::UnderDelivery;
pub use push::Delivery;
