//! Advice in the terms of each front: the command line names a command, the API a field or an endpoint, a chat a slash
//! command. One table says all three, so that no front can forget one.

mod terms;
mod tools;

use spinney_core::Advice;

use terms::terms;

/// Who is advised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Front {
    CommandLine,
    /// The API, and the dashboard with it.
    Api,
    Chat,
    /// The tools of the MCP server.
    Tools,
}

/// An advice as each front says it; none where whoever reads it there can't do it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Terms {
    command_line: Option<String>,
    api: Option<String>,
    chat: Option<String>,
}

impl Terms {
    /// The same everywhere but in a chat, where nobody has the machine at hand.
    fn same(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { command_line: Some(text.clone()), api: Some(text), chat: None }
    }

    /// Different on the command line and in the API, nothing in a chat.
    fn each(command_line: impl Into<String>, api: impl Into<String>) -> Self {
        Self { command_line: Some(command_line.into()), api: Some(api.into()), chat: None }
    }

    /// Nothing that a request could do.
    fn command_line(text: impl Into<String>) -> Self {
        Self { command_line: Some(text.into()), ..Self::default() }
    }

    fn in_chat(self, text: impl Into<String>) -> Self {
        Self { chat: Some(text.into()), ..self }
    }
}

/// One advice, in the terms of a front; none where it helps nobody there.
#[must_use]
pub fn advise(advice: &Advice, front: Front) -> Option<String> {
    let Terms { command_line, api, chat } = terms(advice);
    match front {
        Front::CommandLine => command_line,
        Front::Api => api,
        Front::Chat => chat,
        Front::Tools => match tools::terms(advice) {
            Some(terms) => Some(terms),
            // What is neither an endpoint nor its field is said as it is.
            None => api.filter(|text| !tools::is_of_requests(text)),
        },
    }
}

/// All of it, in the terms of a front.
#[must_use]
pub fn advise_all(advice: &[Advice], front: Front) -> Vec<String> {
    advice.iter().filter_map(|advice| advise(advice, front)).collect()
}

#[cfg(test)]
mod tests;
