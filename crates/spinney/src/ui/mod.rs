//! What people see: styles, tables, progress, words.

pub mod checks;
pub mod progress;
pub mod repeat;
pub mod story;
pub mod style;
pub mod table;

pub use spinney_app::words;

use std::io::IsTerminal;

use crate::ui::progress::Progress;

/// How much to tell, and how.
#[derive(Debug, Clone)]
pub struct Ui {
    pub quiet: bool,
    pub json: bool,
    pub progress: Progress,
}

impl Ui {
    /// Talks to the person, on stderr.
    pub fn say(&self, text: impl std::fmt::Display) {
        if !self.quiet {
            let text = text.to_string();
            let text = style::visible(&repeat::repeated(&text));
            self.progress.suspend(|| anstream::eprintln!("{text}"));
        }
    }

    pub fn warn(&self, text: impl std::fmt::Display) {
        self.say(format!("{}warning{}: {text}", style::WARNING, style::RESET));
    }

    /// Gives the result, on stdout. What comes from a repository may hold anything; none of it steers the terminal.
    pub fn print(&self, text: impl std::fmt::Display) {
        self.print_raw(style::visible(&text.to_string()));
    }

    /// Gives a table, on stdout: as wide as the terminal at most, and whole elsewhere.
    pub fn print_table(&self, table: &table::Table) {
        let width = match std::io::stdout().is_terminal() {
            true => terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0)),
            false => None,
        };
        self.print(table.render_within(width));
    }

    /// Gives a path, on stdout: a program gets it as it is.
    pub fn print_path(&self, path: &std::path::Path) {
        match std::io::stdout().is_terminal() {
            true => self.print(path.display()),
            false => self.print_raw(path.display()),
        }
    }

    /// Gives a text of ours as it is, on stdout.
    pub fn print_raw(&self, text: impl std::fmt::Display) {
        self.progress.suspend(|| {
            use std::io::Write as _;
            // A closed pipe (`spinney ls | head`) is no failure of ours.
            let _ = writeln!(anstream::stdout(), "{text}");
        });
    }

    /// Gives the one JSON document, on stdout.
    pub fn print_json(&self, document: &impl serde::Serialize) {
        let text = serde_json::to_string_pretty(document).unwrap_or_default();
        self.print_raw(text);
    }
}
