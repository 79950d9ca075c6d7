//! Whose turn it is: at most `max_workers` jobs at once on a node, of an agent at most as many as it says, one in a
//! place; first come, first served among those that could start. A job whose agent waits for jobs that it asked for counts
//! as none that runs, or those would wait for it, and it for them.

use std::collections::HashMap;

use spinney_core::{Job, JobId, JobStatus, RepositoryId, Timestamp, WaitsFor, Work};

/// Says what a job has to wait for; none when it may start. `jobs` are the node's jobs that are not over, in order.
pub(crate) fn waits_for(jobs: &[Job], id: &JobId, max_workers: u32, now: Timestamp) -> Option<WaitsFor> {
    match jobs.iter().position(|job| job.id == *id) {
        Some(position) => decide(jobs, max_workers, now).swap_remove(position),
        None => Some(WaitsFor::Record),
    }
}

/// Says of each job what it has to wait for, in one pass; none of those that run or may start. What may start may do so at
/// the same time.
pub(crate) fn decide(jobs: &[Job], max_workers: u32, now: Timestamp) -> Vec<Option<WaitsFor>> {
    let running: Vec<&Job> = jobs.iter().filter(|job| job.status == JobStatus::Running).collect();
    let busy = running.iter().filter(|job| works(job, now)).count();
    let mut line = Line::default();
    for job in running.iter().filter(|job| works(job, now)) {
        line.agent(job).running += 1;
    }
    let turn = |job| if is_pending(job) { line.turn(job, &running, busy, max_workers) } else { None };
    jobs.iter().map(turn).collect()
}

/// Those who wait and were looked at so far.
#[derive(Debug, Default)]
struct Line<'j> {
    first_in: HashMap<&'j str, (usize, &'j Job)>,
    first_on: HashMap<WorkKey<'j>, (usize, &'j Job)>,
    of_agents: HashMap<(&'j str, &'j RepositoryId), OfAgent>,
    len: usize,
    /// How many of them take the next workers.
    ahead: usize,
}

/// What [`is_same_work`] compares.
type WorkKey<'j> = (&'j RepositoryId, Option<&'j str>, &'j Work, Option<&'j str>);

/// How many jobs of an agent run, and how many that could come before.
#[derive(Debug, Default)]
struct OfAgent {
    running: usize,
    older: usize,
}

impl<'j> Line<'j> {
    fn agent(&mut self, job: &'j Job) -> &mut OfAgent {
        self.of_agents.entry((&job.agent, &job.repository_id)).or_default()
    }

    /// Says what the next one has to wait for, and puts it in line.
    fn turn(&mut self, job: &'j Job, running: &[&Job], busy: usize, max_workers: u32) -> Option<WaitsFor> {
        let holder = running.iter().find(|other| contend(other, job));
        let older = self.take_place(job);
        let is_next = !job.outcome.blocked && holder.is_none();
        let (limit, of_agent) = (job.request.max_concurrent, self.agent(job));
        let is_full = limit > 0 && of_agent.running + of_agent.older >= limit as usize;
        let of_agent_busy = of_agent.running;
        // Who comes later does not wait behind a job that waits for its place or its agent.
        of_agent.older += usize::from(is_next);
        let ahead = self.ahead;
        self.ahead += usize::from(is_next && !is_full);
        if let Some(other) = holder {
            let (job, agent) = (other.id.clone(), other.agent.clone());
            return Some(WaitsFor::Holder { job, agent, workspace: other.work.workspace_name() });
        }
        // Of two that want the same place, the older goes first.
        if let Some(older) = older {
            return Some(WaitsFor::Older { job: older.id.clone(), agent: older.agent.clone() });
        }
        if is_full {
            return Some(WaitsFor::Agent { agent: job.agent.clone(), busy: of_agent_busy, limit });
        }
        (busy + ahead >= max_workers as usize).then_some(WaitsFor::Worker { busy, limit: max_workers })
    }

    /// Notes what a job wants for itself; gives who wanted it first.
    fn take_place(&mut self, job: &'j Job) -> Option<&'j Job> {
        let own = (self.len, job);
        self.len += 1;
        let reader = job.request.reads.then_some(job.agent.as_str());
        let work = (&job.repository_id, job.request.clone_url.as_deref(), &job.work, reader);
        let on_work = *self.first_on.entry(work).or_insert(own);
        let in_place = job.place.as_deref().map(|place| *self.first_in.entry(place).or_insert(own));
        let first = in_place.into_iter().chain([on_work]).min_by_key(|(position, _)| *position);
        first.map(|(_, first)| first).filter(|first| first.id != job.id)
    }
}

fn is_pending(job: &Job) -> bool {
    job.status == JobStatus::Pending
}

/// Whether a job takes a worker.
pub(crate) fn works(job: &Job, now: Timestamp) -> bool {
    job.status == JobStatus::Running && !job.awaits_children(now)
}

/// Whether two jobs may not run at the same time.
pub(crate) fn contend(one: &Job, other: &Job) -> bool {
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

#[cfg(test)]
pub(crate) mod tests {
    use spinney_core::{Cancel, JobRequest, NodeId, Outcome, Platform, RepositoryId, Timestamp, Work};

    use super::*;

    /// When it is looked at whose turn it is.
    fn now() -> Timestamp {
        Timestamp::from_millisecond(1000)
    }

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
            parent: None,
            awaits_until: None,
            request: JobRequest::default(),
            outcome: Outcome::default(),
            created_at: Timestamp::from_millisecond(0),
            started_at: None,
            ended_at: None,
        };
        described.iter().map(job).collect()
    }

    fn waits(jobs: &[Job], index: usize, max_workers: u32) -> Option<String> {
        waits_for(jobs, &jobs[index].id, max_workers, now()).map(|what| what.to_string())
    }

    #[test]
    fn workers_are_shared_in_order() {
        use JobStatus::{Pending, Running};
        let jobs = jobs(&[("a", 1, Running), ("a", 2, Pending), ("a", 3, Pending)]);
        assert_eq!(waits(&jobs, 1, 2), None);
        assert_eq!(waits(&jobs, 2, 2).unwrap(), "a worker (1 of 2 busy)");
    }

    #[test]
    fn who_waits_for_something_else_does_not_hold_others_up() {
        use JobStatus::{Pending, Running};
        let mut jobs = jobs(&[("a", 1, Running), ("b", 1, Pending), ("a", 2, Pending), ("c", 3, Pending)]);
        assert!(waits(&jobs, 1, 2).unwrap().contains("which has issue-1"));
        assert_eq!(waits(&jobs, 2, 2), None, "the one before it waits for issue-1");
        jobs[2].request.max_concurrent = 1;
        assert_eq!(waits(&jobs, 2, 2).unwrap(), "agent `a` (1 of 1 busy)");
        assert_eq!(waits(&jobs, 3, 2), None, "the one before it waits for its agent");
    }

    #[test]
    fn who_waits_for_its_children_takes_no_worker_until_its_time_is_over() {
        use JobStatus::{Pending, Running};
        let mut jobs = jobs(&[("a", 1, Running), ("a", 2, Pending)]);
        jobs[1].request.max_concurrent = 1;
        assert_eq!(waits(&jobs, 1, 1).unwrap(), "agent `a` (1 of 1 busy)");
        jobs[0].awaits_until = Some(now().plus(std::time::Duration::from_millis(1)));
        assert_eq!(waits(&jobs, 1, 1), None);
        jobs[0].awaits_until = Some(now());
        assert!(waits(&jobs, 1, 1).is_some(), "nobody wrote anew that it waits");
        jobs[0].awaits_until = Some(now().plus(std::time::Duration::from_millis(1)));
        jobs[1].work = jobs[0].work.clone();
        assert!(waits(&jobs, 1, 1).unwrap().contains("which has issue-1"), "its workspace is its own still");
    }

    #[test]
    fn who_only_reads_is_in_nobodys_way() {
        use JobStatus::{Pending, Running};
        let mut jobs =
            jobs(&[("writer", 1, Running), ("reader", 1, Running), ("reader", 1, Pending), ("other", 1, Pending)]);
        assert!(waits(&jobs, 3, 4).is_some());
        for reader in &mut jobs[1..] {
            reader.request.reads = true;
        }
        assert!(waits(&jobs, 2, 4).unwrap().contains("of `reader`, which has issue-1"), "it is one conversation");
        assert_eq!(waits(&jobs, 3, 4), None);
    }

    #[test]
    fn one_place_has_one_job_and_the_older_goes_first() {
        use JobStatus::Pending;
        let mut jobs = jobs(&[("a", 1, Pending), ("b", 2, Pending), ("c", 3, Pending)]);
        jobs[1].place = Some("here".into());
        jobs[2].place = Some("here".into());
        assert_eq!(waits(&jobs, 1, 4), None);
        assert!(waits(&jobs, 2, 4).unwrap().ends_with("which asked first"));
    }

    /// The same as the rules have it, one job at a time.
    fn by_the_rules(jobs: &[Job], position: usize, max_workers: u32) -> Option<WaitsFor> {
        let job = &jobs[position];
        let pending = |job: &&Job| job.status == JobStatus::Pending;
        let holder =
            |job: &Job| jobs.iter().find(|other| other.status == JobStatus::Running && contend(other, job)).cloned();
        let is_next = |job: &&Job| !job.outcome.blocked && holder(job).is_none();
        let full = |position: usize| {
            let (job, limit) = (&jobs[position], jobs[position].request.max_concurrent);
            let same = |other: &&Job| other.agent == job.agent && other.repository_id == job.repository_id;
            let running = jobs.iter().filter(same).filter(|job| works(job, now())).count();
            let older = jobs[..position].iter().filter(same).filter(pending).filter(is_next).count();
            (limit > 0 && running + older >= limit as usize).then_some(running)
        };
        if let Some(other) = holder(job) {
            return Some(WaitsFor::Holder {
                job: other.id.clone(),
                agent: other.agent.clone(),
                workspace: other.work.workspace_name(),
            });
        }
        if let Some(older) = jobs[..position].iter().filter(pending).find(|older| contend(older, job)) {
            return Some(WaitsFor::Older { job: older.id.clone(), agent: older.agent.clone() });
        }
        if let Some(busy) = full(position) {
            return Some(WaitsFor::Agent { agent: job.agent.clone(), busy, limit: job.request.max_concurrent });
        }
        let busy = jobs.iter().filter(|job| works(job, now())).count();
        let is_ahead = |place: &usize| pending(&&jobs[*place]) && is_next(&&jobs[*place]) && full(*place).is_none();
        let ahead = (0..position).filter(is_ahead).count();
        (busy + ahead >= max_workers as usize).then_some(WaitsFor::Worker { busy, limit: max_workers })
    }

    proptest::proptest! {
        #[test]
        fn one_pass_decides_as_the_rules_do(
            drawn in proptest::collection::vec((0..3_usize, 1..5_u64, 0..4_u8, 0..4_u8, 0..3_u32, 0..8_u8), 0..14),
            max_workers in 1..5_u32,
        ) {
            let described: Vec<_> = drawn
                .iter()
                .map(|(agent, issue, status, ..)| {
                    let status = if *status == 0 { JobStatus::Running } else { JobStatus::Pending };
                    (["a", "b", "c"][*agent], *issue, status)
                })
                .collect();
            let mut jobs = jobs(&described);
            for (job, (.., place, limit, marks)) in jobs.iter_mut().zip(&drawn) {
                job.place = (*place > 1).then(|| format!("place {place}"));
                job.request.max_concurrent = *limit;
                job.request.reads = *marks == 0;
                job.outcome.blocked = *marks == 1;
                job.awaits_until = (*marks == 2).then(|| now().plus(std::time::Duration::from_secs(1)));
            }
            let decided = decide(&jobs, max_workers, now());
            for (position, decided) in decided.into_iter().enumerate() {
                let expected = match jobs[position].status {
                    JobStatus::Pending => by_the_rules(&jobs, position, max_workers),
                    _ => None,
                };
                proptest::prop_assert_eq!(decided, expected);
            }
        }
    }
}
