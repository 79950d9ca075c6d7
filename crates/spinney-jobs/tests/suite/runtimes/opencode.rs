use std::path::Path;

use spinney_core::{JobEvent, Usage};
use spinney_jobs::runtime::{Conversation, Settings, Turn};
use spinney_jobs::runtimes;
use spinney_jobs::told::TurnFailure;

use crate::runtimes::{arguments, failed, read, read_plainly, success};

const PLAIN: &str = include_str!("../../../src/runtimes/samples/opencode-plain.jsonl");
const DENIED: &str = include_str!("../../../src/runtimes/samples/opencode-denied.jsonl");
const FORBIDDEN: &str = include_str!("../../../src/runtimes/samples/opencode-denied-by-deny.jsonl");
const FAILED: &str = include_str!("../../../src/runtimes/samples/opencode-failed-400.jsonl");

#[test]
fn a_plain_turn_is_told_from_beginning_to_end() {
    let settings = Settings { model: Some("stub/stub-model".into()), ..Settings::default() };
    let turn = Turn::new(&settings, Path::new("/workspace"), Conversation::New(None));
    let (events, end) = read(&turn, "opencode", PLAIN, &success());
    assert!(matches!(&events[0], JobEvent::SessionStarted { conversation: Some(id), .. } if id.starts_with("ses_")));
    assert_eq!(events.iter().filter(|event| matches!(event, JobEvent::SessionStarted { .. })).count(), 1);
    let write = JobEvent::ToolUse { id: Some("call_26".into()), tool: "write".into(), detail: "g.txt".into() };
    assert!(events.contains(&write), "{events:?}");
    assert_eq!(end.summary.as_deref(), Some("done (4 messages seen)"));
    assert_eq!(end.error, None);
    let took = Usage { input_tokens: 240, output_tokens: 68, cost_micros: Some(0), ..Usage::default() };
    assert_eq!(end.usage, took);
    let told = JobEvent::Usage { usage: took, context_tokens: Some(154), context_window: Some(128_000) };
    assert_eq!(events.last(), Some(&told));
}

#[test]
fn a_refused_question_ends_the_run_and_is_no_success() {
    let (events, end) = read_plainly("opencode", DENIED);
    let denial = JobEvent::PermissionDenied { tool: "bash".into(), detail: "touch denied.txt".into() };
    assert!(events.contains(&denial), "{events:?}");
    assert_eq!(end.error, Some(TurnFailure::StoppedWhenRefused { tool: "bash".into() }));
}

#[test]
fn a_forbidden_tool_is_a_denial_that_it_goes_on_after() {
    let (events, end) = read_plainly("opencode", FORBIDDEN);
    let is_denied = |event: &JobEvent| matches!(event, JobEvent::PermissionDenied { tool, .. } if tool == "bash");
    assert!(events.iter().any(is_denied), "{events:?}");
    assert_eq!(end.error, None);
}

#[test]
fn failures_are_told_in_their_own_words() {
    assert_eq!(read_plainly("opencode", FAILED).1.error, Some(TurnFailure::Other("stub says no".into())));
    let settings = Settings::default();
    let turn = Turn::new(&settings, Path::new("/workspace"), Conversation::Resumed("id"));
    let gone = failed("\u{1b}[91m\u{1b}[1mError: \u{1b}[0mSession not found\n");
    assert_eq!(read(&turn, "opencode", "", &gone).1.error, Some(TurnFailure::ConversationGone));
    let (_, end) = read_plainly("opencode", "");
    assert_eq!(end.error, Some(TurnFailure::NoAnswer));
}

#[test]
fn what_is_forbidden_is_told_in_its_own_words() {
    let opencode = runtimes::find("opencode").unwrap();
    let with = |mode: Option<&str>, tools: &[&str]| Settings {
        permission_mode: mode.map(str::to_owned),
        disallowed_tools: tools.iter().map(|tool| (*tool).to_owned()).collect(),
        ..Settings::default()
    };
    let permission = |settings: &Settings| {
        let turn = Turn::new(settings, Path::new("/workspace"), Conversation::Resumed("ses_1"));
        assert!(arguments("opencode", &turn).contains(&"--session=ses_1".into()));
        opencode.program(&turn).variables.first().map(|(_, value)| value.to_str().unwrap().to_owned())
    };
    assert_eq!(permission(&with(Some("bypassPermissions"), &[])), None);
    assert_eq!(permission(&with(None, &[])), permission(&with(Some("acceptEdits"), &[])));
    assert_eq!(permission(&with(Some("acceptEdits"), &["webfetch"])).unwrap(), r#"{"bash":"deny","webfetch":"deny"}"#);
    assert_eq!(permission(&with(Some("plan"), &[])).unwrap(), r#"{"bash":"deny","edit":"deny"}"#);
    assert_eq!(opencode.check(&with(None, &["write"])).unwrap_err().key, "disallowed_tools");
    let handing_off = Settings { hands_off: true, ..Settings::default() };
    assert_eq!(opencode.check(&handing_off).unwrap_err().key, "handoff_at");
    assert_eq!(opencode.check(&Settings { model: Some("a/b".into()), ..handing_off }), Ok(()));
}
