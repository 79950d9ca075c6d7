//! Texts that are checked once, when they are read, and are then of a type of their own.

/// Makes a type of a text with a test that it passes, and an error for one that does not.
macro_rules! checked_text {
    ($(#[$doc:meta])* $name:ident, $test:expr, $(#[$error_doc:meta])* $error:ident: $message:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        $(#[$error_doc])*
        #[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
        #[error($message, $crate::names::for_message(.0))]
        pub struct $error(pub String);

        impl $name {
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, $error> {
                let test: fn(&str) -> bool = $test;
                if test(text) { Ok(Self(text.to_owned())) } else { Err($error(text.to_owned())) }
            }
        }

        impl TryFrom<String> for $name {
            type Error = $error;

            fn try_from(text: String) -> Result<Self, $error> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}
pub(crate) use checked_text;
