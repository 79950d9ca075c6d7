//! Content, settings and state that mean harm.

mod bad_input;
mod false_history;
mod hostile_files;
mod nested_settings;
mod own_settings;
mod shown_names;
mod tampered_state;
