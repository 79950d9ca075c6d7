//! One job that is being followed: its row, its log, and what both tell by now.

use std::time::{Duration, Instant};

use spinney_app::Front;
use spinney_core::{Job, JobEvent, JobPhase, LogEntry, Usage};
use spinney_jobs::{Jobs, LogReader};

use crate::error::Result;
use crate::ui::words;

/// How often the row is read while nothing else tells that it changed.
const LOAD_EVERY: Duration = Duration::from_millis(500);
/// The same of one that waits in the queue: its log tells when that changes.
const LOAD_WAITING_EVERY: Duration = Duration::from_secs(1);
/// How many entries are read before others have their turn.
const AT_ONCE: usize = 500;
/// Whoever is so far behind is shown what happens now instead.
const FAR_BEHIND_BYTES: u64 = 16 << 20;
/// How much of the log's end is read then.
const TAIL_BYTES: u64 = 64 << 10;

/// What is new about a job.
#[derive(Debug, Clone, Copy)]
pub enum News<'a> {
    Entry(&'a LogEntry),
    /// Its agent wrote more than could be followed: so many bytes of its log were passed over.
    PassedOver(u64),
}

#[derive(Debug)]
pub struct Watched {
    pub job: Job,
    /// What it waits for, as its log tells.
    pub waits_for: Option<String>,
    log: LogReader,
    loaded: Instant,
    /// Nothing more happens to it.
    pub over: bool,
    pub doing: Option<String>,
    /// What its sessions took together.
    spent: Usage,
    session: Usage,
    /// How much of its context is used, in percent.
    pub context_percent: Option<u64>,
    /// When the part that goes on now began.
    pub phase_began_ms: Option<i64>,
}

impl Watched {
    /// A job, to be followed from where the log stands.
    pub fn new(job: Job, log: LogReader) -> Self {
        Self {
            waits_for: job.waits_for.as_ref().map(|what| words::waits_for(what, Front::CommandLine)),
            job,
            log,
            loaded: Instant::now(),
            over: false,
            doing: None,
            spent: Usage::default(),
            session: Usage::default(),
            context_percent: None,
            phase_began_ms: None,
        }
    }

    /// Reads what is new, and tells it; `true` when there is more to read at once.
    pub async fn look(&mut self, jobs: &Jobs<'_>, mut tell: impl FnMut(&Self, News<'_>)) -> Result<bool> {
        if self.over {
            return Ok(false);
        }
        let behind = self.log.behind()?;
        if self.job.is_queued() && behind == 0 && self.loaded.elapsed() < LOAD_WAITING_EVERY {
            return Ok(false);
        }
        // Asked before the log is read: what was written by then is not missed.
        let is_over = jobs.is_over(&self.job).await?;
        if behind > FAR_BEHIND_BYTES {
            self.log.skip_to_last(TAIL_BYTES)?;
            tell(self, News::PassedOver(behind - TAIL_BYTES));
        }
        for _ in 0..AT_ONCE {
            let Some(entry) = self.log.next_entry()? else {
                self.load(jobs, is_over).await?;
                return Ok(false);
            };
            self.note(&entry);
            tell(self, News::Entry(&entry));
        }
        Ok(true)
    }

    async fn load(&mut self, jobs: &Jobs<'_>, is_over: bool) -> Result<()> {
        if !is_over && !self.job.is_queued() && self.loaded.elapsed() < LOAD_EVERY {
            return Ok(());
        }
        self.job = jobs.require(&self.job.id).await?;
        // Whoever was to start it may have died.
        jobs.attend(&self.job).await?;
        if is_over && !self.job.status.is_final() {
            // Its process died; who settles it may be somebody else.
            jobs.recover().await?;
            self.job = jobs.require(&self.job.id).await?;
        }
        self.waits_for = self.job.waits_for.as_ref().map(|what| words::waits_for(what, Front::CommandLine));
        self.over = is_over && self.job.status.is_final();
        self.loaded = Instant::now();
        Ok(())
    }

    fn note(&mut self, entry: &LogEntry) {
        if let Some(doing) = words::doing(&entry.event) {
            self.doing = Some(doing);
        }
        match &entry.event {
            JobEvent::Phase { phase, detail } => {
                self.waits_for = detail.clone().filter(|_| *phase == JobPhase::Waiting);
                if detail.is_none() {
                    self.phase_began_ms = Some(entry.at_ms);
                }
            }
            JobEvent::Usage { usage, context_tokens, context_window } => {
                self.session = *usage;
                if let (Some(used), Some(window @ 1..)) = (context_tokens, context_window) {
                    self.context_percent = Some(used.saturating_mul(100) / window);
                }
            }
            JobEvent::SessionFinished { .. } => {
                self.spent = self.spent.plus(std::mem::take(&mut self.session));
            }
            _ => {}
        }
    }

    pub fn usage(&self) -> Usage {
        self.spent.plus(self.session)
    }
}
