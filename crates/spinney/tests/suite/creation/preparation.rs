//! What a new workspace is given before it is handed over: ignored files, submodules, LFS, set-up, ports.

use std::fs::{self, Permissions};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::support::common::{Story, make, refused};
use spinney_testkit::Sandbox;

fn read(tree: &Path, file: &str) -> Option<String> {
    fs::read_to_string(tree.join(file)).ok()
}

#[test]
fn ignored_files_that_match_are_carried_over_and_no_others() {
    let story = Story::new();
    story.sandbox().write_config("[workspace]\ncopy = [\".env\", \"*.local\", \"README.md\", \"missing.txt\"]\n");
    story.change(|repository| {
        repository.write(".worktreeinclude", "# from here too\n\n/target/cache.bin\n");
        repository.write(".gitignore", "/target/\nnode_modules/\n.env\n*.local\n.worktreeinclude\n").commit("ignore");
        repository.push();
        repository.write(".env", "SECRET=1").write("deep/er/x.local", "deep");
        repository.write("target/cache.bin", "cache").write("target/other.bin", "other");
        repository.write("node_modules/a.js", "a").write("notes.txt", "untracked, and not ignored");
        repository.write("README.md", "tracked, and edited here");
        fs::set_permissions(repository.path().join(".env"), Permissions::from_mode(0o640)).unwrap();
        fs::set_permissions(repository.path().join("deep/er/x.local"), Permissions::from_mode(0o755)).unwrap();
    });
    let tree = story.make(&["--issue", "1"]).path();
    assert_eq!(read(&tree, ".env").as_deref(), Some("SECRET=1"));
    assert_eq!(read(&tree, "deep/er/x.local").as_deref(), Some("deep"));
    assert_eq!(read(&tree, "target/cache.bin").as_deref(), Some("cache"));
    for absent in ["target/other.bin", "node_modules", "notes.txt", "missing.txt"] {
        assert!(!tree.join(absent).exists(), "{absent}");
    }
    assert_eq!(read(&tree, "README.md").as_deref(), Some("# A repository\n"), "tracked files are git's");
    let mode = |file: &str| fs::metadata(tree.join(file)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(".env"), mode("deep/er/x.local")), (0o640, 0o755));
    assert_eq!(story.sandbox().git(&tree, &["status", "--porcelain"]), "");
    // A copy is a copy: what the workspace does with it stays there.
    fs::write(tree.join(".env"), "SECRET=2").unwrap();
    assert_eq!(read(story.repository.path(), ".env").as_deref(), Some("SECRET=1"));
}

#[test]
fn a_directory_can_be_carried_over_whole() {
    let story = Story::new();
    story.sandbox().write_config("[workspace]\ncopy = [\"node_modules\"]\n");
    story.change(|repository| {
        repository.write("node_modules/a/index.js", "a").write_executable("node_modules/.bin/tool", "#!/bin/sh\n");
    });
    let tree = story.make(&["--issue", "1"]).path();
    assert_eq!(read(&tree, "node_modules/a/index.js").as_deref(), Some("a"));
    assert!(fs::metadata(tree.join("node_modules/.bin/tool")).unwrap().permissions().mode() & 0o100 != 0);
}

#[test]
fn nothing_is_carried_over_through_a_link_out_of_the_tree() {
    let story = Story::new();
    let outside = story.sandbox().path().join("outside");
    fs::create_dir_all(&outside).unwrap();
    fs::write(outside.join("secret.local"), "not of this repository").unwrap();
    story.sandbox().write_config("[workspace]\ncopy = [\"*.local\", \"out.local/\"]\n");
    story.change(|repository| {
        let here = repository.path();
        repository.write("real.local", "real");
        symlink(outside.join("secret.local"), here.join("file.local")).unwrap();
        symlink("../../outside/secret.local", here.join("relative.local")).unwrap();
        symlink(&outside, here.join("out.local")).unwrap();
        symlink("real.local", here.join("inside.local")).unwrap();
    });
    let workspace = story.make(&["--issue", "1"]);
    let tree = workspace.path();
    assert_eq!(fs::read_link(tree.join("inside.local")).unwrap(), Path::new("real.local"));
    for left_out in ["file.local", "relative.local", "out.local"] {
        assert!(fs::symlink_metadata(tree.join(left_out)).is_err(), "{left_out}");
    }
    assert!(
        workspace
            .said()
            .contains("`file.local` was not copied: it is a symbolic link that leads out of the repository"),
        "{}",
        workspace.said()
    );
}

#[test]
fn a_link_that_a_commit_brings_is_not_written_through() {
    let story = Story::new();
    let outside = story.sandbox().path().join("outside");
    fs::create_dir_all(&outside).unwrap();
    story.change(|repository| {
        symlink(&outside, repository.path().join("conf")).unwrap();
        repository.commit("a hostile link");
        repository.push();
        repository.git(&["rm", "--quiet", "conf"]);
        repository.write("conf/.env", "SECRET=1").commit("a directory here");
    });
    story.sandbox().write_config("[workspace]\ncopy = [\"conf/.env\"]\n");
    let workspace = story.make(&["--issue", "1"]);
    assert_eq!(outside.read_dir().unwrap().count(), 0);
    assert!(workspace.said().contains("a directory in its path is a symbolic link"), "{}", workspace.said());
}

/// A repository with a submodule that has a submodule itself.
fn with_submodules() -> Story {
    let sandbox = Sandbox::new();
    let (inner, outer) = (sandbox.repository("inner"), sandbox.repository("outer"));
    outer.add_submodule("nested", &inner);
    let repository = sandbox.repository("app").with_remote();
    repository.add_submodule("libs/one", &outer);
    repository.push();
    // As in a plain clone: nobody has initialised it here, so the configuration says nothing of it.
    repository.git(&["submodule", "--quiet", "deinit", "--force", "libs/one"]);
    Story::of(repository)
}

#[test]
fn submodules_are_checked_out_with_those_in_them_and_the_configuration_stays_as_it_was() {
    let story = with_submodules();
    let config = fs::read(story.repository.path().join(".git/config")).unwrap();
    let tree = story.make(&["--issue", "1"]).path();
    assert!(tree.join("libs/one/README.md").is_file());
    assert!(tree.join("libs/one/nested/README.md").is_file());
    assert_eq!(story.sandbox().git(&tree, &["status", "--porcelain"]), "");
    assert_eq!(fs::read(story.repository.path().join(".git/config")).unwrap(), config);
    // It can be removed and comes back.
    story.cli.run(&["rm", "issue-1"]).ok();
    story.cli.run(&["restore", "issue-1"]).ok();
    assert!(tree.join("libs/one/nested/README.md").is_file());
    assert_eq!(story.sandbox().git(&tree, &["status", "--porcelain"]), "");
}

#[test]
fn submodules_can_be_opted_out_of() {
    let story = with_submodules();
    let cli = story.cli.with_variable("SPINNEY_WORKSPACE__SUBMODULES", "false");
    let tree = make(&cli, &["--issue", "1"]).path();
    assert_eq!(tree.join("libs/one").read_dir().unwrap().count(), 0);
}

/// A repository whose `*.bin` files go through LFS, with a smudge filter that leaves a trace when it runs.
fn with_lfs() -> (Story, std::path::PathBuf) {
    let sandbox = Sandbox::new();
    let ran = sandbox.path().join("smudged");
    let repository = sandbox.repository("app").with_remote();
    repository.write(".gitattributes", "*.bin filter=lfs -text\n");
    repository.write("big.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n");
    repository.commit("a pointer");
    repository.push();
    let smudge = format!("touch '{}'; cat >/dev/null; echo smudged", ran.display());
    for (key, value) in [("smudge", smudge.as_str()), ("clean", "cat"), ("required", "true")] {
        sandbox.git(sandbox.path(), &["config", "--global", &format!("filter.lfs.{key}"), value]);
    }
    (Story::of(repository), ran)
}

#[test]
fn lfs_is_skipped_by_default() {
    let (story, ran) = with_lfs();
    let tree = story.make(&["--issue", "1"]).path();
    assert!(read(&tree, "big.bin").unwrap().starts_with("version https://git-lfs"));
    assert!(!ran.exists(), "the smudge filter ran");
}

#[test]
fn a_repositorys_setup_runs_only_after_it_was_trusted_and_only_as_it_was_shown() {
    let story = Story::new();
    let write = |setup: &str| {
        story.change(|repository| {
            repository.write("spinney.toml", format!("[workspace]\nsetup = {setup}\n")).fingerprint()
        });
    };
    write("[\"echo one > made.txt\"]");
    let before = story.make(&["--issue", "1"]);
    assert!(!before.path().join("made.txt").exists());
    assert!(before.said().contains("spinney trust"), "{}", before.said());
    // Nobody is there to ask, so nobody agreed.
    story.cli.run(&["trust"]).exits(2);
    assert!(!story.make(&["--issue", "2"]).path().join("made.txt").exists());

    let shown = story.cli.run(&["trust", "--yes"]).ok();
    assert!(shown.stderr.contains("echo one > made.txt"), "{}", shown.stderr);
    let trusted = story.make(&["--issue", "3"]);
    assert_eq!(read(&trusted.path(), "made.txt").as_deref(), Some("one\n"));
    assert!(!trusted.said().contains("trust"), "{}", trusted.said());

    write("[\"echo two > made.txt\"]");
    let changed = story.make(&["--issue", "4"]);
    assert!(!changed.path().join("made.txt").exists());
    assert!(changed.said().contains("spinney trust"), "{}", changed.said());
    // What was trusted once is remembered by its content.
    write("[\n  \"echo one > made.txt\", # the same\n]");
    assert!(story.make(&["--issue", "5"]).path().join("made.txt").exists());
}

#[test]
fn trust_is_given_to_one_repository() {
    let story = Story::new();
    let other = Story::of(story.sandbox().repository("other").with_remote());
    for one in [&story, &other] {
        one.change(|repository| {
            repository.write("spinney.toml", "[workspace]\nsetup = [\"touch made.txt\"]\n").fingerprint()
        });
    }
    story.cli.run(&["trust", "--yes"]).ok();
    assert!(story.make(&["--issue", "1"]).path().join("made.txt").exists());
    assert!(!other.make(&["--issue", "1"]).path().join("made.txt").exists());
}

#[test]
fn a_persons_own_setup_needs_no_trust_and_a_workspaces_file_is_never_read() {
    let story = Story::new();
    story.sandbox().write_config("[workspace]\nsetup = [\"pwd > where.txt\", \"env > env.txt\"]\n");
    let first = story.make(&["--issue", "1", "--title", "A title"]);
    let path = first.path();
    assert_eq!(read(&path, "where.txt").unwrap().trim(), path.to_str().unwrap());
    let environment = read(&path, "env.txt").unwrap();
    for line in [
        format!("SPINNEY_WORKTREE_PATH={}", path.display()),
        "SPINNEY_WORKTREE_BRANCH=issue-1".to_owned(),
        "SPINNEY_WORKTREE_BASE_BRANCH=main".to_owned(),
        "SPINNEY_WORK_ITEM_ID=1".to_owned(),
        "SPINNEY_WORKSPACE_NAME=issue-1".to_owned(),
        format!("SPINNEY_WORKSPACE_PATH={}", path.display()),
        "SPINNEY_WORK_ITEM_TITLE=A title".to_owned(),
        format!("SPINNEY_REPO_ROOT={}", story.repository.path().display()),
    ] {
        assert!(environment.lines().any(|have| have == line), "{line} is not in:\n{environment}");
    }
    assert!(!environment.contains("GIT_DIR="), "{environment}");
    // What an agent writes into its workspace configures nothing.
    fs::write(path.join("spinney.toml"), "[workspace]\nbase = \"nowhere\"\n").unwrap();
    assert_eq!(make(&story.cli.in_directory(&path), &["--issue", "2"]).text("base_branch"), "main");
}

#[test]
fn what_a_repository_may_not_set_is_refused() {
    let story = Story::new();
    for (text, key) in [
        ("[workspace]\npath = \"/tmp/{id}\"\n", "workspace.path"),
        ("[cleanup]\ntrash_for = \"1s\"\n", "cleanup.trash_for"),
        ("[store]\nurl = \"postgres://elsewhere/\"\n", "store.url"),
        ("[limits]\nmin_free_disk = \"0\"\n", "limits.min_free_disk"),
    ] {
        story.change(|repository| repository.write("spinney.toml", text).fingerprint());
        story.refused(2, &["--issue", "1"]).says(&[key, "spinney.toml"]);
    }
    story.change(|repository| fs::remove_file(repository.path().join("spinney.toml")).unwrap());
    story.assert_nothing_made();
}

#[test]
fn the_output_of_setup_is_streamed_while_it_runs() {
    let story = Story::new();
    let (seen, go) = (story.sandbox().path().join("stderr"), story.sandbox().path().join("go"));
    let line = format!(
        "echo to-stdout; echo to-stderr >&2; while [ ! -e '{}' ]; do sleep 0.02; done; echo last",
        go.display()
    );
    story.sandbox().write_config(&format!("[workspace]\nsetup = [{}]\n", serde_json::to_string(&line).unwrap()));
    let mut command = story.cli.command(&["new", "--issue", "1"]);
    let mut child = command
        .stderr(fs::File::create(&seen).unwrap())
        .stdout(fs::File::create("/dev/null").unwrap())
        .spawn()
        .unwrap();
    let read = || fs::read_to_string(&seen).unwrap();
    // Both lines are there although the command still waits for us.
    spinney_testkit::wait_until(
        || read().contains("to-stdout") && read().contains("to-stderr"),
        std::time::Duration::from_secs(60),
    );
    assert!(!read().contains("last"));
    fs::write(go, "").unwrap();
    assert!(child.wait().unwrap().success());
    assert!(read().contains("last"));
}

fn ports(workspace: &crate::support::common::Workspace) -> Vec<u64> {
    workspace.0["ports"].as_object().unwrap().values().map(|port| port.as_u64().unwrap()).collect()
}

#[test]
fn every_workspace_has_ports_of_its_own_and_commands_see_them() {
    let story = Story::new();
    story
        .sandbox()
        .write_config("[workspace]\nports = [\"web\", \"db\"]\nsetup = [\"echo $SPINNEY_PORT_WEB > port.txt\"]\n");
    let names: Vec<String> = (1..=4).map(|number| format!("issue-{number}")).collect();
    let running: Vec<_> = (1..=4).map(|number| story.cli.spawn(&["new", "--issue", &number.to_string()])).collect();
    running.into_iter().for_each(|one| drop(one.wait().ok()));
    let shown: Vec<_> = names.iter().map(|name| story.show(name)).collect();
    let mut all: Vec<u64> = shown.iter().flat_map(ports).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 8);
    for workspace in &shown {
        let name = workspace.text("name");
        let ran = story.cli.run(&["exec", name, "--", "sh", "-c", "echo $SPINNEY_PORT_WEB $SPINNEY_PORT_DB; pwd"]).ok();
        let expected =
            format!("{} {}\n{}\n", workspace.0["ports"]["web"], workspace.0["ports"]["db"], workspace.text("path"));
        assert_eq!(ran.stdout, expected);
        assert_eq!(read(&workspace.path(), "port.txt").unwrap().trim(), workspace.0["ports"]["web"].to_string());
    }
}

#[test]
fn a_port_that_somebody_listens_on_is_passed_over_and_a_removed_workspaces_port_is_free() {
    let story = Story::new();
    story.sandbox().write_config("[workspace]\nports = [\"web\"]\n");
    story.make(&["--issue", "1"]);
    let first = ports(&story.show("issue-1"))[0];
    story.cli.run(&["rm", "issue-1"]).ok();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, u16::try_from(first).unwrap())).unwrap();
    story.make(&["--issue", "2"]);
    assert_ne!(ports(&story.show("issue-2"))[0], first);
    drop(listener);
    // The lowest that is free is taken; if not this one, then because another program took it meanwhile.
    story.make(&["--issue", "3"]);
    let third = ports(&story.show("issue-3"))[0];
    assert!(third == first || TcpListener::bind((Ipv4Addr::LOCALHOST, u16::try_from(first).unwrap())).is_err());
}

#[test]
fn a_workspace_is_not_reused_before_its_setup_has_run_and_setup_runs_once() {
    let story = Story::new();
    let log = story.sandbox().path().join("log");
    story.sandbox().write_config(&format!("[workspace]\nsetup = [\"echo run >> '{}'\"]\n", log.display()));
    let running: Vec<_> = (0..5).map(|_| story.cli.spawn(&["new", "--issue", "1"])).collect();
    running.into_iter().for_each(|one| drop(one.wait().ok()));
    story.make(&["--issue", "1"]);
    assert_eq!(fs::read_to_string(log).unwrap(), "run\n");
}

#[test]
fn a_template_inside_the_main_checkout_needs_an_ignored_directory() {
    let story = Story::new();
    let cli = story.cli.with_variable("SPINNEY_WORKSPACE__PATH", "{root}/.worktrees/{id}");
    refused(&cli, 2, &["new", "--issue", "1"]).says(&[".worktrees", "main checkout"]).hints(&[".gitignore"]);
    story.assert_nothing_made();
    let beside = story.cli.with_variable("SPINNEY_WORKSPACE__PATH", "{parent}/{repo}-{name}-{id}");
    let workspace = make(&beside, &["--issue", "1"]);
    let expected = story.repository.path().with_file_name(format!("app-issue-1-{}", workspace.text("id")));
    assert_eq!(workspace.path(), expected);
}
