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
    ContentBlock, ErrorCode, Implementation, InitializeRequest, LoadSessionRequest, NewSessionRequest, PromptRequest,
    RequestPermissionRequest, SessionId, StopReason, TextContent,
};
use agent_client_protocol::{Agent, Client, Error};
use spinney_core::{JobEvent, Usage};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

use self::heard::{Calls, Heard, Listener};
use self::permission::Policy;
use super::check_no_tools;
use crate::Sink;
use crate::runtime::{
    Conversation, Dialogue, Failure, Program, Protocol, Resuming, Runtime, Settings, Turn, TurnEnd, Unsupported,
    unsupported,
};

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
    spent: Usage,
}

/// Why there was no answer.
#[derive(Debug)]
enum NoAnswer {
    ConversationGone,
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
            let error = match answer {
                Ok(StopReason::EndTurn) => None,
                Ok(reason) => Some(Failure::Other(stopped(reason))),
                Err(NoAnswer::ConversationGone) => Some(Failure::ConversationGone),
                Err(NoAnswer::Error(error)) => Some(Failure::Other(describe(&error))),
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
    ) -> Result<StopReason, NoAnswer> {
        let Self { directory, prompt, resumed, policy, spent: _ } = self;
        let calls = Arc::new(Mutex::new(Calls::default()));
        let (transport, listening) = lines::transport(stdin, stdout, tell.clone(), Arc::clone(&calls));
        let answers = tell.clone();
        let mut is_gone = false;
        let gone = &mut is_gone;
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
                let session = match resumed {
                    None => connection.send_request(NewSessionRequest::new(directory)).block_task().await?.session_id,
                    Some(_) if !agent.agent_capabilities.load_session => {
                        *gone = true;
                        return Ok(StopReason::Cancelled);
                    }
                    Some(name) => {
                        let session = SessionId::new(name);
                        let load = LoadSessionRequest::new(session.clone(), directory);
                        if let Err(error) = connection.send_request(load).block_task().await {
                            *gone = error.code != ErrorCode::AuthRequired
                                && !agent_client_protocol::is_incoming_transport_closed(&error);
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
                Ok(connection.send_request(prompt).block_task().await?.stop_reason)
            })
            .await;
        if is_gone { Err(NoAnswer::ConversationGone) } else { Ok(result?) }
    }
}

fn stopped(reason: StopReason) -> String {
    match reason {
        StopReason::MaxTokens => "it reached the most tokens that its model allows",
        StopReason::MaxTurnRequests => "it reached the most requests that it allows in a turn",
        StopReason::Refusal => "it refused to go on",
        StopReason::Cancelled => "it was cancelled",
        _ => "it stopped for an unknown reason",
    }
    .to_owned()
}

fn describe(error: &Error) -> String {
    if agent_client_protocol::is_incoming_transport_closed(error) {
        return "it ended before its turn was over".to_owned();
    }
    let detail = error.data.as_ref().map(|data| match data.as_str() {
        Some(text) => text.to_owned(),
        None => data.to_string(),
    });
    match detail {
        Some(detail) => super::json::one_line(&format!("{}: {detail}", error.message)),
        None => super::json::one_line(&error.message),
    }
}
