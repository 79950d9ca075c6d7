//! Colours, few and with a meaning each. They vanish by themselves where there is no terminal.

use anstyle::{AnsiColor, Reset, Style};
use spinney_core::names;

pub const RESET: Reset = Reset;
pub const ERROR: Style = AnsiColor::Red.on_default().bold();
pub const WARNING: Style = AnsiColor::Yellow.on_default().bold();
pub const HINT: Style = AnsiColor::Cyan.on_default().bold();
pub const GOOD: Style = AnsiColor::Green.on_default();
pub const NAME: Style = Style::new().bold();
pub const HEADER: Style = Style::new().dimmed();
pub const QUIET: Style = Style::new().dimmed();

pub fn paint(style: Style, text: impl std::fmt::Display) -> String {
    format!("{style}{text}{style:#}")
}

/// A text for a terminal, in which nothing but the styles above steers it; see [`spinney_core::names::visible`].
pub fn visible(text: &str) -> String {
    let styles = [ERROR, WARNING, HINT, GOOD, NAME, HEADER];
    let own: Vec<String> =
        styles.iter().flat_map(|style| [style.render().to_string(), style.render_reset().to_string()]).collect();
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('\u{1b}') {
        shown.push_str(&names::visible(&rest[..start]));
        rest = &rest[start..];
        // One style is several sequences; each begins anew.
        let length =
            own.iter().filter(|style| !style.is_empty() && rest.starts_with(style.as_str())).map(String::len).max();
        let (sequence, after) = rest.split_at(length.unwrap_or(1));
        if length.is_some() {
            shown.push_str(sequence);
        } else {
            shown.push_str(&names::visible(sequence));
        }
        rest = after;
    }
    shown.push_str(&names::visible(rest));
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_styles_steer_the_terminal() {
        let ours = format!("{} {WARNING}warning{RESET}: {}", paint(ERROR, "a"), paint(QUIET, "b"));
        assert_eq!(visible(&ours), ours);
        assert_eq!(visible("a\u{1b}[2J\u{1b}]0;x\u{7}\u{202e}b\n"), "a\\u{1b}[2J\\u{1b}]0;x\\u{7}\\u{202e}b\n");
    }
}
