//! What we take for a branch's name, or make one of, git takes for one too.

use std::process::Command;

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use spinney_core::BranchName;
use spinney_core::names::slug;

/// Whether git takes a text for a branch's name.
#[expect(clippy::disallowed_methods, reason = "plain git, beside the wrapper that is tested")]
fn is_git_branch(name: &str) -> bool {
    let check = Command::new(crate::common::program()).args(["check-ref-format", "--branch", name]).output().unwrap();
    check.status.success() && check.stdout == format!("{name}\n").as_bytes()
}

/// A process for each case: fewer of them than elsewhere.
fn few() -> TestRunner {
    let config = ProptestConfig::default();
    TestRunner::new(ProptestConfig { cases: (config.cases / 4).max(1), failure_persistence: None, ..config })
}

#[test]
fn git_takes_every_name_that_we_take() {
    let text = "([a-zA-Z0-9é日-]{1,4}[._/@+{}-]?){1,5}(\\.lock|/HEAD|@)?";
    let asked = few().run(&text, |text| {
        prop_assert!(text.parse::<BranchName>().is_err() || is_git_branch(&text), "{text}");
        Ok(())
    });
    asked.unwrap();
}

#[test]
fn git_takes_every_name_that_we_make() {
    let asked = few().run(&"(?s).{1,60}", |text| {
        if let Some(slug) = slug(&text, 40) {
            prop_assert!(is_git_branch(&slug), "{slug}");
        }
        Ok(())
    });
    asked.unwrap();
}
