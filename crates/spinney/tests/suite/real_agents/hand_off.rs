//! Sessions whose context is full.

use serde_json::json;

use crate::real_agents::stage::Stage;

/// A model with the smaller window.
const MODEL: &str = "model = \"claude-sonnet-4-5\"\nallowed_tools = [\"Bash\"]";

#[test]
fn a_full_session_hands_off_to_a_fresh_one_in_the_same_workspace() {
    let Some(stage) = Stage::claude(MODEL) else { return };
    let prompt = "STUB:NOTE STUB:WRITE c.txt from the note\nSTUB:USAGE 179000\nSTUB:WRITE a.txt one\nSTUB:USAGE 181000\nSTUB:WRITE b.txt two\n\
        STUB:BASH touch never.txt\nSTUB:BASH sleep 100";
    let job = stage.run(0, &["--issue", "42", prompt]);

    assert_eq!(job.session_states(), [("handed_off", false), ("finished", false)]);
    let [full, next] = job.sessions() else { panic!("{:#}", job.0) };
    assert_ne!(full["conversation"], next["conversation"]);
    assert!(full["context_window"] == 200_000 && next["context_tokens"].as_u64().unwrap() < 2000, "{:#}", job.0);
    let notes = job.events("hand_off");
    assert_eq!(notes.len(), 1);
    assert_eq!(notes[0]["note"], "STUB-NOTE: STUB:WRITE c.txt from the note");
    assert!(stage.was_told(&["You go on with a task", "STUB:BASH sleep 100", "from the note"]));

    assert_eq!((job.file("a.txt").as_str(), job.file("b.txt").as_str()), ("one\n", "two\n"));
    assert_eq!(job.file("c.txt"), "from the note\n");
    assert!(!job.path().join("never.txt").exists(), "it was ended before it went on");
    assert_eq!((job.text("push"), stage.pushed("agent/coder/issue-42").len()), ("pushed", 1));

    // What the sessions took, the note among it, adds up to what the job did.
    for key in ["input_tokens", "output_tokens", "cache_read_tokens", "cost_micros"] {
        let sum: u64 = job.sessions().iter().map(|session| session["usage"][key].as_u64().unwrap_or(0)).sum();
        assert_eq!(job.0["usage"][key], json!(sum), "{key}");
    }
    // Two answers and the note, and a third answer where it came before the session was ended.
    let input_tokens = full["usage"]["input_tokens"].as_u64().unwrap();
    assert!([3 * 120, 4 * 120].contains(&input_tokens), "{input_tokens}");

    let after = stage.run(0, &["--issue", "42", "STUB:WRITE d.txt four"]);
    assert_eq!((after.session_states(), after.conversation()), (vec![("finished", true)], job.conversation()));
}

#[test]
fn a_full_session_that_ends_anyway_ends_the_job() {
    let Some(stage) = Stage::claude(MODEL) else { return };
    let job = stage.run(0, &["--issue", "42", "STUB:WRITE a.txt one\nSTUB:USAGE 190000\nSTUB:SAY that is all"]);
    assert_eq!((job.session_states(), job.summary()), (vec![("finished", false)], "that is all"));
    assert!(job.sessions()[0]["context_tokens"].as_u64().unwrap() >= 190_000);
}

#[test]
fn without_handoff_at_a_full_session_goes_on() {
    let Some(stage) = Stage::claude(&format!("{MODEL}\nhandoff_at = 0")) else { return };
    let job = stage.run(0, &["--issue", "42", "STUB:USAGE 190000\nSTUB:WRITE a.txt one\nSTUB:WRITE b.txt two"]);
    assert_eq!((job.session_states(), job.file("b.txt").as_str()), (vec![("finished", false)], "two\n"));
}

#[test]
fn a_session_that_fails_after_a_hand_off_fails_the_job() {
    let Some(stage) = Stage::claude(MODEL) else { return };
    let prompt = "STUB:NOTE STUB:FAIL 400\nSTUB:USAGE 190000\nSTUB:WRITE a.txt one\nSTUB:BASH sleep 100";
    let job = stage.run(1, &["--issue", "42", prompt]);
    assert_eq!(job.session_states(), [("handed_off", false), ("failed", false)]);
    assert!(job.text("error").contains("the stub fails as told"), "{}", job.text("error"));
    assert_eq!((job.file("a.txt").as_str(), &job.0["push"]), ("one\n", &json!(null)));
}

/// Says that its context is full and works on for a while, whatever it is asked; but for a note.
const ALWAYS_FULL: &str = r#"
    prompt=$(cat)
    echo '{"type":"system","subtype":"init","session_id":"one","model":"claude-sonnet-4-5"}'
    case "$prompt" in
        *"Write a hand-off note"*) echo '{"type":"result","subtype":"success","is_error":false,"result":"go on"}'; exit ;;
    esac
    echo x >> "$SPINNEY_WORKTREE_PATH/rounds.txt"
    echo '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}],"usage":{"input_tokens":199000}}}'
    echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}}'
    sleep 2 & wait
    echo '{"type":"result","subtype":"success","is_error":false,"result":"at last"}'
"#;

#[test]
fn a_note_that_can_not_be_had_fails_the_job() {
    let script = ALWAYS_FULL.replace("false,\"result\":\"go on\"", "true,\"result\":\"no more credit\"");
    let stage = Stage::scripted("claude", &script);
    let job = stage.run(1, &["--issue", "42", "go on for ever"]);
    assert_eq!(job.text("error"), "its context is full, and asking it for a hand-off note failed: no more credit");
    assert_eq!((job.session_states(), &job.0["push"]), (vec![("failed", false)], &json!(null)));
    assert_eq!(job.file("rounds.txt"), "x\n");
}

#[test]
fn hand_offs_are_bounded() {
    let stage = Stage::scripted("claude", ALWAYS_FULL);
    let job = stage.run(0, &["--issue", "42", "go on for ever"]);
    assert_eq!((job.sessions().len(), job.events("hand_off").len(), job.summary()), (11, 10, "at last"));
    assert_eq!(job.session_states().iter().filter(|(status, _)| *status == "handed_off").count(), 10);
    assert_eq!(job.file("rounds.txt").lines().count(), 11);
}

/// Speaks the Agent Client Protocol: its context is full in the middle of the first turn, which never ends.
const FULL_SPEAKER: &str = r#"
    tell() { echo '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":'"$1"'}}'; }
    answer() { echo '{"jsonrpc":"2.0","id":'"$id"',"result":'"$1"'}'; }
    say() { tell '{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"'"$1"'"}}'; answer '{"stopReason":"end_turn"}'; }
    while read -r line; do
        id=$(printf '%s' "$line" | sed 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/')
        case "$line" in
            *'"initialize"'*) answer '{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}' ;;
            *'"session/new"'*) answer '{"sessionId":"s"}' ;;
            *'"session/load"'*) answer '{}' ;;
            *"Write a hand-off note"*) say "do the rest" ;;
            *"do the rest"*) echo x > rest.txt; say "at last" ;;
            *'"session/prompt"'*)
                tell '{"sessionUpdate":"usage_update","used":950,"size":1000}'
                tell '{"sessionUpdate":"tool_call","toolCallId":"t","title":"Edit","kind":"edit","status":"pending"}'
                ;;
        esac
    done
"#;

#[test]
fn an_agent_that_is_talked_with_hands_off_too() {
    let stage = Stage::scripted("acp", FULL_SPEAKER);
    let job = stage.run(0, &["--issue", "42", "begin"]);
    assert_eq!(job.session_states(), [("handed_off", false), ("finished", false)]);
    assert_eq!(job.events("hand_off")[0]["note"], "do the rest");
    assert_eq!((job.summary(), job.file("rest.txt").as_str()), ("at last", "x\n"));
}

/// What it answers where the conversation that is full can't be loaded again.
#[test]
fn without_a_conversation_to_ask_the_next_session_looks_for_itself() {
    let script =
        FULL_SPEAKER.replace("\"loadSession\":true", "\"loadSession\":false").replace("do the rest", "left no note");
    let stage = Stage::scripted("acp", &script);
    let job = stage.run(0, &["--issue", "42", "begin"]);
    assert_eq!(job.session_states(), [("handed_off", false), ("finished", false)]);
    assert!(job.events("warning")[0]["text"].as_str().unwrap().contains("hand-off note"));
    assert_eq!(job.file("rest.txt"), "x\n");
}
