//! The browser that the dashboard's tests run, and its driver.

use std::env;
use std::path::PathBuf;

use crate::agents::Programs;
use crate::packages;

/// Each variable that names a program to the tests, what the program may be called, and the package it is in.
const PROGRAMS: [(&str, &[&str], &str); 2] = [
    ("SPINNEY_TEST_CHROMIUM", &["chromium", "chromium-browser", "google-chrome"], "chromium"),
    ("SPINNEY_TEST_CHROMEDRIVER", &["chromedriver"], "chromium-driver"),
];

/// Finds them, and installs Debian's packages where one is missing. Tests in a browser fail where they can't be had.
pub fn provide() -> Programs {
    let found = find();
    if found.len() == PROGRAMS.len() {
        return found;
    }
    let packages = PROGRAMS.map(|(_, _, package)| package);
    if let Err(error) = packages::install("Chromium", &packages) {
        println!("== tests in a browser will fail: {error:#}\n");
    }
    find()
}

/// Those that the caller's environment names, or else those on `PATH`.
fn find() -> Programs {
    let programs = PROGRAMS.iter().filter_map(|(variable, names, _)| {
        let named = env::var_os(variable).map(PathBuf::from);
        let program = named.or_else(|| names.iter().find_map(|name| packages::find(name)))?;
        Some((*variable, program))
    });
    programs.collect()
}
