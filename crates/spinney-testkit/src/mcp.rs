//! A small MCP client over the standard streams of the program under test: it sends what it is told, right or wrong.

use std::collections::VecDeque;
use std::env;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Cli;

/// What does not come within this time never will.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The protocol's version that it asks for.
const VERSION: &str = "2025-06-18";

/// A client and the server that it started. Dropped, the server is killed.
#[derive(Debug)]
pub struct McpClient {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    /// What came while something else was waited for.
    early: VecDeque<Value>,
    next_id: u64,
}

impl McpClient {
    /// Starts a server and introduces itself.
    #[must_use]
    #[track_caller]
    pub fn start(cli: &Cli, arguments: &[&str]) -> Self {
        let mut client = Self::silent(cli, arguments);
        let hello =
            json!({ "protocolVersion": VERSION, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
        let reply = client.request("initialize", &hello);
        assert!(reply["result"]["serverInfo"].is_object(), "{reply}");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    /// Starts a server and says nothing yet.
    #[must_use]
    #[track_caller]
    pub fn silent(cli: &Cli, arguments: &[&str]) -> Self {
        let mut command = cli.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // What an agent starts is ended with its job, and all that is in one group with it.
        command.process_group(0);
        let mut child = command.spawn().expect("the program can be started");
        let output = child.stdout.take().expect("stdout is piped");
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, lines, early: VecDeque::new(), next_id: 1 }
    }

    /// Sends a message.
    #[track_caller]
    pub fn send(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    /// Sends a line as it is.
    #[track_caller]
    pub fn send_line(&mut self, line: &str) {
        let input = self.input.as_mut().expect("it was not closed");
        input.write_all(line.as_bytes()).and_then(|()| input.write_all(b"\n")).expect("the server reads");
    }

    /// Sends a request under a new id, which it gives.
    #[track_caller]
    pub fn begin(&mut self, method: &str, params: &Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Waits for the next message, whatever it is.
    #[track_caller]
    pub fn next_message(&mut self) -> Value {
        self.early.pop_front().unwrap_or_else(|| self.read())
    }

    /// Waits for the answer to a request.
    #[track_caller]
    pub fn answer(&mut self, id: u64) -> Value {
        if let Some(place) = self.early.iter().position(|message| message["id"] == id) {
            return self.early.remove(place).expect("it is there");
        }
        loop {
            let message = self.read();
            if message["id"] == id {
                return message;
            }
            self.early.push_back(message);
        }
    }

    /// Asks, and waits for the answer.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id)
    }

    /// Calls a tool; gives its result, or the protocol's error.
    #[track_caller]
    pub fn try_call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))
    }

    /// Calls a tool, which must succeed; gives its document.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let reply = self.try_call(tool, arguments);
        assert_eq!(reply["result"]["isError"], false, "`{tool}` with {arguments}: {reply}");
        reply["result"]["structuredContent"].clone()
    }

    /// Calls a tool, which must refuse; gives the error's document.
    #[track_caller]
    pub fn refused(&mut self, tool: &str, arguments: &Value) -> Value {
        let reply = self.try_call(tool, arguments);
        assert_eq!(reply["result"]["isError"], true, "`{tool}` with {arguments}: {reply}");
        let text = reply["result"]["content"][0]["text"].as_str().expect("a text");
        serde_json::from_str::<Value>(text).expect("a JSON document")["error"].clone()
    }

    /// Calls a tool wrongly; gives the protocol's error.
    #[track_caller]
    pub fn wrong(&mut self, tool: &str, arguments: &Value) -> Value {
        let reply = self.try_call(tool, arguments);
        assert!(reply["error"].is_object(), "`{tool}` with {arguments}: {reply}");
        reply["error"].clone()
    }

    #[track_caller]
    fn read(&self) -> Value {
        match self.lines.recv_timeout(TIMEOUT) {
            Ok(line) => serde_json::from_str(&line)
                .unwrap_or_else(|error| panic!("stdout has a line that is none: {error}\n{line}")),
            Err(RecvTimeoutError::Timeout) => panic!("the server says nothing"),
            Err(RecvTimeoutError::Disconnected) => panic!("the server is gone"),
        }
    }

    /// Its process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Closes the server's input and waits for its end; gives its exit status and what it said.
    #[track_caller]
    pub fn close(mut self) -> (i32, String) {
        drop(self.input.take());
        let until = Instant::now() + TIMEOUT;
        let status = loop {
            match self.child.try_wait().expect("the child can be waited for") {
                Some(status) => break status,
                None if Instant::now() > until => panic!("the server does not end"),
                None => thread::sleep(Duration::from_millis(2)),
            }
        };
        let mut said = String::new();
        let error = self.child.stderr.take().expect("stderr is piped");
        BufReader::new(error).read_to_string(&mut said).expect("stderr is text");
        (status.code().unwrap_or(-1), said)
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The directory with npm's clients, if they are installed. If not, that is printed.
#[must_use]
pub fn mcp_npm_clients() -> Option<PathBuf> {
    installed("SPINNEY_TEST_MCP_NPM")
}

/// The Python that has PyPI's client, if it is installed. If not, that is printed.
#[must_use]
pub fn mcp_python_client() -> Option<PathBuf> {
    installed("SPINNEY_TEST_MCP_PYTHON")
}

fn installed(variable: &str) -> Option<PathBuf> {
    let found = env::var_os(variable).map(PathBuf::from);
    if found.is_none() {
        println!("left out: `{variable}` is not set; `cargo xtask test` installs it");
    }
    found
}
