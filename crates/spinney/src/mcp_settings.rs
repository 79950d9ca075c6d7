//! The file that tells agents' programs which MCP servers a repository has: ours goes in; all else stays as it was written.

use std::fmt;

use serde_json::json;

use crate::members::Members;

/// The file, at the top of a checkout.
pub const PLACE: &str = ".mcp.json";

const SERVERS: &str = "mcpServers";
/// What our server is called there.
const NAME: &str = "spinney";

#[derive(Debug)]
pub enum SettingsError {
    NotJson(serde_json::Error),
    Servers,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson(error) => write!(f, "it is not a JSON object: {error}"),
            Self::Servers => write!(f, "its `{SERVERS}` is no object"),
        }
    }
}

/// The settings with our server, which is started with these options, begun anew where there are none; none where they have one of
/// its name already.
pub fn with_server(settings: Option<&str>, options: &[String]) -> Result<Option<String>, SettingsError> {
    let text = settings.unwrap_or_default().trim_start_matches('\u{feff}');
    let text = if text.trim().is_empty() { "{}" } else { text };
    let mut members: Members = serde_json::from_str(text).map_err(SettingsError::NotJson)?;
    let mut servers = match members.get(SERVERS) {
        Some(servers) => serde_json::from_str(servers).map_err(|_| SettingsError::Servers)?,
        None => Members::default(),
    };
    if servers.get(NAME).is_some() {
        return Ok(None);
    }
    servers.set(NAME, entry(options));
    members.set(SERVERS, servers.render(2));
    Ok(Some(members.render(0) + "\n"))
}

fn entry(options: &[String]) -> String {
    let words: Vec<_> = options.iter().map(String::as_str).chain(["mcp"]).map(|word| json!(word).to_string()).collect();
    format!("{{\n      \"command\": \"spinney\",\n      \"args\": [{}]\n    }}", words.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn our_server_is_written_once() {
        let made = with_server(None, &[]).unwrap().unwrap();
        let value: Value = serde_json::from_str(&made).unwrap();
        assert_eq!(value, json!({ "mcpServers": { "spinney": { "command": "spinney", "args": ["mcp"] } } }));
        assert_eq!(with_server(Some(&made), &[]).unwrap(), None);
        let elsewhere = with_server(None, &["--home".to_owned(), "/a \"b\"".to_owned()]).unwrap().unwrap();
        let value: Value = serde_json::from_str(&elsewhere).unwrap();
        assert_eq!(value["mcpServers"]["spinney"]["args"], json!(["--home", "/a \"b\"", "mcp"]));
        let own = "{\"mcpServers\": {\"spinney\": {\"command\": \"/opt/spinney\"}}}";
        assert_eq!(with_server(Some(own), &[]).unwrap(), None, "a person's own stays");
    }

    #[test]
    fn all_else_stays_as_it_was_written() {
        let own = "{\"z\": 1.50, \"mcpServers\": {\"other\": {\"command\":\"x\"}}, \"a\": [ 1 ]}";
        let made = with_server(Some(own), &[]).unwrap().unwrap();
        let places = ["\"z\": 1.50", "{\"command\":\"x\"}", "\"spinney\"", "\"a\": [ 1 ]"];
        let places: Vec<_> =
            places.iter().map(|part| made.find(part).unwrap_or_else(|| panic!("{part}: {made}"))).collect();
        assert!(places.is_sorted(), "{made}");
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        assert_eq!(with_server(Some(" \n"), &[]).unwrap(), with_server(None, &[]).unwrap());
        for text in ["[]", "{", "// a comment\n{}"] {
            assert!(matches!(with_server(Some(text), &[]), Err(SettingsError::NotJson(_))), "{text}");
        }
        assert!(matches!(with_server(Some("{\"mcpServers\": []}"), &[]), Err(SettingsError::Servers)));
    }
}
