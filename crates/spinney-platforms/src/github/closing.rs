//! The issues that a pull request closes, by GitHub's keywords in its text.

use super::markdown::{Without, blanked};

const KEYWORDS: [&str; 9] = ["close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved"];
/// More than anybody means.
const MOST: usize = 20;

/// The repository whose issues count.
#[derive(Debug, Clone, Copy)]
pub(super) struct Home<'a> {
    /// As `acme/app`.
    pub full_name: &'a str,
    /// Its page.
    pub url: &'a str,
}

/// The numbers of the repository's own issues that a text closes, each once, in their order.
pub(super) fn closed_issues(text: &str, home: Home<'_>) -> Vec<u64> {
    let said = blanked(text, Without::CodeAndComments);
    let mut numbers = Vec::new();
    let mut rest = said.as_str();
    let mut before = None;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic()) {
        before = rest[..start].chars().next_back().or(before);
        let word = &rest[start..];
        let length = word.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(word.len());
        let is_whole = before.is_none_or(|c| !(c.is_alphanumeric() || "_-/".contains(c)));
        let is_keyword = KEYWORDS.iter().any(|keyword| word[..length].eq_ignore_ascii_case(keyword));
        before = word[..length].chars().next_back();
        rest = &word[length..];
        if !(is_whole && is_keyword) {
            continue;
        }
        if let Some(number) = reference(rest, home)
            && !numbers.contains(&number)
            && numbers.len() < MOST
        {
            numbers.push(number);
        }
    }
    numbers
}

/// The issue that is named behind a keyword, if it is one of ours.
fn reference(text: &str, home: Home<'_>) -> Option<u64> {
    let text = text.strip_prefix(':').unwrap_or(text);
    let reference = text.trim_start_matches([' ', '\t']);
    if reference.len() == text.len() {
        return None;
    }
    let own = format!("{}#", home.full_name);
    let page = format!("{}/issues/", home.url.trim_end_matches('/'));
    let digits = ["#", "GH-", &own, &page].iter().find_map(|prefix| strip_prefix(reference, prefix))?;
    let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let is_longer = digits[length..].starts_with(|c: char| c.is_alphanumeric() || "_/".contains(c));
    digits[..length].parse().ok().filter(|number| *number > 0 && !is_longer)
}

/// As the standard one, in any case.
fn strip_prefix<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let start = text.get(..prefix.len())?;
    start.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOME: Home<'static> = Home { full_name: "acme/app", url: "https://ghe.example/acme/app" };

    #[test]
    fn all_nine_keywords_close_in_any_case() {
        for keyword in KEYWORDS {
            for written in [keyword.to_owned(), keyword.to_uppercase(), format!("{keyword}:")] {
                assert_eq!(closed_issues(&format!("{written} #42"), HOME), [42], "{written}");
            }
        }
    }

    #[test]
    fn what_closes_and_what_does_not() {
        let none: &[u64] = &[];
        for (text, numbers) in [
            ("This fixes #1.", &[1][..]),
            ("Fixes #1, fixes #2 and closes #3", &[1, 2, 3]),
            ("Fixes #1, #2", &[1]),
            ("Fixes #1\nFixes #1", &[1]),
            ("Closes acme/app#7", &[7]),
            ("Closes ACME/App#7", &[7]),
            ("Resolves https://ghe.example/acme/app/issues/9", &[9]),
            ("Resolves: https://GHE.example/acme/app/issues/9#issuecomment-1", &[9]),
            ("fix GH-5", &[5]),
            ("(fixes #4)", &[4]),
            ("**Fixes** #4", none),
            ("fixes\t #4", &[4]),
            ("> fixes #4", &[4]),
            ("Closes other/app#7", none),
            ("Closes acme/app2#7", none),
            ("Closes https://github.com/acme/app/issues/9", none),
            ("Closes https://ghe.example/acme/app/pull/9", none),
            ("Closes https://ghe.example/acme/app/issues/9/x", none),
            ("fixing #1", none),
            ("prefix #1", none),
            ("hot-fix #1", none),
            ("fix1 #1", none),
            ("üfix #1", none),
            ("fixes#1", none),
            ("fixes:#1", none),
            ("fixes #", none),
            ("fixes #0", none),
            ("fixes #1a", none),
            ("fixes #99999999999999999999999", none),
            ("fixes the bug of #1", none),
            ("fixes\n#1", none),
            ("#1 fixes", none),
            ("`fixes #1`", none),
            ("```\nfixes #1\n```", none),
            ("<!-- Fixes #123 -->", none),
            ("", none),
        ] {
            assert_eq!(closed_issues(text, HOME), numbers, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_handled(text in "(?s)(fixes |closes: |#|acme/app#|https://|[0-9]|.){0,60}") {
            prop_assert!(closed_issues(&text, HOME).len() <= MOST);
        }
    }
}
