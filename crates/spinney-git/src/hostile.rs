//! What properties of the parsers are asked with: output that git would write, and output that it would not.

use std::time::{Duration, Instant};

use proptest::collection::vec;
use proptest::prelude::*;
use spinney_core::CommitId;

/// How much a parser is given at once, and within which time it must be through: it would take minutes if it looked at all of it
/// again and again.
const MUCH: usize = 1 << 18;
const SOON: Duration = Duration::from_secs(20);

/// Output made of words that a parser knows, of what separates them, and of anything else.
pub(crate) fn output(words: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => proptest::sample::select(words).prop_map(|word| word.as_bytes().to_vec()),
        2 => proptest::sample::select(&[0, b' ', b'\t', b'\n'][..]).prop_map(|byte| vec![byte]),
        1 => vec(any::<u8>(), 1..8),
    ];
    vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// A path as it may be on disk: any bytes but NUL.
pub(crate) fn path() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        "[a-zA-Z0-9 ._/-]{0,20}[a-z]".prop_map(String::into_bytes),
        vec(1..=255u8, 1..20).prop_filter("a directory is told apart by it", |path| path.last() != Some(&b'/')),
    ]
}

pub(crate) fn commit() -> impl Strategy<Value = CommitId> {
    "[0-9a-f]{39}[1-9a-f]".prop_map(|text| text.parse().expect("it is a commit's name"))
}

/// Asserts that a parser gets through much of the same in time.
#[track_caller]
pub(crate) fn assert_fast(words: &[&str], parse: impl Fn(&[u8])) {
    for word in words.iter().copied().chain(["\0", " ", "\n", "a", "'", "\u{1b}["]) {
        let begun = Instant::now();
        parse(&word.as_bytes().repeat(MUCH / word.len()));
        assert!(begun.elapsed() < SOON, "{:?} for {word:?} again and again", begun.elapsed());
    }
}
