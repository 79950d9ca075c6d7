//! What the protocols have in common: prompts, and the tool calls that the model made since.

/// Texts that an agent puts before the prompt of its own accord.
const CONTEXT: [&str; 3] = ["<system-reminder>", "<environment_context>", "<session_context>"];

/// One message of a request, oldest first.
#[derive(Debug)]
pub(super) enum Entry {
    /// The texts of a user's message.
    Prompt(Vec<String>),
    /// A tool call of the model.
    Call,
    Other,
}

/// A request, whatever its protocol.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// Every prompt so far, oldest first.
    pub prompts: Vec<String>,
    /// The tool calls since the newest.
    pub calls: usize,
    /// How many messages were sent.
    pub messages: usize,
    /// The tools that the agent offers. None are with a side question, as that for a session's title.
    pub tools: Vec<String>,
}

impl Conversation {
    pub fn new(entries: Vec<Entry>, messages: usize, tools: Vec<String>) -> Self {
        let mut conversation = Self { messages, tools, ..Self::default() };
        for entry in entries {
            match entry {
                Entry::Call => conversation.calls += 1,
                Entry::Other => {}
                Entry::Prompt(texts) => {
                    let is_context = |text: &String| CONTEXT.iter().any(|mark| text.trim_start().starts_with(mark));
                    let own: Vec<String> = texts.into_iter().filter(|text| !is_context(text)).collect();
                    if !own.is_empty() {
                        conversation.prompts.push(own.join("\n"));
                        conversation.calls = 0;
                    }
                }
            }
        }
        conversation
    }

    /// Whether a tool of this name is offered.
    pub fn has(&self, tool: &str) -> bool {
        self.tools.iter().any(|name| name == tool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_count_since_the_newest_prompt_and_context_is_no_prompt() {
        let prompt = |texts: &[&str]| Entry::Prompt(texts.iter().map(|text| (*text).to_owned()).collect());
        let entries = vec![
            prompt(&["<system-reminder>STUB:SAY no", "one"]),
            Entry::Call,
            Entry::Other,
            prompt(&["two", "three"]),
            Entry::Call,
            prompt(&["<system-reminder>x"]),
            Entry::Call,
        ];
        let conversation = Conversation::new(entries, 7, Vec::new());
        assert_eq!(conversation.prompts, ["one", "two\nthree"]);
        assert_eq!((conversation.calls, conversation.messages), (2, 7));
    }
}
