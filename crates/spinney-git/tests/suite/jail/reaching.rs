//! What would make git read or write what the box does not have: attacks 12, 14, 15, 26 to 28, 31 and 32.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use spinney_git::{Error, Refusal};

use super::fixture::{ALL, Boxed};
use crate::common::Sandbox;

const SECRET: &str = "a secret of somebody else\n";

/// A repository of somebody else on the host, with a secret in it; its objects, and the secret's name.
fn foreign(sandbox: &Sandbox) -> (PathBuf, String) {
    let other = sandbox.init("other");
    sandbox.commit(&other, "secret", SECRET);
    let secret = sandbox.run(&other, &["rev-parse", "HEAD:secret"]);
    (other.join(".git/objects"), secret)
}

/// Puts the agent's branch on a commit that has this blob.
fn commit_blob(boxed: &Boxed, blob: &str) {
    let tree = boxed.tree_of(&[("100644", "stolen", blob)]);
    boxed.commit_tree(&tree);
}

async fn assert_not_imported(boxed: &Boxed, secret: &str) {
    let asked = boxed.ask_everything().await;
    asked.assert_import_refused();
    assert_eq!(boxed.host_tip().await, boxed.base);
    assert!(!boxed.has_object(secret), "bytes of somebody else are in the repository");
}

#[tokio::test]
async fn attack_12_a_file_of_the_host_that_the_configuration_includes() {
    let boxed = Boxed::new().await;
    boxed.commit("a", "a\n");
    let included = boxed.sandbox.path("included");
    fs::write(&included, format!("[core]\n\tfsmonitor = \"{}\"\n", boxed.payload())).unwrap();
    boxed.agent(&["config", "include.path", included.to_str().unwrap()]);
    boxed.agent(&["status"]);
    assert!(boxed.canary().exists());
    fs::remove_file(boxed.canary()).unwrap();
    boxed.ask_everything().await.assert_answered();
}

#[tokio::test]
async fn attack_14_alternates_that_lead_to_another_repository() {
    let boxed = Boxed::new().await;
    let (objects, secret) = foreign(&boxed.sandbox);
    fs::write(boxed.git_dir().join("objects/info/alternates"), format!("{}\n", objects.display())).unwrap();
    commit_blob(&boxed, &secret);
    assert_eq!(boxed.agent(&["show", "work:stolen"]), SECRET.trim_end(), "the payload works where it can");
    assert_not_imported(&boxed, &secret).await;
}

#[tokio::test]
async fn attack_15_objects_and_refs_that_are_links() {
    let link_pack = |boxed: &Boxed, objects: &Path| {
        let own = boxed.git_dir().join("objects");
        for entry in fs::read_dir(objects).unwrap().flatten() {
            let to = own.join(entry.file_name());
            if !to.exists() {
                symlink(entry.path(), to).unwrap();
            }
        }
    };
    let link_whole = |boxed: &Boxed, objects: &Path| {
        let own = boxed.git_dir().join("objects");
        fs::rename(&own, boxed.git_dir().join("objects before")).unwrap();
        symlink(objects, &own).unwrap();
    };
    type Plant<'a> = &'a dyn Fn(&Boxed, &Path);
    for plant in [&link_pack as Plant, &link_whole as Plant] {
        let boxed = Boxed::new().await;
        let (objects, secret) = foreign(&boxed.sandbox);
        commit_blob(&boxed, &secret);
        plant(&boxed, &objects);
        assert_not_imported(&boxed, &secret).await;
    }
    let boxed = Boxed::new().await;
    let other = boxed.sandbox.init("other");
    boxed.sandbox.run(&other, &["branch", "work"]);
    fs::rename(boxed.git_dir().join("refs"), boxed.git_dir().join("refs before")).unwrap();
    symlink(other.join(".git/refs"), boxed.git_dir().join("refs")).unwrap();
    boxed.ask_everything().await.assert_import_refused();
}

#[tokio::test]
async fn attack_26_replacements_grafts_and_shallow_commits_do_not_count() {
    let boxed = Boxed::new().await;
    let first = boxed.commit("a", "a\n");
    let second = boxed.commit("b", "b\n");
    let other = boxed.object("blob", b"something else\n");
    let blob = boxed.agent(&["rev-parse", "work:a"]);
    boxed.set_ref(&format!("refs/replace/{blob}"), &other);
    boxed.set_ref(&format!("refs/replace/{second}"), boxed.base.as_str());
    fs::write(boxed.git_dir().join("info/grafts"), format!("{second} {}\n", boxed.base)).unwrap();
    fs::write(boxed.git_dir().join("shallow"), format!("{second}\n")).unwrap();
    let imported = boxed.import().await.unwrap();
    assert_eq!((imported.to.clone(), imported.commits), (second, 2));
    let parent = boxed.repository.load_commit(&format!("{}^", imported.to)).await.unwrap();
    assert_eq!(parent, Some(first));
    assert!(boxed.has_object(&blob) && !boxed.has_object(&other));
    boxed.ask_everything().await.assert_answered();
}

#[tokio::test]
async fn attack_27_a_remote_that_promises_objects_is_not_asked_for_them() {
    let boxed = Boxed::new().await;
    boxed.commit("a", "a\n");
    let blob = boxed.agent(&["rev-parse", "work:a"]);
    fs::remove_file(boxed.git_dir().join("objects").join(&blob[..2]).join(&blob[2..])).unwrap();
    for (key, value) in [
        ("core.repositoryFormatVersion", "1"),
        ("extensions.partialClone", "evil"),
        ("remote.evil.promisor", "true"),
        ("protocol.ext.allow", "always"),
        ("remote.evil.url", &format!("ext::sh -c {}", boxed.payload().replace(' ', "% "))),
    ] {
        boxed.agent(&["config", key, value]);
    }
    boxed.script(&boxed.path().join("fetcher"));
    boxed.agent(&[
        "config",
        "remote.evil.url",
        &format!("ext::{}", boxed.path().join("fetcher").display()).replace(' ', "% "),
    ]);
    boxed.try_agent(&["cat-file", "-p", &blob], b"");
    assert!(boxed.canary().exists(), "the payload does not work at all");
    fs::remove_file(boxed.canary()).unwrap();
    assert_not_imported(&boxed, &blob).await;
}

#[tokio::test]
async fn attack_28_another_git_in_the_tree() {
    let boxed = Boxed::new().await;
    boxed.commit("a", "a\n");
    let pointer = boxed.path().join(".git");
    fs::remove_file(&pointer).unwrap();
    boxed.ask_everything().await.assert_answered();
    boxed.sandbox.run(boxed.path(), &["init", "-q"]);
    boxed.sandbox.run(boxed.path(), &["config", "core.fsmonitor", &boxed.payload()]);
    boxed.sandbox.run(boxed.path(), &["status"]);
    assert!(boxed.canary().exists());
    fs::remove_file(boxed.canary()).unwrap();
    boxed.ask_everything().await.assert_answered();
    fs::rename(&pointer, boxed.path().join("moved")).unwrap();
    symlink("moved", &pointer).unwrap();
    boxed.ask_everything().await.assert_answered();
}

#[tokio::test]
async fn attack_31_an_object_of_another_agent_is_absent_although_the_repository_has_it() {
    let boxed = Boxed::new().await;
    let other = boxed.sandbox.add(&boxed.repository, "another-agent").await;
    boxed.sandbox.commit(other.path(), "secret", SECRET);
    let secret = boxed.sandbox.run(other.path(), &["rev-parse", "HEAD:secret"]);
    assert!(boxed.has_object(&secret), "it is in the very repository");
    assert!(!boxed.try_agent(&["cat-file", "-e", &secret], b"").0, "the base mirror does not have it");
    commit_blob(&boxed, &secret);
    boxed.ask_everything().await.assert_import_refused();

    // With something else under its name in the box, the pack is made, and comes without it.
    let fake = boxed.object("blob", b"something else\n");
    let place = |name: &str| boxed.git_dir().join("objects").join(&name[..2]).join(&name[2..]);
    fs::create_dir_all(place(&secret).parent().unwrap()).unwrap();
    fs::copy(place(&fake), place(&secret)).unwrap();
    let error = boxed.import().await.unwrap_err();
    let missing =
        |error: &Error| matches!(error, Error::ImportRefused(why) if matches!(**why, Refusal::Missing { .. }));
    assert!(missing(&error), "{error:?}");
    assert_eq!(boxed.host_tip().await, boxed.base);

    // The commit of another agent, as a parent.
    let theirs = boxed.sandbox.head(other.path());
    boxed.set_ref("refs/heads/work", theirs.as_str());
    boxed.ask_everything().await.assert_import_refused();
    assert_eq!(boxed.host_tip().await, boxed.base);
}

#[tokio::test]
async fn attack_32_links_in_the_place_of_trees() {
    let boxed = Boxed::new().await;
    boxed.commit("dir/secret", "x\n");
    let outside = boxed.sandbox.path("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), SECRET).unwrap();
    let secret = boxed.sandbox.run(&outside, &["hash-object", "secret"]);

    // A directory of the tree.
    fs::rename(boxed.path().join("dir"), boxed.sandbox.path("aside")).unwrap();
    symlink(&outside, boxed.path().join("dir")).unwrap();
    let asked = boxed.ask_everything().await;
    asked.assert_answered();
    assert!(!boxed.has_object(&secret), "a file from outside was committed");

    // The tree, and the git dir.
    for place in [boxed.path(), boxed.git_dir()] {
        let aside = place.with_extension("aside");
        fs::rename(place, &aside).unwrap();
        symlink(&outside, place).unwrap();
        let error = boxed.tree.load_status(&ALL).await.unwrap_err();
        assert!(matches!(error, Error::Refused { .. } | Error::Unverifiable { .. }), "{error:?}");
        assert!(boxed.tree.load_left_over(&boxed.branch).await.is_err());
        assert!(boxed.import().await.is_err());
        fs::remove_file(place).unwrap();
        fs::rename(&aside, place).unwrap();
    }
    assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), SECRET);
    assert!(!boxed.has_object(&secret));
}
