//! The block on a terminal that is rewritten while jobs run: a row a job.

use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use spinney_app::Front;
use spinney_core::Job;
use unicode_width::UnicodeWidthStr;

use super::ending::stop_word;
use super::watched::Watched;
use crate::ui::words;

const TICK: Duration = Duration::from_millis(100);
/// Whoever runs gets a spinner, whoever waits or has ended a mark of its own.
const SPINNING: &str = "{prefix}{spinner} {wide_msg}";
const STANDING: &str = "{prefix}{wide_msg}";

#[derive(Debug)]
pub struct Live {
    block: MultiProgress,
    rows: Vec<Row>,
    many: bool,
    /// Room for the longest name, so that rows align.
    name_width: usize,
}

#[derive(Debug)]
struct Row {
    bar: ProgressBar,
    spins: Option<bool>,
    message: String,
}

impl Live {
    pub fn new(watched: &[Watched], many: bool) -> Self {
        let block = MultiProgress::new();
        let width = watched.len().to_string().len();
        let rows = (1..=watched.len()).map(|number| {
            let bar = block.add(ProgressBar::new_spinner());
            if many {
                bar.set_prefix(format!("{number:>width$} "));
            }
            Row { bar, spins: None, message: String::new() }
        });
        let rows = rows.collect();
        let names = watched.iter().map(|watched| name(&watched.job, many).width());
        Self { name_width: names.max().unwrap_or(0), rows, block, many }
    }

    pub fn draw(&mut self, watched: &[Watched]) {
        for (row, watched) in self.rows.iter_mut().zip(watched) {
            let spins = watched.waits_for.is_none() && !watched.over;
            if row.spins != Some(spins) {
                row.spins = Some(spins);
                if let Ok(style) = ProgressStyle::with_template(if spins { SPINNING } else { STANDING }) {
                    row.bar.set_style(style);
                }
                match spins {
                    true => row.bar.enable_steady_tick(TICK),
                    false => row.bar.disable_steady_tick(),
                }
            }
            let name = name(&watched.job, self.many);
            let name = format!("{name}{}", " ".repeat(self.name_width.saturating_sub(name.width())));
            let message = message(watched, name);
            if row.message != message {
                row.bar.set_message(message.clone());
                row.message = message;
            }
        }
    }

    pub fn suspend<T>(&self, print: impl FnOnce() -> T) -> T {
        self.block.suspend(print)
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.rows.iter().for_each(|row| row.bar.finish_and_clear());
        let _ = self.block.clear();
    }
}

/// Whoever looks at one job knows its work; of several, that tells them apart.
fn name(job: &Job, many: bool) -> String {
    if many { job.work.workspace_name().to_string() } else { job.agent.clone() }
}

fn message(watched: &Watched, name: String) -> String {
    let job = &watched.job;
    if watched.over {
        return format!(
            "{} {name}  {}  {}",
            stop_word(job.status),
            words::lasted(words::ran_for(job)),
            words::outcome(job, Front::CommandLine)
        );
    }
    if let Some(waits_for) = &watched.waits_for {
        return format!("… {name}  waits for {}", words::plain(waits_for));
    }
    let mut parts = vec![name, words::lasted(words::ran_for(job))];
    parts.push(watched.doing.clone().unwrap_or_else(|| "starting".to_owned()));
    if let Some(percent) = watched.context_percent {
        parts.push(format!(" {percent} % of context"));
    }
    let usage = watched.usage();
    match usage.cost_micros {
        Some(micros) => parts.push(words::cost(micros)),
        None if usage.tokens() > 0 => parts.push(format!("{} tokens", words::rough(usage.tokens()))),
        None => {}
    }
    parts.join("  ")
}
