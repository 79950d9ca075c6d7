//! Which conversation a job goes on with.
