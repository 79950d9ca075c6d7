//! `spinney platform`, and what `doctor` says of platforms: nothing secret is written down, and nothing of a person's file is lost.

use std::fs;

use crate::support::common::{BINARY, Story, files_with, refused};
use serde_json::{Value, json};
use spinney_testkit::{Cli, Sandbox, TestDiscord, TestForge, TestSlack, TestTelegram, Trouble};

const SECRET: &str = "s3cret_that-nobody-knows";
const AGENT: &str = "[agents.coder]\nruntime = \"command\"\ncommand = [\"true\"]\n";
const PUBLIC: &str = "[server]\npublic_url = \"https://spinney.example.org\"\n";

fn sandbox(config: &str) -> (Sandbox, Cli) {
    let sandbox = Sandbox::new();
    sandbox.write_config(config);
    let cli = sandbox.cli(BINARY);
    (sandbox, cli)
}

fn config(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.config_file()).unwrap()
}

#[track_caller]
fn added(cli: &Cli, status: i32, arguments: &[&str]) -> Value {
    cli.run(&[&["platform", "add", "--json"], arguments].concat()).exits(status).json()
}

/// The facts of a mark: `good`, `notice` or `bad`.
fn facts(document: &Value, mark: &str) -> Vec<String> {
    let checks = document["checks"].as_array().unwrap().iter().filter(|check| check["mark"] == mark);
    checks.map(|check| check["fact"].as_str().unwrap().to_owned()).collect()
}

#[track_caller]
fn listed(cli: &Cli, status: i32, platform: &str) -> Value {
    let document = cli.run(&["platform", "ls", "--json"]).exits(status).json();
    let found = document["platforms"].as_array().unwrap().iter().find(|row| row["platform"] == platform).cloned();
    found.unwrap_or_else(|| panic!("{document}"))
}

/// What `doctor` says of a platform.
fn diagnosed(cli: &Cli, platform: &str) -> Vec<String> {
    let document = cli.run(&["doctor", "--json"]).json();
    let checks = document["checks"].as_array().unwrap().iter().filter(|check| check["name"] == platform);
    checks.map(|check| format!("{}: {}", check["mark"].as_str().unwrap(), check["fact"].as_str().unwrap())).collect()
}

#[test]
fn telegram_is_told_where_to_call() {
    let telegram = TestTelegram::start();
    let (sandbox, cli) = sandbox(&format!("# mine\n{AGENT}{PUBLIC}# the end"));
    let cli = cli.with_variable("SPINNEY_PLATFORMS__TELEGRAM__API_URL", telegram.api_url());
    let before = config(&sandbox);

    // Without its secrets it is configured, and says what is missing.
    let first = added(&cli, 0, &["telegram", "--allow-user", "583231"]);
    assert_eq!(config(&sandbox), format!("{before}\n\n[platforms.telegram]\nallowed_users = [583231]\n"));
    assert_eq!((&first["written"], &first["bot"], &first["webhook_set"]), (&json!(true), &Value::Null, &json!(false)));
    assert_eq!(first["webhook_url"], "https://spinney.example.org/webhooks/telegram");
    let unset = first["variables"].as_array().unwrap().iter().map(|variable| variable["set"] == false);
    assert_eq!(unset.collect::<Vec<_>>(), [true, true]);
    assert_eq!(
        diagnosed(&cli, "telegram"),
        ["notice: it is configured, but its secrets are missing: `TELEGRAM_BOT_TOKEN`, `TELEGRAM_WEBHOOK_SECRET`"]
    );
    assert_eq!(telegram.webhook(), None);

    // With them it is tested, and Telegram knows the address.
    let cli = cli.with_variable("TELEGRAM_BOT_TOKEN", telegram.token());
    let half = added(&cli, 1, &["telegram"]);
    assert_eq!(facts(&half, "bad"), ["`TELEGRAM_WEBHOOK_SECRET` is not set"]);
    let cli = cli.with_variable("TELEGRAM_WEBHOOK_SECRET", SECRET);
    let second = added(&cli, 0, &["telegram", "--allow-user", "583231"]);
    assert_eq!((&second["written"], &second["webhook_set"]), (&json!(false), &json!(true)));
    assert_eq!(facts(&second, "good"), ["answers as @TestNameBot; 1 user may ask"]);
    let url = "https://spinney.example.org/webhooks/telegram";
    assert_eq!(telegram.webhook(), Some((url.to_owned(), SECRET.to_owned())));
    assert_eq!(diagnosed(&cli, "telegram"), ["good: answers as @TestNameBot; 1 user may ask"]);
    let row = listed(&cli, 0, "telegram");
    assert_eq!((&row["works"], &row["webhook_url"]), (&json!(true), &json!(url)));

    let told = cli.run(&["platform", "add", "telegram"]).ok();
    assert_eq!(told.stdout.trim_end(), url);
    for said in ["TELEGRAM_BOT_TOKEN", "@BotFather", "edited_message", "✓", "which Telegram knows now"] {
        assert!(told.stderr.contains(said), "{}", told.told());
    }
    for secret in [telegram.token(), SECRET] {
        assert_eq!(files_with(sandbox.path(), secret), Vec::<std::path::PathBuf>::new());
        assert!(!told.told().contains(secret));
    }

    // Another token is none.
    let wrong = cli.with_variable("TELEGRAM_BOT_TOKEN", "666:another");
    assert_eq!(facts(&added(&wrong, 1, &["telegram"]), "bad"), ["telegram refused: Unauthorized"]);
    assert_eq!(listed(&wrong, 1, "telegram")["works"], false);
    wrong.run(&["doctor"]).exits(1);
    telegram.trouble(Trouble::Status(502));
    assert_eq!(facts(&added(&cli, 0, &["telegram"]), "notice"), ["telegram can't be reached: status 502"]);
}

#[test]
fn who_asks_telegram_needs_no_address() {
    let telegram = TestTelegram::start();
    let (sandbox, cli) = sandbox(AGENT);
    let cli = cli.with_variable("SPINNEY_PLATFORMS__TELEGRAM__API_URL", telegram.api_url());
    let cli = cli.with_variable("TELEGRAM_BOT_TOKEN", telegram.token());
    let document = added(&cli, 0, &["telegram", "--allow-user", "1", "--allow-user", "2", "--mode", "poll"]);
    assert_eq!(document["webhook_url"], Value::Null);
    assert_eq!(facts(&document, "good"), ["answers as @TestNameBot; 2 users may ask"]);
    assert!(facts(&document, "notice").is_empty());
    assert!(config(&sandbox).ends_with("[platforms.telegram]\nallowed_users = [1, 2]\nmode = \"poll\"\n"));
    assert_eq!(telegram.webhook(), None);
}

#[test]
fn the_others_are_asked_who_the_bot_is() {
    let (slack, discord, github) = (TestSlack::start(), TestDiscord::start(), TestForge::github("acme/app"));
    let (_sandbox, cli) = sandbox(&format!("{AGENT}{PUBLIC}"));
    for (platform, status) in [("slack", 0), ("discord", 0), ("github", 0)] {
        assert_eq!(listed(&cli, status, platform)["set_up"], false, "{platform}");
    }
    let cli = cli
        .with_variable("SPINNEY_PLATFORMS__SLACK__API_URL", slack.api_url())
        .with_variable("SLACK_BOT_TOKEN", slack.token())
        .with_variable("SLACK_SIGNING_SECRET", slack.signing_secret())
        .with_variable("SPINNEY_PLATFORMS__DISCORD__API_URL", discord.api_url())
        .with_variable("DISCORD_BOT_TOKEN", discord.token())
        .with_variable("SPINNEY_FORGE__GITHUB__API_URL", github.api_url())
        .with_variable("GITHUB_TOKEN", github.token())
        .with_variable("SPINNEY_GITHUB_WEBHOOK_SECRET", SECRET);
    let added_slack = added(&cli, 0, &["slack", "--allow-user", "U012AB3CD", "--agent", "coder"]);
    assert_eq!(facts(&added_slack, "good"), ["answers as U0BOT of T0001; 1 user may ask"]);
    let key = discord.public_key();
    let added_discord = added(&cli, 0, &["discord", "--allow-user", "80351110224678912", "--public-key", &key]);
    assert_eq!(facts(&added_discord, "good").len(), 1, "{added_discord}");
    assert_eq!(added_discord["webhook_url"], "https://spinney.example.org/webhooks/discord");
    let added_github = added(&cli, 0, &["github", "--allow-user", "583231"]);
    assert_eq!(facts(&added_github, "good"), ["answers as acme; 1 user may ask"]);
    let events = added_github["steps"].as_array().unwrap().iter().find(|step| step["what"] == "events").unwrap();
    assert_eq!(events["values"].as_array().unwrap().len(), 5);
    for platform in ["slack", "discord", "github"] {
        assert_eq!(listed(&cli, 0, platform)["works"], true, "{platform}");
        assert_eq!(diagnosed(&cli, platform).len(), 1, "{platform}");
    }

    // An app instead of a token.
    github.install_app();
    let pem = concat!(env!("CARGO_MANIFEST_DIR"), "/../spinney-forge/tests/keys/pkcs1.pem");
    let app = cli.with_variable("SPINNEY_PLATFORMS__GITHUB__APP_ID", "12345");
    let app = app.with_variable("SPINNEY_PLATFORMS__GITHUB__PRIVATE_KEY_FILE", pem);
    assert_eq!(listed(&app, 0, "github")["bot"], "spinney");

    // What is wrong with any of them is told of it alone.
    let wrong = cli.with_variable("SLACK_BOT_TOKEN", "xoxb-another").with_variable("GITHUB_TOKEN", "another");
    for (platform, works) in [("slack", false), ("discord", true), ("github", false)] {
        assert_eq!(listed(&wrong, 1, platform)["works"], works, "{platform}");
    }
    let keyless = cli.with_variable("SPINNEY_PLATFORMS__GITHUB__APP_ID", "12345");
    assert_eq!(diagnosed(&keyless, "github"), ["bad: `app_id` goes with `private_key_file`"]);
}

#[test]
fn what_an_answer_needs_is_checked() {
    let telegram = TestTelegram::start();
    let (_sandbox, cli) = sandbox("");
    let cli = cli
        .with_variable("SPINNEY_PLATFORMS__TELEGRAM__API_URL", telegram.api_url())
        .with_variable("TELEGRAM_BOT_TOKEN", telegram.token())
        .with_variable("TELEGRAM_WEBHOOK_SECRET", SECRET);
    assert_eq!(
        diagnosed(&cli, "telegram"),
        [
            "good: answers as @TestNameBot; 0 users may ask",
            "notice: no user may send requests yet",
            "bad: its agent `coder` is not configured",
            "notice: it can't reach the daemon: `server.public_url` is empty",
        ]
    );
    let plain = cli.with_variable("SPINNEY_SERVER__PUBLIC_URL", "http://spinney.example.org");
    let document = added(&plain, 1, &["telegram", "--allow-user", "1"]);
    assert_eq!(
        facts(&document, "notice"),
        ["what it sends is not encrypted: `http://spinney.example.org` is not https"]
    );
    assert_eq!((&document["webhook_set"], telegram.webhook()), (&json!(false), None));
    let bad = cli.with_variable("TELEGRAM_WEBHOOK_SECRET", "not a secret of Telegram's");
    assert_eq!(diagnosed(&bad, "telegram"), ["bad: a secret of telegram has characters that are not allowed in one"]);
}

#[test]
fn wrong_input_changes_nothing() {
    let story = Story::new();
    story.sandbox().write_config("# mine\n[platforms.slack]\nstrangers = \"refuse\" # politely\n");
    let before = config(story.sandbox());
    let cli = &story.cli;
    for (arguments, says) in [
        (&["github"][..], "there is no terminal to ask for one"),
        (&["github", "--allow-user", "octocat"], "`octocat` is not a user's numeric id"),
        (&["github", "--allow-user", "1", "--mention", "spinney"], "is not a mention"),
        (&["github", "--allow-user", "1", "--app-id", "5"], "--private-key-file"),
        (&["github", "--allow-user", "1", "--app-id", "5", "--private-key-file", "key.pem"], "key.pem"),
        (&["github", "--allow-user", "1", "--mode", "poll"], "--mode"),
        (&["slack", "--allow-user", "ann"], "is not the id of a Slack user"),
        (&["slack", "--allow-user", "U1X", "--repository", "acme"], "acme"),
        (&["discord", "--allow-user", "1", "--public-key", "abc"], "64 hexadecimal digits"),
        (&["discord", "--allow-user", "1.5"], "1.5"),
        (&["telegram", "--allow-user", "1", "--mode", "pull"], "pull"),
        (&["telegram", "--allow-user", "@ann"], "@ann"),
        (&["telegram", "--allow-user", "1", "--agent", ""], "--agent"),
        (&["telegram", "--allow-user", "1", "--token", "666:abc"], "--token"),
        (&["matrix"], "matrix"),
        (&["slack", "--allow-user", "U012AB3CD"], "has settings for slack already and was not changed"),
    ] {
        refused(cli, 2, &[&["platform", "add"], arguments].concat()).says(&[says]);
    }
    refused(cli, 4, &["platform", "add", "telegram", "--allow-user", "1", "--repository", "acme/none"])
        .says(&["acme/none"]);
    assert_eq!(config(story.sandbox()), before);
    refused(cli, 2, &["platform", "add", "slack", "--allow-user", "U012AB3CD"])
        .hints(&["allowed_users = [\\\"U012AB3CD\\\"]", "[platforms.slack]"]);
    // What is there already is enough.
    story.sandbox().write_config("platforms = { slack = { allowed_users = [\"U012AB3CD\"] } }\n");
    assert_eq!(added(cli, 0, &["slack", "--allow-user", "U012AB3CD"])["written"], false);
    refused(cli, 2, &["platform", "add", "discord", "--allow-user", "1"]).says(&["was not changed"]);
    // A file that is not there yet is made.
    fs::remove_file(story.sandbox().config_file()).unwrap();
    added(cli, 0, &["discord", "--allow-user", "1"]);
    assert_eq!(config(story.sandbox()), "[platforms.discord]\nallowed_users = [1]\n");
}
