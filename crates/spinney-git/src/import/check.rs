//! From a box into quarantine, and whether what is there is whole and within bounds.

use std::collections::BTreeSet;

use spinney_core::CommitId;

use crate::boxed::left_over::BoxedCommit;
use crate::boxed::places::SCRATCH;
use crate::boxed::tree::BoxedTree;
use crate::import::finding::ImportLimits;
use crate::import::quarantine::Quarantine;
use crate::import::refusal::{Refusal, of_index_pack};
use crate::jail::answer::{Unverifiable, ask, unanswered, unverifiable};
use crate::pin::pack::missing_objects;
use crate::{Error, Result};

const PACK: &str = "what a box has made";
/// How git ends where it says why.
const DIED: i32 = 128;
const OBJECTS: &str = "what a box's branch leads to";

/// What a branch of a box has and its base mirror has not.
#[derive(Debug, Default)]
pub(crate) struct New {
    /// The name of the pack, without its ending.
    pub(crate) pack: String,
    pub(crate) commits: Vec<CommitId>,
    pub(crate) objects: usize,
}

/// Brings what a tip has and these commits have not into quarantine.
pub(crate) async fn bring(
    tree: &BoxedTree,
    left_over: Option<&BoxedCommit>,
    tip: &CommitId,
    known: &BTreeSet<CommitId>,
    quarantine: &Quarantine,
    limits: &ImportLimits,
) -> Result<String> {
    let confinement = tree.confinement()?;
    let pack = match left_over {
        Some(left_over) => {
            let scratch = left_over.scratch();
            let scratch = std::fs::canonicalize(scratch).map_err(|source| Error::io("open", scratch, source))?;
            tree.command_with_scratch(confinement.showing(&scratch, std::path::Path::new(SCRATCH))?)
        }
        None => tree.command_in(confinement),
    };
    let mut wanted = format!("{tip}\n");
    wanted.extend(known.iter().map(|commit| format!("^{commit}\n")));
    let pack =
        pack.args(["pack-objects", "--quiet", "--revs", "--thin", "--stdout", "--delta-base-offset", "--sparse"]);
    let most = format!("--max-input-size={}", limits.pack_bytes);
    let index = quarantine.writing(limits.pack_bytes.saturating_mul(2))?;
    let index = index.args(["index-pack", "--stdin", "--fix-thin", "--strict", &most]).config("pack.threads", "1");
    let (packed, indexed) = pack.stdin_bytes(wanted.into_bytes()).run_into(index).await?;
    match (packed, indexed) {
        (Ok(_), Ok(indexed)) => pack_name(&indexed.stdout),
        // What ends the one ends the other: the one that tells of the pack itself goes first.
        (packed, Err(Error::Failed { stderr, .. })) => match (of_index_pack(&stderr, limits.pack_bytes), packed) {
            (Refusal::Damaged { .. }, Err(error)) => Err(unanswered(PACK, error)),
            (refusal, _) => Err(Error::ImportRefused(Box::new(refusal))),
        },
        (Err(error), _) | (_, Err(error)) => Err(unanswered(PACK, error)),
    }
}

/// What `index-pack` answers: `pack`, a tab, and the hash that is in the names of its files.
fn pack_name(stdout: &[u8]) -> Result<String> {
    let text = String::from_utf8_lossy(stdout);
    let hash = text.trim_end().strip_prefix("pack\t").and_then(|hash| hash.parse::<CommitId>().ok());
    let garbage = || unverifiable(PACK, Unverifiable::garbage("the name of a pack", stdout));
    hash.map(|hash| format!("pack-{hash}")).ok_or_else(garbage)
}

/// Walks all that a tip leads to in quarantine and mirror. What is missing there is refused, wherever else it may be.
pub(crate) async fn require_whole(
    quarantine: &Quarantine,
    tip: &CommitId,
    pack: String,
    limits: &ImportLimits,
) -> Result<New> {
    let walk = ["rev-list", "--objects", "--no-object-names", tip.as_str(), "--not", "--all"];
    let objects = quarantine.command()?.args(walk).run().await.map_err(refuse_missing)?.stdout;
    let asked = [tip.as_str().as_bytes(), b"\n", &objects].concat();
    let question = quarantine.command()?.args(["cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)"]);
    let answer = ask(OBJECTS, question.stdin_bytes(asked)).await?.stdout;
    let mut new = New { pack, ..New::default() };
    let mut bytes = 0u64;
    for (index, line) in answer.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).enumerate() {
        let (object, kind, size) =
            described(line).ok_or_else(|| unverifiable(OBJECTS, Unverifiable::garbage("an object", line)))?;
        if index == 0 {
            // The tip itself, which may be no new object.
            if kind != "commit" {
                return Err(Error::ImportRefused(Box::new(Refusal::NoCommit)));
            }
            continue;
        }
        new.objects += 1;
        bytes = bytes.saturating_add(size);
        if kind == "commit" {
            new.commits.push(object);
        }
    }
    if bytes > limits.unpacked_bytes {
        let limit = limits.unpacked_bytes;
        return Err(Error::ImportRefused(Box::new(Refusal::TooLargeUnpacked { limit })));
    }
    Ok(new)
}

/// Reads `<object> <type> <size>`.
fn described(line: &[u8]) -> Option<(CommitId, &str, u64)> {
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    Some((words.next()?.parse().ok()?, words.next()?, words.next()?.parse().ok()?))
}

/// Whether all that a tip leads to is in the repository, or in quarantine: the mirror may have what the repository lost.
pub(crate) async fn require_whole_in(
    repository: &crate::Repository,
    quarantine: &Quarantine,
    tip: &CommitId,
) -> Result<()> {
    let command = quarantine.seen_by(repository).args(["rev-list", "--objects", "--quiet", tip.as_str()]);
    command.args(["--not", "--all"]).run().await.map(drop).map_err(missing_objects)
}

/// Tells an object that is missing from other failures.
fn refuse_missing(error: Error) -> Error {
    match &error {
        Error::Failed { status: DIED, stderr, .. } => {
            let mut named = crate::pin::sources::object_names(stderr.as_bytes());
            Error::ImportRefused(Box::new(Refusal::Missing { object: named.next() }))
        }
        _ => unanswered(OBJECTS, error),
    }
}
