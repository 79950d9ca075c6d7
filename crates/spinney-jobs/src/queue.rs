//! Whose turn it is: at most `max_workers` jobs at once on a node, of an agent at most as many as it says, one in a
//! place; first come, first served among those that could start.

use spinney_core::{Job, JobId, JobStatus, WaitsFor};

/// How many may run at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub max_workers: u32,
    /// Of the job's own agent; zero: no limit but the workers.
    pub max_concurrent: u32,
}

/// Says what a job has to wait for; none when it may start. `jobs` are the node's jobs that are not over, in order.
pub(crate) fn waits_for(jobs: &[Job], id: &JobId, limits: Limits) -> Option<WaitsFor> {
    let Some(position) = jobs.iter().position(|job| job.id == *id) else { return Some(WaitsFor::Record) };
    let job = &jobs[position];
    let running = || jobs.iter().filter(|other| other.status == JobStatus::Running);
    if let Some(other) = holder(jobs, job) {
        let (job, agent) = (other.id.clone(), other.agent.clone());
        return Some(WaitsFor::Holder { job, agent, workspace: other.work.workspace_name() });
    }
    // Of two that want the same place, the older goes first.
    if let Some(older) = jobs[..position].iter().find(|older| older.status == JobStatus::Pending && contend(older, job))
    {
        return Some(WaitsFor::Older { job: older.id.clone(), agent: older.agent.clone() });
    }
    if let Some(busy) = busy_agent(jobs, position, limits.max_concurrent) {
        return Some(WaitsFor::Agent { agent: job.agent.clone(), busy, limit: limits.max_concurrent });
    }
    // Who comes later does not wait behind a job that waits for its place or its agent.
    let is_ahead = |(index, older): &(usize, &Job)| {
        older.status == JobStatus::Pending
            && !older.outcome.blocked
            && holder(jobs, older).is_none()
            && busy_agent(jobs, *index, older.request.max_concurrent).is_none()
    };
    let (busy, ahead) = (running().count(), jobs.iter().enumerate().take(position).filter(is_ahead).count());
    let limit = limits.max_workers;
    (busy + ahead >= limit as usize).then_some(WaitsFor::Worker { busy, limit })
}

/// How many jobs of a job's agent run, where those and the ones that come before it are as many as may.
fn busy_agent(jobs: &[Job], position: usize, max_concurrent: u32) -> Option<usize> {
    let job = &jobs[position];
    let of_agent = || jobs.iter().filter(|other| is_same_agent(other, job));
    let running = of_agent().filter(|other| other.status == JobStatus::Running).count();
    let is_older =
        |older: &&Job| older.status == JobStatus::Pending && !older.outcome.blocked && holder(jobs, older).is_none();
    let older = jobs[..position].iter().filter(|older| is_same_agent(older, job)).filter(is_older).count();
    let limit = max_concurrent as usize;
    (limit > 0 && running + older >= limit).then_some(running)
}

/// The running job that stands in a job's way.
fn holder<'a>(jobs: &'a [Job], job: &Job) -> Option<&'a Job> {
    jobs.iter().find(|other| other.status == JobStatus::Running && contend(other, job))
}

/// Whether two jobs may not run at the same time.
fn contend(one: &Job, other: &Job) -> bool {
    let same_place = one.place.is_some() && one.place == other.place;
    one.id != other.id && (same_place || is_same_work(one, other))
}

/// Whether two jobs are for the same piece of work. Who only reads is in the way of no one but its own agent, whose
/// conversation on that work goes on.
pub(crate) fn is_same_work(one: &Job, other: &Job) -> bool {
    let apart = match (one.request.reads, other.request.reads) {
        (false, false) => false,
        (true, true) => one.agent != other.agent,
        _ => true,
    };
    let same_repository = one.repository_id == other.repository_id && one.request.clone_url == other.request.clone_url;
    same_repository && one.work == other.work && !apart
}

fn is_same_agent(one: &Job, other: &Job) -> bool {
    one.agent == other.agent && one.repository_id == other.repository_id
}

#[cfg(test)]
pub(crate) mod tests {
    use spinney_core::{Cancel, JobRequest, NodeId, Outcome, Platform, RepositoryId, Timestamp, Work};

    use super::*;

    const NO_LIMIT: Limits = Limits { max_workers: 2, max_concurrent: 0 };

    pub(crate) fn jobs(described: &[(&str, u64, JobStatus)]) -> Vec<Job> {
        let (node, repository) = (NodeId::generate(), RepositoryId::generate());
        let job = |(agent, issue, status): &(&str, u64, JobStatus)| Job {
            id: JobId::generate(),
            account: "local".into(),
            node: node.clone(),
            repository_id: repository.clone(),
            repository: "acme/app".parse().unwrap(),
            agent: (*agent).to_owned(),
            work: Work::issue(*issue),
            title: None,
            prompt: String::new(),
            trigger: Platform::Cli,
            status: *status,
            waits_for: None,
            cancel: Cancel::No,
            attempt: 0,
            place: None,
            workspace_id: None,
            request: JobRequest::default(),
            outcome: Outcome::default(),
            created_at: Timestamp::from_millisecond(0),
            started_at: None,
            ended_at: None,
        };
        described.iter().map(job).collect()
    }

    fn waits(jobs: &[Job], index: usize, limits: Limits) -> Option<String> {
        waits_for(jobs, &jobs[index].id, limits).map(|what| what.to_string())
    }

    #[test]
    fn workers_are_shared_in_order() {
        use JobStatus::{Pending, Running};
        let jobs = jobs(&[("a", 1, Running), ("a", 2, Pending), ("a", 3, Pending)]);
        assert_eq!(waits(&jobs, 1, NO_LIMIT), None);
        assert_eq!(waits(&jobs, 2, NO_LIMIT).unwrap(), "a worker (1 of 2 busy)");
    }

    #[test]
    fn who_waits_for_something_else_does_not_hold_others_up() {
        use JobStatus::{Pending, Running};
        let mut jobs = jobs(&[("a", 1, Running), ("b", 1, Pending), ("a", 2, Pending), ("c", 3, Pending)]);
        assert!(waits(&jobs, 1, NO_LIMIT).unwrap().contains("which has issue-1"));
        assert_eq!(waits(&jobs, 2, NO_LIMIT), None, "the one before it waits for issue-1");
        let one = Limits { max_concurrent: 1, ..NO_LIMIT };
        assert_eq!(waits(&jobs, 2, one).unwrap(), "agent `a` (1 of 1 busy)");
        jobs[2].request.max_concurrent = 1;
        assert_eq!(waits(&jobs, 3, NO_LIMIT), None, "the one before it waits for its agent");
    }

    #[test]
    fn who_only_reads_is_in_nobodys_way() {
        use JobStatus::{Pending, Running};
        let four = Limits { max_workers: 4, max_concurrent: 0 };
        let mut jobs =
            jobs(&[("writer", 1, Running), ("reader", 1, Running), ("reader", 1, Pending), ("other", 1, Pending)]);
        assert!(waits(&jobs, 3, four).is_some());
        for reader in &mut jobs[1..] {
            reader.request.reads = true;
        }
        assert!(waits(&jobs, 2, four).unwrap().contains("of `reader`, which has issue-1"), "it is one conversation");
        assert_eq!(waits(&jobs, 3, four), None);
    }

    #[test]
    fn one_place_has_one_job_and_the_older_goes_first() {
        use JobStatus::Pending;
        let mut jobs = jobs(&[("a", 1, Pending), ("b", 2, Pending), ("c", 3, Pending)]);
        jobs[1].place = Some("here".into());
        jobs[2].place = Some("here".into());
        let four = Limits { max_workers: 4, max_concurrent: 0 };
        assert_eq!(waits(&jobs, 1, four), None);
        assert!(waits(&jobs, 2, four).unwrap().ends_with("which asked first"));
    }
}
