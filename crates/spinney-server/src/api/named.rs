//! What requests name: repositories, workspaces and jobs of the caller's account. What is another's is not found.

use spinney_app::WorkRequest;
use spinney_core::Work;
use spinney_core::names::for_message;

use crate::error::{ApiError, Result};

/// More than a title that a person reads.
const MAX_TEXT_CHARS: usize = 1000;

pub(crate) fn unknown(what: &str, text: &str) -> ApiError {
    ApiError::not_found(format!("there is no {what} `{}`", for_message(text)))
}

/// An id in a query.
pub(crate) fn id<T: std::str::FromStr>(field: &str, text: Option<&str>) -> Result<Option<T>> {
    let wrong = |text: &str| ApiError::usage(format!("`{field}`: `{}` is not an id", for_message(text)));
    text.map(|text| text.parse().map_err(|_| wrong(text))).transpose()
}

/// Words of a query, separated by commas.
pub(crate) fn words<T>(field: &str, text: &str) -> Result<Vec<T>>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    let parse = |word: &str| word.parse().map_err(|error| ApiError::usage(format!("`{field}`: {error}")));
    text.split(',').map(parse).collect()
}

/// A text that people read, of a length that they do; no database takes a zero byte.
pub(crate) fn text(field: &str, text: Option<String>) -> Result<Option<String>> {
    match &text {
        Some(value) if value.chars().count() > MAX_TEXT_CHARS || value.contains('\0') => {
            Err(ApiError::usage(format!("`{field}` has at most {MAX_TEXT_CHARS} characters, and no zero byte")))
        }
        _ => Ok(text),
    }
}

/// A request whose title people can read.
pub(crate) fn titled(request: WorkRequest) -> Result<WorkRequest> {
    Ok(WorkRequest { title: text("title", request.title)?, ..request })
}

/// More than any work belongs to.
const MAX_LINKS: usize = 50;

/// Parses links to other work of the same repository.
pub(crate) fn links(texts: &[String]) -> Result<Vec<Work>> {
    if texts.len() > MAX_LINKS {
        return Err(ApiError::usage(format!("`links`: {} are too many; {MAX_LINKS} is the most", texts.len())));
    }
    let link = |text: &String| Work::link(text).map_err(|error| ApiError::usage(format!("`links`: {error}")));
    texts.iter().map(link).collect()
}
