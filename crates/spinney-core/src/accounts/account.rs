//! Accounts: the tenants of a store. One's things are "not found" to another.

use crate::Timestamp;
use crate::values::checked_text::checked_text;

/// The account of the person who owns the home, there from the start.
pub const LOCAL: &str = "local";

const MAX_ACCOUNT_BYTES: usize = 39;

checked_text!(
    /// An account's name, as `acme`: also the name of its directories, so that it can't lead out of them.
    AccountName,
    is_account_name,
    /// A text that can't name an account.
    InvalidAccountName: "`{}` is not an account's name: at most 39 lowercase letters, digits and `-`, no `-` first"
);

fn is_account_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= MAX_ACCOUNT_BYTES && text.starts_with(plain) && text.chars().all(|c| plain(c) || c == '-')
}

impl AccountName {
    /// The account of the home's owner.
    #[must_use]
    pub fn local() -> Self {
        Self(LOCAL.to_owned())
    }

    #[must_use]
    pub fn is_local(&self) -> bool {
        self.0 == LOCAL
    }
}

/// One row of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    pub name: AccountName,
    pub created_at: Timestamp,
}

#[cfg(test)]
mod tests {
    use std::path::{Component, Path};

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn plain_names_are_accounts() {
        let long = "x".repeat(MAX_ACCOUNT_BYTES);
        for name in [LOCAL, "a", "7", "acme-2", "a-", &long] {
            assert_eq!(name.parse::<AccountName>().unwrap().as_str(), name);
        }
        assert!(AccountName::local().is_local());
    }

    #[test]
    fn what_could_leave_a_directory_names_no_account() {
        let long = "x".repeat(MAX_ACCOUNT_BYTES + 1);
        for name in ["", ".", "..", "-x", "a.b", "a/b", "/a", "a\\b", "A", "a b", "a_b", "größe", "a\0", "a\n", &long]
        {
            assert!(name.parse::<AccountName>().is_err(), "{name}");
            assert!(serde_json::from_value::<AccountName>(name.into()).is_err(), "{name}");
        }
    }

    proptest! {
        #[test]
        fn an_account_is_one_plain_part_of_a_path(text in "[ -~\u{0}-\u{1f}é.]{0,45}") {
            if let Ok(name) = text.parse::<AccountName>() {
                let parts: Vec<_> = Path::new(name.as_str()).components().collect();
                prop_assert_eq!(parts, [Component::Normal(name.as_str().as_ref())]);
            }
        }
    }
}
