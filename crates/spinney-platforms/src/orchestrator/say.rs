//! All that is said in a conversation, beside the answers to commands.

use spinney_app::{Front, advise_all, words};
use spinney_core::{
    Advice, Job, JobStatus, Method, NoRoom, Push, Reason, WaitsFor, Work, WorkKind, Workspace, WorkspaceStatus,
};

use crate::Message;
use crate::command::Usage;

/// Much more than anybody reads in a thread; the job's page has all of it.
const MAX_SUMMARY_CHARS: usize = 6000;

/// A job waits for something that takes a while; nothing is said of one that has just come.
pub(super) fn waiting(job: &Job) -> Option<Message> {
    let message = match job.waits_for.as_ref()? {
        WaitsFor::Room(no_room) if job.outcome.blocked => Message::new()
            .plain("I can't start: ")
            .sentence(&words::plain(&no_room.why))
            .plain(". ")
            .then(helps(no_room)),
        waits_for => Message::new()
            .strong(job.work.workspace_name().as_str())
            .plain(" waits for ")
            .sentence(&words::plain(&waits_for.to_string()))
            .plain("."),
    };
    Some(message)
}

/// Many have asked at once.
pub(super) fn crowded(work: &Work, jobs: usize) -> Message {
    let message = Message::new().strong(work.workspace_name().as_str()).plain(" waits: ");
    message.plain(format!("{} are ahead of it in the queue.", spinney_engine::plural(jobs, "job")))
}

/// What makes room.
fn helps(no_room: &NoRoom) -> Message {
    let sweeps = [(no_room.merged, "merged"), (no_room.stale, "stale")];
    let message = match sweeps.into_iter().find(|(count, _)| *count > 0) {
        Some((count, what)) => {
            Message::new().code(format!("/worktree cleanup {what}")).plain(format!(" frees up to {count}. "))
        }
        None => Message::new().code("/worktree list").plain(" shows them. "),
    };
    message.plain("I'll go on by myself when there is room.")
}

/// A job is at work.
pub(super) fn working(job: &Job, workspace: &Workspace, others: &[Work], doing: Option<&str>) -> Message {
    let message = ready(job, workspace, others);
    match doing {
        Some(doing) => message.plain(" Working on it: ").code(words::first_line(doing)).plain(" …"),
        None => message.plain(" Working on it…"),
    }
}

/// What work is done in, and how it came to be that.
fn ready(job: &Job, workspace: &Workspace, others: &[Work]) -> Message {
    let how = match job.outcome.method {
        Some(Method::Existing | Method::Reused) => " goes on",
        Some(Method::Adopted) => " is taken over from where it was",
        _ => " is ready",
    };
    let mut message =
        Message::new().strong(workspace.name.as_str()).plain(how).plain(": branch ").code(workspace.branch.as_str());
    // What has the workspace's own name was told with it.
    let named: Vec<_> = others.iter().map(named).filter(|name| name != workspace.name.as_str()).collect();
    if !named.is_empty() {
        message = message.plain(format!(", shared with {}", named.join(", ")));
    }
    message.plain(".")
}

/// `#42`, or a workspace's name for other work.
fn named(work: &Work) -> String {
    match work.kind {
        WorkKind::Issue | WorkKind::Pr | WorkKind::Review => format!("#{}", work.key),
        _ => work.workspace_name().to_string(),
    }
}

/// A job is over. `url`: where its page is.
pub(super) fn ending(job: &Job, workspace: Option<&Workspace>, others: &[Work], url: &str) -> Message {
    let mut message = Message::new();
    if let Some(workspace) = workspace {
        message = message.then(ready(job, workspace, others)).line().line();
    }
    let lasted = words::lasted(words::ran_for(job));
    message = match job.status {
        JobStatus::Completed => message.plain(format!("✓ Done in {lasted}: {}.", words::outcome(job, Front::Chat))),
        JobStatus::Cancelled => message.plain("– Cancelled."),
        _ => message.plain(format!("✗ {}.", words::plain(&words::outcome(job, Front::Chat)))),
    };
    if let Some(pull_request) = &job.outcome.pull_request {
        message = message.plain(" ").link(pull_request_name(pull_request), pull_request.as_str()).plain(".");
    } else if job.outcome.push == Some(Push::Pushed)
        && let Some(branch) = &job.outcome.branch
    {
        message = message.plain(" It is on ").code(words::first_line(branch)).plain(".");
    }
    if let Some(summary) = job.outcome.summary.as_deref().filter(|summary| !summary.trim().is_empty()) {
        let cut: String = summary.trim().chars().take(MAX_SUMMARY_CHARS).collect();
        let cut = if cut.len() < summary.trim().len() { cut + " …" } else { cut };
        message = message.line().prose(cut);
    }
    if !job.outcome.escaped.is_empty() {
        let escaped = spinney_engine::escapes_in_words(&job.outcome.escaped);
        message = message.line().plain(format!("! The main checkout changed meanwhile: {}", words::plain(&escaped)));
    }
    if !matches!(job.status, JobStatus::Completed | JobStatus::Cancelled) {
        let has_work = |workspace: &&Workspace| workspace.status.is_live() && !job.outcome.untouched;
        if let Some(workspace) = workspace.filter(has_work) {
            message = message.line().plain("Its work is in ").code(workspace.name.as_str()).plain(".");
        }
        message = message
            .line()
            .plain("To continue, write again. Details: ")
            .link("its log", format!("{url}/jobs/{}", job.id));
    } else if let Some(workspace) = workspace.filter(|workspace| workspace.status == WorkspaceStatus::Trashed) {
        message = message
            .line()
            .plain("Its workspace is in the trash: ")
            .code(format!("/worktree restore {}", workspace.name));
    }
    message
}

/// `Pull request #108`, from its address.
fn pull_request_name(url: &str) -> String {
    let number =
        url.rsplit('/').next().filter(|last| !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit()));
    number.map_or_else(|| "Pull request".to_owned(), |number| format!("Pull request #{number}"))
}

/// An issue or pull request was closed, and its workspace holds something.
pub(super) fn kept(work: &Work, workspace: &Workspace, reasons: &[Reason]) -> Message {
    let mut message = Message::new().plain(format!("{} is closed. I kept its workspace ", named(work)));
    message = message.code(workspace.name.as_str()).plain(": ");
    for (index, reason) in reasons.iter().enumerate() {
        let comma = if index == 0 { "" } else { ", " };
        message = message.plain(format!("{comma}{} ({})", words::plain(&reason.detail()), reason.code));
        if !reason.items.is_empty() {
            message = message.plain(": ").code(words::plain(&words::items_of(reason)));
        }
    }
    let remove = format!("/worktree remove {}", workspace.name);
    if reasons.iter().filter(|reason| reason.blocks).all(|reason| reason.overridable) {
        return message.plain(". ").code(format!("{remove} --force")).plain(" moves it to the trash.");
    }
    message.plain(". ").code(remove).plain(" moves it to the trash when these reasons no longer apply.")
}

/// The same, but somebody is in it.
pub(super) fn held(work: &Work, workspace: &Workspace, error: &spinney_app::Error) -> Message {
    let why = spinney_core::in_full(error);
    Message::new()
        .plain(format!("{} is closed. I kept its workspace ", named(work)))
        .code(workspace.name.as_str())
        .plain(": ")
        .sentence(&words::plain(&why))
        .plain(". ")
        .code(format!("/worktree remove {}", workspace.name))
        .plain(" moves it to the trash once that is over.")
}

/// Somebody may not ask.
pub(super) fn refusal() -> Message {
    Message::new()
        .plain("I accept requests only from listed users. Ask the operator of this Spinney daemon to add you.")
}

/// Nobody said which repository is meant.
pub(crate) fn which_repository(names: &[String]) -> Message {
    let message = Message::new().plain("Which repository is this about? Say ").code("/repo NAME").plain(" once");
    match names {
        [] => message.plain(". No repository is set up yet: the operator of this Spinney daemon has to add one."),
        names => names.iter().take(10).fold(message.plain(":"), |message, name| message.plain(" ").code(name)),
    }
}

/// A job could not even be asked for.
pub(super) fn cannot_start(error: &spinney_app::Error) -> Message {
    let why = spinney_core::in_full(error);
    let message = Message::new().plain("I can't start: ").sentence(&words::plain(&why)).plain(".");
    advised(message, &error.advice())
}

/// A message, and what helps in the terms of a chat.
pub(crate) fn advised(message: Message, advice: &[Advice]) -> Message {
    let told = advise_all(advice, Front::Chat);
    told.iter().fold(message, |message, help| message.plain(" ").sentence(&words::plain(help)).plain("."))
}

/// A command is not written as it should be.
pub(super) fn usage(usage: &Usage) -> Message {
    Message::new().sentence(&words::plain(&usage.to_string())).plain(". ").code("/help").plain(" shows all.")
}

/// Something is wrong here that whoever asked can't mend.
pub(super) fn broken() -> Message {
    Message::new().plain(
        "An internal error occurred, and I can't answer this message. The operator finds the error in the audit log.",
    )
}

/// A command was begun before a death, and nobody knows how far it came.
pub(super) fn interrupted() -> Message {
    let message = Message::new().plain("The daemon stopped while it carried out this command. ").code("/worktree list");
    message.plain(" shows the current state; send the command again if it was not carried out.")
}
