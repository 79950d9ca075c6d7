//! What makes git run a program: attacks 1 to 11 and 16 to 18. Nothing runs on the host, and the questions are answered.

use std::fs;
use std::path::Path;

use super::fixture::Boxed;

/// Shows that a payload works: git runs it where nothing keeps it from that.
fn assert_live(boxed: &Boxed, arguments: &[&str]) {
    boxed.try_agent(arguments, b"");
    assert!(boxed.canary().exists(), "git {arguments:?} does not run the payload at all");
    fs::remove_file(boxed.canary()).unwrap();
}

/// A box with something to tell: a commit, and files that are not committed.
async fn busy() -> Boxed {
    let boxed = Boxed::new().await;
    boxed.commit("src/a", "one\n");
    fs::write(boxed.path().join("src/a"), "two\n").unwrap();
    fs::write(boxed.path().join("new"), "new\n").unwrap();
    boxed
}

async fn assert_nothing_runs(boxed: &Boxed) {
    let asked = boxed.ask_everything().await;
    asked.assert_answered();
    assert_eq!(asked.import.unwrap().to, boxed.host_tip().await);
}

#[tokio::test]
async fn attack_1_hooks_of_the_private_git_dir() {
    let boxed = busy().await;
    for hook in ["pre-commit", "post-commit", "post-index-change", "reference-transaction", "post-checkout"] {
        boxed.script(&boxed.git_dir().join("hooks").join(hook));
    }
    assert_live(&boxed, &["commit", "-q", "--allow-empty", "-m", "live"]);
    assert_nothing_runs(&boxed).await;
}

#[tokio::test]
async fn attack_2_a_directory_of_hooks_that_the_configuration_names() {
    let boxed = busy().await;
    let hooks = boxed.path().join("hooks");
    boxed.script(&hooks.join("post-index-change"));
    boxed.script(&hooks.join("post-commit"));
    boxed.agent(&["config", "core.hooksPath", hooks.to_str().unwrap()]);
    assert_live(&boxed, &["commit", "-q", "--allow-empty", "-m", "live"]);
    assert_nothing_runs(&boxed).await;
}

#[tokio::test]
async fn attack_3_a_file_system_monitor() {
    let boxed = busy().await;
    boxed.agent(&["config", "core.fsmonitor", &boxed.payload()]);
    assert_live(&boxed, &["status"]);
    assert_nothing_runs(&boxed).await;
}

#[tokio::test]
async fn attack_4_filters() {
    for setting in ["filter.x.clean", "filter.x.smudge", "filter.x.process"] {
        let boxed = busy().await;
        boxed.agent(&["config", setting, &boxed.payload()]);
        fs::write(boxed.path().join(".gitattributes"), "* filter=x\n").unwrap();
        match setting {
            "filter.x.smudge" => assert_live(&boxed, &["checkout-index", "--force", "src/a"]),
            _ => assert_live(&boxed, &["hash-object", "--path=src/a", "src/a"]),
        }
        fs::write(boxed.path().join("src/a"), "three\n").unwrap();
        assert_nothing_runs(&boxed).await;
    }
}

#[tokio::test]
async fn attack_4_a_filter_that_is_required_is_no_answer() {
    let boxed = busy().await;
    boxed.agent(&["config", "filter.x.clean", &boxed.payload()]);
    boxed.agent(&["config", "filter.x.required", "true"]);
    fs::write(boxed.path().join(".gitattributes"), "* filter=x\n").unwrap();
    let asked = boxed.ask_everything().await;
    assert!(asked.left_over.is_err(), "{asked:?}");
    asked.import.unwrap();
}

#[tokio::test]
async fn attack_5_programs_for_diffs() {
    for setting in ["diff.external", "diff.x.command", "diff.x.textconv"] {
        let boxed = busy().await;
        let script = boxed.script(&boxed.path().join("differ"));
        boxed.agent(&["config", setting, &format!("'{}'", script.display())]);
        fs::write(boxed.path().join(".gitattributes"), "* diff=x\n").unwrap();
        assert_live(&boxed, &["diff", "HEAD"]);
        assert_nothing_runs(&boxed).await;
    }
}

#[tokio::test]
async fn attack_6_a_merge_driver() {
    let boxed = busy().await;
    boxed.agent(&["config", "merge.x.driver", &boxed.payload()]);
    fs::write(boxed.path().join(".gitattributes"), "* merge=x\n").unwrap();
    boxed.agent(&["stash", "-q", "--include-untracked"]);
    boxed.agent(&["stash", "apply", "-q"]);
    boxed.agent(&["commit", "-q", "-a", "-m", "ours"]);
    boxed.agent(&["branch", "other", "HEAD~1"]);
    boxed.agent(&["config", "user.name", "An Agent"]);
    let blob = boxed.object("blob", b"theirs\n");
    boxed.agent(&["update-index", "--cacheinfo", &format!("100644,{blob},src/a")]);
    let tree = boxed.agent(&["write-tree"]);
    let theirs = boxed.agent(&["commit-tree", "-p", "other", "-m", "theirs", &tree]);
    boxed.agent(&["reset", "-q"]);
    assert_live(&boxed, &["merge", "--no-edit", &theirs]);
    boxed.agent(&["reset", "-q", "--hard"]);
    fs::write(boxed.path().join("src/a"), "four\n").unwrap();
    assert_nothing_runs(&boxed).await;
    // What is merged on the host is merged by the host's own drivers.
    let tip = boxed.host_tip().await;
    boxed.repository.attempt_merge(&tip, &boxed.base).await.ok();
    assert!(!boxed.canary().exists());
}

#[tokio::test]
async fn attack_7_pager_editor_and_aliases() {
    let boxed = busy().await;
    for setting in ["core.pager", "core.editor", "sequence.editor", "pager.status", "pager.diff"] {
        boxed.agent(&["config", setting, &boxed.payload()]);
    }
    for verb in ["x", "status", "diff", "for-each-ref", "pack-objects", "ls-files", "read-tree", "commit-tree"] {
        boxed.agent(&["config", &format!("alias.{verb}"), &format!("!{}", boxed.payload())]);
    }
    assert_live(&boxed, &["x"]);
    assert_nothing_runs(&boxed).await;
}

#[tokio::test]
async fn attack_8_programs_for_ssh_credentials_and_signatures() {
    let boxed = busy().await;
    let script = boxed.script(&boxed.path().join("signer"));
    for setting in ["core.sshCommand", "credential.helper", "core.askPass", "gpg.program", "gpg.x509.program"] {
        boxed.agent(&["config", setting, script.to_str().unwrap()]);
    }
    for (setting, value) in [("commit.gpgSign", "true"), ("tag.gpgSign", "true"), ("log.showSignature", "true")] {
        boxed.agent(&["config", setting, value]);
    }
    assert_live(&boxed, &["commit", "-q", "--allow-empty", "-m", "live"]);
    assert_nothing_runs(&boxed).await;
}

#[tokio::test]
async fn attack_9_programs_of_a_transfer() {
    let boxed = busy().await;
    let script = boxed.script(&boxed.path().join("packer"));
    boxed.agent(&["config", "uploadpack.packObjectsHook", script.to_str().unwrap()]);
    for name in ["remote.origin.uploadpack", "remote.origin.receivepack"] {
        boxed.agent(&["config", name, &format!("'{}'", script.display())]);
    }
    boxed.agent(&["config", "remote.origin.url", boxed.mirror.path().to_str().unwrap()]);
    assert_live(&boxed, &["fetch", "origin"]);
    assert_nothing_runs(&boxed).await;
}

#[tokio::test]
async fn attack_10_configuration_of_a_worktree() {
    let boxed = busy().await;
    boxed.agent(&["config", "extensions.worktreeConfig", "true"]);
    let text = format!("[core]\n\tfsmonitor = \"{}\"\n", boxed.payload());
    fs::write(boxed.git_dir().join("config.worktree"), text).unwrap();
    assert_live(&boxed, &["status"]);
    assert_nothing_runs(&boxed).await;
}

#[tokio::test]
async fn attack_11_another_common_dir() {
    for named in ["evil", "/workspace/evil"] {
        let boxed = busy().await;
        let evil = boxed.path().join("evil");
        boxed.sandbox.run(boxed.path(), &["clone", "-q", "--bare", boxed.mirror.path().to_str().unwrap(), "evil"]);
        boxed.sandbox.run(&evil, &["config", "core.fsmonitor", &boxed.payload()]);
        boxed.sandbox.run(&evil, &["config", "core.bare", "false"]);
        let lead = if Path::new(named).is_absolute() { Path::new(named).to_owned() } else { evil };
        fs::write(boxed.git_dir().join("commondir"), format!("{}\n", lead.display())).unwrap();
        if lead.exists() {
            assert_live(&boxed, &["status"]);
        }
        boxed.ask_everything().await.assert_import_refused();
    }
}

/// A repository below the tree, whose own configuration runs the payload.
fn nested(boxed: &Boxed) {
    let sub = boxed.path().join("sub");
    boxed.sandbox.run(boxed.path(), &["init", "-q", "sub"]);
    boxed.sandbox.commit(&sub, "a", "a\n");
    boxed.sandbox.run(&sub, &["config", "core.fsmonitor", &boxed.payload()]);
    fs::write(sub.join(".gitattributes"), "* filter=x\n").unwrap();
    boxed.sandbox.run(&sub, &["config", "filter.x.clean", &boxed.payload()]);
    fs::write(sub.join("a"), "b\n").unwrap();
    fs::remove_file(boxed.canary()).ok();
}

#[tokio::test]
async fn attack_16_a_gitlink_with_a_hostile_repository() {
    let boxed = busy().await;
    nested(&boxed);
    let head = boxed.sandbox.head(&boxed.path().join("sub"));
    boxed.agent(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},sub")]);
    boxed.agent(&["commit", "-q", "-m", "a gitlink"]);
    fs::remove_file(boxed.canary()).ok();
    assert_live(&boxed, &["status"]);
    assert_nothing_runs(&boxed).await;
}

#[tokio::test]
async fn attack_17_a_hostile_repository_that_is_not_tracked() {
    let boxed = busy().await;
    nested(&boxed);
    boxed.sandbox.run(&boxed.path().join("sub"), &["status"]);
    assert!(boxed.canary().exists());
    fs::remove_file(boxed.canary()).unwrap();
    let found = boxed.tree.load_left_over(&boxed.branch).await.unwrap();
    assert_eq!(found.repositories, [Path::new("sub")]);
    assert_nothing_runs(&boxed).await;
}

#[tokio::test]
async fn attack_18_the_git_dir_of_a_submodule() {
    let boxed = busy().await;
    nested(&boxed);
    let (sub, module) = (boxed.path().join("sub"), boxed.git_dir().join("modules/sub"));
    fs::create_dir_all(module.parent().unwrap()).unwrap();
    fs::rename(sub.join(".git"), &module).unwrap();
    boxed.sandbox.run(&module, &["config", "core.worktree", sub.to_str().unwrap()]);
    fs::write(sub.join(".git"), format!("gitdir: {}\n", module.display())).unwrap();
    fs::write(boxed.path().join(".gitmodules"), "[submodule \"sub\"]\n\tpath = sub\n\turl = ./sub\n").unwrap();
    let head = boxed.sandbox.head(&sub);
    boxed.agent(&["update-index", "--add", "--cacheinfo", &format!("160000,{head},sub")]);
    fs::remove_file(boxed.canary()).ok();
    assert_live(&boxed, &["status"]);
    let asked = boxed.ask_everything().await;
    assert!(asked.status.is_ok() && asked.import.is_ok(), "{asked:?}");
    // By the name that it has in the box, git finds it in the jail, too.
    fs::write(sub.join(".git"), "gitdir: /.spinney/git/modules/sub\n").unwrap();
    fs::write(
        module.join("config"),
        format!("[core]\n\tworktree = /workspace/sub\n\tfsmonitor = \"{}\"\n", boxed.payload()),
    )
    .unwrap();
    assert_nothing_runs(&boxed).await;
}
