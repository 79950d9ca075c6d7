//! Colours, few and with a meaning each. They vanish by themselves where there is no terminal.

use anstyle::{AnsiColor, Reset, Style};

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
