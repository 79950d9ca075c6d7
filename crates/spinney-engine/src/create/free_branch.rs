//! A name from a pattern never takes somebody's branch: where it is taken, here, at the remote or by a workspace that is
//! just being made, a number follows.

use spinney_core::names::{MAX_GENERATED_BYTES, shorten};
use spinney_core::{BranchName, Workspace};
use spinney_git::Wanted;

use crate::repositories::context::Context;
use crate::resolve::lookup::Among;
use crate::{Engine, Error, Result};

/// More of one name than any repository has.
const MOST_NUMBERS: u32 = 1000;

/// How a name stands to others.
enum Availability {
    Free,
    /// Another number may be free.
    Taken,
    /// A branch is where all numbers of this name need a directory.
    Impossible {
        existing: String,
    },
}

impl Engine {
    /// The first free name of a pattern's: itself, else the same with `-2`, `-3` and so on.
    pub(crate) async fn free_branch(
        &self,
        context: &Context,
        pattern: &BranchName,
        remote: Option<&str>,
    ) -> Result<BranchName> {
        let live = self.workspaces(Some(&context.repository.id), Among::Live).await?;
        for number in 1..=MOST_NUMBERS {
            let branch = numbered(pattern, number)?;
            match standing(context, &branch, remote, &live).await? {
                Availability::Free => return Ok(branch),
                Availability::Taken => {}
                Availability::Impossible { existing } => return Err(Error::BranchConflict { branch, existing }),
            }
        }
        Err(Error::NoFreeBranch { pattern: pattern.clone() })
    }
}

async fn standing(
    context: &Context,
    branch: &BranchName,
    remote: Option<&str>,
    live: &[Workspace],
) -> Result<Availability> {
    let existing = match context.branch_conflict(branch).await? {
        Some(existing) => Some(existing),
        None => live.iter().map(|row| row.branch.as_str()).find(|other| is_beside(branch, other)).map(str::to_owned),
    };
    if let Some(existing) = existing {
        let above = branch.as_str().starts_with(&format!("{existing}/"));
        return Ok(if above { Availability::Impossible { existing } } else { Availability::Taken });
    }
    if context.load_branch(branch).await?.is_some() {
        return Ok(Availability::Taken);
    }
    if let Some(remote) = remote {
        let wanted = Wanted { branches: vec![branch.clone()], ..Wanted::default() };
        let said = context.load_known(remote, &wanted).is_some_and(|known| known.missing.is_empty());
        if said || context.is_taken_at(remote, branch).await? {
            return Ok(Availability::Taken);
        }
    }
    Ok(Availability::Free)
}

/// Whether a branch can't stand beside another: it is the same, or one would be a directory of the other.
fn is_beside(branch: &BranchName, other: &str) -> bool {
    let branch = branch.as_str();
    branch == other || branch.starts_with(&format!("{other}/")) || other.starts_with(&format!("{branch}/"))
}

fn numbered(pattern: &BranchName, number: u32) -> Result<BranchName> {
    if number == 1 {
        return Ok(pattern.clone());
    }
    let name = shorten(&format!("{pattern}-{number}"), MAX_GENERATED_BYTES);
    name.parse().map_err(|_| Error::NoFreeBranch { pattern: pattern.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_apart_though_the_name_is_long() {
        let pattern: BranchName = format!("agent/{}", "x".repeat(94)).parse().unwrap();
        let (second, third) = (numbered(&pattern, 2).unwrap(), numbered(&pattern, 3).unwrap());
        assert!(second != third && second.as_str().len() <= MAX_GENERATED_BYTES);
        let short: BranchName = "a/b".parse().unwrap();
        assert_eq!(numbered(&short, 2).unwrap().as_str(), "a/b-2");
    }
}
