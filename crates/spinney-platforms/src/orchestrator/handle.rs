//! The first step of a delivery: who asks, for what, and where.

use spinney_app::jobs::JobAsked;
use spinney_app::{Error as AppError, Prompt, WorkRequest};
use spinney_core::config::Strangers;
use spinney_core::ignored::quoted;
use spinney_core::{AgentName, Delivery, DeliveryStatus, IgnoreReason, JobId, JobStatus, Platform};
use spinney_engine::{Context, fail};
use spinney_jobs::{Busy, Error as JobsError};

use super::answer::Answered;
use super::{Orchestrator, inbound, prompt, say};
use crate::command::{self, Command};
use crate::conversation::desk::{self, About, Desk};
use crate::{Adapter, Author, Error, Event, Inbound, Message, Request, Result, Where};

/// Each is a process that waits; more come when some of them are over.
const MOST_OPEN_JOBS: usize = 32;

/// Who may ask on a platform, and who does what they ask for.
pub(super) struct Policy<'a> {
    pub allowed_users: &'a [String],
    pub strangers: Strangers,
    pub agent: &'a AgentName,
}

impl Policy<'_> {
    pub fn allows(&self, author: &Author) -> bool {
        self.allowed_users.contains(&author.id)
    }
}

/// Whose doing counts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Author,
    Anybody,
}

/// What becomes of somebody who asks.
enum Admission {
    May,
    MayNot(IgnoreReason),
}

impl Orchestrator {
    pub(super) async fn handle(&self, delivery: Delivery) -> Result<()> {
        let mut inbound = inbound(&delivery)?;
        let adapter = self.adapter(delivery.platform).ok_or(Error::NoAdapter(delivery.platform))?.clone();
        let adapter = adapter.as_ref();
        match inbound.event.clone() {
            Event::Asked(request) => self.asked(delivery, &mut inbound, adapter, request).await,
            Event::Edited { request } => self.edited(delivery, &mut inbound, adapter, request).await,
            Event::Deleted => {
                self.call_off(&delivery, &inbound, By::Anybody).await?;
                self.end(delivery, DeliveryStatus::Done, None).await
            }
            Event::Linked(pull) => self.linked(delivery, &inbound, adapter, &pull).await,
            Event::Closed { work, merged } => self.closed(delivery, &inbound, adapter, &work, merged).await,
        }
    }

    pub(super) fn policy(&self, platform: Platform) -> Option<Policy<'_>> {
        let config = self.engine().config().platforms.of(platform.name()?)?;
        Some(Policy { allowed_users: &config.allowed_users, strangers: config.strangers, agent: &config.agent })
    }

    /// Whether somebody may ask: they are on the list, and the platform lets them change the work.
    async fn admission(&self, inbound: &Inbound, adapter: &dyn Adapter, policy: &Policy<'_>) -> Result<Admission> {
        let user = quoted(&inbound.author.id);
        if !policy.allows(&inbound.author) {
            let key = format!("platforms.{}.allowed_users", inbound.platform);
            return Ok(Admission::MayNot(IgnoreReason::NotListed { user, key }));
        }
        match adapter.may_change(&inbound.place, &inbound.author).await? {
            true => Ok(Admission::May),
            false => Ok(Admission::MayNot(IgnoreReason::NoWriteAccess { user })),
        }
    }

    async fn asked(
        &self,
        delivery: Delivery,
        inbound: &mut Inbound,
        adapter: &dyn Adapter,
        request: Request,
    ) -> Result<()> {
        let Some(policy) = self.policy(delivery.platform) else {
            return Err(Error::NoAdapter(delivery.platform));
        };
        let (mut delivery, standing) = (delivery.clone(), Answered::of(&delivery));
        if let (Some(message), None) = (standing.said.clone(), &standing.sent) {
            // A command was carried out, and its answer is still to be said.
            return self.answer(delivery, inbound, adapter, message, DeliveryStatus::Done).await;
        }
        if delivery.job_id.is_some() {
            // It was let in before.
            self.wait_in_a_crowd(&mut delivery, inbound, adapter, &request).await?;
        }
        // Before anybody is answered: nobody hears of what is not ours.
        let about = desk::repository_of(self.engine(), adapter, inbound).await?;
        if let About::NotOurs { name, remote } = about {
            let reason = IgnoreReason::UnknownRepository { repository: name.to_string(), remote };
            return self.ignore(delivery, reason).await;
        }
        if let Admission::MayNot(reason) = self.admission(inbound, adapter, &policy).await? {
            return self.refuse(delivery, inbound, adapter, policy.strangers, reason).await;
        }
        self.touch(inbound).await?;
        adapter.complete(inbound).await?;
        let request = match &inbound.event {
            Event::Asked(request) | Event::Edited { request: Some(request) } => request.clone(),
            _ => request,
        };
        let context = match about {
            About::Known(context) => Some(*context),
            _ => None,
        };
        let mut request = request;
        match command::parse(&request.text) {
            None => {}
            Some(Ok(Command::Run { prompt })) => request.text = prompt,
            Some(Ok(command)) => {
                return self.command(delivery, inbound, adapter, context, &command).await;
            }
            Some(Err(usage)) => {
                let message = say::usage(&usage);
                return self.answer(delivery, inbound, adapter, message, DeliveryStatus::Done).await;
            }
        }
        let Some(context) = context else {
            let names = desk::names(self.engine()).await?;
            return self.answer(delivery, inbound, adapter, say::which_repository(&names), DeliveryStatus::Done).await;
        };
        self.start(delivery, inbound, adapter, context, &request, policy.agent).await
    }

    /// Carries a command out once, as far as a death lets it be known, and then says what came of it, as often as that takes.
    async fn command(
        &self,
        mut delivery: Delivery,
        inbound: &Inbound,
        adapter: &dyn Adapter,
        context: Option<Context>,
        command: &Command,
    ) -> Result<()> {
        let Some(policy) = self.policy(delivery.platform) else { return Err(Error::NoAdapter(delivery.platform)) };
        let mut standing = Answered::of(&delivery);
        let message = if standing.begun && matches!(command, Command::Cancel | Command::Remove { .. }) {
            say::interrupted()
        } else {
            standing.begun = true;
            self.note(&mut delivery, &standing).await?;
            self.carry_out(inbound, context, policy.agent, command).await?
        };
        standing.said = Some(message.clone());
        self.note(&mut delivery, &standing).await?;
        self.answer(delivery, inbound, adapter, message, DeliveryStatus::Done).await
    }

    async fn carry_out(
        &self,
        inbound: &Inbound,
        repository: Option<Context>,
        agent: &AgentName,
        command: &Command,
    ) -> Result<Message> {
        let jobs = self.jobs()?;
        let desk = Desk {
            engine: self.engine(),
            jobs: &jobs,
            platform: inbound.platform,
            conversation: &inbound.conversation,
            repository,
            is_bound_by_forge: matches!(inbound.repository, Where::Forge(_)),
            agent,
        };
        command::carry_out(&desk, command).await
    }

    /// Says nothing, or once that they may not.
    async fn refuse(
        &self,
        delivery: Delivery,
        inbound: &Inbound,
        adapter: &dyn Adapter,
        strangers: Strangers,
        reason: IgnoreReason,
    ) -> Result<()> {
        let mut db = self.engine().store().read().await?;
        let before = db.was_refused(delivery.platform, &delivery.conversation, &delivery.author).await?;
        drop(db);
        let mut delivery = delivery;
        // One that is sent again was refused before.
        let before = before || Answered::of(&delivery).sent.is_some();
        if strangers == Strangers::Refuse && !before {
            self.say(&mut delivery, inbound, adapter, say::refusal()).await?;
        }
        self.ignore(delivery, reason).await
    }

    /// Notes that people talk about the conversation's workspace.
    async fn touch(&self, inbound: &Inbound) -> Result<()> {
        let mut db = self.engine().store().write().await?;
        db.touch_conversation(self.engine().account(), inbound.platform, &inbound.conversation).await?;
        Ok(db.commit().await?)
    }

    /// Asks for a job, under an id that is written down first: after a death it is the same job that is asked for.
    async fn start(
        &self,
        mut delivery: Delivery,
        inbound: &mut Inbound,
        adapter: &dyn Adapter,
        context: Context,
        request: &Request,
        agent: &AgentName,
    ) -> Result<()> {
        if delivery.job_id.is_none() {
            delivery.job_id = Some(JobId::generate());
            let mut db = self.engine().store().write().await?;
            if !db.update_delivery(&delivery, DeliveryStatus::Received).await? {
                // Somebody else has it.
                return Ok(());
            }
            db.commit().await?;
        }
        fail::point("delivery.numbered")?;
        self.wait_in_a_crowd(&mut delivery, inbound, adapter, request).await?;
        self.tie_again(&context, inbound, &request.work).await?;
        let submitted = match Prompt::new(prompt::prompt(inbound, request)) {
            Ok(prompt) => {
                let new = JobAsked {
                    id: delivery.job_id.clone(),
                    agent: Some(agent.clone()),
                    prompt,
                    work: work_request(inbound, request),
                    names_repository: true,
                    busy: Busy::Wait,
                    waits_for_room: true,
                    batch: None,
                };
                spinney_app::jobs::submit(&self.jobs()?, context, new).await
            }
            Err(invalid) => Err(invalid.into()),
        };
        match submitted {
            Ok(_) => {}
            Err(AppError::Engine(spinney_engine::Error::Store(error))) => return Err(error.into()),
            Err(error) => {
                let message = say::cannot_start(&error);
                return self.answer(delivery, inbound, adapter, message, DeliveryStatus::Failed).await;
            }
        }
        fail::point("delivery.submitted")?;
        delivery.status = DeliveryStatus::Working;
        let mut db = self.engine().store().write().await?;
        db.update_delivery(&delivery, DeliveryStatus::Received).await?;
        Ok(db.commit().await?)
    }

    /// Keeps a job back while too many are under way, and says so.
    async fn wait_in_a_crowd(
        &self,
        delivery: &mut Delivery,
        inbound: &Inbound,
        adapter: &dyn Adapter,
        request: &Request,
    ) -> Result<()> {
        let mut db = self.engine().store().read().await?;
        let unfinished = db.unfinished_jobs(self.engine().home().node()).await?;
        drop(db);
        let is_there = unfinished.iter().any(|job| Some(&job.id) == delivery.job_id.as_ref());
        if is_there || unfinished.len() < MOST_OPEN_JOBS {
            return Ok(());
        }
        if Answered::of(delivery).sent.is_none() {
            self.say(delivery, inbound, adapter, say::crowded(&request.work, unfinished.len())).await?;
        }
        Err(Error::Crowded { jobs: unfinished.len() })
    }

    /// A message was changed: what it asked for before, and has not begun, is off, and what it says now counts.
    async fn edited(
        &self,
        delivery: Delivery,
        inbound: &mut Inbound,
        adapter: &dyn Adapter,
        request: Option<Request>,
    ) -> Result<()> {
        // The platform decides who may change or delete what somebody wrote; only who wrote it asks by it.
        let by = if request.is_some() { By::Author } else { By::Anybody };
        let has_begun = self.call_off(&delivery, inbound, by).await?;
        match request {
            Some(request) if !has_begun => self.asked(delivery, inbound, adapter, request).await,
            _ if has_begun => self.ignore(delivery, IgnoreReason::Begun).await,
            _ => self.end(delivery, DeliveryStatus::Done, None).await,
        }
    }

    /// Calls off what a message asked for and nobody has begun; tells whether something has.
    async fn call_off(&self, delivery: &Delivery, inbound: &Inbound, by: By) -> Result<bool> {
        let Some(subject) = &inbound.subject else { return Ok(false) };
        let mut db = self.engine().store().read().await?;
        let about = db.deliveries_about(delivery.platform, &delivery.conversation, subject).await?;
        drop(db);
        let jobs = self.jobs()?;
        let mut has_begun = false;
        for earlier in about.iter().filter(|earlier| earlier.id != delivery.id) {
            match &earlier.job_id {
                Some(id) => match jobs.require(id).await {
                    Ok(job)
                        if job.status == JobStatus::Pending
                            && (by == By::Anybody || earlier.author == delivery.author) =>
                    {
                        // It may begin at this very moment; then it is told to end.
                        let _ = spinney_app::jobs::cancel(&jobs, &job, false).await;
                    }
                    Ok(job) => has_begun |= job.status != JobStatus::Cancelled,
                    // It waits in a crowd, and was not asked for yet.
                    Err(JobsError::UnknownJob { .. }) if !earlier.status.is_final() => {
                        self.ignore(earlier.clone(), IgnoreReason::Withdrawn).await?;
                    }
                    Err(JobsError::UnknownJob { .. }) => {}
                    Err(error) => return Err(error.into()),
                },
                // A command was carried out.
                None => has_begun |= earlier.status == DeliveryStatus::Done,
            }
        }
        Ok(has_begun)
    }
}

/// What is asked for, with all that the conversation tells about it.
fn work_request(inbound: &Inbound, request: &Request) -> WorkRequest {
    let pull = request.pull.as_ref();
    let is_fork = pull.is_some_and(|pull| pull.is_fork);
    // What a fork's pull request says that it closes is anybody's word.
    let mut links = if is_fork { Vec::new() } else { request.links.clone() };
    for work in pull.into_iter().filter(|_| !is_fork).flat_map(|pull| &pull.closes) {
        if !links.contains(work) && *work != request.work {
            links.push(work.clone());
        }
    }
    WorkRequest {
        work: Some(request.work.clone()),
        title: request.title.clone(),
        head: pull.and_then(|pull| pull.head.clone()),
        sha: pull.and_then(|pull| pull.sha.clone()),
        fork: is_fork,
        links,
        conversation: Some(inbound.conversation.clone()),
        ..WorkRequest::from(inbound.platform)
    }
}

#[cfg(test)]
mod tests {
    use spinney_core::Work;

    use super::*;
    use crate::{Place, Pull};

    #[test]
    fn a_forks_pull_request_brings_nothing_but_itself() {
        let pull = |is_fork| Pull {
            number: 9,
            title: String::new(),
            head: Some("feature".parse().unwrap()),
            sha: None,
            is_fork,
            closes: vec![Work::issue(42)],
        };
        let request = |is_fork| Request {
            text: "look".to_owned(),
            work: Work::pr(9),
            title: None,
            context: None,
            links: vec![Work::issue(41)],
            pull: Some(pull(is_fork)),
        };
        let inbound = Inbound {
            platform: Platform::on("github"),
            delivery: "1".to_owned(),
            conversation: "acme/app#9".to_owned(),
            subject: None,
            author: Author { id: "7".to_owned(), name: "mona".to_owned() },
            place: Place(serde_json::Value::Null),
            repository: Where::Chat,
            event: Event::Deleted,
        };
        let own = work_request(&inbound, &request(false));
        assert_eq!((own.fork, own.links), (false, vec![Work::issue(41), Work::issue(42)]));
        let forks = work_request(&inbound, &request(true));
        assert_eq!((forks.fork, forks.links, forks.head), (true, Vec::new(), own.head));
    }
}
