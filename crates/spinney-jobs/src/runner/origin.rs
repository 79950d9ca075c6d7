//! Whose the files of a workspace are, decided from what was written down: nothing here looks at a disk.

use std::collections::{BTreeMap, BTreeSet};

use spinney_core::config::OnDirty;
use spinney_core::{Began, Brought, CommitId, Identities, JobId, LeftOutReason};
use spinney_engine::Copies;

/// A workspace's files as they are now.
#[derive(Debug, Clone, Default)]
pub(crate) struct Now {
    pub at_ns: i64,
    pub head: Option<CommitId>,
    /// What differs from HEAD.
    pub changed: Identities,
    pub ignored: BTreeMap<String, Option<String>>,
}

/// What is written down before a job's session begins. `previous` is what was written down for the last job in the same
/// workspace, or for an earlier attempt of this one.
pub(crate) fn begin(job: &JobId, now: Now, previous: Option<Began>, brought: &Brought) -> Began {
    let Now { at_ns, head, changed, ignored } = now;
    let mut began = Began {
        job: job.clone(),
        at_ns,
        found: Identities::new(),
        shared: BTreeSet::new(),
        ignored,
        contents: BTreeMap::new(),
        tips: head.iter().cloned().collect(),
        head,
        left: None,
    };
    let previous_found = previous.as_ref().map(|previous| &previous.found);
    for (path, identity) in changed {
        if brought.has_copied(&path) {
            continue;
        }
        match whose(&path, &identity, previous.as_ref()) {
            Whose::Somebodys => drop(began.found.insert(path, identity)),
            Whose::Agents => {
                let was_somebodys = previous_found.is_some_and(|found| found.contains_key(&path));
                if was_somebodys || previous.as_ref().is_some_and(|previous| previous.shared.contains(&path)) {
                    began.shared.insert(path);
                }
            }
            Whose::Both => drop(began.shared.insert(path)),
        }
    }
    if let Some(previous) = previous {
        let goes_on = previous.job == *job && previous.left.as_ref().is_none_or(|left| !left.completed);
        began.tips = tips(&began, &previous, goes_on);
        if goes_on {
            (began.at_ns, began.ignored, began.head) = (previous.at_ns, previous.ignored, previous.head);
        }
    }
    began
}

/// The commits that are to be on the branch when the job is over. What this job's own attempts made, they may rewrite.
fn tips(began: &Began, previous: &Began, goes_on: bool) -> BTreeSet<CommitId> {
    let was_moved = match &previous.left {
        Some(left) => left.head != began.head,
        None => false,
    };
    let mut tips = if goes_on && !was_moved { BTreeSet::new() } else { began.tips.clone() };
    match &previous.left {
        // Its process died: nobody looked whether they were there.
        None => tips.extend(previous.tips.iter().cloned()),
        Some(left) => {
            tips.extend(left.dropped.iter().cloned());
            if goes_on {
                tips.extend(previous.tips.iter().cloned());
            }
        }
    }
    tips
}

enum Whose {
    Somebodys,
    Agents,
    /// An agent left it, and somebody changed it since.
    Both,
}

fn whose(path: &str, identity: &String, previous: Option<&Began>) -> Whose {
    let Some(previous) = previous else { return Whose::Somebodys };
    if previous.found.get(path) == Some(identity) {
        return Whose::Somebodys;
    }
    match &previous.left {
        // Its process died: whoever changed it since, it was changed since its agent began.
        None => Whose::Agents,
        Some(left) => match left.files.get(path) {
            Some(left) if left == identity => Whose::Agents,
            Some(_) => Whose::Both,
            None => Whose::Somebodys,
        },
    }
}

/// What `before_run` changed was there when the session began.
pub(crate) fn add_hooks(began: &mut Began, before: &Identities, after: Identities, brought: &Brought) {
    for (path, identity) in after {
        let is_agents = before.contains_key(&path) && !began.found.contains_key(&path);
        if before.get(&path) != Some(&identity) && !is_agents && !brought.has_copied(&path) {
            began.found.insert(path, identity);
        }
    }
}

/// What becomes of a file that differs from HEAD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is committed; `shared` where somebody else changed it before.
    Taken {
        shared: bool,
    },
    LeftOut(LeftOutReason),
}

/// Decides about one file. `is_older` tells whether it was last written before the job began.
pub(crate) fn fate(
    began: &Began,
    copies: &Copies,
    on_dirty: OnDirty,
    path: &str,
    identity: &String,
    is_older: impl Fn() -> bool,
) -> Fate {
    let content = identity.split_once(' ').map_or("", |(_, content)| content);
    if copies.has(path, content) {
        return Fate::LeftOut(LeftOutReason::Copied);
    }
    let found = began.found.get(path);
    if on_dirty == OnDirty::Commit {
        return Fate::Taken { shared: found.is_some_and(|found| found != identity) };
    }
    if found == Some(identity) || (found.is_none() && was_hidden(began, path, identity, is_older)) {
        return Fate::LeftOut(LeftOutReason::ThereBefore);
    }
    // Another mode makes nobody's content the agent's.
    if found.is_some_and(|found| !content.is_empty() && content_of(found) == Some(content)) {
        return Fate::LeftOut(LeftOutReason::ThereBefore);
    }
    // Somebody's file under another name is still theirs.
    if found.is_none() && is_moved(began, content) {
        return Fate::LeftOut(LeftOutReason::ThereBefore);
    }
    Fate::Taken { shared: found.is_some() || began.shared.contains(path) }
}

/// Whether a content is that of a file which was there before and is no agent's. An empty one says nothing.
fn is_moved(began: &Began, content: &str) -> bool {
    const EMPTY: [&str; 2] = [
        "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
        "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
    ];
    !content.is_empty()
        && !EMPTY.contains(&content)
        && began.found.values().any(|known| content_of(known) == Some(content))
}

fn content_of(identity: &str) -> Option<&str> {
    identity.split_once(' ').map(|(_, content)| content).filter(|content| !content.is_empty())
}

/// Whether somebody's file is gone under its name, and there with the same content under another.
pub(crate) fn is_moved_away(began: &Began, changed: &Identities, path: &str) -> bool {
    let Some(content) = began.found.get(path).and_then(|found| content_of(found)) else { return false };
    let is_gone = changed.get(path).is_some_and(|now| content_of(now).is_none());
    let is_elsewhere = |(other, now): (&String, &String)| other != path && content_of(now) == Some(content);
    is_gone && is_moved(began, content) && changed.iter().any(is_elsewhere)
}

/// Whether git ignored this very file when the job began.
fn was_hidden(began: &Began, path: &str, identity: &String, is_older: impl Fn() -> bool) -> bool {
    if let Some(known) = began.ignored.get(path) {
        return known.as_ref() == Some(identity);
    }
    let mut above = path.match_indices('/').map(|(end, _)| &path[..end]);
    above.any(|directory| began.ignored.get(directory) == Some(&None)) && is_older()
}

#[cfg(test)]
mod tests {
    use spinney_core::Left;

    use super::*;

    fn identities(files: &[(&str, &str)]) -> Identities {
        files.iter().map(|(path, identity)| ((*path).to_owned(), (*identity).to_owned())).collect()
    }

    fn now(files: &[(&str, &str)]) -> Now {
        Now { at_ns: 1, changed: identities(files), ..Now::default() }
    }

    fn names<'a>(paths: impl IntoIterator<Item = &'a String>) -> Vec<&'a str> {
        paths.into_iter().map(String::as_str).collect()
    }

    #[test]
    fn what_changed_while_nobody_looked_is_judged_by_who_was_there() {
        let (one, two) = (JobId::generate(), JobId::generate());
        let brought = Brought::default();
        let first = begin(&one, now(&[("mine", "1"), ("both", "1"), ("edited", "1")]), None, &brought);
        assert_eq!(names(first.found.keys()), ["both", "edited", "mine"]);
        let later = [("mine", "1"), ("both", "2"), ("agents", "1"), ("mixed", "2"), ("new", "1"), ("edited", "2")];
        let left = Left { files: identities(&[("both", "2"), ("agents", "1"), ("mixed", "1")]), ..Left::default() };
        let ended = Began { left: Some(left), ..first.clone() };
        for job in [&one, &two] {
            let second = begin(job, now(&later), Some(ended.clone()), &brought);
            assert_eq!(names(second.found.keys()), ["edited", "mine", "new"]);
            assert_eq!(names(&second.shared), ["both", "mixed"]);
        }
        // After a death nobody can tell.
        let second = begin(&two, now(&later), Some(first), &brought);
        assert_eq!((names(second.found.keys()), names(&second.shared)), (vec!["mine"], vec!["both", "edited"]));
    }

    #[test]
    fn what_was_ignored_is_judged_by_its_content_or_its_age() {
        let ignored = [("target", None), (".env", Some("100644 a"))];
        let ignored = ignored.map(|(path, identity)| (path.to_owned(), identity.map(str::to_owned)));
        let now = Now { ignored: ignored.into(), ..now(&[]) };
        let began = begin(&JobId::generate(), now, None, &Brought::default());
        let left_out = |path: &str, identity: &str, is_older: bool| {
            let fate = fate(&began, &Copies::default(), OnDirty::Keep, path, &identity.to_owned(), || is_older);
            fate == Fate::LeftOut(LeftOutReason::ThereBefore)
        };
        assert!(left_out(".env", "100644 a", false) && !left_out(".env", "100644 b", true));
        assert!(left_out("target/a/b", "100644 c", true) && !left_out("target/a/b", "100644 c", false));
        assert!(!left_out("other", "100644 c", true));
    }
}
