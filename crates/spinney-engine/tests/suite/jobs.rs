//! A workspace in which a job runs is nobody's to take.

use spinney_core::{Consent, ReasonCode, Remover, Sweep, Work};
use spinney_engine::{Error, ErrorKind, Request, What};

use crate::setup::Story;

#[tokio::test]
async fn a_running_job_stops_every_remover() {
    let story = Story::new().await;
    let context = story.context().await;
    let workspace = story.make(&Request::new(Work::issue(1))).await;
    // Merged, so that nothing else is against it.
    let commit = story.commit(&workspace, "a");
    story.engine.push(&context, &workspace, &commit, &workspace.branch).await.unwrap();
    story.app.remote().merge("issue-1");
    let cache = workspace.path.join("target");
    std::fs::create_dir(&cache).unwrap();
    let job = story.run_job(&workspace).await;
    for remover in std::iter::once(Remover::Person).chain(Sweep::ALL.iter().map(|sweep| Remover::Sweep(*sweep))) {
        let verdict = story.engine.judge(&context, &workspace, remover).await.unwrap();
        let reason = verdict.reasons.iter().find(|reason| reason.code == ReasonCode::InUse).unwrap();
        assert_eq!(reason.detail(), format!("job {} of coder", job.id));
        assert_eq!((reason.blocks, reason.overridable, reason.job.as_ref()), (true, false, Some(&job.id)));
    }
    for consent in [Consent::None, Consent::Force, Consent::Codes(ReasonCode::ALL.iter().copied().collect())] {
        let asked = story.engine.judge_for(&context, &workspace, &consent).await.unwrap_err();
        assert_eq!(asked.kind(), ErrorKind::Held);
        let error = story.engine.remove(&context, &workspace, &consent, &|_| {}).await.unwrap_err();
        assert!(matches!(&error, Error::Refused { reasons, .. } if reasons.iter().any(|reason| reason.job.is_some())));
        assert_eq!(error.kind(), ErrorKind::Held);
    }
    let sweep = async |what: What| {
        let repositories = story.engine.repositories().await.unwrap();
        story.engine.sweep(repositories, what, false, &|_| {}).await.unwrap()
    };
    let report = sweep(What::MERGED).await;
    assert!(report.removed.is_empty() && report.kept.len() == 1, "{report:?}");
    assert!(sweep(What::CACHES).await.caches.is_empty() && cache.exists());

    story.end_job(&job).await;
    assert_eq!(sweep(What::CACHES).await.caches.len(), 1);
    let report = sweep(What::MERGED).await;
    assert_eq!(report.removed.len(), 1, "{report:?}");
}
