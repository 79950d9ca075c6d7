//! What a session took stays known, however it ended.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use spinney_testkit::wait_until;

use crate::real_agents::stage::{Job, Stage, processes};

const PATIENCE: Duration = Duration::from_secs(30);

/// Each runtime that tells what a session takes while it goes on, and a session of it that has told 123 tokens, or a cent.
fn sessions() -> Vec<(&'static str, String)> {
    let says = |line: &str| format!("cat > /dev/null\necho '{line}'\n");
    let answer =
        r#"{"type":"assistant","message":{"id":"m","content":[],"usage":{"input_tokens":100,"output_tokens":23}}}"#;
    let step = r#"{"type":"step_finish","sessionID":"ses_1","part":{"reason":"tool-calls","tokens":{"input":100,"output":23}}}"#;
    vec![("claude", says(answer)), ("opencode", says(step)), ("acp", SPEAKER.to_owned())]
}

/// Begins a turn and tells what it cost so far.
const SPEAKER: &str = r#"
id() { sed 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/'; }
answer() { read -r line; printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$(printf %s "$line" | id)" "$1"; }
answer '{"protocolVersion":1,"agentCapabilities":{}}'
answer '{"sessionId":"s"}'
read -r line
update='{"sessionUpdate":"usage_update","used":123,"size":1000,"cost":{"amount":0.01,"currency":"USD"}}'
printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%s}}\n' "$update"
"#;

#[track_caller]
fn assert_spent(job: &Job, runtime: &str) {
    let usage = &job.0["usage"];
    match runtime {
        "acp" => assert_eq!(usage["cost_micros"], json!(10_000), "{:#}", job.0),
        _ => assert_eq!((&usage["input_tokens"], &usage["output_tokens"]), (&json!(100), &json!(23)), "{:#}", job.0),
    }
    assert_eq!(&job.sessions()[0]["usage"], usage, "{runtime}");
}

/// What its newest job is known to have taken while it runs.
fn told(stage: &Stage) -> Option<Value> {
    let jobs = stage.cli.run(&["jobs", "--json", "-n", "1"]).ok().json();
    let usage = jobs["jobs"][0]["sessions"][0]["usage"].as_object()?.clone();
    usage.values().any(|count| count.as_u64().is_some_and(|count| count > 0)).then(|| usage.into())
}

#[test]
fn a_session_that_fails_is_counted() {
    for (runtime, script) in sessions() {
        let stage = Stage::scripted(runtime, &format!("{script}exit 3"));
        let job = stage.run(1, &["--issue", "42", "do it"]);
        assert_eq!(job.session_states(), [("failed", false)], "{runtime}");
        assert_spent(&job, runtime);
    }
}

#[test]
fn a_session_that_is_ended_is_counted() {
    for (runtime, script) in sessions() {
        let stage = Stage::scripted(runtime, &format!("{script}sleep 100 & wait"));
        let running = stage.spawn(&["--issue", "42", "do it"]);
        wait_until(|| told(&stage).is_some(), PATIENCE);
        stage.cli.run(&["cancel", stage.newest().text("id")]).ok();
        let job = Job(running.wait().exits(6).json());
        assert_eq!((job.status(), job.session_states()), ("cancelled", vec![("ended", false)]), "{runtime}");
        assert_spent(&job, runtime);
    }
}

/// A process that is killed writes nothing any more.
#[test]
fn a_session_whose_job_was_killed_is_counted() {
    for (runtime, script) in sessions() {
        let stage = Stage::scripted(runtime, &format!("{script}sleep 100 & wait"));
        let running = stage.spawn(&["--issue", "42", "do it"]);
        wait_until(|| told(&stage).is_some(), PATIENCE);
        let id = stage.newest().text("id").to_owned();
        let (runner, _) = processes(&id).into_iter().find(|(_, line)| line.contains("job-run")).unwrap();
        kill_process(Pid::from_raw(runner).unwrap(), Signal::KILL).unwrap();
        let job = Job(running.wait().exits(6).json());
        assert_eq!((job.status(), job.session_states()), ("interrupted", vec![("ended", false)]), "{runtime}");
        assert_spent(&job, runtime);
    }
}

/// The tokens of a turn come with its end.
#[test]
fn the_tokens_that_an_agent_tells_at_its_end_are_counted() {
    let usage = r#"{"totalTokens":160,"inputTokens":100,"outputTokens":20,"cachedReadTokens":40}"#;
    let ends = format!(
        "printf '{{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{{\"stopReason\":\"end_turn\",\"usage\":{usage}}}}}\\n' \
         \"$(printf %s \"$line\" | id)\"\ncat > /dev/null"
    );
    let stage = Stage::scripted("acp", &format!("{SPEAKER}{ends}"));
    let job = stage.run(0, &["--issue", "42", "do it"]);
    let expected = json!({
        "input_tokens": 100, "output_tokens": 20, "cache_read_tokens": 40, "cache_write_tokens": 0, "cost_micros": 10_000,
    });
    assert_eq!((&job.0["usage"], &job.sessions()[0]["usage"]), (&expected, &expected));
    assert_eq!(job.sessions()[0]["context_tokens"], json!(123));
}
