//! The description of the API itself.

use std::sync::LazyLock;

use axum::Json;
use utoipa::openapi::OpenApi;

static DOCUMENT: LazyLock<OpenApi> = LazyLock::new(crate::openapi::document);

pub(crate) async fn document() -> Json<&'static OpenApi> {
    Json(&DOCUMENT)
}
