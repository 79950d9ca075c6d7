//! The results: rows with their goals, as Markdown for people and as JSON with every sample.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::measure::Sample;

/// What a row's numbers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Millis,
    Bytes,
    Percent,
}

/// What a row must reach, by its median against that of the best alternative that is judged by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Goal {
    /// So many times faster.
    Faster(f64),
    /// At most so many times the other.
    Within(f64),
    /// At most so much.
    Under(f64),
    /// At most so much more than the other.
    Beyond(f64),
}

/// What ours is measured beside.
#[derive(Debug, Clone)]
pub struct Alternative {
    pub name: String,
    /// Whether the goals are judged by it; else it is only told.
    pub judged: bool,
    pub sample: Sample,
}

/// One thing that was measured, beside its alternatives.
#[derive(Debug, Clone)]
pub struct Row {
    pub what: String,
    unit: Unit,
    pub ours: Sample,
    pub alternatives: Vec<Alternative>,
    goals: Vec<Goal>,
    /// Why there are no numbers.
    unavailable: Option<String>,
}

impl Row {
    pub fn new(what: impl Into<String>, unit: Unit) -> Self {
        Self {
            what: what.into(),
            unit,
            ours: Sample::default(),
            alternatives: Vec::new(),
            goals: Vec::new(),
            unavailable: None,
        }
    }

    pub fn goal(mut self, goal: Goal) -> Self {
        self.goals.push(goal);
        self
    }

    /// What its goals are judged by; of several, by the best.
    pub fn against(mut self, name: &str) -> Self {
        self.alternatives.push(Alternative { name: name.to_owned(), judged: true, sample: Sample::default() });
        self
    }

    /// What is only told beside it.
    pub fn beside(mut self, name: &str) -> Self {
        self.alternatives.push(Alternative { name: name.to_owned(), judged: false, sample: Sample::default() });
        self
    }

    /// A run of ours (none) or of that alternative.
    pub fn push(&mut self, alternative: Option<&str>, run: f64) {
        match alternative {
            None => self.ours.push(run),
            Some(name) => match self.alternatives.iter_mut().find(|alternative| alternative.name == name) {
                Some(alternative) => alternative.sample.push(run),
                None => {
                    let sample = Sample::default();
                    self.alternatives.push(Alternative { name: name.to_owned(), judged: false, sample });
                    self.push(alternative, run);
                }
            },
        }
    }

    fn best(&self) -> Option<f64> {
        let judged = self.alternatives.iter().filter(|alternative| alternative.judged);
        judged.filter_map(|alternative| alternative.sample.median()).min_by(f64::total_cmp)
    }

    /// Whether a goal is reached; none when something to judge by is missing.
    fn reaches(&self, goal: Goal) -> Option<bool> {
        if self.unavailable.is_some() {
            return None;
        }
        let ours = self.ours.median()?;
        Some(match goal {
            Goal::Faster(times) => self.best()? >= ours * times,
            Goal::Within(times) => ours <= self.best()? * times,
            Goal::Under(most) => ours <= most,
            Goal::Beyond(more) => ours <= self.best()? + more,
        })
    }

    /// Whether all goals are reached: none without goals, or when something to judge by is missing.
    fn reached(&self) -> Option<bool> {
        let each: Vec<Option<bool>> = self.goals.iter().map(|goal| self.reaches(*goal)).collect();
        if each.is_empty() || each.contains(&None) { None } else { Some(!each.contains(&Some(false))) }
    }

    fn goal_text(&self, goal: Goal) -> String {
        let text = match goal {
            Goal::Faster(times) => format!("{times} × faster"),
            Goal::Within(times) => format!("≤ {times} ×"),
            Goal::Under(most) => format!("≤ {}", self.unit.text(most)),
            Goal::Beyond(more) => format!("≤ {} more", self.unit.text(more)),
        };
        match self.reaches(goal) {
            Some(true) => format!("{text} ✓"),
            Some(false) => format!("{text} ✗"),
            None => text,
        }
    }

    /// `12 × faster`, `1.30 × slower`.
    fn ratio_text(&self, theirs: f64) -> String {
        let Some(ours) = self.ours.median().filter(|ours| *ours > 0.0 && theirs > 0.0) else {
            return "–".to_owned();
        };
        let (better, worse) = if self.unit == Unit::Millis { ("faster", "slower") } else { ("less", "more") };
        let (times, word) = if theirs >= ours { (theirs / ours, better) } else { (ours / theirs, worse) };
        if times < 10.0 { format!("{times:.2} × {word}") } else { format!("{times:.0} × {word}") }
    }

    fn lines(&self, text: &mut String) {
        let goals: Vec<String> = self.goals.iter().map(|goal| self.goal_text(*goal)).collect();
        let goals = if goals.is_empty() { "–".to_owned() } else { goals.join(", ") };
        if let Some(reason) = &self.unavailable {
            let _ = writeln!(text, "| {} | not available: {} | | | | | | {goals} | – |", self.what, cell(reason));
            return;
        }
        let reached = match self.reached() {
            Some(true) => "reached",
            Some(false) => "**missed**",
            None => "–",
        };
        let mut beside = self.alternatives.iter().filter(|alternative| !alternative.sample.is_empty()).map(|theirs| {
            let median = theirs.sample.median().unwrap_or_default();
            format!("{} | {} | {}", theirs.name, self.unit.text(median), self.ratio_text(median))
        });
        let first = beside.next().unwrap_or_else(|| "– | – | –".to_owned());
        let number = |value: Option<f64>| value.map_or("–".to_owned(), |value| self.unit.text(value));
        let (median, p95, rounds) = (number(self.ours.median()), number(self.ours.p95()), self.ours.runs().len());
        let _ = writeln!(text, "| {} | {median} | {p95} | {rounds} | {first} | {goals} | {reached} |", self.what);
        for other in beside {
            let _ = writeln!(text, "| | | | | {other} | | |");
        }
    }

    fn json(&self) -> Value {
        let alternatives: Vec<Value> = self.alternatives.iter().map(|alternative| {
            let Alternative { name, judged, sample } = alternative;
            let ratio = self.ours.median().zip(sample.median()).map(|(ours, theirs)| ours / theirs);
            let (median, p95) = (sample.median(), sample.p95());
            json!({ "name": name, "judged": judged, "median": median, "p95": p95, "ratio": ratio, "runs": sample.runs() })
        }).collect();
        let goals: Vec<Value> = self
            .goals
            .iter()
            .map(|goal| json!({ "goal": self.goal_text(*goal), "reached": self.reaches(*goal) }))
            .collect();
        json!({
            "what": self.what,
            "unit": self.unit.name(),
            "median": self.ours.median(),
            "p95": self.ours.p95(),
            "runs": self.ours.runs(),
            "alternatives": alternatives,
            "goals": goals,
            "reached": self.reached(),
            "unavailable": self.unavailable,
        })
    }
}

/// Rows that were measured together: where that ended early, they say why and none is judged.
pub fn finish<const N: usize>(outcome: anyhow::Result<()>, mut rows: [Row; N]) -> Vec<Row> {
    if let Err(error) = outcome {
        let reason = format!("{error:#}");
        rows.iter_mut().for_each(|row| row.unavailable = Some(reason.clone()));
    }
    rows.into()
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Self::Millis => "milliseconds",
            Self::Bytes => "bytes",
            Self::Percent => "percent",
        }
    }

    fn text(self, value: f64) -> String {
        match self {
            Self::Millis if value < 10.0 => format!("{value:.1} ms"),
            Self::Millis if value < 1000.0 => format!("{value:.0} ms"),
            Self::Millis => format!("{:.2} s", value / 1000.0),
            Self::Bytes => format!("{:.1} MiB", value / MIB),
            Self::Percent => format!("{value:.1} %"),
        }
    }
}

/// "No slower", with a twentieth for the noise of a clock.
pub const NO_SLOWER: f64 = 1.05;

/// Bytes of a mebibyte.
pub const MIB: f64 = 1_048_576.0;

/// Text that breaks no table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

/// All rows, and what they were measured on.
#[derive(Debug, Default)]
pub struct Table {
    /// The machine, the tree, the versions: a name and a value each.
    pub facts: Vec<(String, String)>,
    pub rows: Vec<Row>,
}

impl Table {
    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for (name, value) in &self.facts {
            let _ = writeln!(text, "- {name}: {value}");
        }
        text.push_str("\n| | spinney | p95 | rounds | beside | its median | spinney is | goal | |\n");
        text.push_str("| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
        self.rows.iter().for_each(|row| row.lines(&mut text));
        text
    }

    pub fn json(&self) -> Value {
        let facts: serde_json::Map<String, Value> =
            self.facts.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        json!({ "measured_on": facts, "rows": self.rows.iter().map(Row::json).collect::<Vec<_>>() })
    }
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    /// Ours takes 10 ms, git 1 s, git with two workers 500 ms, a peer 5 ms.
    fn row() -> Row {
        let mut row = Row::new("`new`", Unit::Millis).against("git").against("git, 2 workers").beside("peer");
        row.push(None, 10.0);
        row.push(Some("git"), 1000.0);
        row.push(Some("git, 2 workers"), 500.0);
        row.push(Some("peer"), 5.0);
        row
    }

    #[test]
    fn goals_are_judged_by_the_best_of_the_judged_alternatives() {
        for (goal, reached) in [
            (Goal::Faster(50.0), true),
            (Goal::Faster(51.0), false),
            (Goal::Within(0.02), true),
            (Goal::Within(0.019), false),
            (Goal::Under(10.0), true),
            (Goal::Under(9.0), false),
        ] {
            assert_eq!(row().goal(goal).reached(), Some(reached), "{goal:?}");
        }
        let mut memory = Row::new("memory", Unit::Bytes).against("git");
        memory.push(None, 70.0 * MIB);
        memory.push(Some("git"), 10.0 * MIB);
        assert_eq!(memory.clone().goal(Goal::Beyond(64.0 * MIB)).reached(), Some(true));
        assert_eq!(memory.goal(Goal::Beyond(59.0 * MIB)).reached(), Some(false));
    }

    #[test]
    fn one_missed_goal_is_a_missed_row_and_nothing_measured_is_none() {
        assert_eq!(row().goal(Goal::Faster(2.0)).goal(Goal::Under(1.0)).reached(), Some(false));
        assert_eq!(row().reached(), None, "a row without goals");
        assert_eq!(Row::new("`new`", Unit::Millis).goal(Goal::Under(1.0)).reached(), None, "a row without numbers");
        let mut alone = Row::new("`new`", Unit::Millis).against("git").goal(Goal::Faster(2.0));
        alone.push(None, 1.0);
        assert_eq!(alone.reached(), None, "nothing to judge by");
    }

    #[test]
    fn a_row_has_a_line_for_each_alternative() {
        let table = Table {
            facts: vec![("machine".to_owned(), "2 cores".to_owned())],
            rows: vec![row().goal(Goal::Faster(100.0)).goal(Goal::Under(25.0))],
        };
        let text = table.markdown();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "- machine: 2 cores");
        assert_eq!(
            lines[4..],
            [
                "| `new` | 10 ms | 10 ms | 1 | git | 1.00 s | 100 × faster | 100 × faster ✗, ≤ 25 ms ✓ | **missed** |",
                "| | | | | git, 2 workers | 500 ms | 50 × faster | | |",
                "| | | | | peer | 5.0 ms | 2.00 × slower | | |",
            ]
        );
    }

    #[test]
    fn what_ended_early_says_why_and_keeps_its_goal() {
        let goal = Row::new("warm `new`", Unit::Millis).goal(Goal::Under(25.0));
        let rows = finish(Err(anyhow!("no command `pool`\n| usage")), [goal]);
        let text = Table { facts: Vec::new(), rows }.markdown();
        let last = text.lines().last().unwrap();
        assert_eq!(last, "| warm `new` | not available: no command `pool` \\| usage | | | | | | ≤ 25 ms | – |");
    }

    #[test]
    fn the_json_holds_every_run() {
        let table = Table { facts: Vec::new(), rows: vec![row().goal(Goal::Faster(40.0))] };
        let json = table.json();
        let row = &json["rows"][0];
        assert_eq!(row["runs"], json!([10.0]));
        assert_eq!(row["alternatives"][1]["median"], json!(500.0));
        assert_eq!(row["alternatives"][1]["ratio"], json!(0.02));
        assert_eq!(row["reached"], json!(true));
        assert_eq!(row["unavailable"], Value::Null);
    }
}
