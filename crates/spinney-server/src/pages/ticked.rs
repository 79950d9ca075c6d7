//! A sentence of ours, in which backticks stand around names.

use std::fmt;

use askama::filters::{Html, HtmlSafe, escape};

/// The sentence as markup: what stands between backticks is code, and all of it is escaped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ticked<'a>(&'a str);

pub(crate) fn ticked<T: AsRef<str> + ?Sized>(text: &T) -> Ticked<'_> {
    Ticked(text.as_ref())
}

impl HtmlSafe for Ticked<'_> {}

impl fmt::Display for Ticked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some((before, after)) = rest.split_once('`') {
            let Some((name, end)) = after.split_once('`') else { break };
            let Ok(before) = escape(before, Html);
            let Ok(name) = escape(name, Html);
            write!(f, "{before}<code>{name}</code>")?;
            rest = end;
        }
        let Ok(rest) = escape(rest, Html);
        write!(f, "{rest}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_code_and_nothing_is_markup() {
        let text = ticked("`<b>` is <i>held</i> by `a`; odd ` stays");
        assert_eq!(
            text.to_string(),
            "<code>&#60;b&#62;</code> is &#60;i&#62;held&#60;/i&#62; by <code>a</code>; odd ` stays"
        );
    }
}
