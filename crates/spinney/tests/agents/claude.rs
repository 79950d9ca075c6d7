//! One job with Claude Code: what it is given, what it does, what is told of it.

use serde_json::json;

use crate::stage::Stage;

#[test]
fn claude_edits_and_commits_and_its_branch_is_pushed() {
    let settings = r#"
        model = "claude-sonnet-4-5"
        system_prompt = "You live in a wood."
        allowed_tools = ["Bash(git add:*)", "Bash(git commit:*)"]
        disallowed_tools = ["WebSearch"]
    "#;
    let Some(stage) = Stage::claude(settings) else { return };
    let prompt = "STUB:SAY hello there\nSTUB:WRITE a.txt it's one\nSTUB:BASH git add a.txt\n\
        STUB:BASH git commit --quiet --message told\nSTUB:WRITE b.txt left over";
    let job = stage.run(0, &["--issue", "42", prompt]);

    assert_eq!((job.status(), job.text("branch"), job.text("push")), ("completed", "agent/coder/issue-42", "pushed"));
    assert_eq!(stage.pushed("agent/coder/issue-42"), [&format!("agent: {}", job.summary()), "told"]);
    assert_eq!(stage.pushed_file("agent/coder/issue-42", "a.txt"), "it's one");
    assert_eq!(stage.pushed_file("agent/coder/issue-42", "b.txt"), "left over");
    assert_eq!((&job.0["commits"], &job.0["files"], &job.0["denied"]), (&json!(2), &json!(2), &json!([])));
    assert!(job.summary().starts_with("done ("), "{}", job.summary());

    assert_eq!(job.session_states(), [("finished", false)]);
    let session = &job.sessions()[0];
    assert_eq!(session["usage"], job.0["usage"]);
    // Five answers, and what each took is what the model said.
    assert_eq!(job.0["usage"]["input_tokens"], 5 * 120);
    assert_eq!(job.0["usage"]["output_tokens"], 5 * 34);
    assert!(job.0["usage"]["cost_micros"].as_u64().unwrap() > 0, "{}", job.0["usage"]);
    assert_eq!((&session["context_tokens"], &session["context_window"]), (&json!(1200 + 34), &json!(200_000)));

    let path = job.path();
    assert!(stage.was_told(&["You live in a wood.", "# Your workspace", path.to_str().unwrap()]));
    assert!(stage.was_told(&["`agent/coder/issue-42`", "work item: issue-42"]));
    for request in stage.model.requests().iter().filter(|request| !request.tools().is_empty()) {
        assert_eq!(request.body["model"], "claude-sonnet-4-5");
        assert!(request.tools().contains(&"Bash".to_owned()) && !request.tools().contains(&"WebSearch".to_owned()));
    }
}
