//! Work as a person says it without any flag: a task in words, or the address of an issue or pull request.

use spinney_app::{InvalidRequest, WorkRequest};
use spinney_core::Work;
use spinney_core::names::for_message;
use spinney_core::work::parse_number;
use spinney_core::work_address::WorkAddress;
use spinney_engine::{Context, Engine};

use crate::app::App;
use crate::error::{CliError, Result};

#[derive(Debug)]
pub enum Said {
    At(WorkAddress),
    Task { work: Work, text: String },
}

impl Said {
    /// Reads what was said. A number alone could mean two things, and what looks like a workspace's name is no task.
    pub fn read(text: &str) -> Result<Self> {
        let number = text.strip_prefix('#').unwrap_or(text);
        if parse_number(number).is_ok() {
            return Err(CliError::usage(format!("`{text}` could be an issue or a pull request"))
                .hinted(format!("`spinney new --issue {number}` or `spinney new --pr {number}`")));
        }
        for (prefix, flag) in [("issue-", "--issue"), ("pr-", "--pr")] {
            if let Some(number) = text.strip_prefix(prefix).filter(|number| parse_number(number).is_ok()) {
                return Err(CliError::usage(format!("`{text}` looks like the name of a workspace, not like a task"))
                    .hinted(format!("`spinney new {flag} {number}` finds or makes it")));
            }
        }
        if let Some(address) = WorkAddress::parse(text) {
            return Ok(Self::At(address));
        }
        if text.starts_with("https://") || text.starts_with("http://") {
            return Err(CliError::usage(format!(
                "`{}` is not the page of an issue or pull request",
                for_message(text)
            ))
            .hinted("for example `https://github.com/acme/app/issues/42`"));
        }
        Ok(Self::Task { work: Work::task(text).map_err(InvalidRequest::Key)?, text: text.to_owned() })
    }

    /// Asks for that work.
    pub fn write_to(&self, request: &mut WorkRequest) {
        match self {
            Self::At(address) => request.work = Some(address.work.clone()),
            Self::Task { work, text } => {
                request.work = Some(work.clone());
                request.title = Some(text.clone());
            }
        }
    }
}

/// The repository that an address is of: the current one, else one that is known.
pub async fn repository_of(app: &App, engine: &Engine, address: &WorkAddress) -> Result<Context> {
    let here = app.context_if_any(engine).await?;
    if let Some(context) = here {
        if address.is_of(&context.repository) {
            return Ok(context);
        }
        if app.global.repo.is_some() {
            let (name, remote) = (&context.repository.name, for_message(&address.remote));
            return Err(CliError::usage(format!("that address belongs to `{remote}`, but `--repo` names {name}"))
                .hinted("leave `--repo` out"));
        }
    }
    let known = engine.repositories().await?;
    match known.iter().find(|repository| address.is_of(repository)) {
        Some(repository) => {
            Ok(engine.find_context(Some(&repository.name.to_string()), &crate::app::current_directory()?).await?)
        }
        None => {
            let remote = for_message(&address.remote);
            Err(CliError::not_found(format!("no known repository has the remote `{remote}`"))
                .hinted(format!("`spinney repo add https://{remote}` clones it; or run this inside a clone")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_mean_two_things_is_refused() {
        for text in ["42", "#42", "issue-42", "pr-9", "https://github.com/acme/app", "🎉"] {
            assert!(Said::read(text).is_err(), "{text}");
        }
        assert!(matches!(Said::read("42 bugs"), Ok(Said::Task { .. })));
        assert!(matches!(Said::read("issue-of-the-day"), Ok(Said::Task { .. })));
        assert!(matches!(Said::read("https://github.com/acme/app/pull/9"), Ok(Said::At(_))));
    }
}
