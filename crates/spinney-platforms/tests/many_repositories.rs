//! However many repositories there are, a message of GitHub's costs what it costs with one: its own is found by one
//! question to the store, and no other is looked into.

use std::collections::BTreeMap;
use std::fs;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use serde_json::json;
use spinney_app::own_program::OwnProgram;
use spinney_core::config::Layers;
use spinney_core::{CloneId, DeliveryStatus, Platform, Repository, RepositoryId, Work};
use spinney_engine::{Engine, EngineOptions, EngineThreads};
use spinney_platforms::{Author, Event, Inbound, Orchestrator, Place, Request, Where, adapters, schema};
use spinney_testkit::{Sandbox, TestForge};

const MANY: usize = 1000;
/// How many messages each number of repositories is tried with.
const MESSAGES: usize = 15;
const GITHUB: Platform = Platform::on("github");

/// A message of somebody who may not ask: its repository is found before that is seen, and nothing happens after it.
fn message(id: &str, repository: &str) -> Inbound {
    let request = Request {
        text: "look".to_owned(),
        work: Work::issue(1),
        title: None,
        context: None,
        links: Vec::new(),
        pull: None,
    };
    Inbound {
        platform: GITHUB,
        delivery: id.to_owned(),
        conversation: format!("{repository}#1"),
        subject: None,
        author: Author { id: "9".to_owned(), name: "eve".to_owned() },
        place: Place(json!({ "repository": repository, "number": 1 })),
        repository: Where::Forge(repository.parse().unwrap()),
        event: Event::Asked(request),
    }
}

struct Desk {
    engine: Arc<Engine>,
    orchestrator: Orchestrator,
    sent: usize,
}

impl Desk {
    /// Sends a message, and waits until it is done with; gives the time that took, and how it ended.
    async fn send(&mut self, repository: &str) -> (Duration, DeliveryStatus) {
        self.sent += 1;
        let id = format!("m{}", self.sent);
        let start = Instant::now();
        self.orchestrator.inbox().accept(&[message(&id, repository)]).await.unwrap();
        loop {
            let found = self.engine.store().read().await.unwrap().delivery(GITHUB, &id).await.unwrap().unwrap();
            if found.ended_at.is_some() {
                return (start.elapsed(), found.status);
            }
            assert!(start.elapsed() < Duration::from_secs(60), "{found:?}");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// The middle of the times that some messages take.
    async fn usual_time(&mut self, repository: &str) -> Duration {
        let mut times = Vec::new();
        for _ in 0..MESSAGES {
            times.push(self.send(repository).await.0);
        }
        times.sort();
        times[MESSAGES / 2]
    }
}

/// A repository that can be opened, as far as it is looked into.
fn bare(place: &Path) {
    for directory in ["objects", "refs", "spinney"] {
        fs::create_dir_all(place.join(directory)).unwrap();
    }
    fs::write(place.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(place.join("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = true\n").unwrap();
}

/// Tells which of some directories were looked into.
struct Watch {
    events: rustix::fd::OwnedFd,
    directories: BTreeMap<i32, PathBuf>,
}

impl Watch {
    fn new(directories: &[PathBuf]) -> Self {
        let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).unwrap();
        let watch = |directory: &PathBuf| {
            let number = inotify::add_watch(&events, directory, WatchFlags::OPEN | WatchFlags::ACCESS).unwrap();
            (number, directory.clone())
        };
        let directories = directories.iter().map(watch).collect();
        Self { events, directories }
    }

    fn looked_into(&self) -> Vec<PathBuf> {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = inotify::Reader::new(&self.events, &mut buffer);
        let mut found = Vec::new();
        while let Ok(event) = reader.next() {
            found.extend(self.directories.get(&event.wd()).cloned());
        }
        found.sort();
        found.dedup();
        found
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_costs_with_a_thousand_repositories_what_it_costs_with_one() {
    let app = Sandbox::new().repository("app").with_remote();
    let sandbox = app.sandbox();
    let forge = TestForge::github("acme/app");
    app.git(&["remote", "set-url", "origin", "http://127.0.0.1:1/acme/app.git"]);
    let mut layers = Layers::of(schema());
    let config = format!("[forge.github]\napi_url = {:?}\n[platforms.github]\nallowed_users = [7]\n", forge.api_url());
    layers.file("config.toml".as_ref(), &config).unwrap();
    let mut environment = sandbox.environment();
    environment.push(("GITHUB_TOKEN".into(), forge.token().into()));
    environment.push(("SPINNEY_GITHUB_WEBHOOK_SECRET".into(), "s3cret".into()));
    let options = EngineOptions { home: sandbox.spinney_home(), account: "local".to_owned(), layers, environment };
    let engine = Arc::new(Engine::open(options).await.unwrap());
    let own = engine.find_context(None, app.path()).await.unwrap().repository.clone();
    let (adapters, faults) = adapters(&engine);
    assert!(faults.is_empty() && adapters.len() == 1, "{faults:?}");
    let launcher = Arc::new(OwnProgram::on("/bin/false".into(), &sandbox.spinney_home(), None));
    let orchestrator =
        Orchestrator::new(engine.clone(), EngineThreads::new(4), launcher, adapters, "http://localhost".to_owned());
    let running = tokio::spawn({
        let orchestrator = orchestrator.clone();
        async move { orchestrator.attend().await }
    });
    let mut desk = Desk { engine: engine.clone(), orchestrator, sent: 0 };
    assert_eq!(desk.send("acme/app").await.1, DeliveryStatus::Refused, "it is ours, and they may not ask");
    assert_eq!(desk.send("acme/none").await.1, DeliveryStatus::Ignored, "it is none of ours");
    let (ours, others) = (desk.usual_time("acme/app").await, desk.usual_time("acme/none").await);

    // Many more, all of which could be opened.
    let places: Vec<_> = (0..MANY).map(|number| sandbox.path().join(format!("many/{number}.git"))).collect();
    let mut db = engine.store().write().await.unwrap();
    for (number, place) in places.iter().enumerate() {
        bare(place);
        let row = Repository {
            id: RepositoryId::generate(),
            clone: Some(CloneId::generate()),
            name: format!("acme/many-{number}").parse().unwrap(),
            url: Some(format!("http://127.0.0.1:1/acme/many-{number}.git")),
            common_dir: place.clone(),
            root: None,
            ..own.clone()
        };
        assert!(db.insert_repository(&row).await.unwrap());
    }
    db.commit().await.unwrap();
    let watch = Watch::new(&places);
    assert_eq!(engine.repositories().await.unwrap().len(), MANY + 1);

    let (ours_among, others_among) = (desk.usual_time("acme/app").await, desk.usual_time("acme/none").await);
    println!("known: {ours:?}, among {MANY}: {ours_among:?}; unknown: {others:?}, among {MANY}: {others_among:?}");
    assert_eq!(watch.looked_into(), [""; 0].map(PathBuf::from), "no other repository is looked into");
    // Generous, for a machine that does other things too: opening each would take a hundred times as long.
    let bound = |alone: Duration| alone * 3 + Duration::from_millis(20);
    assert!(ours_among <= bound(ours), "{ours:?} became {ours_among:?}");
    assert!(others_among <= bound(others), "{others:?} became {others_among:?}");
    // The watch sees what it is to see.
    fs::read(places[7].join("HEAD")).unwrap();
    assert_eq!(watch.looked_into(), [places[7].clone()]);
    running.abort();
}
