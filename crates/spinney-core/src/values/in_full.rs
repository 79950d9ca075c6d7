//! An error as one text, for where only a text is kept or shown.

use std::error::Error;

/// The message with its causes, each told once.
#[must_use]
pub fn in_full(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    enum Fault {
        #[error("it is full")]
        Disk,
        #[error("`a` can't be written{}", if *.told { ": it is full" } else { "" })]
        Write {
            told: bool,
            #[source]
            source: Box<Fault>,
        },
    }

    #[test]
    fn each_cause_is_told_once() {
        let write = |told| Fault::Write { told, source: Box::new(Fault::Disk) };
        assert_eq!(in_full(&write(false)), "`a` can't be written: it is full");
        assert_eq!(in_full(&write(true)), "`a` can't be written: it is full");
    }
}
