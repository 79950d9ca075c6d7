//! Configuration: which layer wins, where each value comes from, and what is refused with file and line.

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;

use crate::support::common::{BINARY, Story, refused};
use serde_json::Value;
use spinney_testkit::{Cli, Sandbox};

/// A value and where it comes from, as `config show` tells it.
#[track_caller]
fn entry(cli: &Cli, key: &str) -> (Value, String) {
    let config = cli.run(&["config", "show", "--json"]).ok().json();
    let entry = config["config"].as_array().unwrap().iter().find(|entry| entry["key"] == key).expect("a known key");
    (entry["value"].clone(), entry["source"].as_str().unwrap().to_owned())
}

#[test]
fn each_layer_wins_over_the_one_before_and_says_so() {
    let story = Story::new();
    let key = "limits.max_workspaces";
    assert_eq!(entry(&story.cli, key), (25.into(), "default".to_owned()));
    story.sandbox().write_config("[limits]\nmax_workspaces = 20\nmin_free_disk = \"1GiB\"\n");
    let own = story.sandbox().config_file().display().to_string();
    assert_eq!(entry(&story.cli, key), (20.into(), own.clone()));
    story.change(|repository| repository.write("spinney.toml", "[limits]\nmax_workspaces = 15\n").head());
    let repository = story.repository.path().join("spinney.toml").display().to_string();
    assert_eq!(entry(&story.cli, key), (15.into(), repository.clone()));
    assert_eq!(entry(&story.cli, "limits.min_free_disk"), ("1GiB".into(), own.clone()));
    let variable = "SPINNEY_LIMITS__MAX_WORKSPACES";
    let with_variable = story.cli.with_variable(variable, "10");
    assert_eq!(entry(&with_variable, key), (10.into(), variable.to_owned()));
    // Outside of the repository its file does not count.
    let elsewhere = story.cli.in_directory(story.sandbox().path());
    assert_eq!(entry(&elsewhere, key), (20.into(), own));
    // Its own file, not a workspace's: whoever can push a branch must not change what holds.
    let workspace = story.make(&["--issue", "1"]);
    fs::write(workspace.path().join("spinney.toml"), "[limits]\nmax_workspaces = 1\n").unwrap();
    assert_eq!(entry(&story.cli.in_directory(workspace.path()), key), (15.into(), repository));
    let table = with_variable.run(&["config", "show"]).ok().stdout;
    let line = table.lines().find(|line| line.starts_with(key)).unwrap();
    assert_eq!(line.split_whitespace().collect::<Vec<_>>(), [key, variable, "10"]);
}

#[test]
fn the_winning_layer_is_the_one_that_acts() {
    let story = Story::new();
    story.change(|repository| {
        repository.git(&["branch", "from-file"]);
        repository.git(&["branch", "from-variable"]);
        repository.git(&["branch", "from-flag"]);
        repository.write("spinney.toml", "[workspace]\nbase = \"from-file\"\n");
    });
    let base =
        |cli: &Cli, arguments: &[&str]| crate::support::common::make(cli, arguments).text("base_branch").to_owned();
    assert_eq!(base(&story.cli, &["--issue", "1"]), "from-file");
    let cli = story.cli.with_variable("SPINNEY_WORKSPACE__BASE", "from-variable");
    assert_eq!(base(&cli, &["--issue", "2"]), "from-variable");
    assert_eq!(base(&cli, &["--issue", "3", "--base", "from-flag"]), "from-flag");
}

#[test]
fn the_file_is_found_where_it_is_named() {
    let story = Story::new();
    story.sandbox().write_config("[limits]\nmax_workspaces = 20\n");
    let named = story.sandbox().path().join("named.toml");
    fs::write(&named, "[limits]\nmax_workspaces = 19\n").unwrap();
    let flagged = story.sandbox().path().join("flagged.toml");
    fs::write(&flagged, "[limits]\nmax_workspaces = 18\n").unwrap();
    let by_variable = story.cli.with_variable("SPINNEY_CONFIG", &named);
    assert_eq!(entry(&by_variable, "limits.max_workspaces"), (19.into(), named.display().to_string()));
    let shown = by_variable.run(&["--config", flagged.to_str().unwrap(), "config", "show"]).ok().stdout;
    assert!(shown.contains(flagged.to_str().unwrap()) && !shown.contains("named.toml"), "{shown}");
    // A file that somebody named must be there; the usual one need not.
    fs::remove_file(&named).unwrap();
    for cli in [by_variable, story.cli.with_variable("SPINNEY_CONFIG", story.sandbox().path())] {
        let refusal = refused(&cli, 2, &["ls"]);
        refusal.says(&["can't be read"]).hints(&["spinney config validate"]);
    }
    refused(&story.cli, 2, &["--config", "/nope/nope.toml", "ls"]).says(&["`/nope/nope.toml` can't be read"]);
    fs::remove_file(story.sandbox().config_file()).unwrap();
    assert_eq!(entry(&story.cli, "limits.max_workspaces").0, 25);
    let homeless = story.cli.without_variable("XDG_CONFIG_HOME");
    story.sandbox().write_config("[limits]\nmax_workspaces = 17\n");
    assert_eq!(entry(&homeless, "limits.max_workspaces").0, 17);
}

#[test]
fn the_home_is_the_flags_then_the_variables_then_the_persons() {
    let sandbox = Sandbox::new();
    let cli = sandbox.cli(BINARY);
    let (flag, person) = (sandbox.path().join("flag"), sandbox.home().join(".spinney"));
    cli.run(&["--home", flag.to_str().unwrap(), "ls"]).ok();
    assert!(flag.join("spinney.db").is_file() && !sandbox.spinney_home().exists());
    cli.run(&["ls"]).ok();
    assert!(sandbox.spinney_home().join("spinney.db").is_file() && !person.exists());
    cli.without_variable("SPINNEY_HOME").run(&["ls"]).ok();
    assert!(person.join("spinney.db").is_file());
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&flag), mode(&flag.join("operations")), mode(&flag.join("trash"))), (0o700, 0o700, 0o700));
}

#[test]
fn what_is_wrong_is_told_with_file_and_line() {
    let story = Story::new();
    let own = story.sandbox().config_file();
    let repository = story.repository.path().join("spinney.toml");
    let table = [
        ("[limits]\nmax_workspaces = 3\n[limits\n", 3, "broken TOML", "config validate"),
        (
            "\n\n[workspace]\nbase = 1\n",
            4,
            "`workspace.base` must be a text in quotes, not a whole number",
            "by default",
        ),
        ("[limits]\nmax_workspaces = \"3\"\n", 2, "`limits.max_workspaces` must be a whole number", "25"),
        ("[limits]\nmax_workspaces = 0\n", 2, "wrong value for `limits.max_workspaces`", "25"),
        ("[workspace]\nsubmodules = \"yes\"\n", 2, "`workspace.submodules` must be `true` or `false`", "`true`"),
        ("[workspace]\nsetup = [1]\n", 2, "`workspace.setup` must be a list of texts", "`[]`"),
        ("[workspace]\nfetch_max_age = \"soon\"\n", 2, "`soon`", "5m"),
        ("[workspace]\nfetch = \"allways\"\n", 2, "`allways`", "auto"),
        ("[workspace]\nbase = \"x.lock\"\n", 2, "`x.lock`", "by default"),
        ("[workspace]\nsetpu = []\n", 2, "unknown key `workspace.setpu`", "did you mean `setup`?"),
        ("[limits]\nmax_workspace = 3\n", 2, "unknown key `limits.max_workspace`", "`max_workspaces`"),
        ("[workspaces]\nbase = \"x\"\n", 2, "unknown key `workspaces.base`", "`workspace.base`"),
        ("base = \"x\"\n", 1, "unknown key `base`", "`workspace.base`"),
        ("[agents.coder]\nmodle = \"x\"\n", 2, "unknown key `agents.coder.modle`", "did you mean `model`?"),
        ("[agents.coder.container]\nimage = \"x\"\n", 1, "unknown key `agents.coder.container`", "use one of"),
        ("[agents.Coder]\n", 1, "`Coder` is not an agent's name", "[agents.coder]"),
        ("[agents.coder]\nhandoff_at = 90\n", 2, "wrong value for `agents.coder.handoff_at`", "0.9"),
        ("[agents.coder.workspace]\nbranch_pattern = \"{agnt}\"\n", 2, "`{agnt}` is no placeholder", "{agent}"),
    ];
    for (text, line, message, hint) in table {
        story.sandbox().write_config(text);
        for arguments in [&["config", "validate"][..], &["ls"], &["config", "show"]] {
            let refusal = refused(&story.cli, 2, arguments);
            refusal.says(&[&format!("{}:{line}: ", own.display()), message]).hints(&[hint]);
            assert_eq!(refusal.0.stderr.lines().count(), 1);
        }
        fs::remove_file(&own).unwrap();
        story.change(|_| fs::write(&repository, text).unwrap());
        refused(&story.cli, 2, &["config", "validate"]).says(&[&format!("{}:{line}: ", repository.display()), message]);
        refused(&story.cli, 2, &["new", "--issue", "1"]).says(&[message]);
        story.change(|_| fs::remove_file(&repository).unwrap());
    }
    for content in [&b"\xff\xfe"[..], b"[workspace]\nbase = \"\xff\"\n"] {
        story.change(|_| fs::write(&repository, content).unwrap());
        refused(&story.cli, 2, &["new", "--issue", "1"]).says(&[&format!("`{}` can't be read", repository.display())]);
        story.change(|_| fs::remove_file(&repository).unwrap());
    }
    assert_eq!(story.cli.run(&["config", "validate"]).ok().stderr, "all layers are valid\n");
    story.assert_nothing_made();
}

#[test]
fn unknown_and_wrong_variables_are_errors() {
    let story = Story::new();
    let table = [
        ("SPINNEY_X__Y", "1", "unknown variable `SPINNEY_X__Y`", "SPINNEY_WORKSPACE__"),
        ("SPINNEY_LIMITS__MAX_WORKSPACE", "1", "`SPINNEY_LIMITS__MAX_WORKSPACE`", "`SPINNEY_LIMITS__MAX_WORKSPACES`"),
        ("SPINNEY_limits__max_workspaces", "1", "`SPINNEY_limits__max_workspaces`", "SPINNEY_LIMITS"),
        ("SPINNEY_LIMITS__MAX_WORKSPACES", "many", "SPINNEY_LIMITS__MAX_WORKSPACES: ", "25"),
        ("SPINNEY_LIMITS__MAX_WORKSPACES", "", "SPINNEY_LIMITS__MAX_WORKSPACES: ", "25"),
        ("SPINNEY_WORKSPACE__SUBMODULES", "maybe", "SPINNEY_WORKSPACE__SUBMODULES: ", "true"),
        ("SPINNEY_WORKSPACE__PATH", "/tmp/same", "SPINNEY_WORKSPACE__PATH: ", "{id}"),
        ("SPINNEY_WORKSPACE__FETCH", "a\nb", "`a\\nb`", "auto"),
        ("SPINNEY_AGENTS__CODER__MODEL", "x", "agents can't be configured by environment variables", "[agents.NAME]"),
        ("SPINNEY_FORGE__GITHUB__API_URL", "http://example.org", "in the clear", "https://api.github.com"),
        ("SPINNEY_FORGE__GITHUB__TOKEN", "x", "SPINNEY_FORGE__GITHUB__TOKEN", "`SPINNEY_FORGE__GITHUB__TOKEN_ENV`"),
    ];
    for (name, value, message, hint) in table {
        for arguments in [&["config", "validate"][..], &["ls"]] {
            refused(&story.cli.with_variable(name, value), 2, arguments).says(&[message]).hints(&[hint]);
        }
    }
    // A job's own variables, and other programs', configure nothing.
    for name in ["SPINNEY_WORKTREE_PATH", "SPINNEY_PORT_WEB", "SPINNEY_JOB_ID", "OTHER__THING"] {
        story.cli.with_variable(name, "x").run(&["ls"]).ok();
    }
    let lists = story.cli.with_variable("SPINNEY_WORKSPACE__COPY", ".env, *.local");
    assert_eq!(entry(&lists, "workspace.copy").0, serde_json::json!([".env", "*.local"]));
    let odd = story.cli.with_variable("SPINNEY_ODD", std::ffi::OsString::from_vec(vec![0xff]));
    odd.run(&["ls"]).ok();
}

#[test]
fn a_repository_decides_nothing_about_the_persons_disk_and_data() {
    let story = Story::new();
    let path = story.repository.path().join("spinney.toml");
    for (section, setting) in [
        ("workspace", "path = \"/tmp/{id}\""),
        ("workspace", "strategy = \"static\""),
        ("limits", "max_workers = 100"),
        ("forge.github", "api_url = \"https://elsewhere\""),
        ("agents.coder.workspace", "path = \"/tmp/{id}\""),
        ("agents.coder.workspace", "strategy = \"static\""),
        ("store", "url = \"postgres://elsewhere/db\""),
        ("cleanup", "trash_for = \"1s\""),
        ("cleanup", "delete_merged_branches = true"),
        ("cleanup", "stale_after = \"1s\""),
        ("limits", "min_free_disk = \"0\""),
    ] {
        story.change(|_| fs::write(&path, format!("[{section}]\n{setting}\n")).unwrap());
        let key = format!("`{section}.{}`", setting.split(' ').next().unwrap());
        for arguments in [&["new", "--issue", "1"][..], &["config", "validate"], &["ls"]] {
            let refusal = refused(&story.cli, 2, arguments);
            refusal.says(&[&format!("{}:2: ", path.display()), &key, "can't be set by a repository"]);
            refusal.hints(&["your own file"]);
        }
    }
    story.change(|_| fs::write(&path, "[agents.coder]\nworking_directory = \"../other\"\n").unwrap());
    refused(&story.cli, 2, &["new", "--issue", "1"])
        .says(&["`agents.coder.working_directory`", "outside the checkout"]);
    story.change(|_| fs::remove_file(&path).unwrap());
    story.assert_nothing_made();
}

#[test]
fn agents_are_shown_key_by_key_with_where_each_comes_from() {
    let story = Story::new();
    story.sandbox().write_config(
        "[agents.coder]\nruntime = \"codex\"\nmodel = \"mine\"\nenv = { KEY = \"s3cret\" }\nworkspace.base = \"main\"\n",
    );
    let own = story.sandbox().config_file().display().to_string();
    assert_eq!(entry(&story.cli, "agents.coder.model"), ("mine".into(), own.clone()));
    assert_eq!(entry(&story.cli, "agents.coder.workspace.base"), ("main".into(), own.clone()));
    assert_eq!(entry(&story.cli, "agents.coder.timeout"), ("1h".into(), "default".to_owned()));
    assert_eq!(entry(&story.cli, "agents.coder.handoff_at").0, 0.9);
    for arguments in [&["config", "show"][..], &["config", "show", "--json"], &["config", "validate", "-v"]] {
        let ran = story.cli.run(arguments).ok();
        assert!(!ran.told().contains("s3cret"), "{}", ran.told());
    }
    let table = story.cli.run(&["config", "show"]).ok().stdout;
    let line = table.lines().find(|line| line.starts_with("agents.coder.workspace.pr_body ")).unwrap();
    assert!(line.ends_with("\"{summary}\\n\\n{closes}\""), "{line}");
    let config = story.cli.run(&["config", "show", "--json"]).ok().json();
    let model = config["config"].as_array().unwrap().iter().find(|entry| entry["key"] == "agents.coder.model").unwrap();
    assert_eq!(model["place"], format!("{own}:3"));
    // What the repository's file says counts once it is trusted, key by key.
    story.change(|repository| {
        repository
            .write("spinney.toml", "[agents.coder]\nmodel = \"theirs\"\n[agents.reader]\nmax_attempts = 1\n")
            .head()
    });
    assert_eq!(entry(&story.cli, "agents.coder.model"), ("mine".into(), own.clone()));
    assert!(!story.cli.run(&["config", "show"]).ok().stdout.contains("agents.reader"));
    story.cli.run(&["trust", "--yes"]).ok();
    let repository = story.repository.path().join("spinney.toml").display().to_string();
    assert_eq!(entry(&story.cli, "agents.coder.model"), ("theirs".into(), repository.clone()));
    assert_eq!(entry(&story.cli, "agents.coder.runtime"), ("codex".into(), own));
    assert_eq!(entry(&story.cli, "agents.reader.max_attempts"), (1.into(), repository));
    story.cli.run(&["config", "validate"]).ok();
}

#[test]
fn a_password_is_never_shown() {
    let story = Story::new();
    let url = "postgres://me:s3cret@127.0.0.1:1/db";
    for cli in
        [story.cli.with_variable("SPINNEY_DATABASE_URL", url), story.cli.with_variable("SPINNEY_STORE__URL", url)]
    {
        for arguments in [&["config", "show"][..], &["config", "show", "--json"], &["ls"], &["doctor"], &["-v", "ls"]] {
            let ran = cli.run(arguments);
            assert!(!ran.stdout.contains("s3cret") && !ran.stderr.contains("s3cret"), "{}", ran.told());
        }
        // What is wrong with the store is often why somebody looks at the configuration.
        let shown = cli.run(&["config", "show"]).ok();
        assert!(shown.stdout.contains("postgres://me:***@127.0.0.1:1/db"), "{}", shown.told());
        assert!(shown.stderr.contains("can't be reached"), "{}", shown.told());
    }
    story.sandbox().write_config(&format!("[store]\nurl = \"{url}\"\n"));
    let ran = story.cli.run(&["config", "show"]).ok();
    assert!(ran.stdout.contains("me:***@") && !ran.told().contains("s3cret"), "{}", ran.told());
    let both =
        story.cli.with_variable("SPINNEY_DATABASE_URL", url).with_variable("SPINNEY_STORE__URL", "postgres://x/y");
    let refusal = refused(&both, 2, &["ls"]);
    refusal.says(&["`SPINNEY_DATABASE_URL` and `SPINNEY_STORE__URL`"]).hints(&["unset"]);
    assert!(!refusal.0.told().contains("s3cret"));
}

#[test]
fn init_writes_a_file_that_changes_nothing() {
    let story = Story::new();
    let before = story.cli.run(&["config", "show"]).ok().stdout;
    let path = story.change(|_| story.cli.run(&["init"]).ok().stdout.trim_end().to_owned());
    assert_eq!(path, story.repository.path().join("spinney.toml").display().to_string());
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains("setup") && !text.contains("trash_for"), "only what a repository may set: {text}");
    assert!(text.contains("# [agents.coder]\n") && text.contains("# branch_pattern = "), "{text}");
    assert_eq!(story.cli.run(&["config", "show"]).ok().stdout, before);
    refused(&story.cli, 2, &["init"]).says(&["exists already"]).hints(&["spinney config show"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn trust_shows_what_would_run_and_asks_somebody() {
    let story = Story::new();
    story.change(|repository| repository.write("spinney.toml", "[workspace]\nsetup = [\"touch ready\"]\n").head());
    let refusal = refused(&story.cli, 2, &["trust"]);
    refusal.says(&["`spinney trust` asks for consent, and there is no terminal"]).hints(&["--yes"]);
    let ran = story.cli.run(&["trust"]).exits(2);
    assert!(ran.stderr.contains("touch ready"), "{}", ran.told());
    let untrusted = story.make(&["--issue", "1"]);
    assert!(untrusted.said().contains("spinney trust") && !untrusted.path().join("ready").exists());
    story.cli.run(&["trust", "--yes"]).ok();
    assert!(story.make(&["--issue", "2"]).path().join("ready").exists());
    assert_eq!(story.cli.run(&["trust", "--json"]).ok().json()["trusted"], true);
    // Other content is shown again.
    story.change(|repository| repository.write("spinney.toml", "[workspace]\nsetup = [\"touch other\"]\n").head());
    assert!(!story.make(&["--issue", "3"]).path().join("other").exists());
}

#[test]
fn trust_shows_all_of_the_agents_and_agents_alone_are_no_matter_for_new() {
    let story = Story::new();
    let agents = "[agents.coder]\ncommand = [\"my-agent\"]\nsystem_prompt = \"a\u{202e}b\"\nenv = { KEY = \"value\" }\n\
        hooks.before_run = [\"touch hooked\"]\n";
    story.change(|repository| repository.write("spinney.toml", agents).head());
    let made = story.make(&["--issue", "1"]);
    assert!(!made.said().contains("trust"), "nothing was left out of a workspace: {}", made.said());
    let ran = story.cli.run(&["trust"]).exits(2);
    for shown in ["[agents.coder]", "\"my-agent\"", "\\U0000202e", "\"KEY\" = \"value\"", "\"touch hooked\""] {
        assert!(ran.stderr.contains(shown), "{shown}: {}", ran.told());
    }
    assert!(!ran.stderr.contains("every new workspace") && !ran.stderr.contains('\u{202e}'), "{}", ran.told());
    let trusted = story.cli.run(&["trust", "--yes", "--json"]).ok().json();
    assert_eq!((&trusted["trusted"], &trusted["agents"]), (&true.into(), &serde_json::json!(["coder"])));
    let again = story.cli.run(&["trust", "--json"]).ok().json();
    assert_eq!(again["agents"], serde_json::json!(["coder"]));
    // Other content is shown again, all of it.
    story.change(|repository| repository.write("spinney.toml", agents.replace("my-agent", "other-agent")).head());
    let ran = story.cli.run(&["trust"]).exits(2);
    assert!(ran.stderr.contains("other-agent") && ran.stderr.contains("touch hooked"), "{}", ran.told());
}

#[test]
fn trust_is_in_set_up_and_agents_together() {
    let story = Story::new();
    let setup = "[workspace]\nsetup = [\"touch ready\"]\n";
    story.change(|repository| repository.write("spinney.toml", setup).head());
    story.cli.run(&["trust", "--yes"]).ok();
    // With agents beside them, the lines are shown again: who trusts, trusts the whole.
    story.change(|repository| repository.write("spinney.toml", format!("{setup}[agents.coder]\n")).head());
    let made = story.make(&["--issue", "1"]);
    assert!(made.said().contains("1 setup line") && !made.path().join("ready").exists(), "{}", made.said());
    let ran = story.cli.run(&["trust", "--yes"]).ok();
    assert!(ran.stderr.contains("  touch ready") && ran.stderr.contains("  [agents.coder]"), "{}", ran.told());
    assert!(story.make(&["--issue", "2"]).path().join("ready").exists());
    // Without them the earlier trust still holds.
    story.change(|repository| repository.write("spinney.toml", setup).head());
    assert!(story.make(&["--issue", "3"]).path().join("ready").exists());
}
