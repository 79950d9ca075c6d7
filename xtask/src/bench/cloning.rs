//! Workspaces that share their bytes with a template: reflinks on XFS, snapshots on btrfs.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::Bench;
use super::image::Image;
use super::making::{self, How, make};
use super::site::{Site, output};
use super::table::{Goal, Row, Unit, finish};

/// How often the bytes are measured: they hardly differ.
const ROUNDS: usize = 3;
const GIT_BYTES: &str = "git's own worktree";

pub fn reflink(bench: &Bench) -> Vec<Row> {
    let (mut new, mut status) = making::rows("`new` by reflink on XFS", "reflinked");
    new = new.goal(Goal::Faster(1.5));
    let mut bytes = bytes("bytes of its own, reflinked on XFS").goal(Goal::Under(50.0));
    let outcome = measure(bench, "xfs", How::Reflink, &mut new, &mut status, &mut bytes);
    finish(outcome, [new, status, bytes])
}

pub fn snapshot(bench: &Bench) -> Vec<Row> {
    let (mut new, mut status) = making::rows("`new` by snapshot on btrfs", "snapshotted");
    new = new.goal(Goal::Faster(50.0));
    let mut bytes = bytes("bytes of its own, snapshotted on btrfs").goal(Goal::Under(1.0));
    let outcome = measure(bench, "btrfs", How::Snapshot, &mut new, &mut status, &mut bytes);
    finish(outcome, [new, status, bytes])
}

/// In percent of the tree's bytes.
fn bytes(what: &str) -> Row {
    Row::new(what, Unit::Percent).beside(GIT_BYTES)
}

fn measure(bench: &Bench, kind: &str, how: How, new: &mut Row, status: &mut Row, bytes: &mut Row) -> Result<()> {
    if !bench.images {
        bail!("left out by `--no-images`");
    }
    let image = Image::mount(bench.root.path(), kind, image_size(bench))?;
    let mut site = Site::new(&bench.spinney, &bench.tree, &image.mount)?;
    site.set("SPINNEY_WORKSPACE__POPULATE", "reflink");
    // A filling makes the template; the member that comes with it is used up.
    site.set("SPINNEY_POOL__SIZE", "1");
    site.fill()?;
    site.set("SPINNEY_POOL__SIZE", "0");
    site.new_workspace("use the pool up")?;
    site.clear()?;
    making::measure(bench, &site, how, new, status)?;
    for round in 0..ROUNDS {
        site.settle()?;
        let before = image.used()?;
        let (_, workspace) = make(&site, how, &format!("bytes {round}"))?;
        bytes.push(None, own_bytes(bench, &image, how, before, &workspace.path)?);
        site.settle()?;
        let before = image.used()?;
        let (_, path) = site.git_add(&[], &format!("git-bytes-{round}"))?;
        bytes.push(Some(GIT_BYTES), own_bytes(bench, &image, how, before, &path)?);
        site.git_remove(&path)?;
        site.clear()?;
    }
    site.settle()
}

/// What a tree added to the disk, in percent: where the file system tells of each file, what is exclusive; else the space
/// that is used more than before.
fn own_bytes(bench: &Bench, image: &Image, how: How, before: f64, path: &Path) -> Result<f64> {
    let after = image.used()?;
    if how != How::Snapshot {
        return Ok((after - before).max(0.0) / bench.tree.bytes as f64 * 100.0);
    }
    let mut command = std::process::Command::new("btrfs");
    let said = output(command.args(["filesystem", "du", "-s", "--raw"]).arg(path))?;
    parse_du(&String::from_utf8_lossy(&said.stdout)).context("`btrfs filesystem du` said something else")
}

/// The exclusive bytes in percent of all, from the line under the heading: total, exclusive, shared, name.
fn parse_du(text: &str) -> Option<f64> {
    let mut numbers = text.lines().nth(1)?.split_whitespace().map(str::parse::<f64>);
    let (total, exclusive) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some(exclusive / total * 100.0)
}

/// Room for a dozen trees, each file with its last block and its inode.
fn image_size(bench: &Bench) -> u64 {
    const GIB: u64 = 1 << 30;
    2 * GIB + 12 * (bench.tree.bytes + bench.tree.files as u64 * 8192)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exclusive_share_is_read_from_btrfs() {
        let text = "     Total   Exclusive  Set shared  Filename\n  1000000       25000      975000  /x/y\n";
        assert_eq!(parse_du(text), Some(2.5));
        assert_eq!(parse_du("nothing"), None);
    }
}
