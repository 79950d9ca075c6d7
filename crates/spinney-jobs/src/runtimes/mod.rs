//! The runtimes, one file each. A new one is its file and its line in [`all`].

/// The variables that a program needs which talks to a model over the network: its own, and the way there.
macro_rules! variables {
    ($($own:literal),* $(,)?) => {
        &[
            $($own,)*
            "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy",
            "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
        ]
    };
}

mod acp;
mod cause;
mod claude;
mod codex;
mod command;
mod gemini;
mod json;
pub mod mcp_server;
mod opencode;
mod recent;
mod transcript;
mod turn_end;

use crate::runtime::{Runtime, Settings, Unsupported, unsupported};

/// Every runtime, in the order in which they are told to people.
#[must_use]
pub fn all() -> &'static [&'static dyn Runtime] {
    &[&claude::Claude, &codex::Codex, &gemini::Gemini, &opencode::Opencode, &acp::Acp, &command::Command]
}

/// The runtime with this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Runtime> {
    all().iter().copied().find(|runtime| runtime.name() == name)
}

/// How long a system prompt may be that is an argument: Linux takes 128 KiB, and ours has a section beside it.
const SYSTEM_PROMPT_BYTES: usize = 64 * 1024;

/// Checks the permission mode against the words that a runtime knows.
fn check_permission_mode(runtime: &dyn Runtime, settings: &Settings, modes: &[&str]) -> Result<(), Unsupported> {
    match settings.permission_mode.as_deref() {
        Some(mode) if !modes.contains(&mode) => {
            let known = modes.iter().map(|mode| format!("`{mode}`")).collect::<Vec<_>>().join(", ");
            Err(unsupported(runtime, "permission_mode", &format!("has no mode `{mode}`, only {known}")))
        }
        _ => Ok(()),
    }
}

/// Checks that a system prompt can be an argument.
fn check_system_prompt(runtime: &dyn Runtime, settings: &Settings) -> Result<(), Unsupported> {
    if settings.system_prompt.as_ref().is_some_and(|prompt| prompt.len() > SYSTEM_PROMPT_BYTES) {
        let most = SYSTEM_PROMPT_BYTES;
        return Err(unsupported(runtime, "system_prompt", &format!("takes a system prompt of at most {most} bytes")));
    }
    Ok(())
}

/// Checks that no MCP servers are named for a runtime that can't be given any.
fn check_no_mcp_servers(runtime: &dyn Runtime, settings: &Settings) -> Result<(), Unsupported> {
    if settings.has_mcp_servers {
        return Err(unsupported(
            runtime,
            "mcp_servers",
            "can't be given MCP servers: name them in its own configuration",
        ));
    }
    Ok(())
}

/// Checks that no tools are named for a runtime that can't be told which.
fn check_no_tools(runtime: &dyn Runtime, key: &'static str, tools: &[String], what: &str) -> Result<(), Unsupported> {
    if tools.is_empty() {
        Ok(())
    } else {
        Err(unsupported(runtime, key, &format!("can't be told which tools are {what}")))
    }
}
