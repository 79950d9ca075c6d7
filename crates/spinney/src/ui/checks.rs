//! Checks in a table: a mark, a fact and, where it is not good, what to type.

use spinney_app::{Front, advise_all};
use spinney_engine::{Check, Mark};

use super::repeat::repeated;
use super::style;
use super::table::{Cell, Table};

/// Says what helps, where a check has it as advice.
pub fn told(mut checks: Vec<Check>) -> Vec<Check> {
    for check in checks.iter_mut().filter(|check| !check.advice.is_empty()) {
        check.fix = Some(advise_all(&check.advice, Front::CommandLine).join("; "));
    }
    checks
}

pub fn table(checks: &[Check]) -> Table {
    let mut table = Table::default();
    for check in checks {
        add(&mut table, check);
    }
    table
}

pub fn add(table: &mut Table, check: &Check) {
    let mark = match check.mark {
        Mark::Good => Cell::styled("✓", style::GOOD),
        Mark::Notice => Cell::styled("!", style::WARNING),
        Mark::Bad => Cell::styled("✗", style::ERROR),
    };
    let mut cells = vec![mark, Cell::styled(check.name, style::NAME), Cell::from(check.fact.as_str())];
    cells.extend(check.fix.as_deref().map(|fix| Cell::from(&*repeated(fix))));
    table.row(cells);
}
