//! Bare clones that Spinney manages, and the credentials they need.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{Sandbox, branch};
use spinney_git::{Credential, Error, Repository, Wanted};

#[tokio::test]
async fn a_clone_has_remote_branches_only() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init_cloned("app");
    sandbox.run(&root, &["tag", "v1"]);
    sandbox.run(&root, &["push", "-q", "origin", "HEAD:refs/heads/topic", "v1"]);
    let (url, place) = (sandbox.path("app.git"), sandbox.path("repos/acme/my app.git"));
    assert!(sandbox.git.clone_bare(url.to_str().unwrap(), &place, 0, None).await.unwrap());
    let repository = Repository::open_bare(&sandbox.git, &place).unwrap();
    assert_eq!(
        sandbox.run(&place, &["for-each-ref", "--format=%(refname)"]),
        "refs/remotes/origin/main\nrefs/remotes/origin/topic\nrefs/tags/v1"
    );
    assert_eq!(sandbox.run(&place, &["symbolic-ref", "HEAD"]), "refs/heads/main");
    assert_eq!(
        sandbox.run(&place, &["config", "--get-all", "remote.origin.fetch"]),
        "+refs/heads/*:refs/remotes/origin/*"
    );
    assert_eq!(sandbox.run(&place, &["config", "--bool", "core.bare"]), "true");
    assert!(repository.is_bare());
    // Its remote was just asked.
    let wanted = Wanted { default_branch: true, branches: vec![branch("topic")], pulls: vec![] };
    let known = repository.fetch("origin", &wanted, Duration::from_secs(60), None).await.unwrap();
    assert!(!known.fetched && known.missing.is_empty());
    // And a plain fetch of a person works.
    sandbox.run(&root, &["push", "-q", "origin", "HEAD:refs/heads/later"]);
    sandbox.run(&place, &["fetch", "-q"]);
    assert!(repository.load_remote_branch("origin", &branch("later")).await.unwrap().is_some());
    assert_eq!(leftovers(&sandbox), ["my app.git"]);
}

fn leftovers(sandbox: &Sandbox) -> Vec<String> {
    let entries = std::fs::read_dir(sandbox.path("repos/acme")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_clones_at_once_one_is_made() {
    let sandbox = Sandbox::new().await;
    sandbox.init_cloned("app");
    let (url, place) = (sandbox.path("app.git").to_str().unwrap().to_owned(), sandbox.path("repos/acme/app.git"));
    let mut tasks = Vec::new();
    for _ in 0..8 {
        let (git, url, place) = (sandbox.git.clone(), url.clone(), place.clone());
        tasks.push(tokio::spawn(async move { git.clone_bare(&url, &place, 0, None).await.unwrap() }));
    }
    let mut made = 0;
    for task in tasks {
        made += usize::from(task.await.unwrap());
    }
    assert_eq!(made, 1);
    assert_eq!(leftovers(&sandbox), ["app.git"]);
}

#[tokio::test]
async fn an_interrupted_or_failed_clone_leaves_nothing_in_the_way() {
    let sandbox = Sandbox::new().await;
    sandbox.init_cloned("app");
    let place = sandbox.path("repos/acme/app.git");
    std::fs::create_dir_all(sandbox.path("repos/acme/.app.git.clone/objects")).unwrap();
    std::fs::write(sandbox.path("repos/acme/.app.git.clone/HEAD"), "half").unwrap();
    let error = sandbox.git.clone_bare(sandbox.path("nowhere").to_str().unwrap(), &place, 0, None).await.unwrap_err();
    assert!(matches!(error, Error::RemoteNotFound { .. }), "{error:?}");
    assert_eq!(leftovers(&sandbox), Vec::<String>::new());
    let half = sandbox.path("repos/acme/.app.git.clone");
    sandbox.run(&sandbox.path(""), &["clone", "-q", "--bare", "app.git", half.to_str().unwrap()]);
    assert!(sandbox.git.clone_bare(sandbox.path("app.git").to_str().unwrap(), &place, 0, None).await.unwrap());
    assert_eq!(leftovers(&sandbox), ["app.git"]);
    assert_eq!(sandbox.run(&place, &["for-each-ref", "refs/heads"]), "");
    assert!(matches!(sandbox.git.clone_bare("--upload-pack=x", &place, 0, None).await, Err(Error::Refused { .. })));
}

#[tokio::test]
async fn an_empty_remote_can_be_cloned() {
    let sandbox = Sandbox::new().await;
    sandbox.run(&sandbox.path(""), &["init", "-q", "--bare", "empty.git"]);
    let place = sandbox.path("repos/empty.git");
    assert!(sandbox.git.clone_bare(sandbox.path("empty.git").to_str().unwrap(), &place, 0, None).await.unwrap());
    assert!(!Repository::open_bare(&sandbox.git, &place).unwrap().has_commits().await.unwrap());
}

/// A server that refuses everybody and remembers what they sent.
fn refusing_server() -> (u16, Arc<Mutex<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let seen = Arc::new(Mutex::new(String::new()));
    let heard = seen.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            for line in BufReader::new(stream.try_clone().unwrap()).lines() {
                let line = line.unwrap_or_default();
                if line.is_empty() {
                    break;
                }
                heard.lock().unwrap().push_str(&format!("{line}\n"));
            }
            let answer = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (port, seen)
}

#[tokio::test]
async fn credentials_reach_the_remote_and_nothing_else() {
    let sandbox = Sandbox::new().await;
    let (port, seen) = refusing_server();
    let (git, log) = sandbox.logging_git().await;
    let place = sandbox.path("repos/app.git");
    let credential = Credential::new("me", "s3cret");
    let url = format!("http://127.0.0.1:{port}/acme/app.git");
    let error = git.clone_bare(&url, &place, 0, Some(&credential)).await.unwrap_err();
    assert!(matches!(error, Error::Auth { .. }), "{error:?}");
    assert!(seen.lock().unwrap().contains("Authorization: Basic bWU6czNjcmV0"), "{}", seen.lock().unwrap());

    seen.lock().unwrap().clear();
    let embedded = format!("http://me:s3cret@127.0.0.1:{port}/acme/app.git");
    let error = git.clone_bare(&embedded, &place, 0, None).await.unwrap_err();
    assert!(seen.lock().unwrap().contains("Authorization: Basic bWU6czNjcmV0"));
    let told = format!("{error} {error:?} {}", std::fs::read_to_string(&log).unwrap());
    assert!(!told.contains("s3cret") && !told.contains("bWU6czNjcmV0"), "{told}");

    let root = sandbox.init("app");
    sandbox.run(&root, &["remote", "add", "origin", &url]);
    let config = std::fs::read(root.join(".git/config")).unwrap();
    seen.lock().unwrap().clear();
    let repository = Repository::discover(&git, &root).await.unwrap();
    let error = repository.sync("origin", Some(&credential)).await.unwrap_err();
    assert!(matches!(&error, Error::Auth { detail } if detail.contains("not known")), "{error:?}");
    assert!(!seen.lock().unwrap().contains("Authorization"));
    let repository = repository.with_known_url(Some(&url));
    let error = repository.sync("origin", Some(&credential)).await.unwrap_err();
    assert!(matches!(error, Error::Auth { .. }), "{error:?}");
    assert!(seen.lock().unwrap().contains("Authorization: Basic bWU6czNjcmV0"));
    let told = std::fs::read_to_string(&log).unwrap();
    assert!(!told.contains("s3cret") && !told.contains("bWU6czNjcmV0"), "{told}");
    assert_eq!(std::fs::read(root.join(".git/config")).unwrap(), config);

    // Without any, git does not wait for a person.
    seen.lock().unwrap().clear();
    let error = repository.sync("origin", None).await.unwrap_err();
    assert!(matches!(error, Error::Auth { .. }), "{error:?}");
    assert!(!seen.lock().unwrap().contains("Authorization"));
}

#[tokio::test]
async fn a_clone_can_leave_the_past_behind() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init_cloned("app");
    for name in ["one", "two", "three"] {
        sandbox.commit(&root, name, name);
    }
    sandbox.run(&root, &["push", "-q", "origin", "HEAD:main"]);
    let place = sandbox.path("shallow.git");
    let url = format!("file://{}", sandbox.path("app.git").display());
    assert!(sandbox.git.clone_bare(&url, &place, 2, None).await.unwrap());
    assert_eq!(sandbox.run(&place, &["rev-list", "--count", "--all"]), "2");
}
