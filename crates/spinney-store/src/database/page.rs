//! A part of a list that has the newest first: so many rows, after the one that was seen last.

use spinney_core::Timestamp;

/// The row of a list that was seen last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    pub at: Timestamp,
    pub id: String,
}

/// A part of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// None: from its beginning.
    pub after: Option<Seen>,
    /// How many rows at most.
    pub limit: u32,
}

impl Page {
    /// The end of a query whose condition is begun: what comes after the row that was seen, in order. The id joins the
    /// values of the parameters.
    pub(crate) fn rest<'p>(&'p self, time: &str, id: &str, values: &mut Vec<&'p str>) -> String {
        let after = self.after.as_ref().map(|seen| {
            values.push(&seen.id);
            let (at, number) = (seen.at.as_millisecond(), values.len());
            format!(" AND ({time} < {at} OR ({time} = {at} AND {id} > ${number}))")
        });
        format!("{} ORDER BY {time} DESC, {id} LIMIT {}", after.unwrap_or_default(), self.limit)
    }
}

/// A pattern for `LIKE … ESCAPE '!'` that finds a text anywhere.
pub(crate) fn anywhere(text: &str) -> String {
    let mut pattern = String::from("%");
    for letter in text.chars() {
        if matches!(letter, '%' | '_' | '!') {
            pattern.push('!');
        }
        pattern.push(letter);
    }
    pattern.push('%');
    pattern
}
