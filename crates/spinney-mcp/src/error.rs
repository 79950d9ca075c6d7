//! What goes wrong with a call: a protocol error where the call itself is wrong, else a result that says so.

use rmcp::ErrorData;
use rmcp::model::{CallToolResult, ContentBlock};
use serde_json::json;
use spinney_app::{Front, document};

pub(crate) type Result<T, E = Fault> = std::result::Result<T, E>;

/// What went wrong with a call.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The call is none that could be carried out: the client, and not its model, is to hear that.
    Protocol(ErrorData),
    /// It was refused, or it failed; the model reads why.
    Refused(Box<document::Error>),
}

impl Fault {
    /// The parameters are not what they must be.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::Protocol(ErrorData::invalid_params(message.into(), None))
    }

    pub(crate) fn internal(message: &'static str) -> Self {
        tracing::error!(message, "call failed");
        Self::Protocol(ErrorData::internal_error(message, None))
    }

    /// What was asked makes no sense, though its form is right.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::refused(document::ErrorKind::Usage, message)
    }

    pub(crate) fn not_found(what: &str, name: &str) -> Self {
        let name = spinney_core::names::for_message(name);
        Self::refused(document::ErrorKind::NotFound, format!("there is no {what} `{name}`"))
    }

    pub(crate) fn refused(kind: document::ErrorKind, message: impl Into<String>) -> Self {
        Self::Refused(Box::new(document::Error::new(kind, message)))
    }

    /// As the result of a call, or as the error that it is.
    pub(crate) fn into_result(self) -> Result<CallToolResult, ErrorData> {
        match self {
            Self::Protocol(error) => Err(error),
            Self::Refused(error) => {
                let text = json!(document::ErrorDocument::from(*error)).to_string();
                Ok(CallToolResult::error(vec![ContentBlock::text(text)]))
            }
        }
    }

    /// As the error of a request that has no result of its own for it.
    pub(crate) fn into_error(self) -> ErrorData {
        match self {
            Self::Protocol(error) => error,
            Self::Refused(error) if error.kind == document::ErrorKind::NotFound => {
                ErrorData::resource_not_found(error.message, None)
            }
            Self::Refused(error) => ErrorData::invalid_params(error.message, None),
        }
    }
}

impl From<spinney_app::Error> for Fault {
    fn from(error: spinney_app::Error) -> Self {
        Self::Refused(Box::new(document::Error::of(&error, Front::Tools)))
    }
}

impl From<spinney_app::InvalidRequest> for Fault {
    fn from(error: spinney_app::InvalidRequest) -> Self {
        spinney_app::Error::from(error).into()
    }
}

impl From<spinney_engine::Error> for Fault {
    fn from(error: spinney_engine::Error) -> Self {
        spinney_app::Error::from(error).into()
    }
}

impl From<spinney_jobs::Error> for Fault {
    fn from(error: spinney_jobs::Error) -> Self {
        spinney_app::Error::from(error).into()
    }
}
