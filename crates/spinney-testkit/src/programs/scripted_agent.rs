//! An agent that does what its prompt says: a shell script, so that it starts in two milliseconds and is there without
//! being built, wherever the tests run from.
//!
//! The prompt comes on standard input, one instruction a line; empty lines and those that begin with `# ` are skipped.
//! One that fails ends it with status 1, one that does not exist with 64.
//!
//! | instruction | what it does |
//! | --- | --- |
//! | `write PATH TEXT`, `append PATH TEXT`, `touch PATH` | changes a file; makes its directory |
//! | `write-outside PATH TEXT` | the same as `write`, to say that the path is not in the workspace |
//! | `commit MESSAGE` | commits all that changed |
//! | `git ARGUMENTS` | runs git, with a shell's quoting |
//! | `rename-branch NAME`, `detach-head`, `delete-own-directory` | what an agent should not do |
//! | `print TEXT`, `error TEXT` | a line on standard output, or on standard error |
//! | `flood BYTES` | that much on standard output, in short lines |
//! | `long-line BYTES` | that much in one line |
//! | `env NAME`, `dump-env PATH`, `arguments`, `prompt-file` | shows what it was given |
//! | `sleep SECONDS`, `wait-for PATH` | takes time; until a file is there |
//! | `gate DIRECTORY` | makes `DIRECTORY/PID.in`, waits for `DIRECTORY/go`, and takes it away again |
//! | `pid PATH` | writes its process id to a file |
//! | `child PATH` | leaves a child in its process group that holds its output open; its process id goes to a file |
//! | `daemon PATH` | leaves one that is in a session of its own and has closed its output |
//! | `ignore-term` | is deaf to `SIGTERM` from here on, and so are its children |
//! | `once PATH INSTRUCTION` | only if the file is not there yet, which it then is |
//! | `crash`, `exit STATUS` | ends, by `SIGKILL` or itself |

use std::path::PathBuf;

/// The program.
#[must_use]
pub fn scripted_agent() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/agent/scripted-agent"))
}
