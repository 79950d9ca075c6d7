//! How long the engine itself takes to give new work its workspace, without the start of a process.
//!
//! `claim_bench HOME REPOSITORY COUNT LABEL` resolves COUNT new tasks and prints `[{ "micros": …, "warm": … }, …]`.
//! The environment configures it as it does the command line.

use std::env;
use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use serde_json::{Value, json};
use spinney_core::Work;
use spinney_core::config::Layers;
use spinney_engine::{Engine, EngineOptions, Request};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [home, repository, count, label] = arguments.as_slice() else {
        return Err("usage: claim_bench HOME REPOSITORY COUNT LABEL".into());
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let claims = runtime.block_on(claims(home.into(), repository.into(), count.parse()?, label))?;
    println!("{}", Value::Array(claims));
    Ok(())
}

async fn claims(home: PathBuf, repository: PathBuf, count: usize, label: &str) -> Result<Vec<Value>, Box<dyn Error>> {
    let environment: Vec<_> = env::vars_os().collect();
    let mut layers = Layers::new();
    layers.environment(environment.iter().filter_map(|(key, value)| Some((key.to_str()?, value.to_str()?))))?;
    let engine = Engine::open(EngineOptions { home, account: "local".to_owned(), layers, environment }).await?;
    // Once per process, as a daemon would: what is measured is one request of many.
    engine.recover(&|_| {}).await?;

    let mut claims = Vec::new();
    for number in 0..count {
        let request = Request::new(Work::task(&format!("{label} {number}"))?);
        let start = Instant::now();
        let context = engine.find_context(None, &repository).await?;
        let (_, resolution) = engine.resolve(context, &request, &|_| {}).await?;
        let micros = start.elapsed().as_micros();
        claims.push(json!({ "micros": u64::try_from(micros)?, "warm": resolution.set_up_at.is_some() }));
    }
    Ok(claims)
}
