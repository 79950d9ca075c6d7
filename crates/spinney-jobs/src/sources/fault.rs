//! Why a work source can't be used.

use std::path::PathBuf;

use spinney_core::RepositoryName;
use spinney_core::names::for_message;

/// Why a work source, or an item of it, can't be used.
#[derive(Debug, thiserror::Error)]
pub enum SourceFault {
    #[error("the remote of `{repository}` is on no forge that is configured")]
    NoForge { repository: RepositoryName },
    #[error("the remote of `{repository}` is on {forge}, not on GitHub")]
    NotOnGithub { repository: RepositoryName, forge: &'static str },
    #[error("it has the issues of `{wanted}`, and the agent works on `{found}`")]
    OtherRepository { wanted: String, found: String },
    #[error("`{text}` is not the number of an issue")]
    NoNumber { text: String },
    #[error("`{issue}` is not an issue of team `{team}`")]
    NotOfTeam { issue: String, team: String },
    #[error("`{}` is in the main checkout, and git does not ignore it", .path.display())]
    NotIgnored { path: PathBuf },
    #[error("`{}` names no task", for_message(.name))]
    NoTask { name: String },
    #[error("nobody's agent holds its item")]
    NoAgent,
    #[error("no repository leads to `{place}` any more")]
    Unreachable { place: String },
}
