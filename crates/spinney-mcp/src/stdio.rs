//! The server over stdin and stdout, for one client.

use std::time::Duration;

use rmcp::serve_server;
use rmcp::service::ServerInitializeError;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::lines::Lines;
use crate::{Seat, Server};

/// How long work may go on that a client asked for which is gone.
const WORK_ENDS_WITHIN: Duration = Duration::from_secs(60);

/// Why the server ended.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    #[error("the first message of the client is not `initialize`")]
    NotInitialized,
    #[error("the MCP handshake with the client failed: {0}")]
    Refused(String),
    #[error("the server broke")]
    Broken,
}

/// Serves the client on stdin and stdout.
///
/// # Errors
///
/// If the client does not speak the protocol.
pub async fn serve_stdio(seat: Seat) -> Result<(), StdioError> {
    serve(seat, tokio::io::stdin(), tokio::io::stdout()).await
}

/// Serves until the client closes its side. What it began is ended first, for the journal has less to undo then.
///
/// # Errors
///
/// If the client does not speak the protocol.
pub async fn serve<R, W>(seat: Seat, read: R, write: W) -> Result<(), StdioError>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let tasks = seat.tasks.clone();
    let lines = Lines::new(read, write);
    let service = match serve_server(Server::new(seat), lines).await {
        Ok(service) => service,
        // Nobody said a word, or nobody reads: a client that was started for nothing.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::TransportError { .. }) => return Ok(()),
        Err(ServerInitializeError::ExpectedInitializeRequest(_)) => return Err(StdioError::NotInitialized),
        Err(ServerInitializeError::InitializeFailed(error)) => {
            return Err(StdioError::Refused(error.message.into_owned()));
        }
        Err(_) => return Err(StdioError::Broken),
    };
    service.waiting().await.map_err(|_| StdioError::Broken)?;
    tasks.close();
    if tokio::time::timeout(WORK_ENDS_WITHIN, tasks.wait()).await.is_err() {
        tracing::warn!("work that goes on is left; the next command finishes or undoes it");
    }
    Ok(())
}
