//! What is shown while jobs run: a block that is rewritten on a terminal, lines elsewhere, nothing to a program.

use std::collections::HashMap;
use std::time::Duration;

use spinney_core::{JobEvent, JobId, JobPhase, LogEntry};

use super::live::Live;
use super::watched::{News, Watched};
use crate::ui::story::Story;
use crate::ui::{Ui, style, words};

#[derive(Debug)]
pub struct View<'a> {
    ui: &'a Ui,
    many: bool,
    stories: HashMap<JobId, Story>,
    live: Option<Live>,
}

impl<'a> View<'a> {
    pub fn new(ui: &'a Ui, watched: &[Watched], many: bool) -> Self {
        let live = ui.progress.is_live().then(|| Live::new(watched, many));
        let stories = watched.iter().map(|watched| (watched.job.id.clone(), Story::default())).collect();
        let view = Self { ui, many, stories, live };
        for job in watched.iter().map(|watched| &watched.job).filter(|_| view.live.is_none()) {
            view.say(&format!("job {}: {} on {}", job.id, job.agent, job.work.workspace_name()));
        }
        view
    }

    /// Tells what is new, in the way of this view.
    pub fn tell(&mut self, watched: &Watched, news: News<'_>) {
        match news {
            News::Entry(entry) => self.tell_entry(watched, entry),
            // Whoever sees only what happens now misses nothing.
            News::PassedOver(_) if self.live.is_some() => {}
            News::PassedOver(bytes) => {
                let (id, size) = (&watched.job.id, spinney_engine::size(bytes));
                self.say(&format!("… {size} passed over; `spinney logs {id}` has all of it"));
            }
        }
    }

    fn tell_entry(&mut self, watched: &Watched, entry: &LogEntry) {
        if self.ui.json || self.ui.quiet || matches!(entry.event, JobEvent::Finished { .. }) {
            return;
        }
        let lines = match (&self.live, &entry.event) {
            (Some(_), JobEvent::Phase { phase: JobPhase::SetUp, detail: Some(detail) }) if !self.many => {
                let began = watched.phase_began_ms.unwrap_or(entry.at_ms);
                let took = Duration::from_millis(u64::try_from(entry.at_ms - began).unwrap_or(0));
                vec![format!("{}, {}", words::plain(detail), words::took(took))]
            }
            (None, _) | (Some(_), JobEvent::Warning { .. } | JobEvent::HandOff { .. }) => {
                let Some(story) = self.stories.get_mut(&watched.job.id) else { return };
                story.tell(&entry.event).iter().map(|line| line.painted()).collect()
            }
            (Some(_), _) => return,
        };
        let name = self.many.then(|| style::paint(style::QUIET, format!("{}: ", watched.job.work.workspace_name())));
        lines.iter().for_each(|line| self.say(&format!("{}{line}", name.as_deref().unwrap_or_default())));
    }

    pub fn draw(&mut self, watched: &[Watched]) {
        if let Some(live) = &mut self.live {
            live.draw(watched);
        }
    }

    /// Says something that stays.
    pub fn say(&self, text: &str) {
        if self.ui.json {
            return;
        }
        match &self.live {
            Some(live) => live.suspend(|| self.ui.say(text)),
            None => self.ui.say(text),
        }
    }
}
