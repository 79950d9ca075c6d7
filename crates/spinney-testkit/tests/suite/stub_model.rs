//! The stub model speaks each protocol, streamed and whole.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};
use spinney_testkit::StubModel;

/// One protocol: where to ask, a request with this prompt, and what is found in an answer.
struct Protocol {
    path: &'static str,
    streamed_path: &'static str,
    request: fn(prompt: &str) -> Value,
    /// Of a tool call that writes `it's` to `a.txt`.
    call: &'static [&'static str],
    /// Of an answer for which 5,000 tokens went in.
    usage: &'static [&'static str],
}

const PROTOCOLS: [Protocol; 4] = [
    Protocol {
        path: "/v1/messages",
        streamed_path: "/v1/messages?beta=true",
        request: |prompt| {
            let reminder = json!({ "type": "text", "text": "<system-reminder>STUB:FAIL 500" });
            let content = json!([reminder, { "type": "text", "text": prompt }]);
            json!({ "model": "m", "messages": [{ "role": "user", "content": content }], "tools": [{ "name": "Write" }] })
        },
        call: &[r#""name":"Write""#, "a.txt", "it's", r#""stop_reason":"tool_use""#],
        usage: &[r#""cache_read_input_tokens":4830"#, r#""input_tokens":120"#],
    },
    Protocol {
        path: "/v1/responses",
        streamed_path: "/v1/responses",
        request: |prompt| {
            let content = json!([{ "type": "input_text", "text": prompt }]);
            let input = json!([{ "type": "message", "role": "user", "content": content }]);
            json!({ "model": "m", "input": input, "tools": [{ "type": "function", "name": "exec_command" }] })
        },
        call: &[r#""name":"exec_command""#, "a.txt", "it'", r#""type":"function_call""#],
        usage: &[r#""input_tokens":5000"#],
    },
    Protocol {
        path: "/v1/chat/completions",
        streamed_path: "/v1/chat/completions",
        request: |prompt| {
            let tools = json!([{ "type": "function", "function": { "name": "write" } }]);
            json!({ "model": "m", "messages": [{ "role": "user", "content": prompt }], "tools": tools })
        },
        call: &[r#""name":"write""#, "a.txt", "it's", r#""finish_reason":"tool_calls""#],
        usage: &[r#""prompt_tokens":5000"#],
    },
    Protocol {
        path: "/v1beta/models/m:generateContent",
        streamed_path: "/v1beta/models/m:streamGenerateContent?alt=sse",
        request: |prompt| {
            let tools = json!([{ "functionDeclarations": [{ "name": "write_file" }] }]);
            json!({ "contents": [{ "role": "user", "parts": [{ "text": prompt }] }], "tools": tools })
        },
        call: &[r#""name":"write_file""#, "a.txt", "it's", "functionCall"],
        usage: &[r#""promptTokenCount":5000"#],
    },
];

/// Sends a request; gives the status, the type of the answer, and the answer.
fn post(model: &StubModel, path: &str, body: &Value) -> (u16, String, String) {
    let host = model.url().replace("http://", "");
    let mut stream = TcpStream::connect(&host).unwrap();
    let (body, mut answer) = (body.to_string(), String::new());
    write!(stream, "POST {path} HTTP/1.1\r\nHost: {host}\r\nX-Key: k\r\nContent-Length: {}\r\n\r\n{body}", body.len())
        .unwrap();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let kind = head.lines().find_map(|line| line.strip_prefix("Content-Type: ")).unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), kind.to_owned(), body.to_owned())
}

fn assert_holds(answer: &str, expected: &[&str]) {
    assert!(expected.iter().all(|text| answer.contains(text)), "{expected:?} in {answer}");
}

#[test]
fn each_protocol_calls_tools_says_things_counts_and_fails() {
    for protocol in PROTOCOLS {
        let model = StubModel::start();
        for is_streamed in [false, true] {
            let path = if is_streamed { protocol.streamed_path } else { protocol.path };
            let ask = |prompt: &str| {
                let mut request = (protocol.request)(prompt);
                request["stream"] = (is_streamed && !path.contains("enerateContent")).into();
                post(&model, path, &request)
            };
            let (status, kind, answer) = ask("STUB:SAY I write\nSTUB:USAGE 5000\nSTUB:WRITE a.txt it's");
            assert_eq!(
                (status, kind.as_str()),
                (200, if is_streamed { "text/event-stream" } else { "application/json" })
            );
            assert_holds(&answer, protocol.call);
            assert_holds(&answer, protocol.usage);
            assert_holds(&answer, &["I write"]);
            assert_holds(&ask("hello").2, &["done (1 messages seen)"]);
            let (status, kind, answer) = ask("STUB:FAIL 429");
            assert_eq!((status, kind.as_str()), (429, "application/json"));
            assert_holds(&answer, &["the stub fails as told"]);
        }
        let request = &model.requests()[0];
        assert_eq!((request.path.as_str(), request.header("x-key")), (protocol.path, Some("k")));
        assert!(request.mentions("STUB:SAY I write") && request.tools().len() == 1, "{request:?}");
    }
}

#[test]
fn what_agents_ask_beside_is_answered_and_not_remembered() {
    let model = StubModel::start();
    let (status, _, answer) = post(&model, "/v1/messages/count_tokens", &json!({}));
    assert_eq!(status, 200);
    assert_holds(&answer, &["input_tokens"]);
    assert!(model.requests().is_empty());
}
