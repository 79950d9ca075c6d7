//! Finding the repository from wherever somebody stands.

use crate::common::Sandbox;
use spinney_git::{Error, Repository};

#[tokio::test]
async fn every_place_leads_to_the_main_repository() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("my äpp");
    let linked = sandbox.path("linked tree");
    sandbox.run(&root, &["worktree", "add", "-q", "-b", "x", linked.to_str().unwrap()]);
    std::fs::create_dir_all(root.join("deep/er")).unwrap();
    std::fs::create_dir_all(linked.join("deep/er")).unwrap();
    std::os::unix::fs::symlink(&root, sandbox.path("link")).unwrap();
    let places = [
        root.clone(),
        root.join("deep/er"),
        linked.clone(),
        linked.join("deep/er"),
        sandbox.path("link"),
        root.join("README.md"),
        root.join(".git"),
    ];
    for place in places {
        let repository = sandbox.open(&place).await;
        assert_eq!(repository.common_dir(), root.join(".git"), "{}", place.display());
        assert_eq!(repository.root(), Some(root.as_path()), "{}", place.display());
        assert!(!repository.is_bare() && !repository.is_submodule());
    }
}

#[tokio::test]
async fn a_bare_repository_and_its_worktree() {
    let sandbox = Sandbox::new().await;
    let seed = sandbox.init("seed");
    let bare = sandbox.path("app.git");
    sandbox.run(&seed, &["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    let linked = sandbox.path("linked");
    sandbox.run(&bare, &["worktree", "add", "-q", "-b", "x", linked.to_str().unwrap()]);
    for place in [&bare, &bare.join("objects"), &linked] {
        let repository = sandbox.open(place).await;
        assert_eq!(repository.common_dir(), bare, "{}", place.display());
        assert!(repository.is_bare() && repository.root().is_none(), "{}", place.display());
    }
    let opened = Repository::open_bare(&sandbox.git, &bare).unwrap();
    assert!(opened.load_commit("HEAD").await.unwrap().is_some());
    // A person may forbid to find bare repositories by chance; ours are named explicitly.
    sandbox.run(&seed, &["config", "--global", "safe.bareRepository", "explicit"]);
    assert!(opened.load_commit("HEAD").await.unwrap().is_some());
    assert!(Repository::open_bare(&sandbox.git, &sandbox.path("nowhere")).is_err());
}

#[tokio::test]
async fn a_separate_git_dir() {
    let sandbox = Sandbox::new().await;
    let (root, git_dir) = (sandbox.path("checkout"), sandbox.path("elsewhere.git"));
    sandbox.run(
        &sandbox.path(""),
        &["init", "-q", "--separate-git-dir", git_dir.to_str().unwrap(), root.to_str().unwrap()],
    );
    sandbox.commit(&root, "a", "a");
    let linked = sandbox.path("linked");
    sandbox.run(&root, &["worktree", "add", "-q", "-b", "x", linked.to_str().unwrap()]);
    let repository = sandbox.open(&root).await;
    assert_eq!((repository.common_dir(), repository.root()), (git_dir.as_path(), Some(root.as_path())));
    assert!(!repository.is_bare() && !repository.is_submodule());
    let from_linked = sandbox.open(&linked).await;
    assert_eq!((from_linked.common_dir(), from_linked.is_bare()), (git_dir.as_path(), false));
}

#[tokio::test]
async fn a_submodule_is_a_repository_of_its_own() {
    let sandbox = Sandbox::new().await;
    let (root, part) = (sandbox.init("app"), sandbox.init("part"));
    let allow = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", part.to_str().unwrap(), "sub"];
    sandbox.run(&root, &allow);
    let repository = sandbox.open(&root.join("sub")).await;
    assert!(repository.is_submodule());
    assert_eq!(repository.root(), Some(root.join("sub").as_path()));
    assert_eq!(repository.common_dir(), root.join(".git/modules/sub"));
    assert!(!sandbox.open(&root).await.is_submodule());
}

#[tokio::test]
async fn elsewhere_there_is_none() {
    let sandbox = Sandbox::new().await;
    let error = Repository::discover(&sandbox.git, &sandbox.home()).await.unwrap_err();
    assert!(matches!(&error, Error::NotARepository { path } if *path == sandbox.home()), "{error:?}");
    let error = Repository::discover(&sandbox.git, &sandbox.path("missing")).await.unwrap_err();
    assert!(matches!(error, Error::Io { .. }), "{error:?}");
    let root = sandbox.init("broken");
    std::fs::write(root.join(".git/HEAD"), "nonsense").unwrap();
    assert!(matches!(Repository::discover(&sandbox.git, &root).await.unwrap_err(), Error::NotARepository { .. }));
}

#[tokio::test]
async fn remotes_are_listed_without_their_secrets() {
    let sandbox = Sandbox::new().await;
    let root = sandbox.init("app");
    let repository = sandbox.open(&root).await;
    assert!(repository.load_remotes().await.unwrap().is_empty());
    sandbox.run(&root, &["remote", "add", "up.stream", "https://me:pw@host/acme/app.git"]);
    sandbox.run(&root, &["remote", "add", "origin", "../x y.git"]);
    let remotes = repository.load_remotes().await.unwrap();
    let shown: Vec<(&str, &str)> = remotes.iter().map(|remote| (remote.name.as_str(), remote.url.as_str())).collect();
    assert_eq!(shown, [("up.stream", "https://host/acme/app.git"), ("origin", "../x y.git")]);
}
