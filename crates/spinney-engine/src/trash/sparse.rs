//! Files with holes: only what is written in them is read, kept and written again.
//!
//! Their hash is made of the blocks that hold anything but zeros, each with its place, so that a file and its expanded
//! content in an archive give the same one, wherever the file system has its holes.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};

use spinney_core::names::Hasher;

const BLOCK: usize = 64 << 10;
static ZEROS: [u8; BLOCK] = [0; BLOCK];

/// Whether a file takes less of the disk than it is long. A small one is not worth the difference.
pub(super) fn is_sparse(metadata: &Metadata) -> bool {
    metadata.len() > BLOCK as u64 && metadata.blocks() * 512 < metadata.len()
}

/// Hashes a file; reads no hole.
pub(super) fn hash_file(file: &File) -> io::Result<String> {
    let bytes = file.metadata()?.len();
    let mut blocks = Blocks::default();
    let mut buffer = vec![0; BLOCK];
    let mut next = 0;
    while let Some(data) = next_data(file, next)? {
        let start = (data / BLOCK as u64 * BLOCK as u64).max(next);
        if start >= bytes {
            break;
        }
        let length = usize::try_from(bytes - start).map_or(BLOCK, |left| left.min(BLOCK));
        file.read_exact_at(&mut buffer[..length], start)?;
        blocks.add(start, &buffer[..length]);
        next = start + length as u64;
    }
    Ok(blocks.finish(bytes))
}

/// Hashes the expanded content of such a file.
pub(super) fn hash_stream(content: &mut impl Read) -> io::Result<String> {
    let mut blocks = Blocks::default();
    let mut buffer = vec![0; BLOCK];
    let mut at = 0;
    loop {
        let mut filled = 0;
        while filled < BLOCK {
            match content.read(&mut buffer[filled..])? {
                0 => break,
                count => filled += count,
            }
        }
        blocks.add(at, &buffer[..filled]);
        at += filled as u64;
        if filled < BLOCK {
            return Ok(blocks.finish(at));
        }
    }
}

/// Where the next content begins at or after a place; none in the hole at the end.
fn next_data(file: &File, from: u64) -> io::Result<Option<u64>> {
    match rustix::fs::seek(file, rustix::fs::SeekFrom::Data(from)) {
        Ok(place) => Ok(Some(place)),
        Err(rustix::io::Errno::NXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

#[derive(Default)]
struct Blocks {
    hash: Hasher,
}

impl Blocks {
    fn add(&mut self, place: u64, block: &[u8]) {
        if block != &ZEROS[..block.len()] {
            self.hash.update(&place.to_le_bytes());
            self.hash.update(block);
        }
    }

    fn finish(mut self, bytes: u64) -> String {
        self.hash.update(&bytes.to_le_bytes());
        self.hash.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_its_content_have_one_hash() {
        for (bytes, written) in [
            (0, vec![]),
            (BLOCK as u64 * 5 + 7, vec![(BLOCK as u64 * 2 + 3, "x"), (BLOCK as u64 * 5, "end")]),
            (BLOCK as u64 * 3, vec![]),
            (10, vec![(4, "x")]),
        ] {
            let file = tempfile::tempfile().unwrap();
            file.set_len(bytes).unwrap();
            for (place, text) in &written {
                file.write_all_at(text.as_bytes(), *place).unwrap();
            }
            let mut content = vec![0; usize::try_from(bytes).unwrap()];
            file.read_exact_at(&mut content, 0).unwrap();
            assert_eq!(hash_file(&file).unwrap(), hash_stream(&mut content.as_slice()).unwrap(), "{written:?}");
            if let Some(byte) = content.last_mut() {
                *byte ^= 1;
                assert_ne!(hash_file(&file).unwrap(), hash_stream(&mut content.as_slice()).unwrap(), "{written:?}");
            }
        }
    }
}
