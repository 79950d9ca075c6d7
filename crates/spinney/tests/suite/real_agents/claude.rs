//! One job with Claude Code: what it is given, what it does, what is told of it.

use serde_json::json;

use crate::real_agents::stage::Stage;

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

#[test]
fn what_claude_may_not_do_is_told_and_is_no_failure() {
    let Some(stage) = Stage::claude("") else { return };
    let job = stage.run(0, &["--task", "denied", "STUB:WRITE a.txt x\nSTUB:DENIED"]);
    assert_eq!((job.status(), &job.0["commits"]), ("completed", &json!(1)));
    assert_eq!(job.0["denied"], json!(["Bash: git commit --allow-empty --message denied"]));
    assert_eq!(job.events("permission_denied").len(), 1);
}

#[test]
fn a_failure_of_the_api_fails_the_job_and_its_work_stays() {
    let Some(stage) = Stage::claude("allowed_tools = [\"Bash(git:*)\"]") else { return };
    let prompt = "STUB:WRITE a.txt one\nSTUB:BASH git add a.txt\nSTUB:BASH git commit --quiet --message told\n\
        STUB:WRITE b.txt two\nSTUB:FAIL 400";
    let job = stage.run(1, &["--issue", "7", prompt]);
    assert_eq!(job.status(), "failed");
    assert!(job.text("error").contains("the stub fails as told"), "{}", job.text("error"));
    assert_eq!((job.session_states(), &job.0["push"]), (vec![("failed", false)], &json!(null)));
    // What was committed is committed, the rest is as it was left, and nothing left the machine.
    let sandbox = stage.story.sandbox();
    assert_eq!(sandbox.git(job.path(), &["log", "--format=%s", "-1"]), "told");
    assert_eq!(sandbox.git(job.path(), &["status", "--porcelain"]), "?? b.txt");
    assert_eq!(stage.story.remote().git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]), "main");

    // What the person does about it is theirs: the same session goes on.
    let again = stage.run(0, &["--issue", "7", "STUB:WRITE c.txt three"]);
    assert_eq!(again.session_states(), [("finished", true)]);
    assert_eq!((again.conversation(), again.text("push")), (job.conversation(), "pushed"));
    assert_eq!(stage.pushed_file("agent/coder/issue-7", "b.txt"), "two");
}

#[test]
fn a_server_that_fails_once_is_asked_again() {
    let Some(stage) = Stage::claude("") else { return };
    let job = stage.run(0, &["--task", "once", "STUB:FAILONCE 529\nSTUB:WRITE a.txt x"]);
    assert_eq!((job.status(), job.events("retry").len()), ("completed", 1));
}

#[test]
fn no_secret_reaches_claude() {
    let settings = "allowed_tools = [\"Bash\"]\nenv.OF_THE_AGENT = \"yes\"";
    let Some(mut stage) = Stage::claude(settings) else { return };
    let secrets = ["GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "FORGEJO_TOKEN", "SLACK_BOT_TOKEN", "OPENAI_API_KEY"];
    for name in secrets {
        stage.cli = stage.cli.with_variable(name, "secret-of-a-forge");
    }
    let job = stage.run(0, &["--issue", "3", "--title", "Dark mode", "STUB:BASH env > environment.txt"]);
    let environment = job.file("environment.txt");
    assert!(!environment.contains("secret-of-a-forge"), "{environment}");
    for (name, value) in [
        ("OF_THE_AGENT", "yes"),
        ("SPINNEY_JOB_ID", job.text("id")),
        ("SPINNEY_WORKTREE_PATH", job.text("path")),
        ("SPINNEY_WORKTREE_BRANCH", "agent/coder/issue-3"),
        ("SPINNEY_WORK_ITEM_ID", "3"),
        ("SPINNEY_WORK_ITEM_TITLE", "Dark mode"),
    ] {
        assert!(environment.lines().any(|line| line == format!("{name}={value}")), "{name}: {environment}");
    }
}

/// Claude Code takes some prompts that begin so for commands of its own.
#[test]
fn a_prompt_that_begins_with_a_path_reaches_the_model() {
    let Some(stage) = Stage::claude("") else { return };
    let job = stage.run(0, &["--task", "path", "/src/lib.rs is wrong:\nSTUB:WRITE a.txt x"]);
    assert_eq!((job.text("push"), job.file("a.txt").as_str()), ("pushed", "x\n"));
}
