//! What agents and their runtimes are called.

use crate::values::checked_text::checked_text;

const MAX_AGENT_BYTES: usize = 40;
const MAX_RUNTIME_BYTES: usize = 20;

checked_text!(
    /// An agent's name, as `coder`: safe in a branch, in a path and in a key of the configuration.
    AgentName,
    is_agent_name,
    /// A text that can't name an agent.
    InvalidAgentName: "`{}` is not an agent's name: at most 40 lowercase letters, digits, `-` and `_`, a letter or digit first"
);

checked_text!(
    /// A runtime's name, as `claude`. Which runtimes there are is for those to know who run them.
    RuntimeName,
    is_runtime_name,
    /// A text that can't name a runtime.
    InvalidRuntimeName: "`{}` is not a runtime's name such as `claude`: at most 20 lowercase letters"
);

fn is_agent_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    text.len() <= MAX_AGENT_BYTES && text.starts_with(plain) && text.chars().all(|c| plain(c) || "-_".contains(c))
}

fn is_runtime_name(text: &str) -> bool {
    (1..=MAX_RUNTIME_BYTES).contains(&text.len()) && text.chars().all(|c| c.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BranchName;

    #[test]
    fn an_agents_name_can_be_part_of_a_branch() {
        let long = "x".repeat(MAX_AGENT_BYTES);
        for name in ["coder", "a", "7", "code-review_2", &long] {
            assert_eq!(name.parse::<AgentName>().unwrap().as_str(), name);
            assert!(format!("agent/{name}/x").parse::<BranchName>().is_ok(), "{name}");
        }
    }

    #[test]
    fn other_texts_name_no_agent() {
        let long = "x".repeat(MAX_AGENT_BYTES + 1);
        for name in ["", "Coder", "-x", "_x", "a.b", "a/b", "a b", "größe", "a\nb", "..", &long] {
            assert!(name.parse::<AgentName>().is_err(), "{name}");
        }
        let message = "A\nb".parse::<AgentName>().unwrap_err().to_string();
        assert!(message.starts_with("`A\\nb` is not an agent's name: "), "{message}");
    }

    #[test]
    fn a_runtime_is_one_word() {
        for name in ["claude", "acp", "command", "opencode"] {
            assert!(name.parse::<RuntimeName>().is_ok(), "{name}");
        }
        let long = "x".repeat(MAX_RUNTIME_BYTES + 1);
        for name in ["", "Claude", "claude code", "c1", "a-b", &long] {
            assert!(name.parse::<RuntimeName>().is_err(), "{name}");
        }
    }
}
