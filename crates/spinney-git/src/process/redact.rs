//! URLs without the secrets in them. Every text that leaves this crate passes through here first.

/// Where the user part of a URL starts and ends, the `@` left out; `None` when it has none.
fn user_part(text: &str, after_scheme: usize) -> Option<(usize, usize)> {
    let rest = &text[after_scheme..];
    let end = rest
        .find(|c: char| c == '/' || c == '?' || c == '#' || c == '\'' || c == '"' || c == '`' || c.is_whitespace())
        .unwrap_or(rest.len());
    let at = rest[..end].rfind('@')?;
    Some((after_scheme, after_scheme + at))
}

/// Whether the user part only names an account, as ssh needs it, and holds no secret.
fn is_plain_user(scheme_end: usize, text: &str, user: &str) -> bool {
    let scheme = text[..scheme_end].rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '+').next().unwrap_or_default();
    matches!(scheme, "ssh" | "git+ssh" | "ssh+git") && !user.contains(':')
}

/// Replaces the user part of every URL in a text by `***`, unless it is only ssh's account.
#[must_use]
pub fn redact_url(text: &str) -> String {
    rewrite(text, |_| "***@".to_owned())
}

/// A URL as it may be stored and shown: no password, no token. An account that ssh needs stays.
#[must_use]
pub fn without_credentials(url: &str) -> String {
    rewrite(url, |user| match user {
        (true, name) if !name.is_empty() => format!("{name}@"),
        _ => String::new(),
    })
}

/// Rewrites each user part that may hold a secret; the closure is told whether the scheme is ssh's, and the account.
fn rewrite(text: &str, replace: impl Fn((bool, &str)) -> String) -> String {
    let mut done = String::with_capacity(text.len());
    let mut from = 0;
    while let Some(found) = text[from..].find("://") {
        let scheme_end = from + found;
        let after_scheme = scheme_end + 3;
        done.push_str(&text[from..after_scheme]);
        from = after_scheme;
        if let Some((start, end)) = user_part(text, after_scheme) {
            let user = &text[start..end];
            if is_plain_user(scheme_end, text, user) {
                continue;
            }
            let ssh = is_plain_user(scheme_end, text, "");
            done.push_str(&replace((ssh, user.split(':').next().unwrap_or_default())));
            from = end + 1;
        }
    }
    done.push_str(&text[from..]);
    done
}

/// The account and secret that a URL carries, for a call that must not have them in its arguments.
pub(crate) fn embedded(url: &str) -> Option<(String, String)> {
    let after_scheme = url.find("://")? + 3;
    let (start, end) = user_part(url, after_scheme)?;
    let user = &url[start..end];
    let (name, secret) = user.split_once(':').unwrap_or((user, ""));
    Some((decode(name), decode(secret)))
}

/// Undoes percent-encoding; what is no valid escape stays as it is.
fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let escape = (bytes[index] == b'%').then(|| bytes.get(index + 1..index + 3)).flatten();
        let value = escape
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        decoded.push(value.unwrap_or(bytes[index]));
        index += if value.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile;

    #[test]
    fn secrets_leave_every_url_of_a_text() {
        let text = "fatal: 'https://me:s3cret@host/a.git' and http://ghp_token@host:80/b, ssh://git@host/c";
        let shown = redact_url(text);
        assert_eq!(shown, "fatal: 'https://***@host/a.git' and http://***@host:80/b, ssh://git@host/c");
    }

    #[test]
    fn a_stored_url_keeps_only_what_ssh_needs() {
        for (url, stored) in [
            ("https://me:p@ss@host/a.git", "https://host/a.git"),
            ("https://token@host/a.git?x=1", "https://host/a.git?x=1"),
            ("ssh://git@host:22/a.git", "ssh://git@host:22/a.git"),
            ("ssh://git:pw@host/a.git", "ssh://git@host/a.git"),
            ("git@host:a/b.git", "git@host:a/b.git"),
            ("/srv/a@b.git", "/srv/a@b.git"),
            ("https://host/a@b.git", "https://host/a@b.git"),
        ] {
            assert_eq!(without_credentials(url), stored, "{url}");
        }
    }

    #[test]
    fn embedded_credentials_are_decoded() {
        assert_eq!(embedded("https://me:p%40ss%zz@host/a"), Some(("me".into(), "p@ss%zz".into())));
        assert_eq!(embedded("https://host/a"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_handled(text in "(?s).{0,200}") {
            let _ = (redact_url(&text), without_credentials(&text), embedded(&text));
        }

        #[test]
        fn no_secret_survives(user in "[a-z]{1,8}", secret in "[A-Z0-9]{12,20}", tail in "[ -~]{0,40}") {
            let url = format!("x https://{user}:{secret}@host/{tail}");
            prop_assert!(!redact_url(&url).contains(&secret));
            prop_assert!(!without_credentials(&url).contains(&secret));
        }
    }

    #[test]
    fn much_is_read_in_time() {
        hostile::assert_fast(&["https://", "a:b@", "://@"], |stdout| {
            let _ =
                (redact_url(&String::from_utf8_lossy(stdout)), without_credentials(&String::from_utf8_lossy(stdout)));
        });
    }
}
