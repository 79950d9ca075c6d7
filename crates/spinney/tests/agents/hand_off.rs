//! Sessions whose context is full.

use serde_json::json;

use crate::stage::Stage;

/// A model with the smaller window.
const MODEL: &str = "model = \"claude-sonnet-4-5\"\nallowed_tools = [\"Bash\"]";

#[test]
fn a_full_session_hands_off_to_a_fresh_one_in_the_same_workspace() {
    let Some(stage) = Stage::claude(MODEL) else { return };
    let prompt = "STUB:NOTE STUB:WRITE c.txt from the note\nSTUB:WRITE a.txt one\nSTUB:USAGE 181000\nSTUB:WRITE b.txt two\n\
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
    assert_eq!(full["usage"]["input_tokens"], 3 * 120, "two answers and the note");

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
fn a_note_that_can_not_be_had_fails_the_job_and_a_retry_goes_on() {
    let Some(stage) = Stage::claude(MODEL) else { return };
    // The model fails at the note: the rest of a conversation always does.
    let job = stage.run(
        1,
        &["--issue", "42", "STUB:USAGE 190000\nSTUB:WRITE a.txt one\nSTUB:NOTE STUB:FAIL 400\nSTUB:BASH sleep 100"],
    );
    assert_eq!(job.session_states(), [("handed_off", false), ("failed", false)]);
    assert!(job.text("error").contains("the stub fails as told"), "{}", job.text("error"));
    assert_eq!(job.file("a.txt"), "one\n");
}

/// Says that its context is full and works on, whatever it is asked; but for a note.
const ALWAYS_FULL: &str = r#"
    prompt=$(cat)
    echo '{"type":"system","subtype":"init","session_id":"one","model":"claude-sonnet-4-5"}'
    case "$prompt" in
        *"Write a hand-off note"*) echo '{"type":"result","subtype":"success","is_error":false,"result":"go on"}'; exit ;;
    esac
    echo x >> "$SPINNEY_WORKTREE_PATH/rounds.txt"
    echo '{"type":"assistant","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}],"usage":{"input_tokens":199000}}}'
    echo '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"ok"}]}}'
    if [ "$(wc -l < "$SPINNEY_WORKTREE_PATH/rounds.txt")" -gt 10 ]; then
        echo '{"type":"result","subtype":"success","is_error":false,"result":"at last"}'
        exit
    fi
    sleep 100 & wait
"#;

#[test]
fn hand_offs_are_bounded() {
    let stage = Stage::scripted("claude", ALWAYS_FULL);
    let job = stage.run(0, &["--issue", "42", "go on for ever"]);
    assert_eq!((job.sessions().len(), job.events("hand_off").len(), job.summary()), (11, 10, "at last"));
    assert_eq!(job.session_states().iter().filter(|(status, _)| *status == "handed_off").count(), 10);
    assert_eq!(job.file("rounds.txt").lines().count(), 11);
}
