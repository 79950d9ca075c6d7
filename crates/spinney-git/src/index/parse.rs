//! Reading the bytes of an index, versions 2 to 4.

use super::entry::{IndexEntry, IndexMode};
use super::object::{ObjectFormat, ObjectId};
use super::stat::{FileStat, MODE_AT, STAT_BYTES};
use super::{Index, InvalidIndex, MAX_BYTES};

type Parsed<T> = Result<T, InvalidIndex>;

const HEADER: usize = 12;
/// Longer than any path that a file can be opened by.
const MAX_PATH: usize = 4096;

const ASSUME_VALID: u16 = 0x8000;
const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;
const PATH_LENGTH: u16 = 0x0fff;
const SKIP_WORKTREE: u16 = 0x4000;
const INTENT_TO_ADD: u16 = 0x2000;

pub(super) fn parse(bytes: Vec<u8>, format: ObjectFormat) -> Parsed<Index> {
    let end = bytes.len().checked_sub(format.size()).filter(|end| *end >= HEADER).ok_or(CUT_OFF)?;
    let (body, checksum) = bytes.split_at(end);
    // Git writes no checksum where it is told to skip it.
    if checksum.iter().any(|byte| *byte != 0) && format.hash(body).as_bytes() != checksum {
        return Err(InvalidIndex("its checksum is wrong"));
    }
    let mut reader = Reader { bytes: body, at: 0 };
    if reader.take(4)? != b"DIRC" {
        return Err(InvalidIndex("it is no index"));
    }
    let (version, count) = (reader.number()?, reader.number()?);
    if !matches!(version, 2..=4) {
        return Err(InvalidIndex("its version is unknown"));
    }
    let entries = parse_entries(&mut reader, version, count, format)?;
    let entries_end = reader.at;
    let (mut portable, mut root_tree, mut noted) = (Vec::new(), None, false);
    while reader.at < body.len() {
        let start = reader.at;
        let signature = reader.take(4)?;
        let size = usize::try_from(reader.number()?).map_err(|_| CUT_OFF)?;
        let content = reader.take(size)?;
        match signature {
            b"TREE" if noted => return Err(InvalidIndex("it notes its tree twice")),
            b"TREE" => {
                (noted, root_tree) = (true, parse_root_tree(content, entries.len(), format)?);
                portable.push(start..reader.at);
            }
            b"REUC" => portable.push(start..reader.at),
            b"link" => return Err(InvalidIndex("it is split over two files")),
            b"sdir" => return Err(InvalidIndex("it is sparse")),
            [b'A'..=b'Z', ..] => {}
            _ => return Err(InvalidIndex("it has an extension that is unknown and must not be ignored")),
        }
    }
    Ok(Index { format, version, entries, entries_end, portable, root_tree, modified: None, bytes })
}

const CUT_OFF: InvalidIndex = InvalidIndex("it is cut off");

fn parse_entries(reader: &mut Reader<'_>, version: u32, count: u32, format: ObjectFormat) -> Parsed<Vec<IndexEntry>> {
    let mut entries: Vec<IndexEntry> = Vec::new();
    let mut path = Vec::new();
    let mut path_bytes = 0;
    for _ in 0..count {
        let entry = parse_entry(reader, version, format, &mut path)?;
        path_bytes += path.len() as u64;
        // A long path that many entries shorten to a byte or two.
        if path_bytes > MAX_BYTES {
            return Err(InvalidIndex("its paths are too long"));
        }
        let follows = |last: &IndexEntry| (&last.path, last.stage) < (&entry.path, entry.stage);
        if !entries.last().is_none_or(follows) {
            return Err(InvalidIndex("its entries are not in order"));
        }
        entries.push(entry);
    }
    Ok(entries)
}

/// Reads one entry; `path` holds that of the one before it.
fn parse_entry(reader: &mut Reader<'_>, version: u32, format: ObjectFormat, path: &mut Vec<u8>) -> Parsed<IndexEntry> {
    let stat_offset = reader.at;
    let stat: &[u8; STAT_BYTES] = reader.take(STAT_BYTES)?.try_into().map_err(|_| CUT_OFF)?;
    let mode = Reader { bytes: stat, at: MODE_AT }.number()?;
    let mode = IndexMode::read(mode).ok_or(InvalidIndex("an entry has an unknown mode"))?;
    let id = ObjectId::from_bytes(reader.take(format.size())?, format).ok_or(CUT_OFF)?;
    let flags = reader.short()?;
    let more = match flags & EXTENDED {
        0 => 0,
        _ if version < 3 => return Err(InvalidIndex("an entry has flags that its version does not know")),
        _ => reader.short()?,
    };
    if more & !(SKIP_WORKTREE | INTENT_TO_ADD) != 0 {
        return Err(InvalidIndex("an entry has unknown flags"));
    }
    if version == 4 {
        let kept = path.len().checked_sub(reader.offset()?).ok_or(InvalidIndex("a path has no beginning"))?;
        path.truncate(kept);
        path.extend_from_slice(reader.until_nul()?);
    } else {
        path.clear();
        path.extend_from_slice(reader.until_nul()?);
        // At least one NUL ends a path, and more fill up to a multiple of eight.
        let padded = (reader.at - stat_offset).next_multiple_of(8);
        if reader.take(padded - (reader.at - stat_offset))?.iter().any(|byte| *byte != 0) {
            return Err(InvalidIndex("an entry is not filled up with zeros"));
        }
    }
    if usize::from(flags & PATH_LENGTH) != path.len().min(PATH_LENGTH.into()) {
        return Err(InvalidIndex("a path has another length than its entry says"));
    }
    require_inside(path)?;
    Ok(IndexEntry {
        path: path.as_slice().into(),
        id,
        mode,
        stat: FileStat::read(stat),
        stage: ((flags & STAGE) >> 12) as u8,
        assume_valid: flags & ASSUME_VALID != 0,
        skip_worktree: more & SKIP_WORKTREE != 0,
        intent_to_add: more & INTENT_TO_ADD != 0,
        stat_offset,
    })
}

/// Refuses a path that could lead out of the tree or into git's own directory.
fn require_inside(path: &[u8]) -> Parsed<()> {
    let mut parts = path.split(|byte| *byte == b'/');
    if path.len() > MAX_PATH || parts.any(|part| matches!(part, b"" | b"." | b"..") || is_git_dir(part)) {
        return Err(InvalidIndex("a path leads out of the tree"));
    }
    Ok(())
}

fn is_git_dir(part: &[u8]) -> bool {
    part.eq_ignore_ascii_case(b".git")
}

/// Reads the first record of `TREE`: `\0<entries> <subtrees>\n<id>`, with -1 entries and no id where it is not valid.
fn parse_root_tree(content: &[u8], entries: usize, format: ObjectFormat) -> Parsed<Option<ObjectId>> {
    const MALFORMED: InvalidIndex = InvalidIndex("its note of the tree can't be read");
    if content.is_empty() {
        return Ok(None);
    }
    let [0, rest @ ..] = content else { return Err(MALFORMED) };
    let end = rest.iter().position(|byte| *byte == b'\n').ok_or(MALFORMED)?;
    let line = std::str::from_utf8(&rest[..end]).map_err(|_| MALFORMED)?;
    let (covered, subtrees) = line.split_once(' ').ok_or(MALFORMED)?;
    let (covered, _): (i64, u32) = (covered.parse().map_err(|_| MALFORMED)?, subtrees.parse().map_err(|_| MALFORMED)?);
    let Ok(covered) = usize::try_from(covered) else { return Ok(None) };
    let id = rest.get(end + 1..end + 1 + format.size()).ok_or(MALFORMED)?;
    Ok(ObjectId::from_bytes(id, format).filter(|_| covered == entries))
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Parsed<&'a [u8]> {
        let end = self.at.checked_add(count).ok_or(CUT_OFF)?;
        let taken = self.bytes.get(self.at..end).ok_or(CUT_OFF)?;
        self.at = end;
        Ok(taken)
    }

    fn number(&mut self) -> Parsed<u32> {
        let bytes = self.take(4)?.try_into().map_err(|_| CUT_OFF)?;
        Ok(u32::from_be_bytes(bytes))
    }

    fn short(&mut self) -> Parsed<u16> {
        let bytes = self.take(2)?.try_into().map_err(|_| CUT_OFF)?;
        Ok(u16::from_be_bytes(bytes))
    }

    /// Git's number of variable length: seven bits a byte, the highest first, each further byte counting from one.
    fn offset(&mut self) -> Parsed<usize> {
        let mut value = 0_usize;
        loop {
            let byte = self.take(1)?[0];
            value =
                value.checked_mul(128).and_then(|value| value.checked_add(usize::from(byte & 127))).ok_or(CUT_OFF)?;
            if byte & 128 == 0 {
                return Ok(value);
            }
            value = value.checked_add(1).ok_or(CUT_OFF)?;
        }
    }

    /// What stands before the next NUL, which is taken too.
    fn until_nul(&mut self) -> Parsed<&'a [u8]> {
        let rest = self.bytes.get(self.at..).ok_or(CUT_OFF)?;
        let rest = &rest[..rest.len().min(MAX_PATH + 1)];
        let length = rest.iter().position(|byte| *byte == 0).ok_or(CUT_OFF)?;
        self.at += length + 1;
        Ok(&rest[..length])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An index of the given paths and flags, without a checksum.
    fn build(version: u32, entries: &[(&[u8], u16)], extensions: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
        let mut bytes = [b"DIRC".as_slice(), &version.to_be_bytes(), &(entries.len() as u32).to_be_bytes()].concat();
        let mut last: &[u8] = b"";
        for (path, flags) in entries {
            let start = bytes.len();
            let mut stat = [0; STAT_BYTES];
            stat[MODE_AT..MODE_AT + 4].copy_from_slice(&0o100_644_u32.to_be_bytes());
            bytes.extend_from_slice(&stat);
            bytes.extend_from_slice(&[7; 20]);
            bytes.extend_from_slice(&(flags | path.len().min(0xfff) as u16).to_be_bytes());
            if version == 4 {
                let common = last.iter().zip(*path).take_while(|(a, b)| a == b).count();
                bytes.push(u8::try_from(last.len() - common).unwrap());
                bytes.extend_from_slice(&path[common..]);
                bytes.push(0);
                last = path;
            } else {
                bytes.extend_from_slice(path);
                bytes.push(0);
                bytes.resize(start + (bytes.len() - start).next_multiple_of(8), 0);
            }
        }
        for (signature, content) in extensions {
            bytes.extend_from_slice(*signature);
            bytes.extend_from_slice(&(content.len() as u32).to_be_bytes());
            bytes.extend_from_slice(content);
        }
        bytes.extend_from_slice(&[0; 20]);
        bytes
    }

    fn refused(bytes: Vec<u8>) -> String {
        parse(bytes, ObjectFormat::Sha1).expect_err("it is refused").to_string()
    }

    #[test]
    fn paths_are_read_in_every_version() {
        for version in 2..=4 {
            let long = vec![b'x'; 4000];
            let index = build(version, &[(b"a/bc", 0), (b"a/bd", ASSUME_VALID), (b"a/e", 0x1000), (&long, 0)], &[]);
            let index = parse(index, ObjectFormat::Sha1).unwrap();
            let paths: Vec<_> = index.entries.iter().map(|entry| &*entry.path).collect();
            assert_eq!(paths, [b"a/bc".as_slice(), b"a/bd", b"a/e", &long], "version {version}");
            assert!(index.entries[1].assume_valid && !index.entries[1].is_plain());
            assert_eq!((index.entries[2].stage, index.entries[2].is_plain()), (1, false));
            assert_eq!(index.root_tree, None);
        }
    }

    #[test]
    fn a_path_must_stay_in_the_tree_and_come_once() {
        for path in ["", "/a", "a//b", "../a", "a/..", "./a", ".git/config", "a/.GIT", "a/"] {
            assert!(refused(build(2, &[(path.as_bytes(), 0)], &[])).contains("out of the tree"), "{path}");
        }
        assert!(refused(build(2, &[(b"a", 0), (b"a", 0)], &[])).contains("order"));
        assert!(refused(build(2, &[(b"b", 0), (b"a", 0)], &[])).contains("order"));
        parse(build(2, &[(b"a", 0x1000), (b"a", 0x2000)], &[]), ObjectFormat::Sha1).unwrap();
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let one: &[(&[u8], u16)] = &[(b"a", 0)];
        let only = |signature: &'static [u8; 4]| build(2, one, &[(signature, b"x")]);
        assert!(refused(only(b"link")).contains("split"));
        assert!(refused(only(b"sdir")).contains("sparse"));
        assert!(refused(only(b"zzzz")).contains("unknown"));
        parse(only(b"ZZZZ"), ObjectFormat::Sha1).unwrap();
        assert!(refused(build(5, one, &[])).contains("version"));
        assert!(refused(build(2, &[(b"a", EXTENDED)], &[])).contains("flags"));
        let mut wrong = build(2, one, &[]);
        *wrong.last_mut().unwrap() = 1;
        assert!(refused(wrong).contains("checksum"));
        assert!(refused(b"DIRC".to_vec()).contains("cut off"));
    }

    #[test]
    fn the_tree_is_known_only_where_it_covers_every_entry() {
        let id = [9; 20];
        let tree = |text: &str, id: &[u8]| {
            let content = [b"\0".as_slice(), text.as_bytes(), id].concat();
            parse(build(2, &[(b"a", 0)], &[(b"TREE", &content)]), ObjectFormat::Sha1).map(|index| index.root_tree)
        };
        assert_eq!(tree("1 0\n", &id).unwrap().unwrap().to_string(), "09".repeat(20));
        assert_eq!(tree("-1 0\n", &[]), Ok(None));
        assert_eq!(tree("2 0\n", &id), Ok(None));
        for (text, id) in [("1 0\n", &id[..19]), ("1\n", &id), ("x 0\n", &id), ("1 0", &[])] {
            assert!(tree(text, id).is_err(), "{text}");
        }
    }

    #[test]
    fn a_claimed_number_of_entries_takes_no_memory() {
        let mut bytes = build(2, &[(b"a", 0)], &[]);
        bytes[8..12].copy_from_slice(&u32::MAX.to_be_bytes());
        assert!(refused(bytes).contains("cut off"));
        let mut bytes = build(2, &[(b"a", 0)], &[(b"TREE", b"")]);
        let at = bytes.len() - 24;
        bytes[at..at + 4].copy_from_slice(&u32::MAX.to_be_bytes());
        assert!(refused(bytes).contains("cut off"));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = parse(bytes.clone(), ObjectFormat::Sha1);
            let header = [b"DIRC\0\0\0".as_slice(), &[2 + bytes.len() as u8 % 3], &[0, 0, 0, 9]].concat();
            let _ = parse([header.as_slice(), &bytes, &[0; 32]].concat(), ObjectFormat::Sha256);
        }

        #[test]
        fn no_damage_makes_it_panic(
            version in 2_u32..=4,
            damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
            length in any::<prop::sample::Index>(),
        ) {
            let entries: &[(&[u8], u16)] = &[(b"a/bc", 0), (b"a/bd/e", 0), (b"b", 0)];
            let tree = b"\x003 1\n01234567890123456789a\x002 0\n01234567890123456789";
            let mut bytes = build(version, entries, &[(b"TREE", tree)]);
            let end = bytes.len() - 20;
            for (place, value) in damage {
                bytes[place.index(end)] = value;
            }
            if let Ok(index) = parse(bytes.clone(), ObjectFormat::Sha1) {
                let stats: Vec<_> = index.entries.iter().map(|entry| entry.stat).collect();
                let patched = index.patch_stat(&stats).unwrap();
                prop_assert_eq!(parse(patched, ObjectFormat::Sha1).unwrap().entries.len(), stats.len());
            }
            bytes.truncate(length.index(end));
            let _ = parse(bytes, ObjectFormat::Sha1);
        }
    }
}
