//! Plain aligned columns, two spaces apart; the last column is not padded.

use anstyle::Style;
use spinney_core::names::visible_line;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::style;

#[derive(Debug, Clone)]
pub struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub fn styled(text: impl Into<String>, style: Style) -> Self {
        Self { text: visible_line(&text.into()).into_owned(), style }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(text, Style::new())
    }
}

/// What columns are cut to, one step after the other; the first column, which has the names, at each step after the others.
const STEPS: [usize; 4] = [12, 8, 6, 4];
/// A last column with less room than this is not wrapped.
const WORTH_WRAPPING: usize = 20;

/// Rows in columns. One with a header is a list, whose cells are cut where they do not fit; one without is read, and its last
/// column is wrapped.
#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<Cell>>,
    is_list: bool,
}

impl Table {
    pub fn with_header(columns: &[&str]) -> Self {
        let header = columns.iter().map(|column| Cell::styled(*column, style::HEADER)).collect();
        Self { rows: vec![header], is_list: true }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub fn render(&self) -> String {
        self.render_within(None)
    }

    /// The same for so many columns of a terminal.
    pub fn render_within(&self, most: Option<usize>) -> String {
        let mut widths = self.widths();
        if let Some(most) = most.filter(|_| self.is_list) {
            narrow(&mut widths, most);
        }
        let lines = self.rows.iter().map(|row| match most {
            Some(_) if self.is_list => line(row, &widths, true),
            Some(most) => wrapped_line(row, &widths, most),
            None => line(row, &widths, false),
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// How wide each column is. A row's last cell pushes nothing aside, so that a long one does not widen the column for all;
    /// in a list the last column counts like any other.
    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let counted =
                self.rows.iter().filter(|row| column + 1 < row.len() || (self.is_list && column + 1 == columns));
            counted.filter_map(|row| row.get(column)).map(|cell| cell.text.width()).max().unwrap_or(0)
        };
        (0..columns).map(width).collect()
    }
}

/// Takes from the widest column until all fit, from the first one last.
fn narrow(widths: &mut [usize], most: usize) {
    let total = |widths: &[usize]| widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
    for narrowest in STEPS {
        while total(widths) > most {
            let wider = |column: &usize| widths[*column] > narrowest;
            let widest = (1..widths.len()).filter(wider).max_by_key(|column| widths[*column]);
            match widest.or_else(|| (0..widths.len()).find(wider)) {
                Some(column) => widths[column] -= 1,
                None => break,
            }
        }
    }
}

fn line(row: &[Cell], widths: &[usize], cuts: bool) -> String {
    let mut line = String::new();
    for (index, cell) in row.iter().enumerate() {
        let text = if cuts { cut(&cell.text, widths[index]) } else { cell.text.clone() };
        line.push_str(&style::paint(cell.style, &text));
        if index + 1 < row.len() {
            line.push_str(&" ".repeat(widths[index] - text.width() + 2));
        }
    }
    line.trim_end().to_owned()
}

/// The row with its last cell on as many lines as it needs, each below the first.
fn wrapped_line(row: &[Cell], widths: &[usize], most: usize) -> String {
    let Some((last, before)) = row.split_last() else { return String::new() };
    let indent = widths.iter().take(before.len()).map(|width| width + 2).sum::<usize>();
    let room = most.saturating_sub(indent);
    if room < WORTH_WRAPPING || last.text.width() <= room {
        return line(row, widths, false);
    }
    let mut lines: Vec<String> = vec![String::new()];
    for word in last.text.split(' ') {
        let current = lines.last_mut().expect("there is a first line");
        if current.is_empty() {
            current.push_str(word);
        } else if current.width() + 1 + word.width() <= room {
            current.push(' ');
            current.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    let cells = before.iter().zip(widths).map(|(cell, width)| {
        let pad = " ".repeat(width - cell.text.width() + 2);
        format!("{}{pad}", style::paint(cell.style, &cell.text))
    });
    let separator = format!("\n{}", " ".repeat(indent));
    let painted: Vec<_> = lines.iter().map(|line| style::paint(last.style, line)).collect();
    format!("{}{}", cells.collect::<String>(), painted.join(&separator))
}

/// A text that is at most so wide, with a mark where it was cut.
fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut shown = String::new();
    for c in text.chars() {
        if shown.width() + c.width().unwrap_or(0) + 1 > width {
            break;
        }
        shown.push(c);
    }
    shown.push('…');
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_align_by_width_on_screen() {
        let mut table = Table::with_header(&["NAME", "BRANCH"]);
        table.row(["日本".into(), "a".into()]);
        table.row(["x".into(), "\u{1b}[31mred".into()]);
        let plain = anstream::adapter::strip_str(&table.render()).to_string();
        assert_eq!(plain, "NAME  BRANCH\n日本  a\nx     \\u{1b}[31mred");
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn a_list_is_as_wide_as_the_terminal() {
        let mut table = Table::with_header(&["NAME", "BRANCH", "AGE"]);
        table.row(["issue-42".into(), "agent/coder/a-very-long-branch-name".into(), "4m".into()]);
        let shown = plain(&table.render_within(Some(30)));
        assert!(shown.lines().all(|line| line.width() <= 30), "{shown}");
        assert!(shown.contains("issue-42  agent/coder/a-…  4m"), "{shown}");
        assert!(plain(&table.render_within(Some(200))).contains("a-very-long-branch-name"));
        assert!(plain(&table.render()).contains("a-very-long-branch-name"), "a program gets it whole");
        let mut last = Table::with_header(&["NAME", "WHAT"]);
        last.row(["a".into(), "x".repeat(100).into()]);
        assert!(plain(&last.render_within(Some(40))).lines().all(|line| line.width() <= 40));
    }

    #[test]
    fn what_is_read_is_wrapped_and_never_cut() {
        let mut table = Table::default();
        table.row([
            "✗".into(),
            "forge".into(),
            "GITHUB_TOKEN is refused by api.github.com, so nothing is pushed".into(),
        ]);
        let shown = plain(&table.render_within(Some(40)));
        assert_eq!(
            shown,
            "✗  forge  GITHUB_TOKEN is refused by\n          api.github.com, so nothing is\n          pushed"
        );
        let mut narrow = Table::default();
        narrow.row(["a rather long first column".into(), "word ".repeat(20).trim().into()]);
        assert_eq!(plain(&narrow.render_within(Some(30))).lines().count(), 1, "no room to wrap in");
    }

    #[test]
    fn many_columns_fit_a_narrow_terminal() {
        let mut table = Table::with_header(&["ID", "AGENT", "WORK", "STATE", "TOOK", "AGE", "REPOSITORY", "WHAT"]);
        let row = [
            "j7k2m9x4qa",
            "documentation-writer",
            "task-add-dark-mode",
            "completed",
            "12m3s",
            "3d",
            "acme/application",
        ];
        table.row(row.into_iter().chain(["did something useful in many words"]).map(Cell::from));
        for width in [60, 80, 100] {
            let shown = anstream::adapter::strip_str(&table.render_within(Some(width))).to_string();
            assert!(shown.lines().all(|line| line.width() <= width), "{width}:\n{shown}");
        }
    }
}
