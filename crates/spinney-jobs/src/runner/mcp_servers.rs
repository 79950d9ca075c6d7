//! The MCP servers of an agent, made ready for its runtime: values that name variables are filled in, programs are found.
//! What is missing fails the job: an agent that is silently without a tool does something else instead.

use std::ffi::{OsStr, OsString};

use spinney_core::config::McpServerConfig;

use super::named_value::{NoValue, resolve, resolve_last_word};
use super::{End, Run, Step};
use crate::agent::program::find;
use crate::runtimes::mcp_server::{McpServer, Reached};
use crate::told::{Failure, McpFault};

impl Run<'_> {
    /// The servers of the agent, which gets these variables.
    pub(super) fn mcp_servers(&self, variables: &[(OsString, OsString)]) -> Step<Vec<McpServer>> {
        let path = variables.iter().rfind(|(name, _)| name == "PATH").map(|(_, path)| path.as_os_str());
        let servers = self.agent.config.mcp_servers.iter();
        let ready = servers.map(|(name, server)| match self.reached(server, path) {
            Ok(reached) => Ok(McpServer { name: name.to_owned(), reached }),
            Err(fault) => Err(End::failed(Failure::McpServer { name: name.to_owned(), fault })),
        });
        ready.collect()
    }

    fn reached(&self, server: &McpServerConfig, path: Option<&OsStr>) -> Result<Reached, McpFault> {
        let (environment, secrets) = (self.jobs.engine.environment(), &self.context.git_options().secrets);
        match server {
            McpServerConfig::Program { command, args, env } => {
                let found = find(command.as_ref(), path).and_then(|found| found.into_os_string().into_string().ok());
                let command = found.ok_or_else(|| McpFault::ProgramMissing { program: command.clone() })?;
                let value = |(name, text): (&str, &str)| Ok((name.to_owned(), resolve(text, environment, secrets)?));
                let variables = env.iter().map(value).collect::<Result<_, NoValue>>()?;
                Ok(Reached::Program { command, arguments: args.clone(), variables })
            }
            McpServerConfig::Address { url, headers } => {
                let value =
                    |(name, text): (&str, &str)| Ok((name.to_owned(), resolve_last_word(text, environment, secrets)?));
                let headers = headers.iter().map(value).collect::<Result<_, NoValue>>()?;
                Ok(Reached::Address { url: url.clone(), headers })
            }
        }
    }
}

impl From<NoValue> for McpFault {
    fn from(fault: NoValue) -> Self {
        match fault {
            NoValue::Unset(variable) => Self::VariableUnset { variable },
            NoValue::Secret(variable) => Self::VariableOfSpinney { variable },
        }
    }
}
