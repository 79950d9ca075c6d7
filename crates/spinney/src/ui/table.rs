//! Plain aligned columns, two spaces apart; the last column is not padded.

use anstyle::Style;
use spinney_core::names::visible_line;
use unicode_width::UnicodeWidthStr;

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

#[derive(Debug, Default)]
pub struct Table {
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub fn with_header(columns: &[&str]) -> Self {
        let header = columns.iter().map(|column| Cell::styled(*column, style::HEADER)).collect();
        Self { rows: vec![header] }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        // A row's last cell pushes nothing aside, so that a long one does not widen the column for all.
        let width = |column: usize| {
            let padded = self.rows.iter().filter(|row| column + 1 < row.len());
            padded.filter_map(|row| row.get(column)).map(|cell| cell.text.width()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        let line = |row: &Vec<Cell>| {
            let mut line = String::new();
            for (index, cell) in row.iter().enumerate() {
                line.push_str(&style::paint(cell.style, &cell.text));
                if index + 1 < row.len() {
                    line.push_str(&" ".repeat(widths[index] - cell.text.width() + 2));
                }
            }
            line.trim_end().to_owned()
        };
        self.rows.iter().map(line).collect::<Vec<_>>().join("\n")
    }
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
}
