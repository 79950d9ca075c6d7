//! What browsers and Slack send as `application/x-www-form-urlencoded`.

/// The fields of a form, in their order; none where it is no text.
pub(crate) fn fields(body: &[u8]) -> Option<Vec<(String, String)>> {
    let body = std::str::from_utf8(body).ok()?;
    body.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((decode(name)?, decode(value)?))
        })
        .collect()
}

fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => 16 * digit(rest.next()?)? + digit(rest.next()?)?,
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

fn digit(byte: u8) -> Option<u8> {
    u8::try_from(char::from(byte).to_digit(16)?).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_are_undone() {
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            fields(b"a=b+c&d=%2Fx%C3%BC&e&&f=").unwrap(),
            [field("a", "b c"), field("d", "/xü"), field("e", ""), field("f", "")]
        );
        assert_eq!(fields(b"").unwrap(), []);
        for wrong in [&b"a=%"[..], b"a=%2", b"a=%zz", b"a=%ff", b"\xff=a", b"a=%+1"] {
            assert_eq!(fields(wrong), None, "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn any_body_is_handled(body in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = fields(&body);
        }
    }
}
