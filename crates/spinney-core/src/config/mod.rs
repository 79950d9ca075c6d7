//! Configuration: built-in defaults, a person's file, the repository's file, environment, flags; later wins.
//!
//! Pure: whoever reads the files and the environment hands the texts to [`Layers`]. Every value is checked where it is
//! set, so that an error names the file and line, or the variable, that is to be mended.

mod agent;
mod agent_values;
mod api_url;
mod branch_pattern;
mod canonical;
mod defaults;
mod document;
mod environment;
mod error;
mod forge;
mod keys;
mod layers;
mod mcp_server;
mod named_variables;
mod nearest;
mod path_template;
mod platforms;
mod repository;
mod schedule;
mod schema;
mod sections;
mod server;
mod source;
mod store_url;
mod template;
pub mod values;
mod variable_value;
mod work_source;
mod working_directory;

pub use agent::{AgentConfig, AgentHooks, AgentWorkspace, InvalidKeep, Keep, OnDirty, OnPushFailure, Variables};
pub use api_url::{ApiUrl, InvalidApiUrl};
pub use branch_pattern::{BranchPattern, BranchPlaceholder, BranchValues, InvalidBranchPattern};
pub use defaults::{AGENT_DEFAULTS, DEFAULTS, SCHEDULE_DEFAULTS, repository_template};
pub use error::ConfigError;
pub use forge::{ForgeConfig, ForgesConfig, InvalidVariableName, VariableName};
pub use layers::{Entry, Layers, RepositoryPart, Resolved};
pub use mcp_server::{Headers, McpServerConfig, McpServers};
pub use named_variables::named_variables;
pub use nearest::{Suggestion, nearest};
pub use path_template::{PathTemplate, Placeholder};
pub use platforms::{PlatformConfig, PlatformsConfig, Strangers};
pub use repository::{TrustRequest, needs_trust};
pub use schedule::{CronPattern, InvalidCronPattern, InvalidTimeZoneName, ScheduleConfig, ScheduleKind, TimeZoneName};
pub use schema::{
    CleanupConfig, Config, Fetch, Lfs, LimitsConfig, PoolConfig, PopulateChoice, StoreConfig, Strategy, WorkspaceConfig,
};
pub use sections::{Schema, Section};
pub use server::{InvalidPublicUrl, PublicUrl, ServerConfig};
pub use source::Source;
pub use store_url::{StoreUrl, without_password};
pub use template::{CommitPlaceholder, InvalidTemplate, Placeholders, PullRequestPlaceholder, Template};
pub use variable_value::{MissingVariable, VariableValue};
pub use work_source::{FileSource, GithubSource, LinearSource, SourceLabels, WorkSourceConfig};
pub use working_directory::{InvalidWorkingDirectory, WorkingDirectory};
