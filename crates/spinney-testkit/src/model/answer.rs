//! What the model answers to a conversation.

use std::collections::HashSet;
use std::sync::Mutex;

use super::conversation::Conversation;
use super::instruction::{self, Action, Instruction, NOTE};

/// What goes in where no instruction says otherwise.
const INPUT_TOKENS: u64 = 1200;
/// Words of a prompt that asks for a hand-off note.
const ASKS_FOR_NOTE: [&str; 2] = ["hand-off", "handoff"];

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Turn(Turn),
    /// An HTTP status.
    Failure(u16),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Turn {
    pub text: String,
    pub action: Option<Action>,
    pub input_tokens: u64,
}

/// Finds answers; remembers what has failed once.
#[derive(Debug, Default)]
pub(super) struct Answers {
    failed: Mutex<HashSet<(String, usize, usize)>>,
}

impl Answers {
    pub fn to(&self, conversation: &Conversation) -> Answer {
        let prompt = conversation.prompts.last().map_or("", String::as_str);
        let instructions = instruction::parse(prompt);
        let mut turn = Turn { input_tokens: INPUT_TOKENS, ..Turn::default() };
        let is_side_question = conversation.tools.is_empty();
        let mut calls = 0;
        let mut texts = Vec::new();
        for (place, instruction) in instructions.iter().enumerate() {
            // What stands before the last call was done in an earlier answer.
            let is_now = calls == conversation.calls;
            match instruction {
                Instruction::Fail(status) if is_now => return Answer::Failure(*status),
                Instruction::FailOnce(status) if is_now && !is_side_question => {
                    let key = (prompt.to_owned(), conversation.messages, place);
                    if self.failed.lock().expect("no thread panicked").insert(key) {
                        return Answer::Failure(*status);
                    }
                }
                Instruction::Say(text) if is_now => texts.push(text.clone()),
                Instruction::Usage(tokens) if is_now => turn.input_tokens = *tokens,
                Instruction::Do(action) if !is_side_question => {
                    if is_now {
                        turn.action = Some(action.clone());
                        break;
                    }
                    calls += 1;
                }
                _ => {}
            }
        }
        if instructions.is_empty() && asks_for_note(prompt) {
            texts.push(note(conversation));
        }
        if turn.action.is_none() && texts.is_empty() {
            texts.push(format!("done ({} messages seen)", conversation.messages));
        }
        turn.text = texts.join("\n");
        Answer::Turn(turn)
    }
}

fn asks_for_note(prompt: &str) -> bool {
    let prompt = prompt.to_lowercase();
    ASKS_FOR_NOTE.iter().any(|words| prompt.contains(words)) && !prompt.contains(&NOTE.to_lowercase())
}

/// The note that an earlier prompt told us to write.
fn note(conversation: &Conversation) -> String {
    let notes = conversation.prompts.iter().rev().flat_map(|prompt| instruction::parse(prompt));
    let text = notes.into_iter().find_map(|instruction| match instruction {
        Instruction::Note(text) => Some(text),
        _ => None,
    });
    format!("{NOTE} {}", text.as_deref().unwrap_or("go on with what is left to do"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(prompts: &[&str], calls: usize) -> Conversation {
        let prompts = prompts.iter().map(|prompt| (*prompt).to_owned()).collect();
        Conversation { prompts, calls, messages: 1 + 2 * calls, tools: vec!["write".to_owned()] }
    }

    fn turn(answer: Answer) -> Turn {
        match answer {
            Answer::Turn(turn) => turn,
            Answer::Failure(status) => panic!("failed with {status}"),
        }
    }

    #[test]
    fn one_call_an_answer_and_then_the_end() {
        let prompt = "STUB:SAY first\nSTUB:BASH one\nSTUB:USAGE 7\nSTUB:BASH two";
        let answers = Answers::default();
        let at = |calls| turn(answers.to(&asked(&[prompt], calls)));
        let run = |command: &str| Some(Action::Run(command.to_owned()));
        assert_eq!(at(0), Turn { text: "first".into(), action: run("one"), input_tokens: INPUT_TOKENS });
        assert_eq!(at(1), Turn { text: String::new(), action: run("two"), input_tokens: 7 });
        assert_eq!(
            at(2),
            Turn { text: "done (5 messages seen)".into(), action: None, input_tokens: INPUT_TOKENS },
            "usage is normal again"
        );
    }

    #[test]
    fn an_older_prompt_is_not_done_again() {
        let answer = turn(Answers::default().to(&asked(&["STUB:BASH one", "hello"], 0)));
        assert_eq!((answer.text.as_str(), answer.action), ("done (1 messages seen)", None));
    }

    #[test]
    fn failures_come_once_or_always_when_their_turn_has_come() {
        let answers = Answers::default();
        let always = asked(&["STUB:FAIL 500"], 0);
        assert!((0..3).all(|_| answers.to(&always) == Answer::Failure(500)));
        let once = asked(&["STUB:BASH one\nSTUB:FAILONCE 529\nSTUB:SAY after"], 1);
        assert_eq!(answers.to(&once), Answer::Failure(529));
        assert_eq!(turn(answers.to(&once)).text, "after");
        let side = Conversation { tools: Vec::new(), ..asked(&["STUB:FAILONCE 500"], 0) };
        assert!(turn(answers.to(&side)).text.starts_with("done"), "a side question uses no failure up");
    }

    #[test]
    fn a_note_is_given_when_asked_for() {
        let answers = Answers::default();
        let first = "STUB:USAGE 190000\nSTUB:NOTE STUB:WRITE b.txt x";
        assert!(turn(answers.to(&asked(&[first], 0))).text.starts_with("done"));
        let note = turn(answers.to(&asked(&[first, "Write a hand-off note."], 0))).text;
        assert_eq!(note, "STUB-NOTE: STUB:WRITE b.txt x");
        let next = format!("{first}\n\nThe hand-off note of the session before:\n{note}");
        let answer = turn(answers.to(&asked(&[&next], 0)));
        assert_eq!(answer.action, Some(Action::Write { path: "b.txt".into(), text: "x".into() }));
        assert_eq!(answer.input_tokens, INPUT_TOKENS);
    }
}
