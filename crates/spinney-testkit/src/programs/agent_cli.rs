//! The real agent programs, pointed at a model on loopback.
//!
//! `cargo xtask test` installs Claude Code, and with `--agents` the others. What is set here keeps them from the network:
//! each would else ask a resolver, and wait for it where it does not answer.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use crate::StubModel;

/// One of the programs.
#[derive(Debug, Clone)]
pub struct AgentCli {
    kind: Kind,
    program: PathBuf,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Claude,
    Codex,
    Gemini,
    Opencode,
}

impl AgentCli {
    /// Claude Code, if it is there. If not, that is printed.
    #[must_use]
    pub fn claude() -> Option<Self> {
        Self::find(Kind::Claude, "SPINNEY_TEST_CLAUDE")
    }

    /// The adapter that speaks the Agent Client Protocol for Claude Code, if it is there.
    #[must_use]
    pub fn claude_adapter() -> Option<Self> {
        Self::find(Kind::Claude, "SPINNEY_TEST_CLAUDE_ACP")
    }

    /// The adapter that followed it, if it is there.
    #[must_use]
    pub fn claude_agent_adapter() -> Option<Self> {
        Self::find(Kind::Claude, "SPINNEY_TEST_CLAUDE_AGENT_ACP")
    }

    /// Codex, if it is there.
    #[must_use]
    pub fn codex() -> Option<Self> {
        Self::find(Kind::Codex, "SPINNEY_TEST_CODEX")
    }

    /// Gemini CLI, if it is there.
    #[must_use]
    pub fn gemini() -> Option<Self> {
        Self::find(Kind::Gemini, "SPINNEY_TEST_GEMINI")
    }

    /// opencode, if it is there.
    #[must_use]
    pub fn opencode() -> Option<Self> {
        Self::find(Kind::Opencode, "SPINNEY_TEST_OPENCODE")
    }

    fn find(kind: Kind, variable: &str) -> Option<Self> {
        let program = env::var_os(variable).map(PathBuf::from);
        if program.is_none() {
            println!("left out: `{variable}` names no program; `cargo xtask test --agents` installs it");
        }
        program.map(|program| Self { kind, program })
    }

    #[must_use]
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// The variables that point it at the model, beside `HOME`. Writes its configuration below `home`, too.
    #[must_use]
    pub fn environment(&self, model: &StubModel, home: &Path) -> Vec<(String, String)> {
        let url = model.url();
        // They leave much behind in it; and Codex's sandbox does not work with a home that lies in it.
        let temporary = home.join(".tmp");
        fs::create_dir_all(&temporary).expect("the home can be written");
        let mut variables = match self.kind {
            Kind::Claude => vec![
                ("ANTHROPIC_BASE_URL", url),
                ("ANTHROPIC_API_KEY", "none".to_owned()),
                ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
                ("DISABLE_AUTOUPDATER", "1".to_owned()),
                // Ten are usual, which take minutes.
                ("CLAUDE_CODE_MAX_RETRIES", "1".to_owned()),
            ],
            Kind::Codex => {
                write(home, ".codex/config.toml", &codex_config(&url));
                vec![("OPENAI_API_KEY", "none".to_owned())]
            }
            Kind::Gemini => {
                write(home, ".gemini/settings.json", &gemini_settings());
                vec![
                    ("GOOGLE_GEMINI_BASE_URL", url),
                    ("GEMINI_API_KEY", "none".to_owned()),
                    ("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()),
                    ("GEMINI_MODEL", "gemini-2.5-flash".to_owned()),
                ]
            }
            Kind::Opencode => {
                let config = write(home, ".config/opencode/stub.json", &opencode_config(&url));
                vec![
                    ("OPENCODE_CONFIG", config.display().to_string()),
                    ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
                    ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
                ]
            }
        };
        variables.push(("TMPDIR", temporary.display().to_string()));
        variables.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

fn codex_config(url: &str) -> String {
    format!(
        "\
model = \"stub-model\"
model_provider = \"stub\"
check_for_update_on_startup = false

[model_providers.stub]
name = \"stub\"
base_url = \"{url}/v1\"
env_key = \"OPENAI_API_KEY\"
wire_api = \"responses\"
request_max_retries = 1
stream_max_retries = 1

[analytics]
enabled = false

[features]
plugins = false
apps = false
"
    )
}

fn gemini_settings() -> String {
    let settings = json!({
        "security": { "auth": { "selectedType": "gemini-api-key" } },
        "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false, "maxAttempts": 2 },
        "privacy": { "usageStatisticsEnabled": false },
    });
    settings.to_string()
}

fn opencode_config(url: &str) -> String {
    let model = json!({ "name": "stub", "limit": { "context": 200_000, "output": 8192 } });
    let provider = json!({
        "npm": "@ai-sdk/openai-compatible",
        "name": "stub",
        "options": { "baseURL": format!("{url}/v1"), "apiKey": "none" },
        "models": { "stub-model": model },
    });
    // Its own snapshots of the tree are many runs of git for nothing.
    json!({ "model": "stub/stub-model", "snapshot": false, "provider": { "stub": provider } }).to_string()
}

/// Writes a file below the home, and gives its path.
fn write(home: &Path, name: &str, text: &str) -> PathBuf {
    let path = home.join(name);
    fs::create_dir_all(path.parent().expect("it has a parent")).expect("the home can be written");
    fs::write(&path, text).expect("the home can be written");
    path
}
