//! The browser that the dashboard's tests run, and its driver.

use std::env;
use std::path::PathBuf;

use crate::agents::Programs;
use crate::packages;

/// Each variable that names a program to the tests, and what the program may be called.
const PROGRAMS: [(&str, &[&str]); 2] = [
    ("SPINNEY_TEST_CHROMIUM", &["chromium", "chromium-browser", "google-chrome"]),
    ("SPINNEY_TEST_CHROMEDRIVER", &["chromedriver"]),
];

/// Whether both are there.
pub fn is_there() -> bool {
    find().len() == PROGRAMS.len()
}

/// Those that the caller's environment names, or else those on `PATH`.
pub fn find() -> Programs {
    let programs = PROGRAMS.iter().filter_map(|(variable, names)| {
        let named = env::var_os(variable).map(PathBuf::from);
        let program = named.or_else(|| names.iter().find_map(|name| packages::find(name)))?;
        Some((*variable, program))
    });
    programs.collect()
}
