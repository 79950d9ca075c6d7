//! A sentence of ours, in which backticks stand around names, and a job's id behind its word.

use std::fmt;

use askama::filters::{Html, HtmlSafe, escape};
use spinney_core::JobId;

/// What a job's id stands behind.
const JOB: &str = "job ";

/// The sentence as markup: what stands between backticks is code, a job's id leads to the job, and all of it is escaped.
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
            let Ok(name) = escape(name, Html);
            write_linked(f, before)?;
            write!(f, "<code>{name}</code>")?;
            rest = end;
        }
        write_linked(f, rest)
    }
}

/// Writes text without names.
fn write_linked(f: &mut fmt::Formatter<'_>, mut rest: &str) -> fmt::Result {
    while let Some(at) = rest.find(JOB) {
        let (before, after) = rest.split_at(at + JOB.len());
        let end = after.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(after.len());
        let (word, end) = after.split_at(end);
        let Ok(before) = escape(before, Html);
        match word.parse::<JobId>() {
            Ok(id) => write!(f, "{before}<a class=\"mono\" href=\"/jobs/{id}\">{id}</a>")?,
            Err(_) => write!(f, "{before}{word}")?,
        }
        rest = end;
    }
    let Ok(rest) = escape(rest, Html);
    write!(f, "{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_a_link() {
        let link = r#"<a class="mono" href="/jobs/7f3k2a9qxe">7f3k2a9qxe</a>"#;
        assert_eq!(
            ticked("waits for job 7f3k2a9qxe of `a`, no job <i>").to_string(),
            format!("waits for job {link} of <code>a</code>, no job &#60;i&#62;")
        );
        assert_eq!(ticked("its job is done; job 1; a job ").to_string(), "its job is done; job 1; a job ");
    }

    #[test]
    fn names_are_code_and_nothing_is_markup() {
        let text = ticked("`<b>` is <i>held</i> by `a`; odd ` stays");
        assert_eq!(
            text.to_string(),
            "<code>&#60;b&#62;</code> is &#60;i&#62;held&#60;/i&#62; by <code>a</code>; odd ` stays"
        );
    }
}
