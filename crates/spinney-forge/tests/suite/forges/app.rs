//! An app in place of a token.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::Value;
use spinney_core::forge::Forge;
use spinney_core::{ForgeError, Secret};
use spinney_forge::{App, AppKeyError, GITHUB, locate, open};
use spinney_testkit::{TestForge, Trouble};

use crate::forges::story::{PATIENT, options};

const PKCS1: &str = include_str!("../../keys/pkcs1.pem");
const PKCS8: &str = include_str!("../../keys/pkcs8.pem");
const PUBLIC: &[u8] = include_bytes!("../../keys/public.der");

fn client(server: &TestForge, key: &str) -> Box<dyn Forge> {
    let mut options = options(&GITHUB, &server.api_url(), PATIENT, Some("not used"));
    options.of_mut(&GITHUB).app = Some(Arc::new(App::new("12345", &Secret::new(key)).unwrap()));
    let located = locate("git@127.0.0.1:acme/app.git", &options).unwrap();
    open(&located, &options).unwrap()
}

/// The headers that said who asks, in their order.
fn authorizations(server: &TestForge) -> Vec<String> {
    let header = |headers: Vec<(String, String)>| headers.into_iter().find(|(name, _)| name == "authorization");
    server.exchanges().into_iter().filter_map(|exchange| Some(header(exchange.headers)?.1)).collect()
}

#[tokio::test]
async fn it_signs_for_itself_and_asks_with_one_token_for_its_installation() {
    for key in [PKCS1, PKCS8] {
        let server = TestForge::github("acme/app");
        server.install_app();
        let issue = server.add_issue("a", "");
        let forge = client(&server, key);
        for _ in 0..3 {
            forge.fetch_issue(issue).await.unwrap().unwrap();
        }
        let paths: Vec<_> = server.exchanges().into_iter().map(|exchange| exchange.path).collect();
        let issue = format!("/repos/acme/app/issues/{issue}");
        assert_eq!(
            paths,
            ["/repos/acme/app/installation", "/app/installations/77/access_tokens", &issue, &issue, &issue]
        );
        let signed = authorizations(&server)[0].strip_prefix("Bearer ").unwrap().to_owned();
        let (content, signature) = signed.rsplit_once('.').unwrap();
        let decode = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).unwrap();
        let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, PUBLIC);
        key.verify(content.as_bytes(), &decode(signature)).unwrap();
        let (header, claims) = content.split_once('.').unwrap();
        let read = |text: &str| serde_json::from_slice::<Value>(&decode(text)).unwrap();
        assert_eq!(read(header)["alg"], "RS256");
        let claims = read(claims);
        let lasts = claims["exp"].as_i64().unwrap() - claims["iat"].as_i64().unwrap();
        assert!(claims["iss"] == "12345" && (60..=600).contains(&lasts), "{claims}");
    }
}

#[tokio::test]
async fn a_token_that_was_taken_back_is_replaced_once() {
    let server = TestForge::github("acme/app");
    server.install_app();
    let issue = server.add_issue("a", "");
    let forge = client(&server, PKCS1);
    forge.fetch_issue(issue).await.unwrap();
    server.revoke_app_tokens();
    forge.fetch_issue(issue).await.unwrap().unwrap();
    for _ in 0..2 {
        server.trouble(Trouble::Status(401));
    }
    let error = forge.fetch_issue(issue).await.unwrap_err();
    assert!(!error.is_temporary() && !format!("{error:?}").contains("t0ken"), "{error:?}");
}

#[tokio::test]
async fn an_app_that_is_not_installed_says_so() {
    let server = TestForge::github("acme/app");
    let issue = server.add_issue("a", "");
    let error = client(&server, PKCS1).fetch_issue(issue).await.unwrap_err();
    assert!(
        matches!(&error, ForgeError::Refused { status: 404, said, .. } if said.contains("not installed")),
        "{error}"
    );
    server.install_app();
    for trouble in [Trouble::Status(502), Trouble::Dropped] {
        server.trouble(trouble);
        assert!(client(&server, PKCS1).fetch_issue(issue).await.unwrap().is_some(), "what passes is waited out");
    }
}

#[test]
fn what_is_no_rsa_key_is_refused() {
    let broken: Vec<_> = PKCS1.lines().enumerate().filter(|(number, _)| *number != 5).map(|(_, line)| line).collect();
    let broken = broken.join("\n");
    for (key, expected) in [
        ("", AppKeyError::NotPem),
        ("s3cret", AppKeyError::NotPem),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", AppKeyError::NotPem),
        ("-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n", AppKeyError::NotRsa),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", AppKeyError::NotRsa),
        (&broken, AppKeyError::NotRsa),
    ] {
        let error = App::new("1", &Secret::new(key)).unwrap_err();
        assert_eq!(error, expected, "{key}");
    }
    let app = App::new("1", &Secret::new(PKCS1)).unwrap();
    assert_eq!(format!("{app:?}"), r#"App { id: "1", .. }"#);
}
