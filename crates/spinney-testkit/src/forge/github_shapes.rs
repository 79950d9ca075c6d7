//! The shapes of GitHub's answers, with every key that its published description requires.

use serde_json::{Map, Value, json};

use super::server::Asked;
use super::state::{Fork, State, TestComment, TestIssue, TestPerson, TestPullRequest};

const REPOSITORY: u64 = 1;
const FORK: u64 = 2;
const CREATED: &str = "2026-01-02T03:04:05Z";

/// The keys of a repository that hold an address below its own, and what is behind it there.
const REPOSITORY_URLS: [(&str, &str); 36] = [
    ("archive_url", "/{archive_format}{/ref}"),
    ("assignees_url", "/assignees{/user}"),
    ("blobs_url", "/git/blobs{/sha}"),
    ("branches_url", "/branches{/branch}"),
    ("collaborators_url", "/collaborators{/collaborator}"),
    ("comments_url", "/comments{/number}"),
    ("commits_url", "/commits{/sha}"),
    ("compare_url", "/compare/{base}...{head}"),
    ("contents_url", "/contents/{+path}"),
    ("contributors_url", "/contributors"),
    ("deployments_url", "/deployments"),
    ("downloads_url", "/downloads"),
    ("events_url", "/events"),
    ("forks_url", "/forks"),
    ("git_commits_url", "/git/commits{/sha}"),
    ("git_refs_url", "/git/refs{/sha}"),
    ("git_tags_url", "/git/tags{/sha}"),
    ("hooks_url", "/hooks"),
    ("issue_comment_url", "/issues/comments{/number}"),
    ("issue_events_url", "/issues/events{/number}"),
    ("issues_url", "/issues{/number}"),
    ("keys_url", "/keys{/key_id}"),
    ("labels_url", "/labels{/name}"),
    ("languages_url", "/languages"),
    ("merges_url", "/merges"),
    ("milestones_url", "/milestones{/number}"),
    ("notifications_url", "/notifications{?since,all,participating}"),
    ("pulls_url", "/pulls{/number}"),
    ("releases_url", "/releases{/id}"),
    ("stargazers_url", "/stargazers"),
    ("statuses_url", "/statuses/{sha}"),
    ("subscribers_url", "/subscribers"),
    ("subscription_url", "/subscription"),
    ("tags_url", "/tags"),
    ("teams_url", "/teams"),
    ("trees_url", "/git/trees{/sha}"),
];
const USER_URLS: [(&str, &str); 9] = [
    ("events_url", "/events{/privacy}"),
    ("followers_url", "/followers"),
    ("following_url", "/following{/other_user}"),
    ("gists_url", "/gists{/gist_id}"),
    ("organizations_url", "/orgs"),
    ("received_events_url", "/received_events"),
    ("repos_url", "/repos"),
    ("starred_url", "/starred{/owner}{/repo}"),
    ("subscriptions_url", "/subscriptions"),
];

/// Makes answers about one repository.
pub(super) struct Shapes<'a> {
    url: &'a str,
    owner: &'a str,
    name: &'a str,
}

impl<'a> Shapes<'a> {
    pub fn new(asked: &Asked<'a>) -> Self {
        Self { url: asked.url, owner: asked.owner, name: asked.name }
    }

    fn user(&self, login: &str) -> Value {
        let url = format!("{}/users/{login}", self.url);
        let user = json!({
            "login": login,
            "id": 1,
            "node_id": "MDQ6VXNlcjE=",
            "avatar_url": format!("{}/avatars/{login}", self.url),
            "gravatar_id": "",
            "html_url": format!("{}/{login}", self.url),
            "type": "User",
            "site_admin": false,
        });
        with_urls(user, &url, &USER_URLS)
    }

    fn repository(&self, id: u64, owner: &str, name: &str) -> Value {
        let page = format!("{}/{owner}/{name}", self.url);
        let repository = json!({
            "id": id,
            "node_id": "MDEwOlJlcG9zaXRvcnkx",
            "name": name,
            "full_name": format!("{owner}/{name}"),
            "owner": self.user(owner),
            "private": true,
            "html_url": page,
            "description": null,
            "fork": id != REPOSITORY,
            "git_url": format!("git://example/{owner}/{name}.git"),
            "ssh_url": format!("git@example:{owner}/{name}.git"),
            "clone_url": format!("{page}.git"),
            "svn_url": page,
            "mirror_url": null,
            "homepage": null,
            "size": 1,
            "stargazers_count": 0,
            "watchers_count": 0,
            "watchers": 0,
            "language": null,
            "has_issues": true,
            "has_projects": true,
            "has_downloads": true,
            "has_wiki": true,
            "has_pages": false,
            "has_discussions": false,
            "forks_count": 0,
            "forks": 0,
            "archived": false,
            "disabled": false,
            "open_issues_count": 0,
            "open_issues": 0,
            "license": null,
            "default_branch": "main",
            "created_at": CREATED,
            "updated_at": CREATED,
            "pushed_at": CREATED,
        });
        with_urls(repository, &format!("{}/repos/{owner}/{name}", self.url), &REPOSITORY_URLS)
    }

    pub fn full_repository(&self) -> Value {
        let mut repository = self.repository(REPOSITORY, self.owner, self.name);
        repository["network_count"] = json!(0);
        repository["subscribers_count"] = json!(1);
        repository["permissions"] =
            json!({ "admin": false, "maintain": false, "push": true, "triage": true, "pull": true });
        repository
    }

    /// As it stands in a list.
    pub fn pull_request(&self, pull: &TestPullRequest, state: &State) -> Value {
        let number = pull.number;
        let api = format!("{}/repos/{}/{}", self.url, self.owner, self.name);
        let page = format!("{}/{}/{}/pull/{number}", self.url, self.owner, self.name);
        let (owner, repository) = match &pull.fork {
            None => (self.owner, self.repository(REPOSITORY, self.owner, self.name)),
            Some(Fork::At(name)) => {
                let (owner, name) = name.split_once('/').expect("a fork is `owner/name`");
                (owner, self.repository(FORK, owner, name))
            }
            Some(Fork::Gone) => ("unknown", Value::Null),
        };
        let merged = pull.state == "merged";
        // Before the merge, a commit that tries it.
        let merge_commit = pull.merge_commit.clone().unwrap_or_else(|| "f".repeat(40));
        let link = |address: &str| json!({ "href": address });
        json!({
            "url": format!("{api}/pulls/{number}"),
            "id": 1000 + number,
            "node_id": "MDExOlB1bGxSZXF1ZXN0MQ==",
            "html_url": page,
            "diff_url": format!("{page}.diff"),
            "patch_url": format!("{page}.patch"),
            "issue_url": format!("{api}/issues/{number}"),
            "commits_url": format!("{api}/pulls/{number}/commits"),
            "review_comments_url": format!("{api}/pulls/{number}/comments"),
            "review_comment_url": format!("{api}/pulls/comments{{/number}}"),
            "comments_url": format!("{api}/issues/{number}/comments"),
            "statuses_url": format!("{api}/statuses/{}", pull.head_commit),
            "number": number,
            "state": if pull.state == "open" { "open" } else { "closed" },
            "locked": false,
            "title": pull.title,
            "user": self.user(owner),
            "body": pull.body,
            "labels": [],
            "milestone": null,
            "created_at": CREATED,
            "updated_at": CREATED,
            "closed_at": (pull.state != "open").then_some(CREATED),
            "merged_at": merged.then_some(CREATED),
            "merge_commit_sha": merge_commit,
            "assignee": null,
            "assignees": [],
            "requested_reviewers": [],
            "requested_teams": [],
            "head": {
                "label": format!("{owner}:{}", pull.head),
                "ref": pull.head,
                "sha": pull.head_commit,
                "user": self.user(owner),
                "repo": repository,
            },
            "base": {
                "label": format!("{}:{}", self.owner, pull.base),
                "ref": pull.base,
                "sha": state.tip(&pull.base),
                "user": self.user(self.owner),
                "repo": self.repository(REPOSITORY, self.owner, self.name),
            },
            "_links": {
                "self": link(&format!("{api}/pulls/{number}")),
                "html": link(&page),
                "issue": link(&format!("{api}/issues/{number}")),
                "comments": link(&format!("{api}/issues/{number}/comments")),
                "review_comments": link(&format!("{api}/pulls/{number}/comments")),
                "review_comment": link(&format!("{api}/pulls/comments{{/number}}")),
                "commits": link(&format!("{api}/pulls/{number}/commits")),
                "statuses": link(&format!("{api}/statuses/{}", pull.head_commit)),
            },
            "author_association": "MEMBER",
            "auto_merge": null,
            "draft": false,
        })
    }

    /// As it stands alone.
    pub fn full_pull_request(&self, pull: &TestPullRequest, state: &State) -> Value {
        let mut value = self.pull_request(pull, state);
        let merged = pull.state == "merged";
        let more = json!({
            "merged": merged,
            "mergeable": (pull.state == "open").then_some(true),
            "mergeable_state": "clean",
            "merged_by": if merged { self.user(self.owner) } else { Value::Null },
            "comments": 0,
            "review_comments": 0,
            "maintainer_can_modify": false,
            "commits": 1,
            "additions": 1,
            "deletions": 0,
            "changed_files": 1,
        });
        let (Value::Object(value_keys), Value::Object(more)) = (&mut value, more) else {
            unreachable!("both are objects")
        };
        value_keys.extend(more);
        value
    }

    pub fn issue(&self, issue: &TestIssue) -> Value {
        let mut value = self.any_issue(issue.number, &issue.title, &issue.body, issue.open);
        value["labels"] = self.labels(&issue.labels);
        value
    }

    pub fn permission(&self, person: &TestPerson) -> Value {
        let mut user = self.user(&person.login);
        user["id"] = json!(person.id);
        user["role_name"] = json!(person.permission);
        json!({ "permission": person.permission, "role_name": person.permission, "user": user })
    }

    pub fn labels(&self, labels: &[String]) -> Value {
        let label = |(index, name): (usize, &String)| {
            json!({
                "id": 3000 + index,
                "node_id": "MDU6TGFiZWwx",
                "url": format!("{}/repos/{}/{}/labels/{index}", self.url, self.owner, self.name),
                "name": name,
                "description": null,
                "color": "ededed",
                "default": false,
            })
        };
        labels.iter().enumerate().map(label).collect::<Vec<_>>().into()
    }

    pub fn comment(&self, comment: &TestComment) -> Value {
        let issue = format!("{}/repos/{}/{}/issues", self.url, self.owner, self.name);
        let page = format!("{}/{}/{}/issues/{}", self.url, self.owner, self.name, comment.issue);
        json!({
            "id": comment.id,
            "node_id": "MDEyOklzc3VlQ29tbWVudDE=",
            "url": format!("{issue}/comments/{}", comment.id),
            "html_url": format!("{page}#issuecomment-{}", comment.id),
            "issue_url": format!("{issue}/{}", comment.issue),
            "body": comment.body,
            "user": self.user(&comment.author),
            "created_at": CREATED,
            "updated_at": CREATED,
            "author_association": comment.association,
            "performed_via_github_app": null,
        })
    }

    /// A pull request as an issue.
    pub fn issue_of(&self, pull: &TestPullRequest) -> Value {
        let mut issue = self.any_issue(pull.number, &pull.title, &pull.body, pull.state == "open");
        let url = format!("{}/repos/{}/{}/pulls/{}", self.url, self.owner, self.name, pull.number);
        issue["pull_request"] = json!({ "url": url, "html_url": url, "diff_url": url, "patch_url": url });
        issue
    }

    fn any_issue(&self, number: u64, title: &str, body: &str, open: bool) -> Value {
        let repository = format!("{}/repos/{}/{}", self.url, self.owner, self.name);
        let url = format!("{repository}/issues/{number}");
        json!({
            "url": url,
            "repository_url": repository,
            "labels_url": format!("{url}/labels{{/name}}"),
            "comments_url": format!("{url}/comments"),
            "events_url": format!("{url}/events"),
            "html_url": format!("{}/{}/{}/issues/{number}", self.url, self.owner, self.name),
            "id": 2000 + number,
            "node_id": "MDU6SXNzdWUx",
            "number": number,
            "title": title,
            "user": self.user("someone"),
            "labels": [],
            "state": if open { "open" } else { "closed" },
            "locked": false,
            "assignee": null,
            "assignees": [],
            "milestone": null,
            "comments": 0,
            "created_at": CREATED,
            "updated_at": CREATED,
            "closed_at": (!open).then_some(CREATED),
            "author_association": "NONE",
            "body": body,
        })
    }
}

/// The app's installation on the account of a repository.
pub(super) fn installation(id: u64, repository: &str, url: &str) -> Value {
    let owner = repository.split('/').nth(2).unwrap_or_default();
    let shapes = Shapes { url, owner, name: "" };
    json!({
        "id": id,
        "account": shapes.user(owner),
        "repository_selection": "selected",
        "access_tokens_url": format!("{url}/app/installations/{id}/access_tokens"),
        "repositories_url": format!("{url}/installation/repositories"),
        "html_url": format!("{url}/settings/installations/{id}"),
        "app_id": 12345,
        "app_slug": "spinney",
        "target_id": 1,
        "target_type": "User",
        "permissions": { "issues": "write", "pull_requests": "write", "metadata": "read" },
        "events": ["issues", "issue_comment"],
        "created_at": CREATED,
        "updated_at": CREATED,
        "single_file_name": null,
        "suspended_at": null,
        "suspended_by": null,
    })
}

/// Whom a token belongs to, as only they see it.
pub(super) fn account(login: &str, url: &str) -> Value {
    let mut account = Shapes { url, owner: login, name: "" }.user(login);
    let keys = account.as_object_mut().expect("it is an object");
    for unknown in ["bio", "company", "email", "hireable", "location", "name"] {
        keys.insert(unknown.to_owned(), Value::Null);
    }
    for count in ["followers", "following", "public_gists", "public_repos"] {
        keys.insert(count.to_owned(), json!(0));
    }
    for (key, value) in [("blog", ""), ("created_at", CREATED), ("updated_at", CREATED)] {
        keys.insert(key.to_owned(), json!(value));
    }
    account
}

/// An app, as it sees itself.
pub(super) fn app(owner: &str, url: &str) -> Value {
    json!({
        "id": 12345,
        "slug": "spinney",
        "node_id": "MDExOkludGVncmF0aW9uMQ==",
        "owner": Shapes { url, owner, name: "" }.user(owner),
        "name": "Spinney",
        "description": null,
        "external_url": "https://spinney.example",
        "html_url": format!("{url}/apps/spinney"),
        "created_at": CREATED,
        "updated_at": CREATED,
        "permissions": { "issues": "write", "pull_requests": "write", "metadata": "read" },
        "events": ["issues", "issue_comment"],
    })
}

/// A token that lasts.
pub(super) fn access_token(token: &str) -> Value {
    json!({
        "token": token,
        "expires_at": "2999-01-02T03:04:05Z",
        "permissions": { "issues": "write" },
        "repository_selection": "selected",
    })
}

/// Adds a thing's own address, and the ones below it.
fn with_urls(mut value: Value, url: &str, below: &[(&str, &str)]) -> Value {
    let urls: Map<_, _> = below.iter().map(|(key, rest)| ((*key).to_owned(), json!(format!("{url}{rest}")))).collect();
    let keys = value.as_object_mut().expect("it is an object");
    keys.insert("url".to_owned(), json!(url));
    keys.extend(urls);
    value
}
