//! Bytes written as hexadecimal digits.

/// The bytes of a text of exactly so many; none for any other.
pub(crate) fn decode<const LENGTH: usize>(text: &str) -> Option<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    hex::decode_to_slice(text, &mut bytes).is_ok().then_some(bytes)
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
