//! Reading what `push --porcelain` answers.

use crate::transfer::push::Pushed;

/// What became of the branch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Answer {
    Pushed(Pushed),
    /// It would have replaced somebody's commits, or not what the lease says.
    Rejected(String),
    /// The remote did not want it.
    Refused(String),
    /// The remote went away before it said what became of it.
    Lost(String),
}

/// Reads `<flag>\t<from>:<to>\t<summary> (<reason>)`. Where there are several addresses, the worst answer counts.
pub(crate) fn parse_push(stdout: &[u8]) -> Option<Answer> {
    let text = String::from_utf8_lossy(stdout);
    let answers: Vec<Answer> = text.lines().filter_map(parse_line).collect();
    answers.iter().find(|answer| !matches!(answer, Answer::Pushed(_))).or(answers.first()).cloned()
}

fn parse_line(line: &str) -> Option<Answer> {
    let mut fields = line.splitn(3, '\t');
    let (flag, _refs, summary) = (fields.next()?, fields.next()?, fields.next()?);
    match flag {
        "*" => Some(Answer::Pushed(Pushed::New)),
        " " | "+" => Some(Answer::Pushed(Pushed::Updated)),
        "=" => Some(Answer::Pushed(Pushed::UpToDate)),
        "!" => {
            let reason = summary.split_once(" (").and_then(|(_, rest)| rest.strip_suffix(')')).unwrap_or(summary);
            let answer = match summary {
                _ if summary.starts_with("[rejected]") => Answer::Rejected,
                _ if summary.starts_with("[remote failure]") => Answer::Lost,
                _ => Answer::Refused,
            };
            Some(answer(reason.to_owned()))
        }
        _ => None,
    }
}

/// The remote's own words, without what it says of its progress and what makes a terminal do things.
pub(crate) fn parse_words(stderr: &str) -> Vec<String> {
    const PROGRESS: [&str; 4] = ["Resolving deltas", "Counting objects", "Compressing objects", "Enumerating objects"];
    let words = |line: &str| {
        let line = without_escapes(line.strip_prefix("remote:")?);
        let line = line.trim().to_owned();
        (!line.is_empty() && !PROGRESS.iter().any(|word| line.starts_with(word))).then_some(line)
    };
    stderr.lines().filter_map(words).collect()
}

/// A line without the sequences that colour it, and without control characters.
fn without_escapes(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        if c == '\u{1b}' {
            // Up to the letter that ends it.
            rest.by_ref().find(char::is_ascii_alphabetic);
        } else if !c.is_control() {
            plain.push(c);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile;

    #[test]
    fn every_flag_is_read() {
        let line = |flag: &str, summary: &str| {
            parse_push(format!("To /srv/a b.git\n{flag}\taa:refs/heads/x\t{summary}\nDone\n").as_bytes())
        };
        assert_eq!(line("*", "[new branch]"), Some(Answer::Pushed(Pushed::New)));
        assert_eq!(line(" ", "aa..bb"), Some(Answer::Pushed(Pushed::Updated)));
        assert_eq!(line("+", "aa...bb (forced update)"), Some(Answer::Pushed(Pushed::Updated)));
        assert_eq!(line("=", "[up to date]"), Some(Answer::Pushed(Pushed::UpToDate)));
        assert_eq!(line("!", "[rejected] (stale info)"), Some(Answer::Rejected("stale info".into())));
        assert_eq!(
            line("!", "[remote rejected] (pre-receive hook declined)"),
            Some(Answer::Refused("pre-receive hook declined".into()))
        );
        assert_eq!(
            line("!", "[remote failure] (remote failed to report status)"),
            Some(Answer::Lost("remote failed to report status".into()))
        );
        assert_eq!(parse_push(b"Everything up-to-date\n"), None);
    }

    #[test]
    fn one_address_that_refuses_counts() {
        let text =
            b"To a\n*\tx:refs/heads/x\t[new branch]\nDone\nTo b\n!\tx:refs/heads/x\t[rejected] (fetch first)\nDone\n";
        assert_eq!(parse_push(text), Some(Answer::Rejected("fetch first".into())));
    }

    #[test]
    fn the_remotes_words_are_plain() {
        let stderr = "Enumerating objects: 3\nremote: Resolving deltas: 100%\nremote: \nremote: \u{1b}[1;31merror: no\u{1b}[0m \u{7}way        \nerror: failed\n";
        assert_eq!(parse_words(stderr), ["error: no way"]);
    }

    proptest! {
        #[test]
        fn no_output_makes_it_panic(text in "(?s)(!\t|\\*\t|\t|\n|remote: |\u{1b}\\[|.){0,60}") {
            let _ = (parse_push(text.as_bytes()), parse_words(&text));
        }
    }

    #[test]
    fn much_is_read_in_time() {
        hostile::assert_fast(&["!\t", "remote: ", "\u{1b}["], |stdout| {
            let _ = (parse_push(stdout), parse_words(&String::from_utf8_lossy(stdout)));
        });
    }
}
