//! Messages as lines of a stream, within bounds. What is no message is answered with why, and never reaches a handler:
//! a line that is too long or no JSON, and a request under the id of one that is not answered yet, which would get two
//! answers.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::{RoleServer, model::ErrorCode};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::task::JoinHandle;

/// The longest message that is read. A prompt has at most half of it.
pub(crate) const MAX_LINE_BYTES: usize = 2 << 20;

/// A stream of lines in each direction.
#[derive(Debug)]
pub(crate) struct Lines<R, W> {
    read: BufReader<R>,
    write: Arc<tokio::sync::Mutex<W>>,
    /// What was read of a line whose end did not come yet; a read that is dropped goes on there.
    line: Vec<u8>,
    /// Whether the rest of a line is passed over.
    is_too_long: bool,
    /// The ids of requests that are not answered yet.
    open: Arc<Mutex<HashSet<RequestId>>>,
    /// An answer to what was no message. It is written on when a read is dropped, as it is whenever another answer was sent.
    refusing: Option<JoinHandle<io::Result<()>>>,
}

/// A line as it came.
enum Line {
    Whole,
    TooLong,
    End,
}

impl<R: AsyncRead + Unpin, W> Lines<R, W> {
    pub(crate) fn new(read: R, write: W) -> Self {
        Self {
            read: BufReader::new(read),
            write: Arc::new(tokio::sync::Mutex::new(write)),
            line: Vec::new(),
            is_too_long: false,
            open: Arc::default(),
            refusing: None,
        }
    }

    /// Waits until an answer to what was no message is written; whether it could be.
    async fn has_refused(&mut self) -> bool {
        let Some(refusing) = &mut self.refusing else { return true };
        let written = refusing.await;
        self.refusing = None;
        matches!(written, Ok(Ok(())))
    }

    async fn next_line(&mut self) -> Line {
        loop {
            let available = match self.read.fill_buf().await {
                Ok(available) if !available.is_empty() => available,
                // A last line may lack its end.
                Ok(_) if !self.line.is_empty() => return Line::Whole,
                Ok(_) => return Line::End,
                Err(error) => {
                    tracing::warn!(%error, "the client can't be read");
                    return Line::End;
                }
            };
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            if self.line.len() + taken > MAX_LINE_BYTES {
                self.is_too_long = true;
            }
            if self.is_too_long {
                self.line.clear();
            } else {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.read.consume(taken);
            if end.is_some() {
                return if std::mem::take(&mut self.is_too_long) { Line::TooLong } else { Line::Whole };
            }
        }
    }

    /// A message of a line; else what is answered.
    fn message(&self, line: &[u8]) -> Result<ClientJsonRpcMessage, Option<Box<ServerJsonRpcMessage>>> {
        let refused =
            |id, code, why: String| Err(Some(Box::new(JsonRpcMessage::error(ErrorData::new(code, why, None), id))));
        let value: serde_json::Value = match serde_json::from_slice(line) {
            Ok(value) => value,
            Err(error) => return refused(None, ErrorCode::PARSE_ERROR, format!("the message is no JSON: {error}")),
        };
        let id: Option<RequestId> = value.get("id").and_then(|id| serde_json::from_value(id.clone()).ok());
        let is_request = value.get("method").is_some() && value.get("id").is_some();
        if value.is_array() {
            return refused(None, ErrorCode::INVALID_REQUEST, "send one message a line, and not a list".to_owned());
        }
        let message = match serde_json::from_value(value) {
            Ok(message) => message,
            Err(_) if is_request || id.is_none() => {
                let why = "the message is no JSON-RPC 2.0: a request has `jsonrpc`, `id` and `method`".to_owned();
                return refused(id, ErrorCode::INVALID_REQUEST, why);
            }
            // An answer to nothing that was asked.
            Err(_) => return Err(None),
        };
        match &message {
            JsonRpcMessage::Request(request) => {
                let is_new = self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(request.id.clone());
                if !is_new {
                    let why = format!("a request with the id `{}` is not answered yet: choose another", request.id);
                    return refused(None, ErrorCode::INVALID_REQUEST, why);
                }
                Ok(message)
            }
            JsonRpcMessage::Notification(notification) => {
                // A call that is called off is not answered: its id is free again.
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
                }
                Ok(message)
            }
            // This server asks nothing.
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => Err(None),
        }
    }
}

async fn write_line<W: AsyncWrite + Unpin>(
    write: &tokio::sync::Mutex<W>,
    message: &ServerJsonRpcMessage,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut write = write.lock().await;
    write.write_all(&line).await?;
    write.flush().await
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (write, open) = (Arc::clone(&self.write), Arc::clone(&self.open));
        async move {
            let answered = match &message {
                JsonRpcMessage::Response(response) => Some(response.id.clone()),
                JsonRpcMessage::Error(error) => error.id.clone(),
                _ => None,
            };
            write_line(&write, &message).await?;
            if let Some(id) = answered {
                open.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if !self.has_refused().await {
                return None;
            }
            let refused = match self.next_line().await {
                Line::End => return None,
                Line::TooLong => {
                    let why = format!("a message has at most {MAX_LINE_BYTES} bytes");
                    Some(Box::new(JsonRpcMessage::error(ErrorData::new(ErrorCode::INVALID_REQUEST, why, None), None)))
                }
                Line::Whole => {
                    let line = std::mem::take(&mut self.line);
                    if line.trim_ascii().is_empty() {
                        continue;
                    }
                    match self.message(&line) {
                        Ok(message) => return Some(message),
                        Err(refused) => refused,
                    }
                }
            };
            if let Some(refused) = refused {
                let write = Arc::clone(&self.write);
                self.refusing = Some(tokio::spawn(async move { write_line(&write, &refused).await }));
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.has_refused().await;
        self.write.lock().await.shutdown().await
    }
}
