//! Bytes written as hexadecimal digits.

/// The bytes of a text of exactly so many; none for any other.
pub(crate) fn decode<const LENGTH: usize>(text: &str) -> Option<[u8; LENGTH]> {
    if text.len() != 2 * LENGTH || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut bytes = [0; LENGTH];
    for (byte, digits) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_digits_are_bytes() {
        assert_eq!(decode::<2>("00fF"), Some([0, 255]));
        for wrong in ["", "00", "00f", "00fg", "00ff0", "+0ff", "üü", "00FF "] {
            assert_eq!(decode::<2>(wrong), None, "{wrong}");
        }
    }
}
