//! The import: the only way in which commits leave a box.
//!
//! 1. In the jail, git lists the box's refs. Only the workspace's own branch counts.
//! 2. In the jail, git packs what the base mirror lacks. The pack goes through a pipe to
//! 3. an `index-pack --strict`, which writes it into a quarantine directory. It knows the base mirror and nothing else: a pack that
//!    is built upon an object of another agent, or leads to one, is refused, even where the repository has that object.
//! 4. What the tip leads to must be whole in quarantine and mirror, within bounds, and whole in the repository besides.
//! 5. The policy looks at every new commit. It reports, and holds changes of protected paths for a person.
//! 6. Under the repository's lock the pack moves in, the workspace's branch moves from its old value, and the host's index follows.
//!
//! A death before the branch moved leaves a quarantine directory, or a pack that nothing leads to. After it, the next import makes
//! the index follow. What came out of a box is read in a jail as long as it is not part of the repository.

pub(crate) mod check;
pub(crate) mod contents;
pub(crate) mod finding;
pub(crate) mod globs;
pub(crate) mod policy;
pub(crate) mod quarantine;
pub(crate) mod raw_diff;
pub(crate) mod refusal;
pub(crate) mod run;
pub(crate) mod tip;
