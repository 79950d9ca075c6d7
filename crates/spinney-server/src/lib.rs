//! The daemon: an API and a dashboard over what the engine and the jobs do, for people and programs of several accounts.
