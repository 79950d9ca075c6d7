//! A server and a client in one process.

use std::io;
use std::process::Child;
use std::sync::Arc;

use serde_json::{Value, json};
use spinney_core::config::Layers;
use spinney_core::{AccountName, JobId, RepositoryId, Scope};
use spinney_engine::{Engine, EngineOptions, EngineThreads};
use spinney_jobs::{Chore, JobStart, Launcher, StartedJob};
use spinney_mcp::{Seat, serve};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio_util::task::TaskTracker;

/// Starts nothing.
#[derive(Debug)]
struct Idle;

impl Launcher for Idle {
    fn start_job(&self, _: &Engine, _: JobStart<'_>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn start_supervisor(&self, _: &Engine, _: std::fs::File) -> io::Result<()> {
        Ok(())
    }

    fn environment(&self, _: &Engine) -> spinney_jobs::Variables {
        spinney_jobs::Variables::new()
    }

    fn start_chore(&self, _: &Engine, _: Chore<'_>) -> io::Result<Child> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn job_of(&self, _: &[&[u8]]) -> Option<StartedJob> {
        None
    }
}

/// A client of a server with this seat.
pub struct Desk {
    _home: TempDir,
    write: WriteHalf<DuplexStream>,
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    next_id: u64,
}

impl Desk {
    pub async fn open(scope: Scope, repository: Option<RepositoryId>, job: Option<JobId>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let options = EngineOptions {
            home: home.path().join("spinney"),
            account: AccountName::local().to_string(),
            layers: Layers::new(),
            environment: Vec::new(),
        };
        let seat = Seat {
            engine: Arc::new(Engine::open(options).await.unwrap()),
            launcher: Arc::new(Idle),
            threads: EngineThreads::new(2),
            tasks: TaskTracker::new(),
            scope,
            repository,
            job,
        };
        let (ours, theirs) = tokio::io::duplex(1 << 20);
        let (read, write) = tokio::io::split(theirs);
        tokio::spawn(async move { serve(seat, read, write).await.unwrap() });
        let (read, write) = tokio::io::split(ours);
        let mut desk = Self { _home: home, write, lines: BufReader::new(read).lines(), next_id: 1 };
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        desk.ask("initialize", hello).await;
        desk.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
        desk
    }

    async fn send(&mut self, message: &Value) {
        self.write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    pub async fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
        let line = self.lines.next_line().await.unwrap().expect("an answer");
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], id);
        answer
    }

    pub async fn call(&mut self, tool: &str, arguments: Value) -> Value {
        self.ask("tools/call", json!({ "name": tool, "arguments": arguments })).await
    }

    pub async fn tools(&mut self) -> Vec<Value> {
        self.ask("tools/list", json!({})).await["result"]["tools"].as_array().unwrap().clone()
    }
}
