//! Accounts, and what their callers show.

use std::time::Duration;

use spinney_core::account::LOCAL;
use spinney_core::{Account, AccountName, Scope, Timestamp, Token, TokenId, TokenKind, TokenSecret};
use spinney_store::{Error, Store};
use tokio::task::JoinSet;

use crate::backend::{Backend, on_both};

const SECOND: Duration = Duration::from_secs(1);

fn name(text: &str) -> AccountName {
    text.parse().unwrap()
}

fn token(account: &str, kind: TokenKind, called: &str) -> Token {
    Token::new(name(account), kind, called.parse().unwrap(), Scope::Write, Some(60 * SECOND))
}

async fn with_acme(backend: &Backend) -> Store {
    let store = backend.store().await;
    let acme = Account { name: name("acme"), created_at: Timestamp::now() };
    assert!(store.read().await.unwrap().insert_account(&acme).await.unwrap());
    store
}

async fn insert(store: &Store, token: &Token) -> String {
    let hash = TokenSecret::generate().hash();
    assert!(store.read().await.unwrap().insert_token(token, &hash).await.unwrap());
    hash
}

on_both! {
    async fn accounts_have_one_name_each(backend: &Backend) {
        let before = Timestamp::now();
        let store = with_acme(backend).await;
        let mut connection = store.read().await.unwrap();
        let again = Account { name: name("acme"), created_at: Timestamp::from_millisecond(1) };
        assert!(!connection.insert_account(&again).await.unwrap());
        let accounts = connection.accounts().await.unwrap();
        assert_eq!(accounts.iter().map(|account| account.name.as_str()).collect::<Vec<_>>(), ["acme", LOCAL]);
        assert!(accounts.iter().all(|account| account.created_at >= before), "{accounts:?}");
        assert_eq!(connection.account(&name("acme")).await.unwrap().as_ref(), accounts.first());
        assert_eq!(connection.account(&name("nobody")).await.unwrap(), None);
        let error = connection.insert_token(&token("nobody", TokenKind::Api, "ci"), "hash").await.unwrap_err();
        assert!(matches!(error, Error::Referenced { .. }), "{error:?}");
    }

    async fn a_token_is_found_by_its_secret_while_it_lives(backend: &Backend) {
        let store = with_acme(backend).await;
        let token = token("acme", TokenKind::Api, "ci");
        let hash = insert(&store, &token).await;
        let lasting = Token { expires_at: None, ..self::token(LOCAL, TokenKind::Api, "for ever") };
        let other = insert(&store, &lasting).await;
        let mut connection = store.read().await.unwrap();
        let end = token.expires_at.unwrap();
        let found = connection.token_by_hash(&hash, TokenKind::Api, end.minus(SECOND)).await.unwrap();
        assert_eq!(found.as_ref(), Some(&token));
        assert_eq!(connection.token_by_hash(&hash, TokenKind::Session, token.created_at).await.unwrap(), None, "its kind");
        assert_eq!(connection.token_by_hash(&hash, TokenKind::Api, end).await.unwrap(), None, "its time");
        assert_eq!(connection.token_by_hash("x", TokenKind::Api, token.created_at).await.unwrap(), None, "its secret");
        let later = end.plus(SECOND * 1_000_000);
        assert_eq!(connection.token_by_hash(&other, TokenKind::Api, later).await.unwrap().as_ref(), Some(&lasting));

        assert_eq!(connection.tokens(&token.account, TokenKind::Api).await.unwrap(), std::slice::from_ref(&token));
        assert_eq!(connection.tokens(&token.account, TokenKind::Session).await.unwrap(), []);
        assert_eq!(connection.delete_expired_tokens(end.minus(SECOND)).await.unwrap(), 0);
        assert_eq!(connection.delete_expired_tokens(end).await.unwrap(), 1);
        assert_eq!(connection.tokens(&token.account, TokenKind::Api).await.unwrap(), []);
        assert_eq!(connection.tokens(&lasting.account, TokenKind::Api).await.unwrap(), [lasting]);
    }

    async fn names_are_told_apart_within_an_account(backend: &Backend) {
        let store = with_acme(backend).await;
        insert(&store, &token("acme", TokenKind::Api, "ci")).await;
        insert(&store, &token(LOCAL, TokenKind::Api, "ci")).await;
        insert(&store, &token("acme", TokenKind::Session, "ci")).await;
        insert(&store, &token("acme", TokenKind::Session, "ci")).await;
        let mut connection = store.read().await.unwrap();
        assert!(!connection.insert_token(&token("acme", TokenKind::Api, "ci"), "hash").await.unwrap());
        assert!(connection.insert_token(&token("acme", TokenKind::Api, "CI"), "hash").await.unwrap());
        assert!(!connection.insert_token(&token("acme", TokenKind::Api, "other"), "hash").await.unwrap(), "its hash");
    }

    async fn tokens_are_revoked_by_their_own_account(backend: &Backend) {
        let store = with_acme(backend).await;
        let token = token("acme", TokenKind::Api, "ci");
        let hash = insert(&store, &token).await;
        for kind in [TokenKind::Session, TokenKind::Session, TokenKind::Login] {
            insert(&store, &self::token("acme", kind, kind.as_str())).await;
        }
        let local = insert(&store, &self::token(LOCAL, TokenKind::Session, "session")).await;
        let mut connection = store.read().await.unwrap();
        assert!(!connection.delete_token(&AccountName::local(), &token.id).await.unwrap());
        assert!(!connection.delete_token(&token.account, &TokenId::generate()).await.unwrap());
        assert!(connection.token_by_hash(&hash, TokenKind::Api, token.created_at).await.unwrap().is_some());
        assert!(connection.delete_token(&token.account, &token.id).await.unwrap());
        assert_eq!(connection.token_by_hash(&hash, TokenKind::Api, token.created_at).await.unwrap(), None);

        let session = TokenKind::Session.into();
        assert_eq!(connection.delete_sessions_named(&token.account, &session).await.unwrap(), 2);
        assert_eq!(connection.tokens(&token.account, TokenKind::Login).await.unwrap().len(), 1);
        assert!(connection.token_by_hash(&local, TokenKind::Session, token.created_at).await.unwrap().is_some());
    }

    async fn the_last_use_is_kept_to_the_minute(backend: &Backend) {
        let store = with_acme(backend).await;
        let token = token("acme", TokenKind::Api, "ci");
        let hash = insert(&store, &token).await;
        let mut connection = store.read().await.unwrap();
        let start = token.created_at;
        let mut read = token;
        for (at, expected) in [(0, 0), (59, 0), (60, 60), (119, 60), (121, 121), (5, 121)] {
            connection.touch_token(&read, start.plus(at * SECOND)).await.unwrap();
            read = connection.token_by_hash(&hash, TokenKind::Api, start).await.unwrap().unwrap();
            assert_eq!(read.last_used_at, Some(start.plus(expected * SECOND)), "{at}");
        }
        // Who read the row long ago does not write over a newer use.
        let stale = Token { last_used_at: None, ..read.clone() };
        connection.touch_token(&stale, start.plus(130 * SECOND)).await.unwrap();
        let last = connection.token_by_hash(&hash, TokenKind::Api, start).await.unwrap().unwrap();
        assert_eq!(last.last_used_at, Some(start.plus(121 * SECOND)));
    }

    async fn a_one_time_link_works_once_although_many_come_at_once(backend: &Backend) {
        let store = with_acme(backend).await;
        let login = token("acme", TokenKind::Login, "login");
        let hash = insert(&store, &login).await;
        let expired = insert(&store, &Token { id: TokenId::generate(), ..login.clone() }).await;
        let api = insert(&store, &token("acme", TokenKind::Api, "ci")).await;
        let now = login.created_at;
        let mut tasks = JoinSet::new();
        for _ in 0..16 {
            let (store, hash) = (store.clone(), hash.clone());
            tasks.spawn(async move { store.read().await.unwrap().take_login(&hash, now).await.unwrap() });
        }
        let taken: Vec<_> = tasks.join_all().await.into_iter().flatten().collect();
        assert_eq!(taken, std::slice::from_ref(&login));
        let mut connection = store.read().await.unwrap();
        assert_eq!(connection.take_login(&hash, now).await.unwrap(), None);
        assert_eq!(connection.take_login(&expired, login.expires_at.unwrap()).await.unwrap(), None, "its time");
        assert_eq!(connection.take_login(&api, now).await.unwrap(), None, "its kind");
        assert!(connection.token_by_hash(&api, TokenKind::Api, now).await.unwrap().is_some());
    }
}
