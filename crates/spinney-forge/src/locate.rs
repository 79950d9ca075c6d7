//! Which configured forge holds the repository behind a remote's URL.

use crate::url::Url;
use crate::{FORGES, ForgeKind, ForgeOptions};

/// A repository on a forge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    pub kind: ForgeKind,
    pub api_url: String,
    /// On GitLab perhaps several groups, as `group/subgroup`.
    pub owner: String,
    pub name: String,
}

/// Finds the forge by the host of the remote's URL; none for a host that is not configured, and for a plain path.
///
/// Hosts are compared without ports: one forge's ssh, pages and API often differ in them. A token goes to the
/// configured address only, whatever the remote says.
#[must_use]
pub fn locate(remote_url: &str, options: &ForgeOptions) -> Option<Located> {
    let remote = Url::parse(remote_url)?;
    FORGES.iter().find_map(|&kind| {
        let api_url = options.api_url(kind);
        let api = Url::parse(api_url)?;
        if !(kind.serves)(&api, &remote.host) {
            return None;
        }
        let (owner, name) = owner_and_name(kind, &api, &remote)?;
        Some(Located { kind, api_url: api_url.to_owned(), owner, name })
    })
}

fn owner_and_name(kind: ForgeKind, api: &Url, remote: &Url) -> Option<(String, String)> {
    let path = match remote.scheme.as_str() {
        // Pages of a forge may begin below the root, and its API with them; its ssh does not.
        "http" | "https" => remote.path.strip_prefix(pages_path(&api.path))?.trim_start_matches('/'),
        _ => &remote.path,
    };
    let path = path.strip_suffix(".git").unwrap_or(path);
    let (owner, name) = path.rsplit_once('/')?;
    let well_formed = path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    let deep = kind.has_subgroups || !owner.contains('/');
    (well_formed && deep).then(|| (owner.to_owned(), name.to_owned()))
}

/// Where the pages begin, by where the API does.
fn pages_path(api_path: &str) -> &str {
    let cut = api_path.rfind("api/v").filter(|&at| at == 0 || api_path.as_bytes()[at - 1] == b'/');
    api_path[..cut.unwrap_or(api_path.len())].trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{FORGEJO, GITHUB, GITLAB, KindOptions};

    fn at(api_url: &str) -> KindOptions {
        KindOptions { api_url: api_url.to_owned(), ..KindOptions::default() }
    }

    fn found(url: &str, options: &ForgeOptions) -> Option<String> {
        let located = locate(url, options)?;
        Some(format!("{} {} {} {}", located.kind, located.api_url, located.owner, located.name))
    }

    #[test]
    fn public_forges_are_known_by_every_form_of_url() {
        let options = ForgeOptions::default();
        for url in [
            "https://github.com/acme/app.git",
            "https://me:pw@GitHub.com/acme/app/",
            "ssh://git@github.com/acme/app.git",
            "ssh://git@ssh.github.com:443/acme/app.git",
            "git@github.com:acme/app.git",
            "github.com:acme/app",
        ] {
            assert_eq!(found(url, &options).unwrap(), "github https://api.github.com acme app", "{url}");
        }
        let gitlab = "gitlab https://gitlab.com/api/v4 group/sub app";
        assert_eq!(found("git@gitlab.com:group/sub/app.git", &options).unwrap(), gitlab);
        assert_eq!(found("https://gitlab.com/group/sub/app", &options).unwrap(), gitlab);
        let forgejo = "forgejo https://codeberg.org/api/v1 acme app";
        assert_eq!(found("ssh://git@codeberg.org/acme/app.git", &options).unwrap(), forgejo);
    }

    #[test]
    fn own_forges_are_known_by_their_api() {
        let options = ForgeOptions::default()
            .with(&GITHUB, at("https://ghe.example.com/api/v3/"))
            .with(&GITLAB, at("https://example.com:8443/gitlab/api/v4"))
            .with(&FORGEJO, at("http://127.0.0.1:3000/api/v1"));
        let github = "github https://ghe.example.com/api/v3 acme app";
        assert_eq!(found("git@ghe.example.com:acme/app.git", &options).unwrap(), github);
        assert_eq!(found("https://ghe.example.com/acme/app", &options).unwrap(), github);
        let gitlab = "gitlab https://example.com:8443/gitlab/api/v4 a/b app";
        assert_eq!(found("https://example.com:8443/gitlab/a/b/app.git", &options).unwrap(), gitlab);
        assert_eq!(found("ssh://git@example.com:2222/a/b/app.git", &options).unwrap(), gitlab);
        assert_eq!(
            found("http://127.0.0.1:80/acme/app", &options).unwrap(),
            "forgejo http://127.0.0.1:3000/api/v1 acme app"
        );
        let residency = ForgeOptions::default().with(&GITHUB, at("https://api.acme.ghe.com"));
        assert_eq!(
            found("https://acme.ghe.com/acme/app", &residency).unwrap(),
            "github https://api.acme.ghe.com acme app"
        );
        // The token of an Enterprise is none of the public forge's business.
        assert_eq!(found("git@github.com:acme/app.git", &options), None);
    }

    #[test]
    fn anything_else_is_nowhere() {
        for url in [
            "/srv/git/app.git",
            "file:///srv/git/acme/app.git",
            "../app",
            "https://example.com/acme/app",
            "https://github.com.evil.example/acme/app",
            "https://github.com@evil.example/acme/app",
            "https://evilgithub.com/acme/app",
            "https://github.com/app",
            "https://github.com/",
            "https://github.com/acme/../app",
            "https://github.com/acme/app/pulls",
            "https://github.com/acme//app",
            "git@work:acme/app.git",
        ] {
            assert_eq!(found(url, &ForgeOptions::default()), None, "{url}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_handled(text in "(?s)(https://github.com|git@gitlab.com:)?.{0,100}") {
            let _ = locate(&text, &ForgeOptions::default());
        }
    }
}
