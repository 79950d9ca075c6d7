//! Pages of a list: how many entries at most, and after which one.

use spinney_core::Timestamp;
use spinney_store::{Page, Seen};

use crate::error::{ApiError, Result};

const DEFAULT_LIMIT: u32 = 50;
const MAX_LIMIT: u32 = 200;
/// As long as an id, and longer than none that we make.
const MAX_ID_CHARS: usize = 40;

/// Where a page of a list goes on, for whoever got the one before. Nobody but us reads it.
pub(crate) struct Cursor;

impl Cursor {
    /// The cursor behind a row.
    pub(crate) fn behind(at: Timestamp, id: &str) -> String {
        format!("{}-{id}", at.as_millisecond())
    }

    fn seen(text: &str) -> Option<Seen> {
        let (at, id) = text.split_once('-')?;
        let is_id = (1..=MAX_ID_CHARS).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let at = at.parse().ok().filter(|_| at.bytes().all(|byte| byte.is_ascii_digit()))?;
        is_id.then(|| Seen { at: Timestamp::from_millisecond(at), id: id.to_owned() })
    }
}

/// Checks how many somebody wants.
pub(crate) fn limit(limit: Option<u32>) -> Result<u32> {
    match limit.unwrap_or(DEFAULT_LIMIT) {
        limit @ 1..=MAX_LIMIT => Ok(limit),
        other => Err(ApiError::usage(format!("`limit` is 1 to {MAX_LIMIT}, not {other}"))),
    }
}

/// The page that somebody wants, and one row more: it tells whether there is a next one.
pub(crate) fn asked(wanted: Option<u32>, cursor: Option<&str>) -> Result<Page> {
    let after = cursor.map(|text| Cursor::seen(text).ok_or_else(wrong_cursor)).transpose()?;
    Ok(Page { after, limit: limit(wanted)? + 1 })
}

pub(crate) fn wrong_cursor() -> ApiError {
    ApiError::usage("`cursor` is none that was given by `next`").hinted("leave it out to begin at the newest")
}

/// Takes the row away that is one too many, and tells the cursor behind the last one that stays.
pub(crate) fn cut<T>(rows: &mut Vec<T>, page: &Page, cursor: impl Fn(&T) -> String) -> Option<String> {
    let limit = page.limit as usize - 1;
    if rows.len() <= limit {
        return None;
    }
    rows.truncate(limit);
    rows.last().map(cursor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_as_it_was_written() {
        let at = Timestamp::from_millisecond(1_700_000_000_001);
        let text = Cursor::behind(at, "0123456789");
        assert_eq!(Cursor::seen(&text), Some(Seen { at, id: "0123456789".to_owned() }));
        for text in ["", "-", "1-", "-a", "x-a", "1", "1-a'b", "+1-a", "99999999999999999999-a", "1-a\0"] {
            assert_eq!(Cursor::seen(text), None, "{text}");
            assert_eq!(asked(None, Some(text)).unwrap_err().status, 400);
        }
    }

    #[test]
    fn a_page_ends_where_its_limit_is() {
        let page = asked(Some(2), None).unwrap();
        let cut_of = |count: u32| {
            let mut rows: Vec<u32> = (0..count).collect();
            let next = cut(&mut rows, &page, u32::to_string);
            (rows.len(), next)
        };
        assert_eq!(cut_of(2), (2, None));
        assert_eq!(cut_of(3), (2, Some("1".to_owned())));
        assert_eq!(cut_of(0), (0, None));
        for limit in [0, 201, u32::MAX] {
            assert_eq!(asked(Some(limit), None).unwrap_err().status, 400);
        }
    }
}
