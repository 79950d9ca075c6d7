//! A thin bar: how much of a whole is used. Drawn, as a page may have no style of its own.

use askama::Template;

/// How many steps a bar has.
const STEPS: u64 = 1000;

/// How much of a whole is used. What it renders to is safe markup.
#[derive(Debug, Clone, Template)]
#[template(
    source = r#"<svg class="bar{% if is_short %} short{% endif %}" viewBox="0 0 1000 4" preserveAspectRatio="none" role="img" aria-label="{{ label }}"><rect width="1000" height="4"/><rect class="used {{ tone }}" width="{{ used }}" height="4"/></svg>"#,
    ext = "html"
)]
pub(crate) struct Bar {
    used: u64,
    tone: &'static str,
    label: String,
    is_short: bool,
}

impl askama::filters::HtmlSafe for Bar {}

impl Bar {
    pub(crate) fn new(used: u64, whole: u64, label: impl Into<String>) -> Self {
        let used = match whole {
            0 => 0,
            _ => u64::try_from(u128::from(used.min(whole)) * u128::from(STEPS) / u128::from(whole)).unwrap_or(STEPS),
        };
        let tone = match used {
            0..800 => "",
            800..950 => "tight",
            _ => "full",
        };
        Self { used, tone, label: label.into(), is_short: false }
    }

    /// How full a session's context is, for a row, with its percentage; none where that is not known.
    pub(crate) fn context(tokens: Option<u64>, window: Option<u64>) -> Option<(Self, u64)> {
        let (tokens, window) = tokens.zip(window).filter(|(_, window)| *window > 0)?;
        let percent = tokens.min(window) * 100 / window;
        let bar = Self::new(tokens, window, format!("{percent} % of the context"));
        Some((Self { is_short: true, ..bar }, percent))
    }

    /// More is better: it never warns.
    pub(crate) fn calm(self) -> Self {
        Self { tone: "", ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_never_longer_than_its_whole() {
        assert_eq!([Bar::new(5, 4, "").used, Bar::new(0, 0, "").used, Bar::new(1, 2, "").used], [1000, 0, 500]);
        assert_eq!(Bar::new(u64::MAX, u64::MAX, "").tone, "full");
    }
}
