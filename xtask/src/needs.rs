//! What the tests need beside cargo and git: installed at once where that is possible. What can't be had is told in one place,
//! and the tests that need it are left out.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Error, Result, bail};

use crate::packages;
use crate::postgres::Programs;
use crate::{agents, browser, chats, description, mcp, telegram, webhooks};

/// Something of the system, and Debian's packages that have it.
pub struct Need {
    what: &'static str,
    packages: &'static [&'static str],
    is_met: fn() -> bool,
}

/// What a run of the tests needs of the system. What came from npm and PyPI before needs neither again.
pub fn of_tests(wants_agents: bool) -> Vec<Need> {
    let mut needs = vec![
        Need { what: "PostgreSQL", packages: &["postgresql"], is_met: Programs::are_there },
        Need { what: "Chromium", packages: &["chromium", "chromium-driver"], is_met: browser::is_there },
        Need { what: "git-lfs", packages: &["git-lfs"], is_met: || packages::is_there("git-lfs") },
        Need { what: "bubblewrap", packages: &["bubblewrap"], is_met: || packages::is_there("bwrap") },
        // Their completion is tested.
        Need { what: "zsh", packages: &["zsh"], is_met: || packages::is_there("zsh") },
        Need { what: "fish", packages: &["fish"], is_met: || packages::is_there("fish") },
    ];
    // Only root can mount what they make.
    if packages::is_root().unwrap_or(false) {
        needs.push(Need { what: "XFS", packages: &["xfsprogs"], is_met: || packages::is_there("mkfs.xfs") });
        let is_met = || ["mkfs.btrfs", "btrfs"].iter().all(|program| packages::is_there(program));
        needs.push(Need { what: "btrfs", packages: &["btrfs-progs"], is_met });
    }
    let from_npm = [
        description::is_there(),
        webhooks::is_there(),
        telegram::is_there(),
        mcp::is_npm_there(),
        agents::are_there(wants_agents),
    ];
    if from_npm.contains(&false) {
        needs.push(Need { what: "npm", packages: &["npm"], is_met: || packages::is_there("npm") });
    }
    if !chats::is_there() || !mcp::is_python_there() {
        let is_met = || packages::quiet(Command::new("python3").args(["-c", "import venv, ensurepip"]));
        needs.push(Need { what: "Python's venv", packages: &["python3", "python3-venv"], is_met });
    }
    needs
}

/// What could not be had.
#[derive(Debug, Default)]
pub struct Missing {
    packages: Vec<&'static str>,
    /// Why the packages are not installed.
    why: Option<String>,
    /// Each thing, and why it is not there.
    things: Vec<(String, String)>,
}

impl Missing {
    /// Installs what is not there, all in one go; where that fails, each thing for itself, so that one does not keep the others
    /// away.
    pub fn after_installing(needs: &[Need]) -> Self {
        Self::after(needs, packages::means().err(), packages::install)
    }

    fn after(needs: &[Need], may_not: Option<&str>, install: impl Fn(&str, &[&str]) -> Result<()>) -> Self {
        let unmet = || needs.iter().filter(|need| !(need.is_met)()).collect::<Vec<_>>();
        let mut why = may_not.map(str::to_owned);
        if why.is_none() && !unmet().is_empty() {
            let whole: Vec<_> = unmet().iter().map(|need| need.what).collect();
            let packages: Vec<_> = unmet().iter().flat_map(|need| need.packages).copied().collect();
            if install(&whole.join(", "), &packages).is_err() && unmet().len() > 1 {
                for need in unmet() {
                    // What failed is told below.
                    install(need.what, need.packages).ok();
                }
            }
            why = Some("apt-get failed, as is shown above".to_owned());
        }
        let packages: Vec<_> = unmet().iter().flat_map(|need| need.packages).copied().collect();
        let things = unmet().iter().map(|need| (need.what.to_owned(), need.packages.join(" "))).collect();
        Self { why: why.filter(|_| !packages.is_empty()), packages, things }
    }

    /// Something that is fetched, if it could be; else it is noted. What lacks for want of a package is told by the package.
    pub fn note<T>(&mut self, what: &str, provided: Result<T>) -> Option<T> {
        let why = |error: &Error| match error.downcast_ref::<packages::Absent>() {
            Some(absent) => format!("needs {}", absent.what),
            None => format!("{error:#}"),
        };
        provided.map_err(|error| self.things.push((what.to_owned(), why(&error)))).ok()
    }

    pub fn is_empty(&self) -> bool {
        self.things.is_empty()
    }

    /// All of it, with what to do.
    pub fn told(&self) -> String {
        let mut text = String::from("== not here, so that the tests that need it are left out:\n");
        for (what, why) in &self.things {
            text += &format!("     {what} ({why})\n");
        }
        if let Some(why) = &self.why {
            text += &format!("   to run these tests, too: `sudo apt-get install {}`\n", self.packages.join(" "));
            text += &format!("   (not done here: {why})\n");
        }
        text
    }

    /// Tells it. Where nothing may be left out, as in CI, that is an error.
    pub fn tell(&self, is_strict: bool) -> Result<()> {
        match (self.is_empty(), is_strict) {
            (true, _) => {}
            (false, true) => bail!("nothing may be left out in CI\n{}", self.told()),
            (false, false) => println!("{}", self.told()),
        }
        Ok(())
    }
}

/// Whether a variable names it, or it was installed before.
pub fn is_provided(variable: &str, place: Result<PathBuf>) -> bool {
    env::var_os(variable).is_some() || place.is_ok_and(|place| place.exists())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::atomic::{AtomicBool, Ordering};

    use anyhow::anyhow;

    use super::*;

    fn need(what: &'static str, packages: &'static [&'static str], is_met: fn() -> bool) -> Need {
        Need { what, packages, is_met }
    }

    #[test]
    fn nothing_is_asked_of_apt_where_nothing_is_missing() {
        let all_there = Missing::after(&[need("A", &["a"], || true)], None, |_, _| panic!("nothing is to be done"));
        assert!(all_there.is_empty() && all_there.tell(true).is_ok());
    }

    #[test]
    fn where_nothing_may_be_installed_all_packages_are_named_in_one_place() {
        let needs = [need("A", &["a", "a-extra"], || false), need("B", &["b"], || true), need("C", &["c"], || false)];
        let mut missing = Missing::after(&needs, Some("no root"), |_, _| panic!("it may not"));
        assert_eq!(missing.note("the webhooks", Err::<(), _>(anyhow!("no network"))), None);
        assert_eq!(missing.note("the chats", Ok(7)), Some(7));
        let told = missing.told();
        for words in [
            "     A (a a-extra)\n",
            "     the webhooks (no network)\n",
            "`sudo apt-get install a a-extra c`",
            "no root",
        ] {
            assert!(told.contains(words), "{words} is not in {told}");
        }
        assert!(!told.contains("B (") && !told.contains("chats"), "{told}");
        assert!(missing.tell(false).is_ok());
        assert!(missing.tell(true).unwrap_err().to_string().contains("apt-get install a a-extra c"));
    }

    #[test]
    fn one_package_that_is_not_to_be_had_keeps_no_other_away() {
        static HAS_A: AtomicBool = AtomicBool::new(false);
        let asked = RefCell::new(Vec::new());
        let install = |_: &str, packages: &[&str]| {
            asked.borrow_mut().push(packages.join(" "));
            HAS_A.fetch_or(packages == ["a"], Ordering::Relaxed);
            if packages == ["a"] { Ok(()) } else { Err(anyhow!("there is no b")) }
        };
        let needs = [need("A", &["a"], || HAS_A.load(Ordering::Relaxed)), need("B", &["b"], || false)];
        let missing = Missing::after(&needs, None, install);
        assert_eq!(*asked.borrow(), ["a b", "a", "b"]);
        assert!(missing.told().contains("`sudo apt-get install b`"), "{}", missing.told());
    }

    #[test]
    fn what_is_fetched_and_missing_is_told_without_a_package() {
        let mut missing = Missing::after(&[], Some("no root"), |_, _| Ok(()));
        missing.note("the webhooks", Err::<(), _>(anyhow!("no network")));
        assert!(!missing.told().contains("apt-get"), "{}", missing.told());
    }
}
