//! What the readers of JSON streams share. Nothing here trusts the shape of what it is given.

use serde_json::Value;
use spinney_core::{JobEvent, Stream, Usage};

use crate::Sink;

/// How long a tool's detail may be, in characters.
const DETAIL_CHARACTERS: usize = 200;

/// The largest number of tokens that is believed: sums of such still fit everywhere.
const MOST: u64 = 1 << 50;

/// What names best what a tool is used with, most telling first.
const TELLING: &[&str] = &[
    "command",
    "cmd",
    "file_path",
    "filePath",
    "absolute_path",
    "notebook_path",
    "pattern",
    "query",
    "url",
    "path",
    "dir_path",
    "skill",
    "description",
    "prompt",
];

/// Reads a line that is a JSON object; anything else is given out as it is.
pub(super) fn object(line: &[u8], sink: &mut dyn Sink) -> Option<Value> {
    // Without the limits of the line's length and serde's depth, hostile input could take any memory or stack.
    match serde_json::from_slice::<Value>(line) {
        Ok(value) if value.is_object() => Some(value),
        _ => {
            output(line, sink);
            None
        }
    }
}

/// Gives a line of standard output out as it is, unless there is nothing on it.
pub(super) fn output(line: &[u8], sink: &mut dyn Sink) {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches(['\n', '\r']);
    if !text.trim().is_empty() {
        sink.emit(JobEvent::Output { stream: Stream::Stdout, text: text.to_owned(), cut_bytes: 0 });
    }
}

/// The text of a field; empty when it has none.
pub(super) fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}

/// The text of a field that is there and not empty.
pub(super) fn some_text(value: &Value, field: &str) -> Option<String> {
    Some(text(value, field)).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// The text of the first of some fields that has one.
pub(super) fn object_text(value: &Value, fields: &[&str]) -> Option<String> {
    fields.iter().find_map(|field| some_text(value, field))
}

/// A field's number; nought when it has none.
pub(super) fn number(value: &Value, field: &str) -> u64 {
    believed(value[field].as_u64().unwrap_or_default())
}

/// As many tokens as are believed.
pub(super) fn believed(tokens: u64) -> u64 {
    tokens.min(MOST)
}

/// The items of a field that is a list.
pub(super) fn items<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Dollars in millionths.
pub(super) fn micros(dollars: &Value) -> Option<u64> {
    let micros = (dollars.as_f64()? * 1e6).round();
    (micros >= 0.0).then_some((micros as u64).min(MOST))
}

/// Adds two usages; hostile numbers stop at the most that is believed.
pub(super) fn sum(one: Usage, two: Usage) -> Usage {
    combine(one, two, |one, two| one.saturating_add(two).min(MOST))
}

/// What is in the first usage beyond the second.
pub(super) fn difference(one: Usage, two: Usage) -> Usage {
    combine(one, two, u64::saturating_sub)
}

fn combine(one: Usage, two: Usage, with: fn(u64, u64) -> u64) -> Usage {
    Usage {
        input_tokens: with(one.input_tokens, two.input_tokens),
        output_tokens: with(one.output_tokens, two.output_tokens),
        cache_read_tokens: with(one.cache_read_tokens, two.cache_read_tokens),
        cache_write_tokens: with(one.cache_write_tokens, two.cache_write_tokens),
        cost_micros: match (one.cost_micros, two.cost_micros) {
            (None, None) => None,
            (one, two) => Some(with(one.unwrap_or(0), two.unwrap_or(0))),
        },
    }
}

/// Says in one short line what a tool is used with.
pub(super) fn detail(input: &Value) -> String {
    let telling = TELLING.iter().map(|field| &input[*field]).find_map(|value| match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Array(words) if !words.is_empty() => {
            Some(words.iter().map(|word| word.as_str().unwrap_or("…")).collect::<Vec<_>>().join(" "))
        }
        _ => None,
    });
    match telling {
        Some(text) => one_line(&text),
        None if input.as_object().is_none_or(serde_json::Map::is_empty) => one_line(input.as_str().unwrap_or_default()),
        None => one_line(&input.to_string()),
    }
}

/// Makes one short line of a text.
pub(super) fn one_line(text: &str) -> String {
    let mut line = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
            length += 1;
        }
        for character in word.chars() {
            if length >= DETAIL_CHARACTERS {
                line.push('…');
                return line;
            }
            line.push(character);
            length += 1;
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_detail_is_one_short_line() {
        assert_eq!(detail(&json!({"command": "cd x &&\n  make", "description": "builds"})), "cd x && make");
        assert_eq!(detail(&json!({"pattern": "fn main", "path": "src"})), "fn main");
        assert_eq!(detail(&json!({"command": ["bash", "-lc", "ls"]})), "bash -lc ls");
        assert_eq!(detail(&json!({"file_path": 7, "other": [1]})), r#"{"file_path":7,"other":[1]}"#);
        assert_eq!(detail(&json!({})), "");
        assert_eq!(detail(&json!("plain")), "plain");
        let long = detail(&json!({"command": "é".repeat(5000)}));
        assert_eq!(long.chars().count(), DETAIL_CHARACTERS + 1);
    }

    #[test]
    fn numbers_of_hostile_streams_neither_wrap_nor_panic() {
        assert_eq!(number(&json!({"n": u64::MAX}), "n"), MOST);
        let most = Usage { input_tokens: MOST, cost_micros: Some(MOST), ..Usage::default() };
        assert_eq!(sum(most, most), most);
        assert_eq!(difference(Usage::default(), most), Usage { cost_micros: Some(0), ..Usage::default() });
        assert_eq!(micros(&json!(-1.0)), None);
        assert_eq!(micros(&json!(1e300)), Some(MOST));
        assert_eq!(micros(&json!(0.00322)), Some(3220));
    }

    #[test]
    fn depth_does_not_take_the_stack() {
        let mut events = Vec::new();
        let deep = "[".repeat(500_000);
        assert!(object(format!("{{\"a\":{deep}").as_bytes(), &mut events).is_none());
        assert_eq!(events.len(), 1);
    }
}
