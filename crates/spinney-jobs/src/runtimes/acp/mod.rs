//! `acp`: any agent that speaks the Agent Client Protocol over its standard input and output.
//!
//! Spinney offers the agent neither files nor terminals: it reads, writes and runs things itself, in the workspace that
//! is its directory. What it asks permission for is decided by [`permission`].

mod heard;
mod lines;
mod permission;

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ContentBlock, EnvVariable, ErrorCode, HttpHeader, Implementation, InitializeRequest, LoadSessionRequest,
    McpServer as ServerOfProtocol, McpServerHttp, McpServerStdio, NewSessionRequest, PromptRequest, PromptResponse,
    RequestPermissionRequest, SessionId, StopReason, TextContent,
};
use agent_client_protocol::{Agent, Client, Error};
use spinney_core::{JobEvent, Usage};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

use self::heard::{Calls, Heard, Listener};
use self::permission::Policy;
use super::cause::line;
use super::check_no_tools;
use super::json::object_text;
use crate::Sink;
use crate::runtime::{
    Conversation, Dialogue, Program, Protocol, Resuming, Runtime, Settings, Turn, TurnEnd, Unsupported, unsupported,
};
use crate::runtimes::mcp_server::{McpServer, Reached};
use crate::told::TurnFailure;

/// How much of what was heard may wait to be told.
const WAITING: usize = 64;

#[derive(Debug)]
pub(super) struct Acp;

impl Runtime for Acp {
    fn name(&self) -> &'static str {
        "acp"
    }

    fn check(&self, settings: &Settings) -> Result<(), Unsupported> {
        if settings.command.is_empty() {
            return Err(unsupported(self, "command", "needs a program to run"));
        }
        if settings.model.is_some() {
            return Err(unsupported(self, "model", "can't be told a model: give it to the program itself"));
        }
        super::check_permission_mode(self, settings, permission::MODES)?;
        check_no_tools(self, "allowed_tools", &settings.allowed_tools, "allowed")?;
        check_no_tools(self, "disallowed_tools", &settings.disallowed_tools, "forbidden")
    }

    /// Those of the agents that are known to speak it.
    fn variables(&self) -> &'static [&'static str] {
        variables![
            "ANTHROPIC_API_KEY",
            "ANTHROPIC_AUTH_TOKEN",
            "ANTHROPIC_BASE_URL",
            "CLAUDE_CODE_OAUTH_TOKEN",
            "CLAUDE_CONFIG_DIR",
            "OPENAI_API_KEY",
            "OPENAI_BASE_URL",
            "CODEX_API_KEY",
            "CODEX_HOME",
            "GEMINI_*",
            "GOOGLE_API_KEY",
            "GOOGLE_GEMINI_BASE_URL",
            "OPENCODE_*",
            "MISTRAL_API_KEY",
            "XAI_API_KEY",
        ]
    }

    fn resuming(&self) -> Resuming {
        Resuming::ByItsName
    }

    fn program(&self, turn: &Turn<'_>) -> Program {
        Program::of(turn.settings, "")
    }

    fn protocol(&self, turn: &Turn<'_>) -> Protocol {
        let resumed = match turn.conversation {
            Conversation::New(_) => None,
            Conversation::Resumed(name) => Some(name.to_owned()),
        };
        Protocol::Dialogue(Box::new(Talk {
            directory: turn.directory.to_owned(),
            prompt: turn.whole_prompt(),
            resumed,
            policy: Policy::new(turn.settings.permission_mode.as_deref(), turn.directory),
            mcp_servers: turn.mcp_servers.to_owned(),
            spent: turn.spent,
        }))
    }
}

/// One turn of a conversation.
#[derive(Debug)]
struct Talk {
    directory: PathBuf,
    prompt: String,
    resumed: Option<String>,
    policy: Policy,
    mcp_servers: Vec<McpServer>,
    spent: Usage,
}

/// Why there was no answer.
#[derive(Debug)]
enum NoAnswer {
    ConversationGone,
    NoMcpOverHttp { server: String },
    Error(Error),
}

impl From<Error> for NoAnswer {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl Dialogue for Talk {
    fn hold<'a>(
        self: Box<Self>,
        stdin: Box<dyn AsyncWrite + Send + Unpin>,
        stdout: Box<dyn AsyncRead + Send + Unpin>,
        sink: &'a mut dyn Sink,
    ) -> Pin<Box<dyn Future<Output = TurnEnd> + Send + 'a>> {
        Box::pin(async move {
            let (tell, mut told) = mpsc::channel(WAITING);
            let mut listener = Listener::new(self.spent);
            let mut answer = Box::pin(self.ask(stdin, stdout, tell));
            let answer = loop {
                tokio::select! {
                    biased;
                    Some(heard) = told.recv() => listener.hear(heard, sink),
                    answer = &mut answer => break answer,
                }
            };
            while let Ok(heard) = told.try_recv() {
                listener.hear(heard, sink);
            }
            listener.say(sink);
            if let Ok(PromptResponse { usage: Some(usage), .. }) = &answer {
                listener.count(usage, sink);
            }
            let error = match answer.map(|response| response.stop_reason) {
                Ok(StopReason::EndTurn) => None,
                Ok(reason) => Some(stopped(reason)),
                Err(NoAnswer::ConversationGone) => Some(TurnFailure::ConversationGone),
                Err(NoAnswer::NoMcpOverHttp { server }) => Some(TurnFailure::NoMcpOverHttp { server }),
                Err(NoAnswer::Error(error)) => Some(failure(&error)),
            };
            let (said, usage) = listener.end();
            let summary = if error.is_none() { said } else { None };
            TurnEnd { summary, error, usage, ..TurnEnd::default() }
        })
    }
}

impl Talk {
    /// Prompts the agent and waits for the end of its turn; what it says meanwhile goes to the listener.
    async fn ask(
        self,
        stdin: Box<dyn AsyncWrite + Send + Unpin>,
        stdout: Box<dyn AsyncRead + Send + Unpin>,
        tell: mpsc::Sender<Heard>,
    ) -> Result<PromptResponse, NoAnswer> {
        let Self { directory, prompt, resumed, policy, mcp_servers, spent: _ } = self;
        let calls = Arc::new(Mutex::new(Calls::default()));
        let (transport, listening) = lines::transport(stdin, stdout, tell.clone(), Arc::clone(&calls));
        let answers = tell.clone();
        let mut no_answer = None;
        let why_not = &mut no_answer;
        let result = Client
            .v1()
            .on_receive_request(
                async move |request: RequestPermissionRequest, responder, _connection| {
                    let call = calls.lock().map(|calls| calls.with(&request.tool_call)).unwrap_or_default();
                    let (response, is_allowed) = policy.answer(&request.options, &call);
                    if !is_allowed {
                        // The turn may be over, and nobody listening.
                        let _ = answers.send(Heard::Event(call.denied())).await;
                    }
                    responder.respond(response)
                },
                agent_client_protocol::on_receive_request!(),
            )
            .connect_with(transport, async move |connection: ConnectionTo<Agent>| {
                let hello = InitializeRequest::new(ProtocolVersion::V1)
                    .client_info(Implementation::new("spinney", env!("CARGO_PKG_VERSION")));
                let agent = connection.send_request(hello).block_task().await?;
                let is_resumed = resumed.is_some();
                if !agent.agent_capabilities.mcp_capabilities.http
                    && let Some(server) = mcp_servers.iter().find(|server| server.is_called())
                {
                    *why_not = Some(NoAnswer::NoMcpOverHttp { server: server.name.clone() });
                    return Ok(PromptResponse::new(StopReason::Cancelled));
                }
                let servers: Vec<_> = mcp_servers.into_iter().map(mcp_server).collect();
                let session = match resumed {
                    None => {
                        let new = NewSessionRequest::new(directory).mcp_servers(servers);
                        connection.send_request(new).block_task().await?.session_id
                    }
                    Some(_) if !agent.agent_capabilities.load_session => {
                        *why_not = Some(NoAnswer::ConversationGone);
                        return Ok(PromptResponse::new(StopReason::Cancelled));
                    }
                    Some(name) => {
                        let session = SessionId::new(name);
                        let load = LoadSessionRequest::new(session.clone(), directory).mcp_servers(servers);
                        if let Err(error) = connection.send_request(load).block_task().await {
                            let is_gone = error.code != ErrorCode::AuthRequired
                                && !agent_client_protocol::is_incoming_transport_closed(&error);
                            *why_not = is_gone.then_some(NoAnswer::ConversationGone);
                            return Err(error);
                        }
                        listening.quiet().await;
                        session
                    }
                };
                let conversation = Some(session.to_string());
                let started = JobEvent::SessionStarted { conversation, model: None, resumed: is_resumed };
                let _ = tell.send(Heard::Event(started)).await;
                // What came before is the history of a conversation that was loaded.
                listening.begin();
                let prompt = PromptRequest::new(session, vec![ContentBlock::Text(TextContent::new(prompt))]);
                connection.send_request(prompt).block_task().await
            })
            .await;
        match no_answer {
            Some(why) => Err(why),
            None => Ok(result?),
        }
    }
}

/// An MCP server as the protocol names it.
fn mcp_server(server: McpServer) -> ServerOfProtocol {
    let McpServer { name, reached } = server;
    match reached {
        Reached::Program { command, arguments, variables } => {
            let variables = variables.into_iter().map(|(name, value)| EnvVariable::new(name, value)).collect();
            ServerOfProtocol::Stdio(McpServerStdio::new(name, command).args(arguments).env(variables))
        }
        Reached::Address { url, headers } => {
            let headers = headers.into_iter().map(|(name, value)| HttpHeader::new(name, value)).collect();
            ServerOfProtocol::Http(McpServerHttp::new(name, url).headers(headers))
        }
    }
}

fn stopped(reason: StopReason) -> TurnFailure {
    match reason {
        StopReason::MaxTokens => TurnFailure::MostTokens,
        StopReason::MaxTurnRequests => TurnFailure::MostRequests,
        StopReason::Refusal => TurnFailure::RefusedToGoOn,
        StopReason::Cancelled => TurnFailure::Cancelled,
        _ => TurnFailure::UnknownReason,
    }
}

fn failure(error: &Error) -> TurnFailure {
    if agent_client_protocol::is_incoming_transport_closed(error) {
        return TurnFailure::ClosedEarly;
    }
    let detail = error.data.as_ref().map(|data| {
        let named = object_text(data, &["details", "message"]).or_else(|| object_text(&data["error"], &["message"]));
        named.or_else(|| data.as_str().map(ToOwned::to_owned)).unwrap_or_else(|| data.to_string())
    });
    TurnFailure::Other(match detail.filter(|detail| !error.message.contains(detail)) {
        Some(detail) => line(&format!("{}: {detail}", error.message)),
        None => line(&error.message),
    })
}
