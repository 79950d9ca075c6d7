//! What takes time, measured. `cargo xtask test` runs these tests behind all others and one at a time.

mod jail;
