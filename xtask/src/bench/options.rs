//! What `cargo xtask bench` was asked for.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};

use super::PARTS;
use super::measure::Rounds;

#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// Measure on a copy of this repository instead of a generated one.
    pub repository: Option<PathBuf>,
    /// Names of parts; all of them when empty.
    pub rows: Vec<String>,
    pub rounds: Rounds,
    /// Measure this program instead of the one built from here.
    pub spinney: Option<PathBuf>,
    /// Where the results go; none: beside what cargo builds.
    pub out: Option<PathBuf>,
    /// Whether file systems may be mounted.
    pub images: bool,
}

const ROUNDS: usize = 5;

impl Options {
    pub fn parse(arguments: &[&str]) -> Result<Self> {
        let rounds = Rounds::new(ROUNDS);
        let mut options = Self { repository: None, rows: Vec::new(), rounds, spinney: None, out: None, images: true };
        let mut rest = arguments.iter();
        while let Some(flag) = rest.next() {
            if *flag == "--no-images" {
                options.images = false;
                continue;
            }
            let value = rest.next().with_context(|| format!("`{flag}` needs a value"));
            match *flag {
                "--repo" => options.repository = Some(existing(value?)?),
                "--spinney" => options.spinney = Some(existing(value?)?),
                "--rows" => options.rows = value?.split(',').map(part).collect::<Result<_>>()?,
                "--rounds" => {
                    let slow = value?.parse().ok().filter(|slow| *slow > 0).context("`--rounds` needs a number")?;
                    options.rounds = Rounds::new(slow);
                }
                "--out" => options.out = Some(value?.into()),
                _ => bail!("there is no `{flag}`: `cargo xtask help` tells what there is"),
            }
        }
        Ok(options)
    }

    pub fn wants(&self, part: &str) -> bool {
        self.rows.is_empty() || self.rows.iter().any(|name| name == part)
    }
}

/// A path that there is, absolute.
fn existing(path: &str) -> Result<PathBuf> {
    PathBuf::from(path).canonicalize().with_context(|| format!("there is no {path}"))
}

/// The name of a part that there is.
fn part(name: &str) -> Result<String> {
    let names: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
    if !names.contains(&name) {
        bail!("there are no rows `{name}`: only {}", names.join(", "));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_option_is_read() {
        let all = Options::parse(&[]).unwrap();
        assert_eq!((all.rounds, all.images, all.out.as_ref()), (Rounds { slow: 5, fast: 30 }, true, None));
        assert!(all.wants("cold") && all.wants("many"));
        let some =
            Options::parse(&["--rows", "cold,rm", "--rounds", "2", "--out", "results", "--no-images", "--repo", "/"])
                .unwrap();
        assert!(some.wants("cold") && some.wants("rm") && !some.wants("many") && !some.images);
        assert_eq!((some.rounds.fast, some.out, some.repository), (12, Some("results".into()), Some("/".into())));
        for wrong in [
            &["--rows"][..],
            &["--rows", "fast"],
            &["--rounds", "0"],
            &["--repo", "/nonexistent"],
            &["--spinney", "/none"],
            &["--x", "1"],
        ] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
