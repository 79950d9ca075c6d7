use std::ffi::OsString;
use std::fs;
use std::path::Path;

use spinney_core::{JobEvent, Usage};
use spinney_jobs::runtime::{Conversation, GitDirectories, Settings, Turn};
use spinney_jobs::runtimes;
use spinney_jobs::told::TurnFailure;

use crate::runtimes::{arguments, failed, read, read_plainly, success};

const PLAIN: &str = include_str!("../../../src/runtimes/samples/codex-plain.jsonl");
const RESUMED: &str = include_str!("../../../src/runtimes/samples/codex-resume.jsonl");
const FAILED: &str = include_str!("../../../src/runtimes/samples/codex-failed-400.jsonl");

#[test]
fn a_plain_turn_is_told_from_beginning_to_end() {
    let (events, end) = read_plainly("codex", PLAIN);
    assert!(matches!(&events[0], JobEvent::SessionStarted { conversation: Some(_), resumed: false, .. }));
    assert!(matches!(&events[1], JobEvent::Warning { text, .. } if text.contains("metadata")));
    let uses: Vec<_> = events.iter().filter(|event| matches!(event, JobEvent::ToolUse { .. })).collect();
    let [JobEvent::ToolUse { tool, detail, .. }] = uses[..] else { panic!("{uses:?}") };
    assert_eq!(tool, "command");
    assert!(detail.contains("> c.txt"), "{detail}");
    assert!(events.iter().any(|event| matches!(event, JobEvent::ToolResult { is_error: false, .. })));
    assert_eq!(end.summary.as_deref(), Some("done (6 items seen)"));
    assert_eq!(end.error, None);
    let took = Usage { input_tokens: 40, output_tokens: 68, cache_read_tokens: 200, ..Usage::default() };
    assert_eq!(end.usage, took);
}

#[test]
fn a_resumed_turn_took_what_is_beyond_the_turns_before() {
    let settings = Settings::default();
    let (_, first) = read_plainly("codex", PLAIN);
    let turn =
        Turn { spent: first.usage, ..Turn::new(&settings, Path::new("/workspace"), Conversation::Resumed("id")) };
    let (events, second) = read(&turn, "codex", RESUMED, &success());
    assert!(matches!(events[0], JobEvent::SessionStarted { resumed: true, .. }));
    assert_eq!(second.usage, first.usage);
}

#[test]
fn the_context_is_read_from_its_own_record() {
    let home = tempfile::tempdir().unwrap();
    let day = home.path().join(".codex/sessions/2026/01/02");
    fs::create_dir_all(&day).unwrap();
    let id = PLAIN.lines().next().unwrap().split('"').nth(7).unwrap();
    let count = r#"{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":120,
        "cached_input_tokens":100,"output_tokens":34},"last_token_usage":{"total_tokens":154},
        "model_context_window":258400}}}"#;
    fs::write(day.join(format!("rollout-x-{id}.jsonl")), count.replace('\n', "") + "\n").unwrap();
    let settings = Settings::default();
    let environment = [(OsString::from("HOME"), home.path().as_os_str().to_owned())];
    let turn =
        Turn { environment: &environment, ..Turn::new(&settings, Path::new("/workspace"), Conversation::New(None)) };
    let unfinished: Vec<_> = PLAIN.lines().take(5).collect();
    let (events, end) = read(&turn, "codex", &unfinished.join("\n"), &failed(""));
    let usage = Usage { input_tokens: 20, output_tokens: 34, cache_read_tokens: 100, ..Usage::default() };
    let told = JobEvent::Usage { usage, context_tokens: Some(154), context_window: Some(258_400) };
    assert!(events.contains(&told), "{events:?}");
    // What an interrupted turn took is known from there too.
    assert_eq!(end.usage, usage);
}

#[test]
fn what_it_complained_of_last_is_the_cause_where_the_turn_has_no_end() {
    let settings = Settings::default();
    let turn = Turn::new(&settings, Path::new("/workspace"), Conversation::New(None));
    let told = "{\"type\":\"error\",\"message\":\"first\"}\n{\"type\":\"error\",\"message\":\"no credit\"}\n";
    let (_, end) = read(&turn, "codex", told, &failed("WARN something else"));
    assert_eq!(end.error, Some(TurnFailure::Other("no credit".into())));
}

#[test]
fn failures_are_told_in_their_own_words() {
    let (_, end) = read_plainly("codex", FAILED);
    assert_eq!(end.error, Some(TurnFailure::Other("stub says no".into())));
    let settings = Settings::default();
    let turn = Turn::new(&settings, Path::new("/workspace"), Conversation::Resumed("id"));
    let gone = failed("Error: thread/resume failed: no rollout found for thread id x (code -32600)");
    assert_eq!(read(&turn, "codex", "", &gone).1.error, Some(TurnFailure::ConversationGone));
    let cut: Vec<_> = PLAIN.lines().take(4).collect();
    let (_, end) = read_plainly("codex", &cut.join("\n"));
    assert_eq!(end.error, Some(TurnFailure::Unfinished));
}

#[test]
fn a_commit_is_possible_from_its_sandbox_and_no_more_than_that() {
    let settings = Settings::default();
    let turn = Turn {
        git: Some(GitDirectories { own: Path::new("/r/.git/worktrees/w"), common: Path::new("/r/.git") }),
        system_prompt: "be \"kind\"\n",
        ..Turn::new(&settings, Path::new("/workspace"), Conversation::New(None))
    };
    let expected = [
        "exec",
        "--json",
        "--skip-git-repo-check",
        "--sandbox=workspace-write",
        "-c",
        "sandbox_workspace_write.writable_roots=\
         [\"/r/.git/worktrees/w\",\"/r/.git/objects\",\"/r/.git/refs\",\"/r/.git/logs\"]",
        "-c",
        "developer_instructions=\"be \\\"kind\\\"\\n\"",
        "-",
    ];
    assert_eq!(arguments("codex", &turn), expected);
    let resumed = Turn { conversation: Conversation::Resumed("--last"), ..turn };
    assert!(arguments("codex", &resumed).ends_with(&["resume".into(), "--".into(), "--last".into(), "-".into()]));
    let mode = |mode: &str| {
        let settings = Settings { permission_mode: Some(mode.into()), ..Settings::default() };
        let turn = Turn::new(&settings, Path::new("/workspace"), Conversation::New(None));
        arguments("codex", &turn)[3].clone()
    };
    assert_eq!(mode("plan"), "--sandbox=read-only");
    assert_eq!(mode("bypassPermissions"), "--dangerously-bypass-approvals-and-sandbox");
}

#[test]
fn tools_can_be_neither_allowed_nor_forbidden() {
    let codex = runtimes::find("codex").unwrap();
    let tools = vec!["shell".to_owned()];
    let allowed = Settings { allowed_tools: tools.clone(), ..Settings::default() };
    assert_eq!(codex.check(&allowed).unwrap_err().key, "allowed_tools");
    let forbidden = Settings { disallowed_tools: tools, ..Settings::default() };
    assert_eq!(codex.check(&forbidden).unwrap_err().key, "disallowed_tools");
    assert_eq!(codex.check(&Settings { hands_off: true, ..Settings::default() }), Ok(()));
}
