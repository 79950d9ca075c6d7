//! What a person says of a workspace instead of its name: the number or address of an issue or pull request, or a part of
//! the name.
//!
//! A part must be in the name or branch of one workspace alone. Nothing is ever found by likeness: what is merely like a
//! name is only suggested.

use spinney_core::work::parse_number;
use spinney_core::work_address::WorkAddress;
use spinney_core::{Repository, Work, WorkKind, Workspace};
use spinney_store::Connection;

use crate::Result;

/// A shorter part is in too many names.
const SHORTEST_PART: usize = 3;

/// What a text can say beside a whole name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Spoken {
    Number(String),
    Address(WorkAddress),
    Part(String),
}

impl Spoken {
    /// Reads a text; none where it can only be a whole name.
    pub fn read(text: &str) -> Option<Self> {
        let number = text.strip_prefix('#').unwrap_or(text);
        if parse_number(number).is_ok() {
            return Some(Self::Number(number.to_owned()));
        }
        if let Some(address) = WorkAddress::parse(text) {
            return Some(Self::Address(address));
        }
        (text.chars().count() >= SHORTEST_PART).then(|| Self::Part(text.to_lowercase()))
    }

    /// Those of some workspaces that are meant.
    pub async fn select(
        &self,
        db: &mut Connection,
        repositories: &[Repository],
        rows: Vec<Workspace>,
    ) -> Result<Vec<Workspace>> {
        let mut meant = Vec::new();
        for row in rows {
            let is_meant = match self {
                Self::Part(part) => has_part(&row, part),
                Self::Number(number) => is_for(db, &row, |work| is_numbered(work, number)).await?,
                Self::Address(address) => {
                    let of_it = |known: &Repository| known.id == row.repository_id && address.is_of(known);
                    repositories.iter().any(of_it) && is_for(db, &row, |work| is_at(work, address)).await?
                }
            };
            if is_meant {
                meant.push(row);
            }
        }
        Ok(meant)
    }
}

fn has_part(row: &Workspace, part: &str) -> bool {
    [row.name.as_str(), row.branch.as_str()].iter().any(|name| is_part(&name.to_lowercase(), part))
}

/// Whether a name has a part that cuts no number in two: `issue-4` is no part of `issue-42`.
fn is_part(name: &str, part: &str) -> bool {
    let is_digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
    name.match_indices(part).any(|(at, found)| {
        let (before, after) = (name[..at].chars().next_back(), name[at + found.len()..].chars().next());
        let cuts_before = is_digit(before) && is_digit(part.chars().next());
        let cuts_after = is_digit(part.chars().next_back()) && is_digit(after);
        !cuts_before && !cuts_after
    })
}

fn is_numbered(work: &Work, number: &str) -> bool {
    matches!(work.kind, WorkKind::Issue | WorkKind::Pr | WorkKind::Review) && work.key == number
}

/// A pull request's page means its review too.
fn is_at(work: &Work, address: &WorkAddress) -> bool {
    let is_review = work.kind == WorkKind::Review && address.work.kind == WorkKind::Pr;
    *work == address.work || (is_review && work.key == address.work.key)
}

/// Whether any work of a workspace is so: one in the trash has only that it was made for.
async fn is_for(db: &mut Connection, row: &Workspace, is_so: impl Fn(&Work) -> bool) -> Result<bool> {
    if is_so(&row.work) {
        return Ok(true);
    }
    Ok(row.status.is_of_work() && db.works_of(&row.id).await?.iter().any(is_so))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_a_number_an_address_or_a_part() {
        assert_eq!(Spoken::read("42"), Some(Spoken::Number("42".to_owned())));
        assert_eq!(Spoken::read("#42"), Some(Spoken::Number("42".to_owned())));
        assert!(matches!(Spoken::read("https://github.com/acme/app/pull/9"), Some(Spoken::Address(_))));
        assert_eq!(Spoken::read("Dark"), Some(Spoken::Part("dark".to_owned())));
        assert_eq!(Spoken::read("ab"), None);
    }

    #[test]
    fn a_part_cuts_no_number() {
        assert!(is_part("task-add-dark-mode", "dark"));
        assert!(is_part("issue-42", "sue-42"));
        assert!(!is_part("issue-42", "issue-4"));
        assert!(!is_part("issue-142", "42"));
        assert!(is_part("x-4-issue-42-issue-4", "issue-4"), "another place fits");
    }
}
