//! Pages of a list: how many entries at most, and after which one.

use spinney_core::Timestamp;
use spinney_store::Seen;

use crate::{InvalidRequest, Result};

const DEFAULT_LIMIT: u32 = 50;
/// The most entries of a page.
pub const MAX_LIMIT: u32 = 200;
/// As long as an id, and longer than none that we make.
const MAX_ID_CHARS: usize = 40;

/// Which page somebody asks for.
#[derive(Debug, Clone, Copy, Default)]
pub struct PageAsked<'a> {
    /// How many at most; none: 50.
    pub limit: Option<u32>,
    /// The `next` of the page before.
    pub cursor: Option<&'a str>,
}

impl PageAsked<'_> {
    /// How many entries it has at most.
    ///
    /// # Errors
    ///
    /// If that is none, or too many.
    pub fn limit(&self) -> Result<u32, InvalidRequest> {
        match self.limit.unwrap_or(DEFAULT_LIMIT) {
            limit @ 1..=MAX_LIMIT => Ok(limit),
            given => Err(InvalidRequest::Limit { given }),
        }
    }

    /// The rows to load: one more than asked for, which tells whether there is a next page.
    pub(crate) fn rows(&self) -> Result<spinney_store::Page> {
        let after = self.cursor.map(|text| seen(text).ok_or(InvalidRequest::Cursor)).transpose()?;
        Ok(spinney_store::Page { after, limit: self.limit()? + 1 })
    }

    /// The number after which a list of numbered entries goes on.
    pub(crate) fn number(&self) -> Result<Option<i64>> {
        let number = |text: &str| text.parse::<i64>().ok().filter(|number| *number >= 0);
        Ok(self.cursor.map(|text| number(text).ok_or(InvalidRequest::Cursor)).transpose()?)
    }
}

/// A part of a list.
#[derive(Debug)]
pub struct Page<T> {
    pub rows: Vec<T>,
    /// The cursor of the next part; none behind the last.
    pub next: Option<String>,
}

impl<T> Page<T> {
    /// Takes the row away that is one too many, and tells the cursor behind the last one that stays.
    pub(crate) fn cut(mut rows: Vec<T>, asked: &PageAsked<'_>, cursor: impl Fn(&T) -> String) -> Result<Self> {
        let limit = asked.limit()? as usize;
        let is_more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| is_more).map(cursor);
        Ok(Self { rows, next })
    }
}

/// The cursor behind a row. Nobody but us reads it.
pub(crate) fn behind(at: Timestamp, id: &str) -> String {
    format!("{}-{id}", at.as_millisecond())
}

fn seen(text: &str) -> Option<Seen> {
    let (at, id) = text.split_once('-')?;
    let is_id = (1..=MAX_ID_CHARS).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let at = at.parse().ok().filter(|_| at.bytes().all(|byte| byte.is_ascii_digit()))?;
    is_id.then(|| Seen { at: Timestamp::from_millisecond(at), id: id.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let at = Timestamp::from_millisecond(1_700_000_000_001);
        let text = behind(at, "0123456789");
        assert_eq!(seen(&text), Some(Seen { at, id: "0123456789".to_owned() }));
        for text in ["", "-", "1-", "-a", "x-a", "1", "1-a'b", "+1-a", "99999999999999999999-a", "1-a\0"] {
            assert_eq!(seen(text), None, "{text}");
            assert!(PageAsked { limit: None, cursor: Some(text) }.rows().is_err());
        }
    }

    #[test]
    fn a_page_ends_where_its_limit_is() {
        let asked = PageAsked { limit: Some(2), cursor: None };
        assert_eq!(asked.rows().unwrap().limit, 3);
        let cut_of = |count: u32| {
            let page = Page::cut((0..count).collect(), &asked, u32::to_string).unwrap();
            (page.rows.len(), page.next)
        };
        assert_eq!(cut_of(2), (2, None));
        assert_eq!(cut_of(3), (2, Some("1".to_owned())));
        assert_eq!(cut_of(0), (0, None));
        for limit in [0, 201, u32::MAX] {
            let asked = PageAsked { limit: Some(limit), cursor: None };
            assert_eq!(asked.limit(), Err(InvalidRequest::Limit { given: limit }));
        }
    }
}
