//! Schedules whose jobs really run, by this very program.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::common::{BINARY, Story};
use spinney_app::own_program::OwnProgram;
use spinney_core::config::Layers;
use spinney_core::{Job, JobStatus, Timestamp};
use spinney_engine::{Engine, EngineOptions};
use spinney_jobs::Jobs;
use spinney_jobs::schedules::{Schedules, Selector};
use spinney_testkit::{TestForge, scripted_agent};

const URL: &str = "http://127.0.0.1/acme/app.git";

/// A daemon's view of a home.
struct Daemon {
    engine: Engine,
}

impl Daemon {
    /// With these settings of the agent's, and its schedules.
    async fn new(story: &Story, settings: &str, forge: Option<&TestForge>) -> Self {
        let (agent, path) = (scripted_agent(), story.repository.path());
        let agent =
            format!("[agents.coder]\nruntime = \"command\"\ncommand = [{agent:?}]\nworking_directory = {path:?}\n");
        let config = format!("{agent}{settings}");
        story.sandbox().write_config(&config);
        let mut layers = Layers::of(spinney_platforms::schema());
        layers.file(&story.sandbox().config_file(), &config).unwrap();
        let mut environment = story.sandbox().environment();
        let texts = environment.iter().filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
        layers.environment(texts).unwrap();
        environment.extend(forge.map(|forge| ("GITHUB_TOKEN".into(), forge.token().into())));
        let home = story.sandbox().spinney_home();
        let options = EngineOptions { home, account: "local".to_owned(), layers, environment };
        Self { engine: Engine::open(options).await.unwrap() }
    }

    fn jobs(&self) -> Jobs<'_> {
        let program = OwnProgram { program: BINARY.into(), arguments: Vec::new() };
        spinney_app::jobs::open(&self.engine, Arc::new(program)).unwrap()
    }

    fn schedules(&self) -> Schedules<'_> {
        Schedules::new(self.jobs(), None)
    }

    /// Runs a schedule now, to the end of its job.
    async fn run(&self, name: &str) -> Job {
        let which = Selector { agent: "coder".parse().unwrap(), name: name.parse().unwrap(), repository: None };
        let schedules = self.schedules();
        schedules.run_now(&which).await.unwrap();
        schedules.tick(Timestamp::now()).await.unwrap();
        let listed = schedules.list().await.unwrap().schedules.remove(0).schedule;
        let id = listed.last_job_id.unwrap_or_else(|| panic!("{}", listed.last_report));
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            let job = self.jobs().require(&id).await.unwrap();
            if job.status.is_final() && self.jobs().is_over(&job).await.unwrap() {
                schedules.tick(Timestamp::now()).await.unwrap();
                assert_eq!(job.status, JobStatus::Completed, "{:?}", job.outcome);
                return job;
            }
            assert!(Instant::now() < deadline, "{job:#?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

#[tokio::test]
async fn one_that_resumes_keeps_its_workspace() {
    let story = Story::new();
    let settings = "[agents.coder.workspace]\nbranch_pattern = 'auto/{scheduleName}/{key}'\n\
        [agents.coder.schedules.tidy]\nprompt = 'write made.txt ours'\nresume_session = true\n";
    let daemon = Daemon::new(&story, settings, None).await;
    let (first, second) = (daemon.run("tidy").await, daemon.run("tidy").await);
    assert_ne!(first.id, second.id);
    assert_eq!((&first.workspace_id, &first.work), (&second.workspace_id, &second.work));
    assert_eq!(first.outcome.branch.as_deref(), Some("auto/tidy/schedule-coder-tidy"));
    assert_eq!(second.outcome.branch, first.outcome.branch);
    assert!(story.remote().git(&["branch", "--list", "auto/*"]).contains("auto/tidy/schedule-coder-tidy"));
}

#[tokio::test]
async fn each_run_of_another_has_a_workspace_and_a_branch_of_its_own() {
    let story = Story::new();
    let settings = "[agents.coder.schedules.tidy]\nprompt = 'write made.txt ours'\n";
    let daemon = Daemon::new(&story, settings, None).await;
    let (first, second) = (daemon.run("tidy").await, daemon.run("tidy").await);
    assert_ne!(first.workspace_id, second.workspace_id);
    let branches = [first, second].map(|job| job.outcome.branch.unwrap());
    assert_ne!(branches[0], branches[1]);
    assert!(branches.iter().all(|branch| branch.starts_with("agent/coder/tidy/20")), "{branches:?}");
}

#[tokio::test]
async fn an_issue_becomes_a_pull_request_that_closes_it() {
    let story = Story::new();
    let forge = TestForge::github("acme/app");
    let rewrite = format!("url.{}.insteadOf", story.remote().url());
    story.sandbox().git(story.sandbox().home(), &["config", "--global", &rewrite, URL]);
    story.change(|repository| repository.git(&["remote", "set-url", "origin", URL]));
    let number = forge.add_issue("write made.txt ours", "");
    forge.label_issue(number, &["ready", "bug"]);
    let settings = format!(
        "[agents.coder.workspace]\ncreate_pr = true\n[agents.coder.schedules.issues]\nwork_source = {{ type = 'github' }}\n\
         [forge.github]\napi_url = {:?}\n",
        forge.api_url()
    );
    let daemon = Daemon::new(&story, &settings, Some(&forge)).await;
    let job = daemon.run("issues").await;
    let [pull] = forge.pull_requests().try_into().unwrap();
    assert!(pull.body.contains(&format!("Fixes #{number}")), "{}", pull.body);
    assert_eq!(pull.head, format!("agent/coder/issue-{number}"));
    assert_eq!(forge.labels(number), ["agent-working", "bug"]);
    let [comment] = forge.comments(number).try_into().unwrap();
    assert!(comment.body.contains(&job.outcome.pull_request.unwrap()), "{}", comment.body);
}
