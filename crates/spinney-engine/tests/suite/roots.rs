//! The root of a crate's sources is a plan that can be read at a glance: folders by the words of `docs/GLOSSARY.md`, and few files.

use std::fs;
use std::path::Path;

const MOST_ENTRIES: usize = 20;

#[test]
fn no_crate_has_a_long_list_at_its_root() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (mut counted, mut long) = (0, Vec::new());
    for entry in fs::read_dir(crates).unwrap() {
        let root = entry.unwrap().path().join("src");
        let Ok(entries) = fs::read_dir(&root) else { continue };
        let entries = entries.count();
        counted += 1;
        if entries > MOST_ENTRIES {
            long.push(format!("{}: {entries} entries", root.display()));
        }
    }
    assert!(counted > 8, "the sources are not where they were: {counted} crates were read");
    assert!(long.is_empty(), "move what belongs together into a folder:\n{}", long.join("\n"));
}

#[test]
fn each_library_begins_with_an_example_that_runs() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (mut counted, mut without) = (0, Vec::new());
    for entry in fs::read_dir(crates).unwrap() {
        let library = entry.unwrap().path().join("src/lib.rs");
        let Ok(text) = fs::read_to_string(&library) else { continue };
        counted += 1;
        // The first fence opens the example; one with a word behind it is not run.
        let introduction = text.lines().take_while(|line| line.starts_with("//!"));
        if introduction.into_iter().find(|line| line.starts_with("//! ```")) != Some("//! ```") {
            without.push(library.display().to_string());
        }
    }
    assert!(counted > 8, "the sources are not where they were: {counted} libraries were read");
    assert!(without.is_empty(), "add an example to the introduction:\n{}", without.join("\n"));
}
