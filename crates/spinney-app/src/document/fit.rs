//! A document that is too long for a model is made shorter, and says so.

use serde_json::{Value, json};

/// Less than 10,000 tokens, as JSON of ids and paths takes them.
pub const MAX_BYTES: usize = 30_000;

/// How long texts and lists may be, tried one after the other until the document fits.
const STEPS: [(usize, usize); 6] = [(8000, 200), (2000, 50), (600, 20), (200, 10), (80, 4), (40, 1)];

/// Shortens long texts and lists of a document until it fits, and names under `shortened` where it did.
#[must_use]
pub fn fit(document: Value) -> Value {
    fit_within(document, MAX_BYTES)
}

/// The same within another length.
#[must_use]
pub fn fit_within(document: Value, most_bytes: usize) -> Value {
    if bytes(&document) <= most_bytes {
        return document;
    }
    let mut last = Value::Null;
    for (chars, items) in STEPS {
        let (mut shorter, mut places) = (document.clone(), Vec::new());
        shorten(&mut shorter, chars, items, &mut String::new(), &mut places);
        places.sort();
        places.dedup();
        places.truncate(20);
        shorter["shortened"] = json!(places);
        if bytes(&shorter) <= most_bytes {
            return shorter;
        }
        last = shorter;
    }
    last
}

/// Cuts every text of a document after so many characters, and names under `shortened` which.
pub fn cut_texts(document: &mut Value, chars: usize) {
    let mut places = Vec::new();
    shorten(document, chars, usize::MAX, &mut String::new(), &mut places);
    if !places.is_empty() {
        document["shortened"] = json!(places);
    }
}

/// Cuts a text after so many characters, and says how many more there were.
fn cut(text: &mut String, chars: usize) -> bool {
    let Some((end, _)) = text.char_indices().nth(chars) else { return false };
    let left = text[end..].chars().count();
    text.truncate(end);
    text.push_str(&format!("… ({left} more characters)"));
    true
}

/// Shortens texts that are longer than so many characters, and lists of more than so many items.
fn shorten(value: &mut Value, chars: usize, items: usize, place: &mut String, places: &mut Vec<String>) {
    let length = place.len();
    match value {
        Value::String(text) => {
            let was_cut = cut(text, chars);
            places.extend(was_cut.then(|| place.clone()));
        }
        Value::Array(all) => {
            if all.len() > items {
                all.truncate(items);
                places.push(place.clone());
            }
            for item in all {
                shorten(item, chars, items, place, places);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                if !place.is_empty() {
                    place.push('.');
                }
                place.push_str(name);
                shorten(member, chars, items, place, places);
                place.truncate(length);
            }
        }
        _ => {}
    }
}

/// A part of a list from a place on that fits, as a document: `of` makes it of the rows and the place where the next begins.
pub fn page<T: Clone>(all: Vec<T>, from: usize, mut of: impl FnMut(Vec<T>, Option<usize>) -> Value) -> Value {
    let rest: Vec<T> = all.into_iter().skip(from).collect();
    let mut count = rest.len();
    loop {
        let next = (count < rest.len()).then_some(from + count);
        let document = of(rest[..count].to_vec(), next);
        if count <= 1 || bytes(&document) <= MAX_BYTES {
            return document;
        }
        count /= 2;
    }
}

/// How long a document is.
#[must_use]
pub fn bytes(document: &Value) -> usize {
    document.to_string().len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_as_it_is() {
        let document = json!({ "prompt": "x".repeat(20_000), "n": [1, 2] });
        assert_eq!(fit(document.clone()), document);
    }

    #[test]
    fn what_is_too_long_is_shortened_and_named() {
        let document =
            json!({ "prompt": "ü".repeat(100_000), "job": { "escaped": vec!["a/path"; 50_000] }, "id": "k3" });
        let told = fit(document);
        assert!(bytes(&told) <= MAX_BYTES);
        assert_eq!((told["id"].as_str(), &told["shortened"]), (Some("k3"), &json!(["job.escaped", "prompt"])));
        assert!(told["prompt"].as_str().unwrap().ends_with("more characters)"));
        let nested = json!({ "rows": vec![json!({ "a": vec!["x".repeat(3000); 300] }); 300] });
        assert!(bytes(&fit(nested)) <= MAX_BYTES);
    }

    #[test]
    fn a_list_is_told_in_parts_and_none_is_left_out() {
        let all: Vec<String> = (0..100).map(|row| format!("{row}{}", "x".repeat(2000))).collect();
        let (mut seen, mut from, mut parts) = (Vec::new(), 0, 0);
        loop {
            let told = page(all.clone(), from, |rows, next| json!({ "rows": rows, "next": next }));
            assert!(bytes(&told) <= MAX_BYTES);
            seen.extend(told["rows"].as_array().unwrap().iter().map(|row| row.as_str().unwrap().to_owned()));
            parts += 1;
            match told["next"].as_u64() {
                Some(next) => from = usize::try_from(next).unwrap(),
                None => break,
            }
        }
        assert!(seen == all && parts > 5, "{parts}");
    }
}
