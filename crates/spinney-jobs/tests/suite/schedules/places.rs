//! Which schedules there are, and for which repository.

use std::fs;

use spinney_jobs::Error;
use spinney_jobs::schedules::Selector;
use spinney_testkit::TestRepository;

use crate::schedules::story::{Story, every_5m, which};

const OWN: &str =
    "[agents.own]\nruntime = 'command'\ncommand = ['true']\n[agents.own.schedules.nightly]\nprompt = 'x'\n";

async fn names(story: &Story) -> Vec<String> {
    let listing = story.schedules().list().await.unwrap();
    let name = |listed: &spinney_jobs::schedules::Listed| {
        let key = &listed.schedule.key;
        format!("{} {}/{}", listed.repository, key.agent.as_ref().unwrap(), key.name)
    };
    listing.schedules.iter().map(name).collect()
}

async fn trust(story: &Story, repository: &TestRepository) {
    let context = story.engine.find_context(None, repository.path()).await.unwrap();
    let untrusted = context.untrusted.unwrap();
    story.engine.store().read().await.unwrap().trust(&context.repository.id, &untrusted.hash).await.unwrap();
}

#[tokio::test]
async fn a_repositorys_own_schedules_count_when_they_are_trusted() {
    let story = Story::new("").await;
    fs::write(story.app.path().join("spinney.toml"), OWN).unwrap();
    story.tick(0).await;
    story.tick(100).await;
    assert!(names(&story).await.is_empty() && story.all_jobs().await.is_empty());
    trust(&story, &story.app).await;
    assert_eq!(names(&story).await.len(), 1);
    story.tick(200).await;
    story.tick(205).await;
    assert_eq!(story.open_job().await.agent, "own");
}

#[tokio::test]
async fn what_is_wrong_with_one_is_told_and_stops_no_other() {
    let anywhere =
        "[agents.anywhere]\nruntime = 'command'\ncommand = ['true']\n[agents.anywhere.schedules.s]\nprompt = 'x'\n";
    let gone = "[agents.gone]\nworking_directory = '/nonexistent'\n[agents.gone.schedules.t]\nprompt = 'x'\n";
    let story = Story::with(&every_5m("look", "prompt = 'x'"), &format!("{anywhere}{gone}")).await;
    let broken = story.app.sandbox().repository("broken");
    story.engine.find_context(None, broken.path()).await.unwrap();
    fs::write(broken.path().join("spinney.toml"), "[agents.x]\nmodle = 'y'\n").unwrap();

    story.tick(0).await;
    story.tick(5).await;
    assert_eq!(story.open_job().await.agent, "coder");
    let problems = story.schedules().list().await.unwrap().problems;
    let told = |text: &str| {
        problems.iter().find(|problem| problem.message.contains(text)).unwrap_or_else(|| panic!("{problems:#?}"))
    };
    let anywhere = told("agent `anywhere` works on any repository");
    assert_eq!(anywhere.schedule.as_ref().unwrap().as_str(), "s");
    assert!(format!("{:?}", anywhere.advice).contains("agents.anywhere.working_directory"), "{anywhere:?}");
    assert_eq!(told("/nonexistent").agent.as_ref().unwrap().as_str(), "gone");
    assert!(told("unknown key `agents.x.modle`").repository.is_some());
    assert_eq!(problems.len(), 3);
}

#[tokio::test]
async fn a_schedule_of_a_repository_does_not_run_on_another() {
    let story = Story::new("").await;
    let other = story.app.sandbox().repository("other");
    // The operator says where the agent works, and another repository when.
    fs::write(other.path().join("spinney.toml"), "[agents.coder.schedules.nightly]\nprompt = 'x'\n").unwrap();
    trust(&story, &other).await;
    story.schedules().run_now(&which("nightly")).await.unwrap();
    story.tick(0).await;
    assert!(story.all_jobs().await.is_empty());
    let listing = story.schedules().list().await.unwrap();
    let report = &listing.schedules[0].schedule.last_report;
    assert!(format!("{report:?}").contains("agent `coder` works on `"), "{report:?}");
}

#[tokio::test]
async fn one_name_in_two_repositories_is_two_schedules() {
    let story = Story::new("").await;
    let other = story.app.sandbox().repository("other");
    for repository in [&story.app, &other] {
        fs::write(repository.path().join("spinney.toml"), OWN).unwrap();
        trust(&story, repository).await;
    }
    let names = names(&story).await;
    assert_eq!(names.len(), 2, "{names:?}");
    let selector = Selector { agent: "own".parse().unwrap(), ..which("nightly") };
    let error = story.schedules().pause(&selector, "x").await.unwrap_err();
    assert!(matches!(&error, Error::AmbiguousSchedule { repositories, .. } if repositories.len() == 2), "{error}");
    let listing = story.schedules().list().await.unwrap();
    let one = Selector { repository: Some(listing.schedules[0].repository.clone()), ..selector };
    story.schedules().pause(&one, "x").await.unwrap();
    let listing = story.schedules().list().await.unwrap();
    assert_eq!(listing.schedules.iter().filter(|listed| listed.schedule.paused).count(), 1);
}
