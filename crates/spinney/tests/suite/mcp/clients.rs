//! Clients that others wrote. `cargo xtask test` installs them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use spinney_testkit::{AgentCli, Sandbox, StubModel, mcp_npm_clients, mcp_python_client};

use crate::support::api::{Served, create_token};
use crate::support::common::{BINARY, Story, names};

/// A client's program in the sandbox of a story.
fn client(story: &Story, path: PathBuf, arguments: &[&str]) -> Command {
    let mut command = story.sandbox().command(path);
    command.args(arguments).current_dir(story.repository.path());
    command
}

#[track_caller]
fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{stdout}\n{stderr}");
    stdout.into_owned()
}

#[test]
fn the_inspector_lists_and_calls_tools() {
    let Some(npm) = mcp_npm_clients() else { return };
    let story = Story::new();
    let inspector = npm.join("node_modules/.bin/mcp-inspector");
    let ask = |arguments: &[&str]| -> Value {
        let arguments = [&["--cli", BINARY, "mcp"], arguments].concat();
        serde_json::from_str(&output(&mut client(&story, inspector.clone(), &arguments))).unwrap()
    };
    assert_eq!(ask(&["--method", "tools/list"])["tools"].as_array().unwrap().len(), 12);
    let called = ask(&[
        "--method",
        "tools/call",
        "--tool-name",
        "workspace_new",
        "--tool-arg",
        "kind=task",
        "--tool-arg",
        "key=try it",
    ]);
    assert_eq!(called["structuredContent"]["name"], "task-try-it", "{called}");
    assert_eq!(names(&story.cli), ["task-try-it"]);
}

const TYPESCRIPT: &str = r#"
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
const [how, ...rest] = process.argv.slice(2);
const transport = how === "stdio"
  ? new StdioClientTransport({ command: rest[0], args: ["mcp"], env: process.env })
  : new StreamableHTTPClientTransport(new URL(rest[0]), { requestInit: { headers: { Authorization: `Bearer ${rest[1]}` } } });
const repository = how === "stdio" ? {} : { repository: rest[2] };
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);
const { tools } = await client.listTools();
const call = async (name, args) => client.callTool({ name, arguments: args });
const made = await call("workspace_new", { ...repository, kind: "issue", key: "8" });
const listed = await call("workspace_list", repository);
const why = await call("workspace_why", { name: "issue-8", ...repository });
const conflicts = await call("conflicts", repository);
const context = await call("context", {});
const job = await call("run", { ...repository, prompt: "print hello" });
let told = 0;
const ended = await client.callTool({ name: "job_wait", arguments: { id: job.structuredContent.id } }, undefined, { onprogress: () => told++ });
const log = await call("job_get", { id: job.structuredContent.id, log: true });
const removed = await call("workspace_remove", { name: "issue-8", ...repository });
const restored = await call("workspace_restore", { name: removed.structuredContent.id, ...repository });
let wrong = "nothing";
try { await call("nothing", {}); } catch (error) { wrong = error.message; }
console.log(JSON.stringify({ tools: tools.length, made: made.structuredContent.name, listed: listed.structuredContent.workspaces.length,
  removable: why.structuredContent.removable, conflicts: conflicts.structuredContent.conflicts.length, account: context.structuredContent.account,
  ended: ended.structuredContent.status, events: log.structuredContent.events.length > 0, restored: restored.structuredContent.status, wrong }));
await client.close();
"#;

fn assert_spoken(told: &str) {
    let told: Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
    let expected = json!({ "tools": 12, "made": "issue-8", "listed": 1, "removable": true, "conflicts": 0, "account": "local",
        "ended": "completed", "events": true, "restored": "active" });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&told[name], value, "{name}: {told}");
    }
    assert!(told["wrong"].as_str().unwrap().contains("the tool `nothing` is unknown"), "{told}");
}

#[test]
fn the_typescript_sdk_speaks_with_it_over_stdio_and_http() {
    let Some(npm) = mcp_npm_clients() else { return };
    let served = Served::new("");
    let story = &served.workshop.story;
    // Modules are looked for from where a script lies.
    let script = npm.join(format!("speak-{}.mjs", std::process::id()));
    fs::write(&script, TYPESCRIPT).unwrap();
    let path = script.to_str().unwrap();
    assert_spoken(&output(&mut client(story, "node".into(), &[path, "stdio", BINARY])));
    served.workshop.cli.run(&["rm", "issue-8"]).ok();
    served.workshop.cli.run(&["trash", "purge", "--all", "--yes"]);
    let token = create_token(&served.workshop, "write", &[]);
    let told = output(&mut client(
        story,
        "node".into(),
        &[path, "http", &served.daemon.url("/mcp"), &token, served.repository()],
    ));
    assert_spoken(&told);
    fs::remove_file(&script).unwrap();
}

const PYTHON: &str = r#"
import asyncio, json, os, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    server = StdioServerParameters(command=sys.argv[1], args=["mcp"], env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        call = session.call_tool
        told = {"tools": len((await session.list_tools()).tools)}
        made = await call("workspace_new", {"kind": "issue", "key": "8"})
        told["made"] = made.structured_content["name"]
        told["listed"] = len((await call("workspace_list", {})).structured_content["workspaces"])
        told["removable"] = (await call("workspace_why", {"name": "issue-8"})).structured_content["removable"]
        told["conflicts"] = len((await call("conflicts", {})).structured_content["conflicts"])
        told["account"] = (await call("context", {})).structured_content["account"]
        job = (await call("run", {"prompt": "print hello"})).structured_content["id"]
        told["ended"] = (await call("job_wait", {"id": job})).structured_content["status"]
        told["events"] = len((await call("job_get", {"id": job, "log": True})).structured_content["events"]) > 0
        gone = (await call("workspace_remove", {"name": "issue-8"})).structured_content["id"]
        told["restored"] = (await call("workspace_restore", {"name": gone})).structured_content["status"]
        try:
            told["wrong"] = str((await call("nothing", {})).content[0].text)
        except Exception as error:
            told["wrong"] = str(error)
        print(json.dumps(told))

asyncio.run(main())
"#;

#[test]
fn the_python_sdk_speaks_with_it() {
    let Some(python) = mcp_python_client() else { return };
    let workshop = crate::support::job::Workshop::new("");
    assert_spoken(&output(&mut client(&workshop.story, python, &["-c", PYTHON, BINARY])));
}

/// Passes requests on with a token, which the conformance suite can't show. Prints its port.
const WITH_TOKEN: &str = r#"
const http = require("node:http");
const [port, token] = process.argv.slice(1);
const server = http.createServer((asked, answer) => {
  const headers = { ...asked.headers, authorization: `Bearer ${token}` };
  const on = http.request({ port, host: "127.0.0.1", path: asked.url, method: asked.method, headers }, (reply) => {
    answer.writeHead(reply.statusCode, reply.headers);
    reply.pipe(answer);
  });
  on.on("error", () => answer.destroy());
  asked.pipe(on);
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
"#;

/// The scenarios of the conformance suite that are about what this server has. The others ask for tools, prompts and resources
/// of the suite's own.
const CONFORMS: [&str; 5] = ["server-initialize", "ping", "tools-list", "resources-list", "dns-rebinding-protection"];

#[test]
fn the_conformance_suite_passes() {
    let Some(npm) = mcp_npm_clients() else { return };
    let served = Served::new("");
    let story = &served.workshop.story;
    let token = create_token(&served.workshop, "write", &[]);
    let node = npm.join("node_modules/.bin/node");
    let port = served.daemon.address().port().to_string();
    let mut proxy =
        client(story, node.clone(), &["-e", WITH_TOKEN, &port, &token]).stdout(Stdio::piped()).spawn().unwrap();
    let mut port = String::new();
    BufReader::new(proxy.stdout.take().unwrap()).read_line(&mut port).unwrap();
    let url = format!("http://127.0.0.1:{}/mcp", port.trim());
    let suite = npm.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    for scenario in CONFORMS {
        let arguments = [suite.to_str().unwrap(), "server", "--url", &url, "--scenario", scenario];
        output(&mut client(story, node.clone(), &arguments));
    }
    proxy.kill().unwrap();
    proxy.wait().unwrap();
}

/// Runs a real agent; gives the repository that it worked in, and the model that it asked.
#[track_caller]
fn run(agent: &AgentCli, arguments: &[&str]) -> (Story, StubModel) {
    // Not in the directory for temporary files, which Codex's sandbox leaves open.
    let sandbox = Sandbox::inside(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let story = Story::of(sandbox.repository("app").with_remote());
    let model = StubModel::start();
    let mut command = client(&story, agent.program().to_owned(), arguments);
    command.envs(agent.environment(&model, &story.sandbox().home())).stdin(Stdio::null());
    output(&mut command);
    (story, model)
}

#[test]
fn claude_code_calls_our_tools() {
    let Some(claude) = AgentCli::claude() else { return };
    let config = json!({ "mcpServers": { "spinney": { "command": BINARY, "args": ["mcp"] } } }).to_string();
    let prompt = "STUB:CALL mcp__spinney__workspace_new {\"kind\":\"issue\",\"key\":\"5\"}";
    let arguments = ["-p", prompt, "--mcp-config", &config, "--strict-mcp-config", "--allowedTools", "mcp__spinney"];
    let (story, _) = run(&claude, &arguments);
    assert_eq!(names(&story.cli), ["issue-5"]);
}

#[test]
fn codex_offers_its_model_our_tools() {
    let Some(codex) = AgentCli::codex() else { return };
    let server = format!("mcp_servers.spinney={{command={},args=[\"mcp\"]}}", json!(BINARY));
    let (_, model) = run(&codex, &["exec", "--json", "--skip-git-repo-check", "-c", &server, "hello"]);
    assert!(model.requests().iter().any(|request| request.mentions("workspace_remove")));
}
