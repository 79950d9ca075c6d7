//! Style, script and icon: compiled in, each under a name that changes with its content.

use std::sync::LazyLock;

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use super::error_page;
use crate::api::extract::Path;
use crate::error::ApiError;

/// What a name stands for never changes.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
/// Enough of a hash to tell one version from another.
const HASH_BYTES: usize = 8;

struct Asset {
    path: String,
    content_type: &'static str,
    content: &'static str,
}

impl Asset {
    fn new(stem: &str, extension: &str, content_type: &'static str, content: &'static str) -> Self {
        let hash = Sha256::digest(content);
        let hash: String = hash.iter().take(HASH_BYTES).map(|byte| format!("{byte:02x}")).collect();
        Self { path: format!("/assets/{stem}-{hash}.{extension}"), content_type, content }
    }
}

static STYLE: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("spinney", "css", "text/css; charset=utf-8", include_str!("../../assets/spinney.css")));
static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("spinney", "js", "text/javascript; charset=utf-8", include_str!("../../assets/spinney.js"))
});
static ICON: LazyLock<Asset> =
    LazyLock::new(|| Asset::new("icon", "svg", "image/svg+xml", include_str!("../../assets/icon.svg")));

pub(crate) fn style() -> &'static str {
    &STYLE.path
}

pub(crate) fn script() -> &'static str {
    &SCRIPT.path
}

pub(crate) fn icon() -> &'static str {
    &ICON.path
}

/// One of them; there are no others.
pub(crate) async fn show(Path(name): Path<String>) -> Response {
    let all = [&*STYLE, &*SCRIPT, &*ICON];
    let is_meant = |asset: &&&Asset| asset.path.strip_prefix("/assets/") == Some(name.as_str());
    match all.iter().find(is_meant) {
        Some(asset) => ([(CONTENT_TYPE, asset.content_type), (CACHE_CONTROL, FOR_EVER)], asset.content).into_response(),
        None => error_page(&ApiError::not_found("there is nothing here")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_its_content() {
        let one = Asset::new("a", "css", "text/css", "x");
        assert_ne!(one.path, Asset::new("a", "css", "text/css", "y").path);
        assert!(style().starts_with("/assets/spinney-") && style().ends_with(".css"), "{}", style());
    }

    /// How bright a colour as `#1c211f` is, as WCAG has it.
    fn luminance(colour: &str) -> f64 {
        let part = |at: usize| f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
        let linear = |part: f64| if part <= 0.03928 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) };
        0.2126 * linear(part(1)) + 0.7152 * linear(part(3)) + 0.0722 * linear(part(5))
    }

    #[test]
    fn every_text_can_be_read_light_and_dark() {
        let (light, dark) = STYLE.content.split_once("prefers-color-scheme: dark").unwrap();
        for (look, style) in [("light", light), ("dark", dark)] {
            let colour = |name: &str| {
                let (_, rest) = style.split_once(&format!("--{name}: ")).unwrap_or_else(|| panic!("{name} in {look}"));
                luminance(&rest[..7])
            };
            let contrast = |one: &str, other: &str| {
                let (one, other) = (colour(one), colour(other));
                (one.max(other) + 0.05) / (one.min(other) + 0.05)
            };
            let texts = ["ink", "soft", "faint", "accent", "bad", "warn"];
            let pairs = texts.into_iter().flat_map(|text| ["ground", "raised", "sunken"].map(|ground| (text, ground)));
            let own = [("on-accent", "accent"), ("ink", "added"), ("ink", "removed"), ("ink", "bad-ground")];
            for (text, ground) in pairs.chain(own).chain([("bad", "bad-ground"), ("accent", "accent-ground")]) {
                let found = contrast(text, ground);
                assert!(found >= 4.5, "{look}: {text} on {ground} has a contrast of {found:.2}");
            }
        }
    }

    #[test]
    fn nothing_asks_another_place() {
        for asset in [&*STYLE, &*SCRIPT] {
            assert!(!asset.content.contains("http:") && !asset.content.contains("https:"), "{}", asset.path);
        }
    }
}
