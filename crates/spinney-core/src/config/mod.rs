//! Configuration: built-in defaults, a person's file, the repository's file, environment, flags; later wins.
//!
//! Pure: whoever reads the files and the environment hands the texts to [`Layers`]. Every value is checked where it is
//! set, so that an error names the file and line, or the variable, that is to be mended.

mod defaults;
mod document;
mod environment;
mod error;
mod layers;
mod nearest;
mod path_template;
mod repository;
mod schema;
mod source;
mod store_url;
mod values;

pub use defaults::{DEFAULTS, repository_template};
pub use error::ConfigError;
pub use layers::{Entry, Layers, RepositoryPart, Resolved};
pub use path_template::{PathTemplate, Placeholder};
pub use repository::{TrustRequest, needs_trust};
pub use schema::{
    CleanupConfig, Config, Fetch, Lfs, LimitsConfig, PoolConfig, PopulateChoice, StoreConfig, WorkspaceConfig,
};
pub use source::Source;
pub use store_url::StoreUrl;
