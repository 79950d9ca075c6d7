//! Agents that do what they should not, and what they are given: their environment, their directory, their workspace.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::support::common::{Story, refused};
use crate::support::job::{Job, LONG, Workshop, agent, read_pid, runner_of};
use serde_json::{Value, json};
use spinney_testkit::{HttpRemote, Sandbox, wait_until, write_program};

const ISSUE: [&str; 2] = ["--issue", "7"];

#[test]
fn a_renamed_branch_is_followed() {
    let workshop = Workshop::new("");
    let job = workshop.complete(&ISSUE, "write a.txt a\nrename-branch better/name");
    assert_eq!(job.text("branch"), "better/name");
    assert_eq!(workshop.pushed(), ["better/name", "main"]);
    assert_eq!(workshop.story.show("issue-7").text("branch"), "better/name");
    // The next job goes on there, and may replace what was pushed.
    let next = workshop.complete(&ISSUE, "write a.txt b\ngit commit --quiet --all --amend --message again");
    assert_eq!((next.text("branch"), &next.0["pushed"]), ("better/name", &true.into()));
    assert_eq!(workshop.story.remote().tip("better/name"), next.text("commit"));
    // One that failed is told by its name in git, too.
    let failed = workshop.run(1, &["--issue", "8"], "rename-branch other/name\nexit 1");
    assert_eq!(failed.text("branch"), "other/name");
}

#[test]
fn a_detached_head_is_delivered_to_the_branch() {
    let workshop = Workshop::new("");
    let job = workshop.complete(&ISSUE, "detach-head\nwrite a.txt a");
    assert_eq!((job.text("branch"), &job.0["pushed"]), ("agent/coder/issue-7", &true.into()));
    assert_eq!(workshop.story.remote().tip("agent/coder/issue-7"), job.text("commit"));
}

#[test]
fn an_agent_that_goes_to_the_base_branch_pushes_nothing_there() {
    let story = Story::new();
    story.change(|repository| repository.git(&["switch", "--quiet", "--create", "mine"]));
    let workshop = Workshop::of(story, "");
    let before = workshop.story.remote().tip("main");
    let job = workshop.run(1, &ISSUE, "git checkout --quiet main\nwrite a.txt a\ncommit oops");
    job.says(&["`main`, which is its base"]);
    assert_eq!(workshop.story.remote().tip("main"), before);
}

#[test]
fn an_agent_that_deletes_its_directory_has_failed_and_can_be_tried_again() {
    let workshop = Workshop::new("[agents.coder.hooks]\nafter_run = [\"true\"]\non_error = [\"true\"]\n");
    let done = workshop.beside_text("done");
    let prompt = format!("write a.txt a\ncommit safe\nonce {done} delete-own-directory\nprint done");
    let job = workshop.run(1, &ISSUE, &prompt);
    assert_eq!(job.text("status"), "failed");
    assert_eq!(workshop.pushed(), ["main"]);
    let retried = workshop.retry(0, job.id());
    assert_eq!((&retried.0["pushed"], retried.path().join("a.txt").exists()), (&true.into(), true));
    assert_eq!(workshop.story.remote().git(&["log", "--format=%s", "main..agent/coder/issue-7"]), "safe");
}

#[test]
fn what_changes_in_the_main_checkout_is_told_by_path() {
    let workshop = Workshop::new("");
    let root = workshop.story.repository.path().to_owned();
    let place = root.display();
    workshop.story.change(|repository| {
        let prompt = format!(
            "write-outside {place}/src/lib.rs hacked\nwrite-outside {place}/new/file.txt x\n\
             git -C {place} rm --quiet run.sh\nwrite-outside {place}/target/cache x\nwrite a.txt a"
        );
        let job = workshop.complete(&ISSUE, &prompt);
        assert_eq!(job.0["escaped"], json!(["new/file.txt (new)", "run.sh (deleted)", "src/lib.rs (changed)"]));
        workshop.assert_logged(job.id(), "the main checkout changed meanwhile");
        repository.git(&["reset", "--quiet", "--hard"]);
        repository.git(&["clean", "--quiet", "-fdx"]);

        let old = repository.head();
        let prompt = format!("git -C {place} commit --quiet --allow-empty --message mine");
        let job = workshop.run(1, &["--issue", "8"], &format!("{prompt}\nexit 1"));
        let new = repository.head();
        assert_ne!(old, new);
        let told = job.0["escaped"][0].as_str().unwrap();
        assert!(told.starts_with("HEAD (main → ") && told.contains(&new[..7]), "{told}");
    });
    let job = workshop.complete(&["--issue", "9"], "write a.txt a");
    assert_eq!(job.0["escaped"], json!([]));
}

#[test]
fn what_changes_for_every_git_in_the_repository_is_told() {
    let workshop = Workshop::new("");
    let git_dir = workshop.story.repository.path().join(".git");
    let place = git_dir.display();
    // What git notes by itself, or writes as it was, is no change.
    let prompt =
        "write a.txt a\ncommit one\ngit config core.bare false\ngit push --quiet --set-upstream origin HEAD:mine";
    let job = workshop.story.change(|_| workshop.complete(&ISSUE, prompt));
    assert!(fs::read_to_string(git_dir.join("config")).unwrap().contains("merge = refs/heads/mine"));
    assert_eq!(job.0["escaped"], json!([]));
    let prompt = format!(
        "git config core.pager less\nwrite-outside {place}/hooks/pre-push true\nwrite-outside {place}/info/exclude *.txt"
    );
    let job = workshop.story.change(|_| workshop.complete(&["--issue", "8"], &prompt));
    let told = [".git/config (changed)", ".git/hooks/pre-push (new)", ".git/info/exclude (changed)"];
    assert_eq!(job.0["escaped"], json!(told));
    // Told where nothing else could be: of an agent that failed.
    fs::remove_file(git_dir.join("hooks/pre-push")).unwrap();
    let job = workshop.story.change(|_| workshop.run(1, &["--issue", "9"], "git config --unset core.pager\nexit 1"));
    assert_eq!(job.0["escaped"], json!([".git/config (changed)"]));
}

#[test]
fn an_agents_environment_is_built() {
    let mut workshop = Workshop::new(
        "env = { GREETING = \"hello $HOME\", TERM = \"mine\" }\n[workspace]\nports = [\"web\"]\n\
         [forge.github]\ntoken_env = \"MY_FORGE_TOKEN\"\n",
    );
    for name in [
        "GITHUB_TOKEN",
        "GH_TOKEN",
        "GITLAB_TOKEN",
        "FORGEJO_TOKEN",
        "MY_FORGE_TOKEN",
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "SLACK_BOT_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "SSH_AUTH_SOCK",
        "EDITOR",
        "GIT_DIR",
        "LD_PRELOAD_X",
    ] {
        workshop.cli = workshop.cli.with_variable(name, "s3cret");
    }
    let (dump, hooked) = (workshop.beside_text("dump"), workshop.beside_text("hooked"));
    let settings = fs::read_to_string(workshop.story.sandbox().config_file()).unwrap();
    let hooks = format!("[agents.coder.hooks]\nbefore_run = [\"env > {hooked}\"]\n");
    workshop.story.sandbox().write_config(&format!("{settings}{hooks}"));
    let job = workshop.complete(&["--issue", "7", "--title", "A title"], &format!("dump-env {dump}"));
    let seen = variables(&dump);
    let path = job.text("path");
    let root = workshop.story.repository.path().to_str().unwrap();
    let home = workshop.story.sandbox().home();
    let expected = [
        ("HOME", home.to_str().unwrap()),
        ("LANG", "C.UTF-8"),
        ("TERM", "mine"),
        ("GREETING", "hello $HOME"),
        ("SPINNEY_WORKTREE_PATH", path),
        ("SPINNEY_WORKTREE_BRANCH", "agent/coder/issue-7"),
        ("SPINNEY_WORKTREE_BASE_BRANCH", "main"),
        ("SPINNEY_WORK_ITEM_ID", "7"),
        ("SPINNEY_WORKSPACE_PATH", path),
        ("SPINNEY_WORKSPACE_NAME", "issue-7"),
        ("SPINNEY_WORKSPACE_BRANCH", "agent/coder/issue-7"),
        ("SPINNEY_WORKSPACE_BASE_BRANCH", "main"),
        ("SPINNEY_REPOSITORY_ROOT", root),
        ("SPINNEY_WORK_ITEM_TITLE", "A title"),
        ("SPINNEY_REPO_ROOT", root),
        ("SPINNEY_WORKSPACE_STRATEGY", "git_worktree"),
        ("SPINNEY_JOB_ID", job.id()),
        ("PWD", path),
    ];
    for (name, value) in expected {
        assert_eq!(seen.get(name).map(String::as_str), Some(value), "{name}");
    }
    assert!(seen["SPINNEY_PORT_WEB"].parse::<u16>().unwrap() > 1023);
    let known = ["PATH", "SPINNEY_PORT_WEB", "SPINNEY_PROMPT_FILE", "_", "OLDPWD", "SHLVL"];
    let is_known = |name: &str| known.contains(&name) || expected.iter().any(|(known, _)| *known == name);
    let foreign: Vec<_> = seen.keys().filter(|name| !is_known(name)).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    let hooked = variables(&hooked);
    assert_eq!((&hooked["SPINNEY_JOB_ID"], hooked.get("GITHUB_TOKEN")), (&seen["SPINNEY_JOB_ID"], None));
    assert!(hooked.keys().all(|name| is_known(name)), "{hooked:?}");
}

#[test]
fn an_agent_gets_what_its_operator_passes_and_nothing_shows_it() {
    let mut workshop = Workshop::new(
        "pass = [\"SSH_AUTH_SOCK\", \"GITHUB_TOKEN\", \"NOT_SET\", \"SPINNEY_JOB_ID\"]\n\
         env = { MODEL_KEY = \"$OPENROUTER_API_KEY\", PRICE = \"$$5\", PLACE = \"$HOME/x\" }\n",
    );
    for name in ["SSH_AUTH_SOCK", "GITHUB_TOKEN", "OPENROUTER_API_KEY", "SPINNEY_JOB_ID", "SLACK_BOT_TOKEN"] {
        workshop.cli = workshop.cli.with_variable(name, format!("s3cret-{name}"));
    }
    let temporary = workshop.beside_text("temporary");
    fs::create_dir(&temporary).unwrap();
    workshop.cli = workshop.cli.with_variable("TMPDIR", &temporary);
    let dump = workshop.beside_text("dump");
    let job = workshop.complete(&ISSUE, &format!("dump-env {dump}\nwrite a.txt a"));
    let seen = variables(&dump);
    for (name, value) in [
        ("SSH_AUTH_SOCK", "s3cret-SSH_AUTH_SOCK"),
        ("GITHUB_TOKEN", "s3cret-GITHUB_TOKEN"),
        ("MODEL_KEY", "s3cret-OPENROUTER_API_KEY"),
        ("PRICE", "$5"),
        ("PLACE", "$HOME/x"),
        ("SPINNEY_JOB_ID", job.id()),
        ("TMPDIR", temporary.as_str()),
    ] {
        assert_eq!(seen.get(name).map(String::as_str), Some(value), "{name}");
    }
    for name in ["OPENROUTER_API_KEY", "NOT_SET", "SLACK_BOT_TOKEN"] {
        assert_eq!(seen.get(name), None, "{name}");
    }
    let home = workshop.story.sandbox().spinney_home();
    assert_eq!(crate::support::common::files_with(&home, "s3cret"), Vec::<std::path::PathBuf>::new());
    for command in [&["config", "show"][..], &["config", "show", "--json"], &["doctor"], &["logs", job.id()]] {
        assert!(!workshop.cli.run(command).told().contains("s3cret"), "{command:?}");
    }
}

#[test]
fn a_variable_that_an_agent_needs_is_there_before_there_is_a_job() {
    let mut workshop = Workshop::new("env = { MODEL_KEY = \"$OPENROUTER_API_KEY\" }\n");
    for ways in [&[][..], &["--detach"], &["--wait"], &["--each", "-"]] {
        let asked = if ways.contains(&"--each") { vec![] } else { [&ISSUE[..], &["anything"]].concat() };
        let arguments = [&["run"][..], ways, &asked[..]].concat();
        let ran = workshop.run_with_input(&arguments, b"one\ntwo\n").exits(2);
        let told = ran.told();
        assert!(told.contains("gets `MODEL_KEY` from the variable `OPENROUTER_API_KEY`"), "{told}");
        assert!(told.contains("export OPENROUTER_API_KEY=") && told.contains("agents.coder.env.MODEL_KEY"), "{told}");
    }
    assert_eq!((workshop.jobs().len(), workshop.story.names()), (0, Vec::new()), "nothing was made for it");
    let doctor = workshop.cli.run(&["doctor"]).exits(1);
    assert!(doctor.told().contains("`OPENROUTER_API_KEY`"), "{}", doctor.told());
    // What is taken up where it is not set ends before its agent is started.
    let bare = workshop.cli.clone();
    workshop.cli = workshop.cli.with_variable("OPENROUTER_API_KEY", "k3y");
    let once = workshop.beside_text("once");
    let prompt = format!("write a.txt a\nonce {once} exit 1");
    let job = workshop.run(1, &ISSUE, &prompt);
    let retried = Job::of(&bare.run(&["retry", "--json", job.id()]).exits(1));
    retried.says(&["gets `MODEL_KEY` from the variable `OPENROUTER_API_KEY`"]);
    assert_eq!(workshop.retry(0, job.id()).0["pushed"], true);
}

#[test]
fn a_repositorys_own_agents_get_nothing_of_the_operators() {
    let mut workshop = Workshop::new("");
    workshop.cli = workshop.cli.with_variable("OPENROUTER_API_KEY", "s3cret");
    let write = |line: &str| {
        let text = format!("{}{line}\n", agent("theirs"));
        workshop.story.change(|repository| repository.write("spinney.toml", &text).fingerprint());
    };
    for (line, reason) in [
        ("pass = [\"OPENROUTER_API_KEY\"]", "`agents.theirs.pass` can't be set by a repository"),
        ("env = { A = \"$OPENROUTER_API_KEY\" }", "`$OPENROUTER_API_KEY` is a variable of whoever runs Spinney"),
    ] {
        write(line);
        for command in [&["trust", "--yes"][..], &["run", "--agent", "theirs", "--", "write a.txt a"]] {
            refused(&workshop.cli, 2, command).says(&[reason]);
        }
    }
    let dump = workshop.beside_text("dump");
    write("env = { A = \"$$OPENROUTER_API_KEY\" }");
    workshop.cli.run(&["trust", "--yes"]).ok();
    workshop.cli.run(&["run", "--agent", "theirs", "--", &format!("dump-env {dump}")]).ok();
    assert_eq!(variables(&dump)["A"], "$OPENROUTER_API_KEY");
    assert!(!fs::read_to_string(&dump).unwrap().contains("s3cret"));
}

#[test]
fn a_program_that_is_gone_when_its_turn_comes_costs_no_workspace() {
    let workshop = Workshop::new("[limits]\nmax_workers = 1\n");
    let program = workshop.beside("agent.sh");
    write_program(&program, "#!/bin/sh\nexec true\n");
    let settings = fs::read_to_string(workshop.story.sandbox().config_file()).unwrap();
    let other = format!("[agents.other]\nruntime = \"command\"\ncommand = [\"{}\"]\n", program.display());
    workshop.story.sandbox().write_config(&format!("{settings}{other}"));
    let first = workshop.detach(&ISSUE, &workshop.hold("first"));
    workshop.wait_for_agent("first");
    let asked = ["run", "--json", "--detach", "--agent", "other", "--issue", "8", "x"];
    let second = Job::of(&workshop.cli.run(&asked).ok()).id().to_owned();
    fs::remove_file(&program).unwrap();
    workshop.let_go("first");
    workshop.wait_for(&first, "completed");
    workshop.wait_for(&second, "failed").says(&["agent.sh`, the program of agent `other`, was not found"]);
    assert_eq!(workshop.story.names(), ["issue-7"]);
}

#[test]
fn doctor_looks_at_agents_before_there_is_a_repository() {
    let sandbox = Sandbox::new();
    let cli = sandbox.cli(crate::support::common::BINARY);
    sandbox.write_config(
        "[agents.a]\nruntime = \"codex\"\nenv = { PATH = \"/nowhere\" }\n[agents.b]\nruntime = \"command\"\ncommand = [\"true\"]\n\
         [agents.c]\nruntime = \"command\"\ncommand = [\"true\"]\nenv = { A = \"$NOT_SET_HERE\" }\n",
    );
    let doctor = cli.run(&["doctor", "--json"]).exits(1).json();
    let checks = doctor["checks"].as_array().unwrap();
    let of_agents: Vec<_> = checks.iter().filter(|check| check["name"] == "agent").collect();
    let told = |index: usize| of_agents[index].to_string();
    assert_eq!(of_agents.len(), 3, "{of_agents:#?}");
    assert!(told(0).contains("`codex`, the program of agent `a`, was not found"), "{}", told(0));
    assert!(told(0).contains("`npm install -g @openai/codex` installs it"), "{}", told(0));
    assert!(told(1).contains("b runs `true`"), "{}", told(1));
    assert!(told(2).contains("`NOT_SET_HERE`"), "{}", told(2));
}

/// What `env` printed into a file.
fn variables(path: &str) -> BTreeMap<String, String> {
    let text = fs::read_to_string(path).unwrap();
    let pairs = text.lines().map(|line| line.split_once('=').unwrap());
    pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn a_repositorys_own_token_does_not_reach_the_agent() {
    let sandbox = Sandbox::new();
    let origin = sandbox.repository("app").with_remote();
    let http = HttpRemote::with_token(&sandbox, "t0ken-of-the-repository");
    let workshop = Workshop::of(Story::of(origin), "");
    let dump = workshop.beside_text("dump");
    let cli = workshop.cli.with_variable("REPOSITORY_TOKEN", "t0ken-of-the-repository");
    let url = http.url("acme/app.git");
    cli.run(&["repo", "add", &url, "--token-env", "REPOSITORY_TOKEN", "--name", "acme/private"]).ok();
    let prompt = format!("dump-env {dump}\nwrite a.txt a");
    let ran = cli.run(&["--repo", "acme/private", "run", "--json", "--agent", "coder", "--", &prompt]).ok();
    assert_eq!(ran.json()["pushed"], true, "it was pushed with the token");
    assert!(!fs::read_to_string(&dump).unwrap().contains("t0ken"));
    let home = workshop.story.sandbox().spinney_home();
    assert_eq!(crate::support::common::files_with(&home, "t0ken-of-the-repository"), Vec::<std::path::PathBuf>::new());
}

#[test]
fn what_an_agent_leaves_in_gits_configuration_sees_no_secret() {
    let mut workshop = Workshop::new("[forge.github]\ntoken_env = \"MY_FORGE_TOKEN\"\n");
    for name in ["GITHUB_TOKEN", "GITEA_TOKEN", "MY_FORGE_TOKEN", "SLACK_BOT_TOKEN", "SPINNEY_GITHUB_WEBHOOK_SECRET"] {
        workshop.cli = workshop.cli.with_variable(name, "s3cret");
    }
    workshop.cli = workshop.cli.with_variable("EDITOR", "seen");
    let (spy, seen) = (workshop.beside("spy"), workshop.beside("spy.seen"));
    write_program(&spy, "#!/bin/sh\nenv >> \"$0.seen\"\ncat\n");
    let place = spy.display();
    let prompt = format!(
        "git config filter.spy.clean \\''{place}'\\'\nwrite .gitattributes * filter=spy\nwrite a.txt a\nwrite-outside {place}.seen"
    );
    let job = workshop.story.change(|_| workshop.run(1, &ISSUE, &prompt));
    assert!(job.says(&["filter.spy.clean", "spinney trust"]).0["pushed"] == false, "{:#}", job.0);
    assert!(!fs::read_to_string(&seen).unwrap().contains("EDITOR"), "nobody agreed to run it");
    workshop.cli.run(&["trust", "--yes"]).ok();
    assert_eq!(workshop.retry(0, job.id()).0["pushed"], true);
    let seen = fs::read_to_string(seen).unwrap();
    assert!(seen.contains("EDITOR=seen") && !seen.contains("s3cret"), "{seen}");
}

#[test]
fn a_token_goes_where_the_repository_was_added_from() {
    let sandbox = Sandbox::new();
    let origin = sandbox.repository("app").with_remote();
    let [http, evil] = [(); 2].map(|()| HttpRemote::with_token(&sandbox, "t0ken"));
    let workshop = Workshop::of(Story::of(origin), "");
    let cli = workshop.cli.with_variable("REPOSITORY_TOKEN", "t0ken");
    let (url, elsewhere) = (http.url("acme/app.git"), evil.url("acme/app.git"));
    cli.run(&["repo", "add", &url, "--token-env", "REPOSITORY_TOKEN", "--name", "acme/private"]).ok();
    let run = |prompt: &str| cli.run(&["--repo", "acme/private", "run", "--json", "--agent", "coder", "--", prompt]);
    let refused = |prompt: &str, told: &str| {
        let job = Job::of(&run(prompt).exits(1));
        assert!(job.says(&[told]).0["pushed"] == false && !job.0.to_string().contains("t0ken"), "{:#}", job.0);
    };
    // Where its own agent leads, a job does not push at all; nor to a second place beside the right one.
    let push_to = |url: &str| format!("git config --add remote.origin.pushurl {url}\n");
    refused(&format!("{}{}write a.txt a", push_to(&url), push_to(&elsewhere)), "nothing is pushed");
    refused(&format!("git config --replace-all remote.origin.pushurl {elsewhere}\nwrite a.txt a"), "nothing is pushed");
    assert_eq!(evil.requests(), Vec::<String>::new());
    // Where an earlier one led, no token goes along.
    refused("write a.txt a", "no token was sent");
    assert!(evil.requests().iter().all(|line| line.starts_with("401 ")), "{:?}", evil.requests());
    assert!(!evil.requests().is_empty());
    refused("git config --unset-all remote.origin.pushurl\nwrite a.txt a", "nothing is pushed");
    run("write a.txt a").ok();
}

#[test]
fn the_runners_environment_is_closed_to_others() {
    let workshop = Workshop::new("");
    let (pid, go) = (workshop.beside("agent"), workshop.beside("go"));
    let id = workshop.detach(&ISSUE, &format!("pid {}\nwait-for {}", pid.display(), go.display()));
    read_pid(&pid);
    // The files of a process that may not be dumped belong to root, whoever runs it.
    let owner =
        |process: u32| std::os::unix::fs::MetadataExt::uid(&fs::metadata(format!("/proc/{process}/environ")).unwrap());
    let runner = runner_of(&id).unwrap();
    assert_eq!(owner(runner), 0);
    let status = fs::read_to_string(format!("/proc/{runner}/status")).unwrap();
    assert!(status.contains("\nCoreDumping:\t0"), "{status}");
    fs::write(&go, "").unwrap();
    workshop.wait_for_end(&id);
}

#[test]
fn keep_decides_how_long_a_workspace_stays() {
    let workshop = Workshop::new("");
    let with = |keep: &str| workshop.configure(&format!("[agents.coder.workspace]\nkeep = \"{keep}\"\n"));
    let stays = |work: &[&str], prompt: &str| workshop.complete(work, prompt).0["path"].is_string();
    assert!(!stays(&[], "write a.txt a"), "auto: a job's own goes");
    assert!(stays(&["--issue", "1"], "write a.txt a"), "auto: an issue's stays");
    with("until_delivered");
    assert!(!stays(&["--issue", "2"], "write a.txt a"));
    assert!(!stays(&["--issue", "3"], "print nothing changed"));
    with("until_closed");
    assert!(stays(&[], "write a.txt a"));
    with("24h");
    assert!(stays(&["--issue", "4"], "write a.txt a"));
    let failed = workshop.run(1, &[], "write a.txt a\nexit 1");
    assert!(failed.0["path"].is_string(), "what failed stays");
    with("1s");
    let brief = workshop.complete(&["--issue", "5"], "write a.txt a").path();
    let sweep = || workshop.cli.run(&["cleanup", "stale"]).ok();
    wait_until(|| sweep().status == 0 && !brief.exists(), LONG);
    assert!(workshop.story.show("issue-4").path().exists(), "its time is not over");
}

#[test]
fn a_failed_jobs_workspace_goes_to_the_trash_if_that_is_wanted() {
    let workshop = Workshop::new("[agents.coder.workspace]\ncleanup_on_failure = true\n");
    let job = workshop.run(1, &ISSUE, "write a.txt a\ncommit half\nwrite b.txt b\nexit 1");
    assert_eq!((&job.0["path"], job.text("workspace")), (&Value::Null, "issue-7"));
    // Whole: it can be brought back.
    workshop.cli.run(&["restore", "issue-7"]).ok();
    let tree = workshop.story.show("issue-7").path();
    assert!(tree.join("a.txt").exists() && tree.join("b.txt").exists());
    let completed = workshop.complete(&["--issue", "8"], "write a.txt a");
    assert!(completed.path().exists());
}

#[test]
fn a_static_directory_is_used_as_it_is_one_job_at_a_time() {
    let story = Story::new();
    let config = "working_directory = \"docs\"\n[agents.coder.workspace]\nstrategy = \"static\"\n\
                  [agents.coder.hooks]\nbefore_run = [\"echo hooked >> hooked\"]\n";
    let workshop = Workshop::of(story, config);
    let docs = workshop.story.repository.path().join("docs");
    workshop.story.change(|repository| {
        let (pid, go, dump) = (workshop.beside("agent"), workshop.beside("go"), workshop.beside_text("dump"));
        let hold = format!("pid {}\nwait-for {}\nwrite made.txt 1\ndump-env {dump}", pid.display(), go.display());
        let first = workshop.detach(&[], &hold);
        read_pid(&pid);
        let second = workshop.detach(&[], "append made.txt 2");
        wait_until(|| workshop.job(&second).0["waits_for"].to_string().contains(&first), LONG);
        fs::write(&go, "").unwrap();
        for id in [&first, &second] {
            let job = workshop.wait_for_end(id);
            assert_eq!(
                (job.text("status"), &job.0["push"], &job.0["workspace"]),
                ("completed", &Value::Null, &Value::Null)
            );
            assert_eq!((&job.0["branch"], &job.0["escaped"]), (&Value::Null, &json!([])));
        }
        assert_eq!(fs::read_to_string(docs.join("made.txt")).unwrap(), "1\n2\n");
        assert_eq!(fs::read_to_string(docs.join("hooked")).unwrap(), "hooked\nhooked\n");
        let seen = variables(&dump);
        assert_eq!((seen["SPINNEY_WORKSPACE_STRATEGY"].as_str(), Path::new(&seen["PWD"])), ("static", docs.as_path()));
        assert_eq!(repository.git(&["log", "--format=%s"]), "first");
        fs::remove_file(docs.join("made.txt")).unwrap();
        fs::remove_file(docs.join("hooked")).unwrap();
    });
    assert_eq!(workshop.story.names(), Vec::<String>::new());
    assert_eq!(workshop.pushed(), ["main"]);
}

#[test]
fn an_agent_starts_in_its_part_of_the_repository() {
    let workshop = Workshop::new("working_directory = \"src\"\n");
    let job = workshop.complete(&ISSUE, "write made.txt a");
    assert_eq!(workshop.git(job.path(), &["show", "--format=", "--name-only", "HEAD"]), "src/made.txt");
}

#[test]
fn an_agent_may_work_on_a_clone_of_its_own() {
    let sandbox = Sandbox::new();
    let app = sandbox.repository("app").with_remote();
    let library = sandbox.repository("library").with_remote();
    let url = format!("file://{}", library.remote().url());
    let table = |auto: bool| format!("working_directory = {{ url = \"{url}\", auto_clone = {auto} }}\n");
    let workshop = Workshop::of(Story::of(app), &table(false));
    let asked = ["run", "--agent", "coder", "--", "write a.txt a"];
    refused(&workshop.cli, 2, &asked).says(&["not cloned yet"]).hints(&["repo add", "auto_clone"]);
    workshop.configure(&table(true));
    for _ in 0..2 {
        let job = workshop.complete(&[], "write a.txt a");
        assert_eq!((job.text("repository"), &job.0["pushed"]), ("local/library", &true.into()));
        assert_eq!(library.remote().tip(job.text("branch")), job.text("commit"));
    }
    assert_eq!(workshop.pushed(), ["main"], "the repository at hand has nothing to do with it");
    let listed = workshop.cli.run(&["repo", "ls", "--json"]).ok().stdout;
    assert_eq!(listed.matches("local/library\"").count(), 1, "{listed}");
}

#[test]
fn what_an_agent_is_missing_is_told() {
    let workshop = Workshop::new("");
    workshop.story.sandbox().write_config("[agents.coder]\nruntime = \"command\"\ncommand = [\"no-such-program\"]\n");
    let missing = "`no-such-program`, the program of agent `coder`, was not found";
    for ways in [&[][..], &["--detach"], &["--wait"], &["--count", "2"]] {
        let refusal = refused(&workshop.cli, 2, &[&["run"], &ISSUE[..], ways, &["anything"]].concat());
        refusal.says(&[missing]).hints(&["install it", "agents.coder.command"]);
    }
    workshop.story.sandbox().write_config("[agents.coder]\nruntime = \"codex\"\nenv = { PATH = \"/nowhere\" }\n");
    let refusal = refused(&workshop.cli, 2, &[&["run"], &ISSUE[..], &["--detach", "anything"]].concat());
    refusal.says(&["`codex`, the program of agent `coder`"]).hints(&["npm install -g @openai/codex"]);
    let jobs = workshop.cli.run(&["jobs", "--all", "--json"]).ok().json();
    assert_eq!((&jobs["jobs"], workshop.story.names()), (&json!([]), Vec::new()), "nothing was made for it");
    let program = workshop.beside("agent.sh");
    write_program(
        &program,
        "#!/bin/sh\ncat > \"$HOME/stdin\"; cmp \"$SPINNEY_PROMPT_FILE\" \"$HOME/stdin\" && echo same\n",
    );
    let config = format!("[agents.coder]\nruntime = \"command\"\ncommand = [\"{}\"]\n", program.display());
    workshop.story.sandbox().write_config(&config);
    let job = workshop.complete(&ISSUE, "a prompt\nof two lines");
    assert_eq!(job.text("summary"), "same");
    assert_eq!(fs::read_to_string(workshop.story.sandbox().home().join("stdin")).unwrap(), "a prompt\nof two lines");
}

#[test]
fn an_agent_can_not_have_its_own_workspace_removed() {
    let workshop = Workshop::new("");
    let home = workshop.story.sandbox().spinney_home();
    let remove = format!("{} --home {} rm issue-7 --force", crate::support::common::BINARY, home.display());
    let job = workshop.complete(&ISSUE, &format!("write a.txt a\ngit version; {remove}; echo status $?"));
    assert_eq!((job.text("summary"), &job.0["pushed"]), ("status 5", &true.into()));
}

#[test]
fn what_an_agent_left_half_done_is_no_delivery() {
    let workshop = Workshop::new("");
    let prompt = "write a.txt 1\ncommit one\nwrite a.txt 2\ncommit two\n\
                  git -c sequence.editor='sed -i 1s/pick/edit/' rebase --quiet --interactive HEAD~2 || true\nprint done";
    let job = workshop.run(1, &ISSUE, prompt);
    job.says(&["rebase"]);
    assert_eq!((workshop.pushed(), &job.0["push"]), (vec!["main".to_owned()], &Value::Null));
    workshop.git(job.path(), &["-c", "core.editor=true", "rebase", "--continue"]);
    assert_eq!(workshop.retry(0, job.id()).0["commits"], 2);
}

#[test]
fn a_path_may_name_the_agent() {
    let workshop = Workshop::new("[workspace]\npath = \"{home}/of/{agent}/{name}-{id}\"\n");
    let home = workshop.story.sandbox().spinney_home();
    let job = workshop.complete(&ISSUE, "write a.txt a");
    assert!(job.path().starts_with(home.join("of/coder")), "{}", job.path().display());
    let made = workshop.story.make(&["--issue", "8"]).path();
    assert!(made.starts_with(home.join("of/-")), "{}", made.display());
}

#[test]
fn a_branch_has_its_name_by_the_pattern() {
    let pattern = |text: &str| format!("[agents.coder.workspace]\nbranch_pattern = \"{text}\"\n");
    let workshop = Workshop::new(&pattern("bots/{agent}/{key}-{workItem}"));
    let branch = |work: &[&str]| workshop.complete(work, "write a.txt a").text("branch").to_owned();
    assert_eq!(branch(&["--issue", "7"]), "bots/coder/7-issue-7");
    assert_eq!(branch(&["--task", "Add dark mode"]), "bots/coder/add-dark-mode-task-add-dark-mode");
    assert_eq!(branch(&["--branch", "feature/x"]), "feature/x", "a name that a person gives holds");
    // A workspace that exists keeps its branch.
    workshop.story.make(&["--issue", "8"]);
    assert_eq!(branch(&["--issue", "8"]), "issue-8");
    // A name that is taken gets a number.
    workshop.story.repository.git(&["branch", "bots/coder/9-issue-9"]);
    assert_eq!(branch(&["--issue", "9"]), "bots/coder/9-issue-9-2");
    workshop.configure(&pattern("{agent}-{jobId}"));
    let job = workshop.complete(&[], "write a.txt a");
    assert_eq!(job.text("branch"), format!("coder-{}", job.id()));
}
