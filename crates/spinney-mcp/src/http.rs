//! The server over streamable HTTP, one request at a time: no session is kept, so that a daemon can be restarted, and nobody
//! goes on under a token that was revoked. Who asks was found out before; what is asked is answered as a stream, since the
//! answer of `job_wait` takes its time.

use std::sync::Arc;

use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use crate::lines::MAX_LINE_BYTES;
use crate::{Seat, Server};

/// Answers HTTP requests for one seat.
pub type HttpService = StreamableHttpService<Server, NeverSessionManager>;

/// A service for one seat. `Host` and `Origin` were checked by whoever calls it.
#[must_use]
pub fn http_service(seat: Seat) -> HttpService {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .disable_allowed_hosts()
        .with_max_request_body_bytes(MAX_LINE_BYTES);
    StreamableHttpService::new(move || Ok(Server::new(seat.clone())), Arc::default(), config)
}
