//! The MCP server: its tools are those of the command `spinney mcp`, for the account of the token and all its repositories.

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use serde_json::json;
use spinney_mcp::Seat;

use super::streams::while_allowed;
use crate::app::App;
use crate::auth::Caller;

/// JSON-RPC's own number.
const PARSE_ERROR: i32 = -32700;

pub(crate) async fn ask(State(app): State<App>, caller: Caller, request: Request) -> Response {
    let mut stopping = while_allowed(&app, &caller, request.headers());
    let seat = Seat {
        engine: app.engine_of(&caller),
        launcher: app.launcher(),
        threads: app.threads(),
        tasks: app.tasks().clone(),
        scope: caller.scope,
        repository: None,
        job: None,
    };
    let is_json =
        request.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"application/json"));
    let (parts, answer) = spinney_mcp::http_service(seat).handle(request).await.into_parts();
    if is_json && parts.status == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return no_message();
    }
    // A wait may last: it ends with the server, and with the token.
    let ended = Box::pin(async move { drop(stopping.wait_for(|stop| *stop).await) });
    let answer = Body::new(answer).into_data_stream().take_until(ended);
    Response::from_parts(parts, Body::from_stream(answer))
}

/// What is sent as JSON and is none, or no message, is answered in the protocol's own terms.
fn no_message() -> Response {
    let error = json!({ "code": PARSE_ERROR, "message": "the body is not one JSON-RPC 2.0 message" });
    let body = json!({ "jsonrpc": "2.0", "id": null, "error": error });
    (StatusCode::BAD_REQUEST, axum::Json(body)).into_response()
}
