//! Two accounts in one home: what is one's is not found by the other, by whatever id.

use spinney_core::{AccountName, Consent, Repository, RepositoryId, Scope, TokenKind, Work, Workspace};
use spinney_engine::{AddRepository, Among, Context, Engine, Error, ErrorKind, NewToken, Request, What};
use spinney_testkit::Sandbox;

use crate::setup::Story;

/// The owner of the home with a repository and a workspace, and account `acme` with its own.
struct Two {
    story: Story,
    owned: Workspace,
    acme: Engine,
    context: Context,
    theirs: Workspace,
}

impl Two {
    async fn new() -> Self {
        let app = Sandbox::new().repository("app").with_remote();
        let (config, remotes) = (app.sandbox().home().join(".gitconfig"), app.sandbox().remotes());
        let text = std::fs::read_to_string(&config).unwrap();
        // Git finds on the disk what an account may have by a URL alone.
        let there = format!("{text}\n[url \"file://{}/\"]\n\tinsteadOf = https://example.org/\n", remotes.display());
        std::fs::write(&config, there).unwrap();
        let remote = app.remote().path().strip_prefix(&remotes).unwrap().display().to_string();
        let story = Story::of(app).await;
        let owned = story.make(&Request::new(Work::issue(1))).await;

        let acme = story.engine.add_account("acme".parse().unwrap()).await.unwrap();
        let acme = story.engine.for_account(&acme.name);
        let add = AddRepository { name: Some("acme/app".parse().unwrap()), ..AddRepository::default() };
        let home = acme.home().root().to_owned();
        let url = format!("https://example.org/{remote}");
        let context = acme.add_repository(&url, &home, &add, &|_| {}).await.unwrap();
        let found = acme.find_context(Some("acme/app"), &home).await.unwrap();
        let (_, resolution) = acme.resolve(found, &Request::new(Work::issue(1)), &|_| {}).await.unwrap();
        Self { story, owned, acme, context, theirs: resolution.workspace }
    }

    /// Each account, with what is the other's.
    fn sides(&self) -> [(&Engine, &Workspace, &Workspace); 2] {
        [(&self.story.engine, &self.owned, &self.theirs), (&self.acme, &self.theirs, &self.owned)]
    }
}

#[track_caller]
fn assert_not_found<T: std::fmt::Debug>(found: Result<T, Error>) {
    let error = found.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
}

#[tokio::test]
async fn what_is_anothers_is_not_found() {
    let two = Two::new().await;
    for (engine, own, other) in two.sides() {
        assert_eq!(&engine.require_workspace(&own.id).await.unwrap(), own);
        assert_not_found(engine.require_workspace(&other.id).await);
        assert_eq!(engine.require_repository(&own.repository_id).await.unwrap().repository.name, own.repository);
        assert_not_found(engine.require_repository(&other.repository_id).await);
        assert_not_found(engine.require_repository(&RepositoryId::generate()).await);
        engine.context_of(own).await.unwrap();
        assert_not_found(engine.context_of(other).await);
        assert_not_found(engine.find_workspace(None, other.id.as_str(), Among::All).await);
        assert_not_found(engine.find_workspace(Some(&other.repository_id), other.id.as_str(), Among::All).await);
        assert_eq!(&engine.find_workspace(None, "issue-1", Among::All).await.unwrap(), own);
        assert_eq!(engine.workspace_at(&other.path, Among::All).await.unwrap(), None);
        let listed = engine.workspaces(None, Among::All).await.unwrap();
        assert_eq!(listed, std::slice::from_ref(own));
        assert_eq!(engine.workspaces(Some(&other.repository_id), Among::All).await.unwrap(), []);
        let names: Vec<_> = engine.repositories().await.unwrap().into_iter().map(|row| row.name).collect();
        assert_eq!(names, std::slice::from_ref(&own.repository));
        assert_not_found(engine.find_context(Some(&other.repository.to_string()), engine.home().root()).await);
        assert_eq!(engine.remove_missing_repository(&other.repository.to_string(), true).await.unwrap(), None);
    }
}

#[tokio::test]
async fn each_account_has_its_own_directories() {
    let two = Two::new().await;
    let home = two.acme.home().root();
    for (engine, own, _) in two.sides() {
        let account = engine.account();
        assert!(own.path.starts_with(home.join("trees").join(account)), "{own:?}");
        assert!(engine.link_of(own).is_some_and(|link| link.starts_with(home.join("links").join(account))), "{own:?}");
    }
    let Repository { common_dir, account, .. } = &two.context.repository;
    assert_eq!((common_dir, account.as_str()), (&home.join("repos/acme/acme/app.git"), "acme"));
}

#[tokio::test]
async fn a_path_is_the_owners_alone_and_a_clone_its_accounts() {
    let two = Two::new().await;
    let home = two.acme.home().root().to_owned();
    let clone = two.context.repository.common_dir.clone();
    for path in [two.story.app.path().to_owned(), two.owned.path.clone(), clone.clone(), two.theirs.path.clone()] {
        assert_not_found(two.acme.find_context(None, &path).await);
        assert_not_found(two.acme.find_context(Some(path.to_str().unwrap()), &home).await);
        let refused = two.acme.add_repository(path.to_str().unwrap(), &home, &AddRepository::default(), &|_| {}).await;
        assert!(matches!(refused, Err(Error::UnusableUrl { .. })), "{refused:?}");
    }
    for path in [clone, two.theirs.path.clone()] {
        let none = AddRepository::default();
        let refused = [
            two.story.engine.find_context(None, &path).await.map(drop),
            two.story.engine.add_repository(path.to_str().unwrap(), &home, &none, &|_| {}).await.map(drop),
        ];
        assert!(refused.iter().all(|refused| matches!(refused, Err(Error::OfAnotherAccount { .. }))), "{refused:?}");
    }
    let add = AddRepository { token_env: Some("HOME".to_owned()), ..AddRepository::default() };
    let refused = two.acme.check_addition("https://example.org/x", &add);
    assert!(matches!(refused, Err(Error::VariableOfOwner { .. })), "{refused:?}");
    two.story.engine.check_addition("/srv/app", &add).unwrap();
}

#[tokio::test]
async fn an_archive_without_a_row_is_taken_in_by_its_own_account() {
    let two = Two::new().await;
    let other = two.story.engine.add_account("other".parse().unwrap()).await.unwrap();
    let other = two.story.engine.for_account(&other.name);
    let url = two.context.repository.url.clone().unwrap();
    // The same name as theirs, in another account.
    let add = AddRepository { name: Some("acme/app".parse().unwrap()), ..AddRepository::default() };
    let namesake = other.add_repository(&url, other.home().root(), &add, &|_| {}).await.unwrap();
    let trashed = two.acme.remove(&two.context, &two.theirs, &Consent::Force, &|_| {}).await.unwrap().workspace;
    two.acme.purge(&two.context, &trashed, &|_| {}).await.unwrap();
    let mut db = two.acme.store().write().await.unwrap();
    assert!(db.delete_workspace(&trashed.id).await.unwrap());
    db.commit().await.unwrap();

    let orphans = What::ORPHANS;
    other.sweep(vec![namesake.repository], orphans, false, &|_| {}).await.unwrap();
    assert_eq!(other.workspaces(None, Among::All).await.unwrap(), []);
    two.acme.sweep(vec![two.context.repository.clone()], orphans, false, &|_| {}).await.unwrap();
    assert_eq!(two.acme.workspaces(None, Among::All).await.unwrap().len(), 1);
}

#[tokio::test]
async fn tokens_are_their_accounts_own() {
    let two = Two::new().await;
    let new = || NewToken { kind: TokenKind::Api, name: "ci".parse().unwrap(), scope: Scope::Read, time: None };
    let (token, _) = two.acme.create_token(new()).await.unwrap();
    assert_eq!(two.story.engine.tokens().await.unwrap(), []);
    for text in [token.id.as_str(), "ci"] {
        assert_not_found(two.story.engine.revoke_token(text).await);
    }
    let nobody: AccountName = "nobody".parse().unwrap();
    assert_not_found(two.story.engine.for_account(&nobody).create_token(new()).await);
    two.acme.revoke_token("ci").await.unwrap();
    let mut db = two.acme.store().read().await.unwrap();
    let kinds: Vec<_> =
        db.events("acme", 0, 100).await.unwrap().into_iter().map(|(_, event)| event.event.kind()).collect();
    assert!(kinds.ends_with(&["token.created".to_owned(), "token.revoked".to_owned()]), "{kinds:?}");
}
