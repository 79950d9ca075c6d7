//! The runtimes, one a file.
