//! A platform that is one folder and one line in the table: everything else knows it from there.

use std::fs;

use serde_json::{Value, json};
use spinney_testkit::HttpClient;

use crate::platforms::hooks::CHANNEL;
use crate::platforms::office::Office;

const WEBHOOK_SECRET: &str = "what-the-trial-sends-along";

/// An office with the trial platform, whose messages stand where Slack's do.
fn office() -> Office {
    let mut office = Office::closed("", "");
    let cli = office.workshop.cli.with_variable("SPINNEY_PLATFORMS__TRIAL__API_URL", office.slack.api_url());
    let cli = cli.with_variable("TRIAL_API_KEY", office.slack.token());
    office.workshop.cli = cli.with_variable("TRIAL_WEBHOOK_KEY", WEBHOOK_SECRET);
    office
}

fn written(id: &str, user: &str, text: &str) -> Vec<u8> {
    json!({ "id": id, "chat": CHANNEL, "user": user, "text": text }).to_string().into_bytes()
}

fn signed(client: &HttpClient) -> HttpClient {
    client.with_header("X-Trial-Secret", WEBHOOK_SECRET)
}

fn find<'a>(list: &'a Value, key: &str, value: &str) -> &'a Value {
    list.as_array().unwrap().iter().find(|row| row[key] == value).unwrap_or_else(|| panic!("{list}"))
}

#[test]
fn a_platform_is_a_folder_and_a_line_from_its_configuration_to_its_answers() {
    let office = office();
    let cli = &office.workshop.cli;

    // The command line sets it up with its own flag, and says what is to be done there.
    let arguments = ["--allow-user", "7", "--repository", "acme/app", "--colour", "green"];
    let added = cli.run(&[&["platform", "add", "--json", "trial"][..], &arguments].concat()).ok().json();
    assert_eq!((&added["written"], &added["bot"]), (&json!(true), &json!(office.slack.bot())), "{added:#}");
    assert_eq!(added["place"], "the test");
    assert!(added["webhook_url"].as_str().unwrap().ends_with("/webhooks/trial"), "{added:#}");
    assert_eq!(find(&added["variables"], "name", "TRIAL_API_KEY")["set"], true);
    let config = fs::read_to_string(office.workshop.story.sandbox().config_file()).unwrap();
    let section = "[platforms.trial]\nallowed_users = [7]\nrepository = \"acme/app\"\ncolour = \"green\"\n";
    assert!(config.ends_with(section), "{config}");
    let listed = cli.run(&["platform", "ls", "--json"]).json();
    assert_eq!(find(&listed["platforms"], "platform", "trial")["works"], true, "{listed:#}");
    let doctor = cli.run(&["doctor", "--json"]).json();
    assert_eq!(find(&doctor["checks"], "name", "trial")["mark"], "good", "{doctor:#}");
    assert!(cli.run(&["platform", "add", "trial", "--help"]).ok().stdout.contains("What no other platform has"));
    let shown = cli.run(&["config", "show", "--json"]).ok().stdout;
    assert!(shown.contains("platforms.trial.colour"), "{shown}");

    // A message becomes a job, and the job's end an answer.
    office.open(cli);
    let seen = office.workshop.story.sandbox().path().join("seen");
    let text = format!("look at this\nscript:\ndump-env {}\nprint It is fine.", seen.display());
    let client = signed(&office.client());
    client.send("POST", "/webhooks/trial", &written("1", "7", &text)).expects(200);
    office.hears_in_slack(1, &["✓ Done", "It is fine."]);
    assert_eq!(office.slack.said()[0].channel, CHANNEL);
    let job = office.jobs().remove(0);
    assert_eq!((job.text("trigger"), job.text("status")), ("trial", "completed"));
    assert!(job.text("workspace").starts_with("thread-"), "{}", job.text("workspace"));
    let seen = fs::read_to_string(seen).unwrap();
    assert!(seen.contains("SPINNEY_JOB_ID=") && !seen.contains("TRIAL_"), "an agent is given no secret: {seen}");
    // What comes twice counts once, and the chat goes on where it was.
    client.send("POST", "/webhooks/trial", &written("1", "7", "again\nscript:\nprint Twice.")).expects(200);
    client.send("POST", "/webhooks/trial", &written("2", "7", "/status")).expects(200);
    office.hears_in_slack(2, &["trial", "workspaces"]);

    // Nobody else is heard.
    office.client().send("POST", "/webhooks/trial", &written("3", "7", "/status")).expects(401);
    client.send("POST", "/webhooks/trial", b"{}").expects(400);
    client.send("POST", "/webhooks/trial", &written("4", "8", "/status")).expects(200);
    client.send("POST", "/webhooks/trial", &written("5", "7", "/help")).expects(200);
    office.hears_in_slack(3, &["/worktree"]);
    assert_eq!(office.jobs().len(), 1);

    // The API and the pages know where it came from.
    let created = cli.run(&["token", "create", "--name", "t", "--scope", "admin", "--json"]).ok().json();
    let client = office.client().with_token(created["token"].as_str().unwrap());
    let workspaces = client.get("/api/v1/workspaces").expects(200).json();
    assert!(workspaces.to_string().contains("\"platform\":\"trial\""), "{workspaces}");
    let api = client.get("/api/v1/openapi.json").expects(200).json();
    let words = api["components"]["schemas"]["Platform"]["enum"].as_array().unwrap();
    assert!(words.contains(&json!("trial")) && words.contains(&json!("cli")), "{words:?}");
    cli.run(&["new", "--platform", "trial", "--thread", "hall"]).ok();
    cli.run(&["new", "--platform", "irc", "--thread", "hall"]).exits(2);
}

#[test]
fn what_is_wrong_in_its_section_is_told_as_of_any_other() {
    let office = office();
    let sandbox = office.workshop.story.sandbox();
    for (text, says) in [
        ("colour = 1", "must be a text in quotes"),
        ("allowed_users = ['ann']", "`ann` is not a user's numeric id"),
        ("token_env = 'no name'", "is not the name of a variable"),
        ("color = 'red'", "did you mean `colour`?"),
    ] {
        sandbox.write_config(&format!("[platforms.trial]\n{text}\n"));
        let told = office.workshop.cli.run(&["config", "validate"]).exits(2).told();
        assert!(told.contains(says) && told.contains(":2"), "{told}");
    }
    sandbox.write_config("[cleanup]\npersistent_platforms = [\"trial\"]\n");
    office.workshop.cli.run(&["config", "validate"]).ok();
}
