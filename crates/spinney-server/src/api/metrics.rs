//! Counts for a monitor, in the text format of Prometheus. Each is one aggregate of the store, or known in this process:
//! nothing is measured here. Everybody is told of their own account; how the process fares, and what all accounts together
//! ask of it, is for whoever has the scope `admin` of the account `local`.

use std::fmt::Write as _;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use spinney_app::housekeeping::Archives;
use spinney_core::{JobStatus, Scope, Timestamp, WaitsFor, WorkspaceStatus};
use spinney_engine::{Among, Engine, stands};
use spinney_store::{JobTally, WorkspaceTally};

use crate::app::App;
use crate::auth::Caller;
use crate::error::Result;
use crate::tally::Tally;

const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(crate) async fn metrics(State(app): State<App>, caller: Caller) -> Result<impl IntoResponse> {
    let engine = app.engine_of(&caller);
    let mut text = Text::default();
    text.family("spinney_build_info", "gauge", "Which version this is");
    text.line("spinney_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
    {
        let mut db = engine.store().read().await?;
        let (account, node) = (engine.account(), engine.home().node());
        text.workspaces(&db.tally_workspaces(account, node).await?);
        text.jobs(&db.tally_jobs(account, node).await?);
        text.waits(&db.tally_waits(account, node).await?);
    }
    let Tally { hits, misses, findings } = Tally::count(engine.store(), engine.account()).await?;
    if let Some(findings) = findings {
        text.single("spinney_orphans", "gauge", "What the last sweep found out of step", findings);
    }
    text.single("spinney_pool_hits_total", "counter", "New workspaces that came from a pool", hits);
    text.single("spinney_pool_misses_total", "counter", "New workspaces for which no pool had one", misses);
    text.pool(&engine).await?;
    if let Some(free) = engine.free_disk() {
        text.single("spinney_disk_free_bytes", "gauge", "Free bytes where the workspaces are", free);
    }
    if caller.account.is_local() && caller.scope == Scope::Admin {
        if let Some(bytes) = resident_bytes() {
            text.single("spinney_process_resident_memory_bytes", "gauge", "Memory that this process has", bytes);
        }
        app.metrics().write(&mut text.0);
    }
    Ok(([(CONTENT_TYPE, TEXT)], text.0))
}

/// The text so far.
#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a text does not fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        let labels: Vec<_> = labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.family(name, kind, help);
        self.line(name, &[], value);
    }

    fn workspaces(&mut self, tallies: &[WorkspaceTally]) {
        let sum = |test: &dyn Fn(WorkspaceStatus) -> bool, value: &dyn Fn(&WorkspaceTally) -> u64| -> u64 {
            tallies.iter().filter(|tally| test(tally.status)).map(value).sum()
        };
        let is_trash = |status| status == WorkspaceStatus::Trashed;
        self.family("spinney_workspaces", "gauge", "Workspaces by status");
        for status in WorkspaceStatus::ALL {
            let count = sum(&|found| found == *status, &|tally| tally.count);
            self.line("spinney_workspaces", &[("status", status.as_str())], count);
        }
        let used = sum(&|status| stands(status), &|tally| tally.bytes);
        self.single(
            "spinney_disk_used_bytes",
            "gauge",
            "Bytes of the trees that were measured, the trash included",
            used,
        );
        let trashed = sum(&is_trash, &|tally| tally.count);
        self.single("spinney_trash_workspaces", "gauge", "Workspaces in the trash", trashed);
        let bytes = sum(&is_trash, &|tally| tally.bytes);
        self.single("spinney_trash_bytes", "gauge", "Bytes of the trash that were measured", bytes);
        let Archives { count, bytes, .. } = Archives::of(tallies);
        self.single("spinney_archives", "gauge", "Removed workspaces that have an archive", count);
        self.single("spinney_archive_bytes", "gauge", "Bytes of the archives", bytes);
    }

    fn jobs(&mut self, tallies: &[JobTally]) {
        self.family("spinney_jobs", "gauge", "Jobs by status");
        for status in JobStatus::ALL {
            let count = tallies.iter().find(|tally| tally.status == *status).map_or(0, |tally| tally.count);
            self.line("spinney_jobs", &[("status", status.as_str())], count);
        }
        let oldest = tallies.iter().find(|tally| tally.status == JobStatus::Pending).map(|tally| tally.oldest);
        let waited = oldest.map_or(0, |since| Timestamp::now().as_millisecond() - since.as_millisecond());
        let seconds = waited.max(0) as f64 / 1000.0;
        self.single("spinney_jobs_oldest_wait_seconds", "gauge", "How long the oldest job waits", seconds);
    }

    /// What jobs wait for names others: here only the kind.
    fn waits(&mut self, waits: &[(Option<WaitsFor>, u64)]) {
        self.family("spinney_jobs_waiting", "gauge", "Jobs that wait, by what for");
        for reason in REASONS {
            let is_own = |waits_for: &Option<WaitsFor>| waits_for.as_ref().map_or(STARTS, WaitsFor::reason) == reason;
            let own = waits.iter().filter(|(waits_for, _)| is_own(waits_for));
            self.line("spinney_jobs_waiting", &[("reason", reason)], own.map(|(_, count)| count).sum::<u64>());
        }
    }

    async fn pool(&mut self, engine: &Engine) -> Result<()> {
        let members = engine.workspaces(None, Among::Warm).await?;
        let warm = members.iter().filter_map(|member| member.metadata.warm.as_ref()).filter(|warm| !warm.template);
        let ready = warm.clone().filter(|warm| warm.ready).count();
        self.single("spinney_pool_size", "gauge", "Workspaces that are prepared ahead, ready or not", warm.count());
        self.single("spinney_pool_ready", "gauge", "Workspaces of pools that can be taken", ready);
        Ok(())
    }
}

const REASONS: [&str; 5] = ["job", "agent", "worker", "room", STARTS];
/// Of a job that has not found out yet what it waits for.
const STARTS: &str = "start";

/// What this process has in memory, where the system tells.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kilobytes| kilobytes << 10)
}
