//! The client side against an agent that is written here, line by line, without the protocol's own code.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use spinney_core::{JobEvent, Usage};
use spinney_jobs::runtime::{Conversation, Protocol, Settings, Turn, TurnEnd};
use spinney_jobs::runtimes;
use spinney_jobs::told::TurnFailure;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, duplex};

/// The agent's end of the pipes.
struct Agent {
    stdin: Lines<BufReader<DuplexStream>>,
    stdout: DuplexStream,
}

impl Agent {
    async fn hear(&mut self) -> Value {
        serde_json::from_str(&self.stdin.next_line().await.unwrap().expect("a line")).unwrap()
    }

    async fn say(&mut self, message: &Value) {
        self.write(format!("{message}\n").as_bytes()).await;
    }

    async fn write(&mut self, bytes: &[u8]) {
        self.stdout.write_all(bytes).await.unwrap();
    }

    /// Hears a request and answers it.
    async fn answer(&mut self, method: &str, result: Value) -> Value {
        let request = self.hear().await;
        assert_eq!(request["method"], method, "{request}");
        self.say(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result})).await;
        request
    }

    async fn update(&mut self, update: Value) {
        let params = json!({"sessionId": "s1", "update": update});
        self.say(&json!({"jsonrpc": "2.0", "method": "session/update", "params": params})).await;
    }

    async fn chunk(&mut self, text: &str) {
        self.update(json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})).await;
    }

    /// Says hello and opens a conversation, up to the prompt, which it gives back.
    async fn begin(&mut self) -> Value {
        self.answer("initialize", json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}})).await;
        let new = self.answer("session/new", json!({"sessionId": "s1"})).await;
        assert_eq!(new["params"]["cwd"], "/workspace");
        assert_eq!(new["params"]["mcpServers"], json!([]));
        let prompt = self.hear().await;
        assert_eq!(prompt["method"], "session/prompt");
        prompt
    }

    async fn end(&mut self, prompt: &Value, reason: &str) {
        self.say(&json!({"jsonrpc": "2.0", "id": prompt["id"], "result": {"stopReason": reason}})).await;
    }

    async fn permission(&mut self, call: Value) -> String {
        let options = json!([
            {"optionId": "always", "name": "Always", "kind": "allow_always"},
            {"optionId": "once", "name": "Once", "kind": "allow_once"},
            {"optionId": "no", "name": "No", "kind": "reject_once"},
        ]);
        let params = json!({"sessionId": "s1", "toolCall": call, "options": options});
        self.say(&json!({"jsonrpc": "2.0", "id": 77, "method": "session/request_permission", "params": params})).await;
        let answer = self.hear().await;
        assert_eq!(answer["id"], 77, "{answer}");
        answer["result"]["outcome"]["optionId"].as_str().unwrap_or("cancelled").to_owned()
    }
}

/// Holds a turn with an agent that behaves so.
async fn talk<F: Future<Output = ()>>(turn: Turn<'_>, behave: impl FnOnce(Agent) -> F) -> (Vec<JobEvent>, TurnEnd) {
    let Protocol::Dialogue(dialogue) = runtimes::find("acp").unwrap().protocol(&turn) else { panic!("no dialogue") };
    let (ours_in, theirs_in) = duplex(4096);
    let (ours_out, theirs_out) = duplex(4096);
    let agent = Agent { stdin: BufReader::new(theirs_in).lines(), stdout: theirs_out };
    let mut events = Vec::new();
    let hold = dialogue.hold(Box::new(ours_in), Box::new(ours_out), &mut events);
    let both = async { tokio::join!(hold, behave(agent)) };
    let (end, ()) = tokio::time::timeout(Duration::from_secs(30), both).await.expect("the turn ends");
    (events, end)
}

fn settings() -> Settings {
    Settings { command: vec!["agent".into()], ..Settings::default() }
}

#[tokio::test]
async fn a_turn_is_told_from_beginning_to_end() {
    let settings = settings();
    let turn = Turn {
        prompt: "do it",
        system_prompt: "be kind",
        ..Turn::new(&settings, Path::new("/workspace"), Conversation::New(None))
    };
    let (events, end) = talk(turn, async |mut agent| {
        let prompt = agent.begin().await;
        assert_eq!(prompt["params"]["prompt"], json!([{"type": "text", "text": "be kind\n\ndo it"}]));
        agent.write(b"a line of somebody's logging\n").await;
        agent.chunk("I wi").await;
        agent.chunk("ll.").await;
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "Edit a.rs", "kind": "edit",
            "status": "pending", "rawInput": {"file_path": "a.rs"}});
        agent.update(call).await;
        let done = json!({"sessionUpdate": "tool_call_update", "toolCallId": "t1", "status": "completed",
            "content": [{"type": "content", "content": {"type": "text", "text": "edited"}}]});
        agent.update(done).await;
        agent.update(json!({"sessionUpdate": "of_a_newer_kind", "x": 1})).await;
        let cost = json!({"amount": 0.5, "currency": "USD"});
        agent.update(json!({"sessionUpdate": "usage_update", "used": 900, "size": 1000, "cost": cost})).await;
        agent.chunk("Done.").await;
        agent.end(&prompt, "end_turn").await;
    })
    .await;
    let usage = Usage { cost_micros: Some(500_000), ..Usage::default() };
    let expected = [
        JobEvent::SessionStarted { conversation: Some("s1".into()), model: None, resumed: false },
        JobEvent::Output {
            stream: spinney_core::Stream::Stdout,
            text: "a line of somebody's logging".into(),
            cut_bytes: 0,
        },
        JobEvent::Text { text: "I will.".into() },
        JobEvent::ToolUse { id: Some("t1".into()), tool: "edit".into(), detail: "a.rs".into() },
        JobEvent::ToolResult { id: Some("t1".into()), is_error: false, text: "edited".into() },
        JobEvent::Usage { usage, context_tokens: Some(900), context_window: Some(1000) },
        JobEvent::Text { text: "Done.".into() },
    ];
    assert_eq!(events, expected);
    assert_eq!(end, TurnEnd { summary: Some("Done.".into()), error: None, usage, ends_in_words: false });
}

#[tokio::test]
async fn edits_in_the_workspace_are_allowed_and_commands_are_not() {
    let settings = settings();
    let turn = Turn::new(&settings, Path::new("/workspace"), Conversation::New(None));
    let (events, end) = talk(turn, async |mut agent| {
        let prompt = agent.begin().await;
        let located = json!([{"path": "/workspace/a.rs"}]);
        let edit = json!({"toolCallId": "t1", "title": "Edit", "kind": "edit", "locations": located});
        assert_eq!(agent.permission(edit).await, "once");
        let outside = json!([{"type": "diff", "path": "/etc/hosts", "newText": "x"}]);
        let edit = json!({"toolCallId": "t2", "title": "Edit hosts", "kind": "edit", "content": outside});
        assert_eq!(agent.permission(edit).await, "no");
        // Told before, and asked for by its id alone.
        let run = json!({"sessionUpdate": "tool_call", "toolCallId": "t3", "title": "rm -rf", "kind": "execute"});
        agent.update(run).await;
        assert_eq!(agent.permission(json!({"toolCallId": "t3"})).await, "no");
        agent.end(&prompt, "end_turn").await;
    })
    .await;
    let denied = |tool: &str, detail: &str| JobEvent::PermissionDenied { tool: tool.into(), detail: detail.into() };
    let denials: Vec<_> =
        events.into_iter().filter(|event| matches!(event, JobEvent::PermissionDenied { .. })).collect();
    assert_eq!(denials, [denied("edit", "Edit hosts"), denied("execute", "rm -rf")]);
    assert_eq!(end.error, None);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_is_loaded_without_telling_its_history() {
    let settings = settings();
    let spent = Usage { cost_micros: Some(400_000), ..Usage::default() };
    let turn = Turn {
        prompt: "go on",
        system_prompt: "be kind",
        spent,
        ..Turn::new(&settings, Path::new("/workspace"), Conversation::Resumed("s1"))
    };
    let (events, end) = talk(turn, async |mut agent| {
        agent.answer("initialize", json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}})).await;
        let load = agent.hear().await;
        assert_eq!((&load["method"], &load["params"]["sessionId"]), (&json!("session/load"), &json!("s1")));
        agent.chunk("said long ago").await;
        agent.say(&json!({"jsonrpc": "2.0", "id": load["id"], "result": null})).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        agent.chunk("said long ago, told late").await;
        let prompt = agent.hear().await;
        assert_eq!(prompt["params"]["prompt"][0]["text"], "go on");
        let cost = json!({"amount": 0.5, "currency": "USD"});
        agent.update(json!({"sessionUpdate": "usage_update", "used": 1, "size": 10, "cost": cost})).await;
        agent.chunk("said now").await;
        agent.end(&prompt, "end_turn").await;
    })
    .await;
    assert!(matches!(events[0], JobEvent::SessionStarted { resumed: true, .. }));
    assert!(!format!("{events:?}").contains("long ago"), "{events:?}");
    assert_eq!(end.summary.as_deref(), Some("said now"));
    assert_eq!(end.usage.cost_micros, Some(100_000));
}

#[tokio::test]
async fn a_conversation_that_can_not_be_loaded_is_gone() {
    let settings = settings();
    let turn = Turn::new(&settings, Path::new("/workspace"), Conversation::Resumed("s1"));
    let (_, unable) = talk(turn, async |mut agent| {
        agent.answer("initialize", json!({"protocolVersion": 1, "agentCapabilities": {}})).await;
    })
    .await;
    assert_eq!(unable.error, Some(TurnFailure::ConversationGone));
    let (_, unknown) = talk(turn, async |mut agent| {
        agent.answer("initialize", json!({"protocolVersion": 1, "agentCapabilities": {"loadSession": true}})).await;
        let load = agent.hear().await;
        let error = json!({"code": -32602, "message": "no such session"});
        agent.say(&json!({"jsonrpc": "2.0", "id": load["id"], "error": error})).await;
    })
    .await;
    assert_eq!(unknown.error, Some(TurnFailure::ConversationGone));
}

#[tokio::test]
async fn each_other_end_is_a_failure() {
    let settings = settings();
    let turn = Turn::new(&settings, Path::new("/workspace"), Conversation::New(None));
    for (reason, told) in [
        ("refusal", TurnFailure::RefusedToGoOn),
        ("max_tokens", TurnFailure::MostTokens),
        ("max_turn_requests", TurnFailure::MostRequests),
        ("cancelled", TurnFailure::Cancelled),
    ] {
        let (_, end) = talk(turn, async |mut agent| {
            let prompt = agent.begin().await;
            agent.chunk("half").await;
            agent.end(&prompt, reason).await;
        })
        .await;
        assert_eq!(end.error, Some(told));
        assert_eq!(end.summary, None);
    }
    let (_, died) = talk(turn, async |mut agent| {
        agent.begin().await;
    })
    .await;
    assert_eq!(died.error, Some(TurnFailure::ClosedEarly));
    let (_, failed) = talk(turn, async |mut agent| {
        let prompt = agent.begin().await;
        let error = json!({"code": -32603, "message": "Internal error", "data": {"details": "no\nkey"}});
        agent.say(&json!({"jsonrpc": "2.0", "id": prompt["id"], "error": error})).await;
    })
    .await;
    assert_eq!(failed.error, Some(TurnFailure::Other("Internal error: no key".into())));
}

#[tokio::test]
async fn files_and_terminals_are_not_offered() {
    let settings = settings();
    let turn = Turn::new(&settings, Path::new("/workspace"), Conversation::New(None));
    talk(turn, async |mut agent| {
        let hello = agent.answer("initialize", json!({"protocolVersion": 1, "agentCapabilities": {}})).await;
        let offered = &hello["params"]["clientCapabilities"];
        assert_ne!(offered["fs"]["writeTextFile"], true, "{offered}");
        assert_ne!(offered["fs"]["readTextFile"], true, "{offered}");
        assert_ne!(offered["terminal"], true, "{offered}");
        agent.answer("session/new", json!({"sessionId": "s1"})).await;
        let prompt = agent.hear().await;
        let params = json!({"sessionId": "s1", "path": "/etc/passwd"});
        agent.say(&json!({"jsonrpc": "2.0", "id": 5, "method": "fs/read_text_file", "params": params})).await;
        let refused = agent.hear().await;
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(5), &json!(-32601)), "{refused}");
        agent.end(&prompt, "end_turn").await;
    })
    .await;
}

#[tokio::test]
async fn floods_and_garbage_do_not_end_the_turn() {
    let settings = settings();
    let turn = Turn::new(&settings, Path::new("/workspace"), Conversation::New(None));
    let (events, end) = talk(turn, async |mut agent| {
        let prompt = agent.begin().await;
        for _ in 0..20 {
            agent.write(&vec![b'x'; 1024 * 1024]).await;
        }
        agent.write(b"\n\xff\xfe\n[1]\n\n").await;
        agent.write(format!("{{\"a\":{}\n", "[".repeat(100_000)).as_bytes()).await;
        agent.say(&json!({"jsonrpc": "2.0", "method": "session/update", "params": "wrong"})).await;
        agent.say(&json!({"jsonrpc": "2.0", "method": "unheard_of", "params": {}})).await;
        agent.say(&json!({"jsonrpc": "2.0", "id": 999, "result": "never asked"})).await;
        for _ in 0..2000 {
            agent.update(json!({"sessionUpdate": "tool_call", "toolCallId": "t", "title": "x"})).await;
        }
        // A message, but too long to be held.
        agent.chunk(&"y".repeat(17 * 1024 * 1024)).await;
        agent.chunk("still here").await;
        agent.end(&prompt, "end_turn").await;
    })
    .await;
    assert_eq!(end.error, None);
    assert_eq!(end.summary.as_deref(), Some("still here"));
    let texts = events.iter().filter(|event| matches!(event, JobEvent::Text { .. })).count();
    assert_eq!(texts, 1);
    let cut = |event: &JobEvent| match event {
        JobEvent::Output { text, cut_bytes, .. } if *cut_bytes > 0 => Some((text.len(), *cut_bytes)),
        _ => None,
    };
    let cuts: Vec<_> = events.iter().filter_map(cut).collect();
    assert_eq!(cuts[0], (4096, 20 * 1024 * 1024 - 4096));
}

#[test]
fn what_it_can_not_be_told_is_an_error() {
    let acp = runtimes::find("acp").unwrap();
    assert_eq!(acp.check(&settings()), Ok(()));
    let key = |settings: Settings| acp.check(&settings).unwrap_err().key;
    assert_eq!(key(Settings::default()), "command");
    assert_eq!(key(Settings { model: Some("m".into()), ..settings() }), "model");
    assert_eq!(key(Settings { permission_mode: Some("yolo".into()), ..settings() }), "permission_mode");
    assert_eq!(key(Settings { allowed_tools: vec!["x".into()], ..settings() }), "allowed_tools");
    assert_eq!(key(Settings { disallowed_tools: vec!["x".into()], ..settings() }), "disallowed_tools");
}
