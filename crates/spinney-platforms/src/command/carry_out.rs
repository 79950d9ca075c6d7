//! Does what a command says, within the same engine and the same verdict as the command line.

use spinney_app::housekeeping::{self, SweepAsked};
use spinney_app::workspaces::{self, Removal, Why};
use spinney_app::{Error as AppError, WorkRequest, words};
use spinney_core::{Advice, BranchName, Consent, JobStatus, Timestamp, Work, Workspace, WorkspaceStatus};
use spinney_engine::{Among, Context, Error as EngineError, Standing, What, plural, size};
use spinney_jobs::Error as JobsError;

use super::{Command, tell};
use crate::{Desk, Error, Message, Result};

/// How many jobs are looked through for the conversation's own.
const LOOKED_THROUGH: u32 = 200;

/// Carries a command out and gives the answer; what it can't do is an answer too.
pub(crate) async fn carry_out(desk: &Desk<'_>, command: &Command) -> Result<Message> {
    match done(desk, command).await {
        Err(Error::Engine(error)) if !matches!(error, EngineError::Store(_)) => Ok(sorry(&error, &error.advice())),
        Err(Error::Jobs(error)) if !matches!(error, JobsError::Engine(EngineError::Store(_))) => {
            Ok(sorry(&error, &error.advice()))
        }
        Err(Error::App(error)) => Ok(sorry(&error, &error.advice())),
        done => done,
    }
}

/// What went wrong, and what helps.
fn sorry(error: &dyn std::error::Error, advice: &[Advice]) -> Message {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        text = format!("{text}: {source}");
        cause = source.source();
    }
    let message = Message::new().plain("The command failed: ").sentence(&words::plain(&text)).plain(".");
    crate::orchestrator::advised(message, advice)
}

async fn done(desk: &Desk<'_>, command: &Command) -> Result<Message> {
    if let Command::Help = command {
        return Ok(tell::help(desk.agent.as_str()));
    }
    if let Command::Repo { name } = command {
        return repo(desk, name.as_deref()).await;
    }
    let Some(context) = &desk.repository else {
        let names = crate::conversation::desk::names(desk.engine).await?;
        return Ok(crate::orchestrator::which_repository(&names));
    };
    match command {
        Command::Create { branch } => create(desk, context, branch).await,
        Command::List => list(desk, context).await,
        Command::Remove { name, force } => remove(desk, context, name.as_deref(), *force).await,
        Command::Orphans => sweep(desk, context, What::ORPHANS, true).await,
        Command::CleanupMerged => sweep(desk, context, What::MERGED, false).await,
        Command::CleanupStale => sweep(desk, context, What::STALE, false).await,
        Command::Restore { name } => restore(desk, context, name).await,
        Command::Why { name } => why(desk, context, name).await,
        Command::Status => status(desk, context).await,
        Command::Cancel => cancel(desk).await,
        Command::Run { .. } | Command::Repo { .. } | Command::Help => Ok(Message::new()),
    }
}

async fn repo(desk: &Desk<'_>, name: Option<&str>) -> Result<Message> {
    let Some(name) = name else {
        return Ok(match &desk.repository {
            Some(context) => {
                Message::new().plain("This is about ").code(context.repository.name.to_string()).plain(".")
            }
            None => crate::orchestrator::which_repository(&crate::conversation::desk::names(desk.engine).await?),
        });
    };
    if desk.is_bound_by_forge {
        return Ok(
            Message::new().plain("/repo has no effect here: an issue or pull request always uses its own repository.")
        );
    }
    let known = desk.engine.repositories().await?;
    let Some(repository) = known.into_iter().find(|known| known.name.to_string() == name) else {
        let names = crate::conversation::desk::names(desk.engine).await?;
        let message = Message::new().plain("I don't know ").code(words::first_line(name)).plain(". ");
        return Ok(message.then(crate::orchestrator::which_repository(&names)));
    };
    let mut db = desk.engine.store().write().await?;
    let account = desk.engine.account();
    db.set_repository_of_conversation(account, desk.platform, desk.conversation, &repository.name).await?;
    db.commit().await?;
    Ok(Message::new().plain("This is about ").code(repository.name.to_string()).plain(" from now on."))
}

/// Makes, or finds, the workspace of a branch; the conversation's own stays what it is, without it.
async fn create(desk: &Desk<'_>, context: &Context, branch: &str) -> Result<Message> {
    let branch: BranchName = match branch.parse() {
        Ok(branch) => branch,
        Err(error) => return Ok(sorry(&error, &[])),
    };
    let work = Some(Work::branch(&branch));
    let request = WorkRequest { work, branch: Some(branch), ..WorkRequest::from(desk.platform) };
    let name = context.repository.name.to_string();
    let own = desk.engine.find_context(Some(&name), desk.engine.home().root()).await?;
    let created = workspaces::create(desk.engine, own, request, &|_| {}).await?;
    if created.is_made() {
        housekeeping::have_pool_filled(desk.engine, desk.jobs.launcher(), &created.context).await?;
    }
    let how = if created.is_made() { "new" } else { "already here" };
    let resolution = created.resolution;
    let workspace = resolution.workspace;
    let mut db = desk.engine.store().write().await?;
    db.bind_conversation(desk.engine.account(), desk.platform, desk.conversation, &workspace.id).await?;
    db.commit().await?;
    let from = resolution.started_from.map(|from| format!(" from {}", words::plain(&from))).unwrap_or_default();
    Ok(Message::new()
        .strong(workspace.name.as_str())
        .plain(format!(": {how} on "))
        .code(workspace.branch.as_str())
        .plain(format!("{from}. This conversation works in it from now on.")))
}

async fn list(desk: &Desk<'_>, context: &Context) -> Result<Message> {
    let workspaces = desk.engine.workspaces(Some(&context.repository.id), Among::Live).await?;
    let running = desk.jobs.list(Some(&context.repository.id), &[JobStatus::Running], LOOKED_THROUGH).await?;
    let limit = context.config().limits.max_workspaces;
    let heading = format!("{}: {} of {limit} workspaces", context.repository.name, workspaces.len());
    if workspaces.is_empty() {
        return Ok(Message::new().plain(heading).plain("."));
    }
    let row = |workspace: &Workspace| {
        let job = running.iter().find(|job| job.workspace_id.as_ref() == Some(&workspace.id));
        let state = if job.is_some() { "running" } else { workspace.status.as_str() };
        let by = job.map_or(workspace.platform.as_str(), |job| &job.agent);
        let age = words::age(workspace.last_activity_at);
        [workspace.name.as_str(), workspace.branch.as_str(), state, &age, by].map(str::to_owned).to_vec()
    };
    let rows: Vec<_> = workspaces.iter().map(row).collect();
    Ok(Message::new().plain(heading).block(tell::table(&["NAME", "BRANCH", "STATE", "AGE", "BY"], &rows)))
}

async fn status(desk: &Desk<'_>, context: &Context) -> Result<Message> {
    let workspaces = desk.engine.workspaces(Some(&context.repository.id), Among::All).await?;
    let count = |test: &dyn Fn(WorkspaceStatus) -> bool| workspaces.iter().filter(|row| test(row.status)).count();
    let unfinished = [JobStatus::Running, JobStatus::Pending];
    let jobs = desk.jobs.list(Some(&context.repository.id), &unfinished, LOOKED_THROUGH).await?;
    let running = jobs.iter().filter(|job| job.status == JobStatus::Running).count();
    let mut rows: Vec<(&str, String)> = vec![(
        "workspaces",
        format!(
            "{} of {}",
            count(&|status| status.is_live() && status != WorkspaceStatus::Warm),
            context.config().limits.max_workspaces
        ),
    )];
    let Standing { merged, stale } = housekeeping::standing(desk.engine, context).await?;
    rows.extend([("merged", merged), ("stale", stale)].map(|(name, count)| (name, count.to_string())));
    for (name, status) in [
        ("warm", WorkspaceStatus::Warm),
        ("lost", WorkspaceStatus::Lost),
        ("broken", WorkspaceStatus::Broken),
        ("in the trash", WorkspaceStatus::Trashed),
    ] {
        let found = count(&|found| found == status);
        if found > 0 {
            rows.push((name, found.to_string()));
        }
    }
    let platforms = spinney_core::Platform::OWN.into_iter().chain(crate::PLATFORMS.iter().map(|row| row.platform));
    let platforms: Vec<_> = platforms.collect();
    for platform in &platforms {
        let asked = workspaces.iter().filter(|row| row.platform == *platform && row.status.is_live());
        let asked = asked.filter(|row| row.status != WorkspaceStatus::Warm).count();
        if asked > 0 {
            rows.push((platform.as_str(), asked.to_string()));
        }
    }
    rows.push(("running", plural(running, "job")));
    rows.push(("waiting", plural(jobs.len() - running, "job")));
    if let Some(free) = desk.engine.free_disk() {
        rows.push(("free disk", size(free)));
    }
    let lines: Vec<_> = rows.iter().map(|(name, value)| format!("{name:<13} {value}")).collect();
    Ok(Message::new().strong(context.repository.name.to_string()).block(lines.join("\n")))
}

/// A workspace of this repository by its name; without one, the conversation's own.
async fn find(desk: &Desk<'_>, context: &Context, name: Option<&str>, among: Among) -> Result<Option<Workspace>> {
    match name {
        Some(name) => {
            // Who may ask about one repository may not ask about another's.
            Ok(Some(desk.engine.find_workspace_in(&context.repository.id, name, among).await?))
        }
        None => {
            let mut db = desk.engine.store().read().await?;
            let account = desk.engine.account();
            let own = db.workspace_of_conversation(account, desk.platform, desk.conversation).await?;
            Ok(own.filter(|own| own.status.is_live() && own.repository_id == context.repository.id))
        }
    }
}

async fn remove(desk: &Desk<'_>, context: &Context, name: Option<&str>, force: bool) -> Result<Message> {
    let Some(workspace) = find(desk, context, name, Among::Live).await? else {
        return Ok(Message::new()
            .plain("This conversation has no workspace. ")
            .code("/worktree list")
            .plain(" shows all."));
    };
    let consent = if force { Consent::Force } else { Consent::None };
    let trash_for = context.config().cleanup.trash_for;
    match workspaces::remove(desk.engine, context, &workspace, &consent, false, &|_| {}).await {
        Ok(Removal::Removed(removed)) => Ok(tell::removed(&removed, &words::date(Timestamp::now().plus(trash_for.0)))),
        Ok(Removal::WouldGo) => Ok(Message::new()),
        Err(AppError::Engine(EngineError::Refused { reasons, .. })) => {
            Ok(tell::refused(&workspace, &reasons, &words::days(&trash_for.to_string())))
        }
        Err(error) => Err(error.into()),
    }
}

async fn restore(desk: &Desk<'_>, context: &Context, name: &str) -> Result<Message> {
    let Some(workspace) = find(desk, context, Some(name), Among::Removed).await? else { return Ok(Message::new()) };
    let restored = workspaces::restore(desk.engine, context, &workspace, None, &|_| {}).await?;
    let back = Message::new().strong(restored.name.as_str()).plain(" is back on ").code(restored.branch.as_str());
    if restored.name == workspace.name {
        return Ok(back.plain("."));
    }
    Ok(back.plain("; another workspace is called ").strong(workspace.name.as_str()).plain(" by now."))
}

async fn why(desk: &Desk<'_>, context: &Context, name: &str) -> Result<Message> {
    let Some(workspace) = find(desk, context, Some(name), Among::Live).await? else { return Ok(Message::new()) };
    let Why { verdict, forge_fault } = workspaces::why(desk.engine, context, &workspace).await?;
    let trash_for = words::days(&context.config().cleanup.trash_for.to_string());
    let message = tell::verdict(&workspace, &verdict, &trash_for);
    Ok(match forge_fault {
        Some(fault) => message.line().plain(format!(
            "The forge could not be asked, so its pull request counts as open: {}",
            words::plain(&fault)
        )),
        None => message,
    })
}

async fn sweep(desk: &Desk<'_>, context: &Context, what: What, dry_run: bool) -> Result<Message> {
    let asked =
        SweepAsked { repositories: vec![context.repository.clone()], what, forget: false, archives: false, dry_run };
    let swept = match housekeeping::sweep(desk.engine, desk.jobs, &asked, &|_| {}).await {
        Err(AppError::SweepUnderWay) => {
            return Ok(Message::new().plain("Another cleanup is running. Try again in a moment."));
        }
        swept => swept?,
    };
    Ok(tell::swept(&swept.report, dry_run, &words::days(&context.config().cleanup.trash_for.to_string())))
}

/// Ends the conversation's newest job that is not over.
async fn cancel(desk: &Desk<'_>) -> Result<Message> {
    let unfinished = [JobStatus::Running, JobStatus::Pending];
    let jobs = desk.jobs.list(None, &unfinished, LOOKED_THROUGH).await?;
    let is_own = |job: &&spinney_core::Job| {
        job.trigger == desk.platform && job.request.conversation.as_deref() == Some(desk.conversation)
    };
    let Some(job) = jobs.iter().find(is_own) else {
        return Ok(Message::new().plain("There is nothing to cancel in this conversation."));
    };
    match spinney_app::jobs::cancel(desk.jobs, job, false).await {
        Ok(_) => Ok(Message::new()
            .plain("Cancelling ")
            .strong(job.work.workspace_name().as_str())
            .plain("; its work stays.")),
        Err(AppError::Jobs(JobsError::NotRunning { .. })) => Ok(Message::new().plain("It has just ended.")),
        Err(error) => Err(error.into()),
    }
}
