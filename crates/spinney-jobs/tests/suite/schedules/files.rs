//! A directory of tasks.

use std::fs;
use std::path::{Path, PathBuf};

use spinney_core::JobStatus;
use spinney_jobs::schedules::RunOutcome;
use spinney_jobs::told::{Facts, Idle, Words};

use crate::schedules::story::{Story, at, engine, every_5m, schedules};

pub async fn story(tasks: &[(&str, &str)]) -> (Story, PathBuf) {
    let story = Story::new("").await;
    let directory = story.app.sandbox().path().join("tasks");
    fs::create_dir(&directory).unwrap();
    for (name, text) in tasks {
        fs::write(directory.join(name), text).unwrap();
    }
    let home = story.app.sandbox().spinney_home();
    let engine = engine(&story.app, &home, &configured(&directory), "", None).await;
    (Story { engine, app: story.app }, directory)
}

pub fn configured(directory: &Path) -> String {
    every_5m("tasks", &format!("work_source = {{ type = 'file', path = {directory:?} }}"))
}

/// The files below, by path.
pub fn files(directory: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for below in ["", "in-progress", "done"] {
        for entry in fs::read_dir(directory.join(below)).into_iter().flatten().flatten() {
            if entry.path().is_file() {
                found.push(Path::new(below).join(entry.file_name()).display().to_string());
            }
        }
    }
    found.sort();
    found
}

#[tokio::test]
async fn a_task_is_taken_done_and_given_back_when_its_job_fails() {
    let (story, directory) = story(&[("1.md", "# Fix the login\n\nIt says no."), ("2.md", "two")]).await;
    story.tick(0).await;
    story.tick(5).await;
    let job = story.open_job().await;
    assert_eq!(job.prompt, "Fix the login\n\nIt says no.");
    assert_eq!((job.title.as_deref(), job.work.to_string().as_str()), (Some("Fix the login"), "task fix-the-login"));
    assert_eq!(files(&directory), ["2.md".to_owned(), format!("in-progress/{}.1.md", job.id)]);
    story.end(&job, JobStatus::Failed, |_| {}).await;
    story.tick(6).await;
    assert_eq!(files(&directory), ["1.md", "2.md"]);

    story.tick(10).await;
    let job = story.open_job().await;
    story.end(&job, JobStatus::Completed, |_| {}).await;
    story.tick(15).await;
    let job = story.open_job().await;
    assert_eq!(files(&directory), ["done/1.md".to_owned(), format!("in-progress/{}.2.md", job.id)]);
    story.end(&job, JobStatus::Completed, |_| {}).await;
    story.tick(20).await;
    assert_eq!(files(&directory), ["done/1.md", "done/2.md"]);
    assert_eq!(story.report("tasks").await, (RunOutcome::Idle, Facts.idle(&Idle::NothingReady)));
    assert_eq!(story.listed("tasks").await.schedule.last_job_id, Some(job.id), "the last job there was");
}

#[tokio::test]
async fn two_daemons_with_stores_of_their_own_share_a_directory() {
    let (story, directory) = story(&[("1.md", "one"), ("2.md", "two"), ("3.md", "three")]).await;
    let other_home = story.app.sandbox().path().join("other-home");
    let other = engine(&story.app, &other_home, &configured(&directory), "", None).await;
    let (mine, others) = (story.schedules(), schedules(&other));
    for minute in [0, 5] {
        let (one, two) = tokio::join!(mine.tick(at(minute)), others.tick(at(minute)));
        one.unwrap();
        two.unwrap();
    }
    let (one, two) = (story.open_job().await, crate::schedules::story::all_jobs(&other).await.remove(0));
    assert_ne!(one.prompt, two.prompt);
    let in_progress = files(&directory).into_iter().filter(|file| file.starts_with("in-progress/")).count();
    assert_eq!(in_progress, 2);
}

#[tokio::test]
async fn work_that_somebody_is_at_is_left_to_them() {
    let (story, directory) = story(&[("1.md", "# Fix the login"), ("2.md", "# Two")]).await;
    let context = story.engine.find_context(None, story.app.path()).await.unwrap();
    let new = spinney_jobs::NewJob {
        id: None,
        agent: "coder".parse().unwrap(),
        work: Some(spinney_core::Work::task("Fix the login").unwrap()),
        title: None,
        prompt: "mine".into(),
        trigger: spinney_core::Platform::Cli,
        request: spinney_core::JobRequest::default(),
        names_repository: false,
    };
    story.jobs().submit(context, new, spinney_jobs::Busy::Refuse).await.unwrap();
    story.tick(0).await;
    story.tick(5).await;
    let jobs = story.all_jobs().await;
    assert_eq!(jobs.iter().map(|job| job.prompt.as_str()).collect::<Vec<_>>(), ["mine", "Two"]);
    assert!(files(&directory).contains(&"1.md".to_owned()));
}

#[tokio::test]
async fn a_directory_in_the_main_checkout_must_be_ignored() {
    let (story, _) = story(&[]).await;
    let inside = story.app.path().join("tasks");
    fs::create_dir(&inside).unwrap();
    fs::write(inside.join("1.md"), "one").unwrap();
    let home = story.app.sandbox().spinney_home();
    let engine =
        engine(&story.app, &home, &every_5m("tasks", "work_source = { type = 'file', path = 'tasks' }"), "", None)
            .await;
    let story = Story { engine, app: story.app };
    story.tick(0).await;
    story.tick(5).await;
    let (outcome, message) = story.report("tasks").await;
    assert_eq!(outcome, RunOutcome::Failed);
    assert!(message.contains("is in the main checkout, and git does not ignore it"), "{message}");
    fs::write(story.app.path().join(".git/info/exclude"), "/tasks/\n").unwrap();
    story.tick(10).await;
    assert_eq!(story.open_job().await.prompt, "1\n\none");
}
