//! What the daemon tells as it happens.

mod events;
