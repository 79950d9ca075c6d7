//! What became of a schedule's run.

use spinney_jobs::told::Idle;

pub(super) fn idle(idle: &Idle) -> String {
    match idle {
        Idle::StillAtIt(job) => format!("job {job} still runs"),
        Idle::NothingReady => "nothing is ready".to_owned(),
        Idle::HeldByOthers { items } => {
            format!("{items} items are reserved by others; the next run looks at the items after them")
        }
        Idle::AllHeld => "all ready items are reserved by others".to_owned(),
    }
}

pub(super) fn pause(failures: u32, last: Option<&str>) -> String {
    let last = last.map(|message| format!("; the last one: {message}")).unwrap_or_default();
    format!("it failed {failures} times in a row{last}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_a_job_says_why() {
        let job = spinney_core::JobId::generate();
        assert_eq!(idle(&Idle::StillAtIt(job.clone())), format!("job {job} still runs"));
        assert_eq!(idle(&Idle::NothingReady), "nothing is ready");
        let held = "20 items are reserved by others; the next run looks at the items after them";
        assert_eq!(idle(&Idle::HeldByOthers { items: 20 }), held);
        assert_eq!(idle(&Idle::AllHeld), "all ready items are reserved by others");
    }

    #[test]
    fn a_pause_tells_the_last_failure() {
        assert_eq!(pause(5, Some("no 5")), "it failed 5 times in a row; the last one: no 5");
        assert_eq!(pause(5, None), "it failed 5 times in a row");
    }
}
