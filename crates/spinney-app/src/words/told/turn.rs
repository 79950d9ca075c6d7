//! Why a turn of an agent failed, and why its runtime tries again.

use spinney_jobs::told::{Ended, Refusal, Retry, TurnFailure};

pub(super) fn failure(failure: &TurnFailure) -> String {
    match failure {
        TurnFailure::ConversationGone => "its conversation is gone".to_owned(),
        TurnFailure::Other(said) => said.clone(),
        TurnFailure::Unexplained => "the turn failed".to_owned(),
        TurnFailure::ProgramFailed => "it failed".to_owned(),
        TurnFailure::Exit(ended) => with_last_words(exit(ended), ended),
        TurnFailure::ExitInTurn(ended) => with_last_words(exit_in_turn(ended), ended),
        TurnFailure::NoResult => "it ended without a result".to_owned(),
        TurnFailure::Unfinished => "it ended without finishing its turn".to_owned(),
        TurnFailure::NoAnswer => "it ended without an answer".to_owned(),
        TurnFailure::ClosedEarly => "it ended before its turn was over".to_owned(),
        TurnFailure::EndedWith(word) => format!("it ended with `{word}`"),
        TurnFailure::StoppedWith(word) => format!("it stopped with `{word}`"),
        TurnFailure::StoppedWhenRefused { tool } => format!("it stopped when it was refused `{tool}`"),
        TurnFailure::SilentAfter(refusal) => {
            format!("it ended without an answer after {} was refused", refused(refusal))
        }
        TurnFailure::NoMcpOverHttp { server } => {
            format!("its agent can't use MCP server `{server}`: it takes programs only, no addresses")
        }
        TurnFailure::MostTokens => "it reached the most tokens that its model allows".to_owned(),
        TurnFailure::MostRequests => "it reached the most requests that it allows in a turn".to_owned(),
        TurnFailure::RefusedToGoOn => "it refused to go on".to_owned(),
        TurnFailure::Cancelled => "it was cancelled".to_owned(),
        TurnFailure::UnknownReason => "it stopped for an unknown reason".to_owned(),
        TurnFailure::ContextFull => "its context is full".to_owned(),
        TurnFailure::NoPipes => "its pipes are missing".to_owned(),
    }
}

pub(super) fn retry(retry: &Retry) -> String {
    let Retry { error, status, attempt, most } = retry;
    let error = error.as_deref().unwrap_or("the API failed");
    let status = status.map(|status| format!(" ({status})")).unwrap_or_default();
    format!("{error}{status}, retry {attempt} of {most}")
}

fn exit(ended: &Ended) -> String {
    match (ended.status, ended.signal) {
        (Some(status), _) => format!("exit status {status}"),
        (None, Some(signal)) => format!("ended by signal {signal}"),
        (None, None) => "ended in an unknown way".to_owned(),
    }
}

fn exit_in_turn(ended: &Ended) -> String {
    match (ended.status, ended.signal) {
        (Some(status), _) => format!("its program ended with status {status} in the middle of the turn"),
        (None, Some(signal)) => format!("its program was ended by signal {signal}"),
        (None, None) => "its program ended".to_owned(),
    }
}

fn with_last_words(how: String, ended: &Ended) -> String {
    match &ended.said {
        Some(said) => format!("{how}: {said}"),
        None => how,
    }
}

fn refused(Refusal { tool, detail }: &Refusal) -> String {
    if detail.is_empty() { format!("`{tool}`") } else { format!("`{tool}` ({detail})") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(status: Option<i32>, signal: Option<i32>, said: Option<&str>) -> Ended {
        Ended { status, signal, said: said.map(ToOwned::to_owned) }
    }

    #[test]
    fn an_end_is_told_with_the_last_words() {
        let failed = TurnFailure::Exit(ended(Some(3), None, Some("no such file")));
        assert_eq!(failure(&failed), "exit status 3: no such file");
        assert_eq!(failure(&TurnFailure::Exit(ended(None, Some(9), None))), "ended by signal 9");
        let in_turn = TurnFailure::ExitInTurn(ended(Some(1), None, Some("out of memory")));
        assert_eq!(failure(&in_turn), "its program ended with status 1 in the middle of the turn: out of memory");
    }

    #[test]
    fn a_refusal_is_told_with_what_was_refused() {
        let refused = |detail: &str| {
            failure(&TurnFailure::SilentAfter(Refusal { tool: "Bash".into(), detail: detail.to_owned() }))
        };
        assert_eq!(refused("ls"), "it ended without an answer after `Bash` (ls) was refused");
        assert_eq!(refused(""), "it ended without an answer after `Bash` was refused");
        let stopped = TurnFailure::StoppedWhenRefused { tool: "bash".into() };
        assert_eq!(failure(&stopped), "it stopped when it was refused `bash`");
    }

    #[test]
    fn each_other_end_has_words() {
        for (failed, told) in [
            (TurnFailure::RefusedToGoOn, "it refused to go on"),
            (TurnFailure::MostTokens, "it reached the most tokens that its model allows"),
            (TurnFailure::Cancelled, "it was cancelled"),
            (TurnFailure::ClosedEarly, "it ended before its turn was over"),
            (TurnFailure::NoAnswer, "it ended without an answer"),
            (TurnFailure::NoResult, "it ended without a result"),
            (TurnFailure::Unfinished, "it ended without finishing its turn"),
        ] {
            assert_eq!(failure(&failed), told);
        }
    }

    #[test]
    fn a_retry_is_told_with_its_number() {
        let again = Retry { error: Some("server_error".into()), status: Some(500), attempt: 1, most: 10 };
        assert_eq!(retry(&again), "server_error (500), retry 1 of 10");
        assert_eq!(retry(&Retry { error: None, status: None, ..again }), "the API failed, retry 1 of 10");
    }
}
