//! What keeps jobs in order: what died is settled, what is old is forgotten, what is not good is told.

mod beside;
pub(crate) mod doctor;
mod leftovers;
pub(crate) mod orphans;
pub(crate) mod outage;
pub(crate) mod retention;
pub(crate) mod sweep;
