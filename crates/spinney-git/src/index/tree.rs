//! The tree that an index stands for, where the index itself remembers it.
//!
//! Git keeps beside the entries the trees that they make up, and forgets those that a change touched. Where none is
//! forgotten, the tree of the whole index is known and written already, without a look at the entries: after a checkout
//! or a commit, until something is added.

use std::path::Path;

use crate::disk::regular::read_regular;

/// Of the entries that git writes today, and of their object names where those are SHA-1.
const VERSIONS: std::ops::RangeInclusive<u32> = 2..=4;
const NAME_BYTES: usize = 20;
/// What stands before an entry's path: times, places, sizes, the object's name, flags.
const FIXED_BYTES: usize = 40 + NAME_BYTES + 2;

/// Reads the tree of a worktree's whole index; none where only git can tell, or where the index holds more than a tree.
pub(crate) fn load_whole_tree(admin_dir: &Path) -> Option<String> {
    whole_tree(&read_regular(&admin_dir.join("index"), crate::index::MAX_BYTES).ok()?)
}

fn whole_tree(index: &[u8]) -> Option<String> {
    let body = index.get(..index.len().checked_sub(NAME_BYTES)?)?;
    let (signature, version, count) = (body.get(..4)?, number(body, 4)?, number(body, 8)?);
    if signature != b"DIRC" || !VERSIONS.contains(&version) {
        return None;
    }
    let mut at = 12;
    for _ in 0..count {
        at = after_entry(body, at, version)?;
    }
    let mut tree = None;
    while at < body.len() {
        let (name, length) = (body.get(at..at + 4)?, usize::try_from(number(body, at + 4)?).ok()?);
        let content = body.get(at + 8..(at + 8).checked_add(length)?)?;
        match name {
            b"TREE" => tree = root(content, count),
            // Conflicts that were resolved: their sides are in no tree.
            b"REUC" => return None,
            // What git may not ignore, we may not either: a split or sparse index, and what is yet to come.
            [first, ..] if !first.is_ascii_uppercase() => return None,
            _ => {}
        }
        at += 8 + length;
    }
    tree
}

/// Where the next entry begins.
fn after_entry(body: &[u8], at: usize, version: u32) -> Option<usize> {
    let flags = body.get(at + FIXED_BYTES - 2..at + FIXED_BYTES)?;
    let extended = version > 2 && flags[0] & 0x40 != 0;
    let mut path = at + FIXED_BYTES + if extended { 2 } else { 0 };
    if version == 4 {
        // How much of the path before is dropped: a number of as many bytes as have their highest bit set, and one.
        path += body.get(path..)?.iter().position(|byte| byte & 0x80 == 0)? + 1;
    }
    let end = path + body.get(path..)?.iter().position(|byte| *byte == 0)?;
    Some(if version == 4 { end + 1 } else { at + (end - at + 8) / 8 * 8 })
}

/// The name of the topmost tree, if no tree below it is forgotten and all entries are in it.
fn root(mut trees: &[u8], entries: u32) -> Option<String> {
    let mut found = None;
    while !trees.is_empty() {
        let path = trees.iter().position(|byte| *byte == 0)?;
        let line = trees.iter().position(|byte| *byte == b'\n').filter(|line| *line > path)?;
        let (count, _below) = std::str::from_utf8(&trees[path + 1..line]).ok()?.split_once(' ')?;
        // A tree that is forgotten counts -1.
        let count: u32 = count.parse().ok()?;
        let name = trees.get(line + 1..line + 1 + NAME_BYTES)?;
        if found.is_none() {
            if path != 0 || count != entries {
                return None;
            }
            found = Some(name.iter().map(|byte| format!("{byte:02x}")).collect());
        }
        trees = &trees[line + 1 + NAME_BYTES..];
    }
    found
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn entry(path: &str) -> Vec<u8> {
        let mut entry = vec![1; FIXED_BYTES - 2];
        entry.extend(u16::try_from(path.len()).unwrap().to_be_bytes());
        entry.extend(path.as_bytes());
        entry.resize(entry.len() + 8 - entry.len() % 8, 0);
        entry
    }

    fn extension(name: &[u8; 4], content: &[u8]) -> Vec<u8> {
        [name.as_slice(), &u32::try_from(content.len()).unwrap().to_be_bytes(), content].concat()
    }

    fn tree(path: &str, count: i32, name: u8) -> Vec<u8> {
        let mut tree = format!("{path}\0{count} 1\n").into_bytes();
        if count >= 0 {
            tree.extend([name; NAME_BYTES]);
        }
        tree
    }

    fn index(extensions: &[Vec<u8>]) -> Vec<u8> {
        let mut index = [b"DIRC".as_slice(), &2u32.to_be_bytes(), &2u32.to_be_bytes()].concat();
        index.extend(entry("a"));
        index.extend(entry("directory/file-x"));
        index.extend(extensions.concat());
        index.extend([9; NAME_BYTES]);
        index
    }

    #[test]
    fn only_a_tree_that_holds_everything_is_told() {
        let whole = extension(b"TREE", &[tree("", 2, 0xab), tree("directory", 1, 0xcd)].concat());
        assert_eq!(whole_tree(&index(std::slice::from_ref(&whole))), Some("ab".repeat(20)));
        assert_eq!(whole_tree(&index(&[extension(b"EOIE", b"x"), whole.clone()])), Some("ab".repeat(20)));
        assert_eq!(whole_tree(&index(&[])), None, "nothing is remembered");
        let forgotten = extension(b"TREE", &[tree("", 2, 0xab), tree("directory", -1, 0)].concat());
        assert_eq!(whole_tree(&index(&[forgotten])), None, "one is forgotten");
        assert_eq!(whole_tree(&index(&[extension(b"TREE", &tree("", 1, 0xab))])), None, "an entry is in none");
        for name in [b"REUC", b"link", b"sdir"] {
            assert_eq!(whole_tree(&index(&[whole.clone(), extension(name, b"x")])), None, "there is more");
        }
        let mut newer = index(&[whole]);
        newer[7] = 5;
        assert_eq!(whole_tree(&newer), None);
    }

    proptest! {
        #[test]
        fn no_content_makes_it_panic(
            version in 2u32..6,
            count in 0u32..4,
            rest in proptest::collection::vec(any::<u8>(), 0..400),
        ) {
            let _ = whole_tree(&rest);
            let _ = root(&rest, count);
            let _ = whole_tree(&[b"DIRC".as_slice(), &version.to_be_bytes(), &count.to_be_bytes(), &rest].concat());
        }

        #[test]
        fn a_damaged_index_makes_no_panic(at in 0usize..300, byte in any::<u8>()) {
            let mut damaged = index(&[extension(b"TREE", &[tree("", 2, 0xab), tree("directory", 1, 0xcd)].concat())]);
            let at = at % damaged.len();
            damaged[at] = byte;
            let _ = whole_tree(&damaged);
        }
    }
}
