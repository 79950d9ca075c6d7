//! How files get into a workspace: checked out, shared with a template, or by a snapshot of it; and what is carried
//! along. On file systems that can do it, each in an image of its own, where that can be had.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::time::Duration;

use crate::support::common::Story;
use serde_json::Value;
use spinney_testkit::{GitWrapper, LoopImage, Sandbox, wait_until};

const IMAGE_BYTES: u64 = 512 << 20;
const CONFIG: &str = "[limits]\nmin_free_disk = \"0MB\"\n";
const LONG: Duration = Duration::from_secs(60);

/// A repository whose main checkout has installed dependencies, which git ignores.
fn with_dependencies(sandbox: &Sandbox) -> Story {
    let repository = sandbox.repository("app");
    repository.write(".gitignore", "node_modules\ntarget\n*.local\n");
    for number in 0..60 {
        repository.write(format!("src/part-{}/file-{number}.txt", number % 7), format!("{number}\n").repeat(200));
    }
    repository.write_executable("run.sh", "#!/bin/sh\n");
    symlink("src/lib.rs", repository.path().join("link")).unwrap();
    repository.commit("files of every kind");
    let repository = repository.with_remote();
    repository.write("node_modules/left/index.js", "left\n").write("node_modules/.bin/tool", "tool\n");
    symlink("../left/index.js", repository.path().join("node_modules/.bin/left")).unwrap();
    // The images are small.
    repository.sandbox().write_config(CONFIG);
    Story::of(repository)
}

/// Each file system that shares blocks, with the word for how files get there.
fn sharing() -> Vec<(LoopImage, &'static str)> {
    let made = [(LoopImage::xfs(IMAGE_BYTES), "reflink"), (LoopImage::btrfs(IMAGE_BYTES), "snapshot")];
    made.into_iter().filter_map(|(image, populate)| Some((image?, populate))).collect()
}

/// Fills a pool of this size, and gives what it says of itself then.
fn fill(story: &Story, size: u32) -> Value {
    let cli = story.cli.with_variable("SPINNEY_POOL__SIZE", size.to_string());
    cli.run(&["pool", "fill"]).ok();
    status(story)
}

fn status(story: &Story) -> Value {
    story.cli.run(&["pool", "status", "--json"]).ok().json()["pools"][0].take()
}

fn states(pool: &Value) -> Vec<&str> {
    let mut states: Vec<_> =
        pool["members"].as_array().unwrap().iter().map(|member| member["state"].as_str().unwrap()).collect();
    states.sort_unstable();
    states
}

fn template(pool: &Value) -> &Value {
    pool["members"].as_array().unwrap().iter().find(|member| member["state"] == "template").expect("a template")
}

/// Asserts that a tree is what git would have made, without git reading a file to know.
#[track_caller]
fn assert_as_checked_out(story: &Story, tree: &Path) {
    let git = |arguments: &[&str]| story.sandbox().git(tree, arguments);
    let perf = story.sandbox().path().join("perf");
    let mut status = story.sandbox().command("git");
    let status = status.current_dir(tree).env("GIT_TRACE2_PERF", &perf).args(["status", "--porcelain=v2"]).output();
    assert_eq!(String::from_utf8_lossy(&status.unwrap().stdout), "");
    let trace = fs::read_to_string(&perf).unwrap();
    assert!(trace.contains("refresh/sum_scan") && !trace.contains("refresh/sum_scan:1"), "{trace}");
    let scanned = trace.lines().find(|line| line.contains("refresh/sum_scan")).unwrap();
    assert!(scanned.trim_end().ends_with(":0"), "git read files: {scanned}");
    fs::remove_file(perf).unwrap();
    // Now with the content: an index that is not believed reads everything.
    git(&["update-index", "--really-refresh"]);
    assert_eq!(git(&["diff", "HEAD", "--stat"]), "");
    assert!(tree.join("link").is_symlink());
    assert_eq!(fs::metadata(tree.join("run.sh")).unwrap().mode() & 0o111, 0o111);
    story.sandbox().git(tree, &["fsck", "--no-dangling"]);
}

#[test]
fn files_are_shared_with_a_template_where_the_file_system_can() {
    for (image, populate) in sharing() {
        println!("{populate}");
        let story = with_dependencies(&Sandbox::inside(&image.path()));
        let first = story.make(&["--issue", "1"]);
        assert_eq!(first.text("populate"), "checkout", "for one workspace a template does not pay");
        let pool = fill(&story, 2);
        assert_eq!(states(&pool), ["ready", "ready", "template"]);
        for member in pool["members"].as_array().unwrap().iter().filter(|member| member["state"] == "ready") {
            assert_eq!(member["populate"], populate);
        }
        let warm = story.make(&["--issue", "2"]);
        assert_eq!((warm.0["warm"].as_bool(), warm.text("populate")), (Some(true), populate));
        assert_as_checked_out(&story, &warm.path());
        story.make(&["--issue", "3"]);
        let cold = story.make(&["--issue", "4"]);
        assert_eq!((cold.0["warm"].as_bool(), cold.text("populate")), (Some(false), populate));
        assert_as_checked_out(&story, &cold.path());

        // What one writes, no other sees.
        fs::write(cold.path().join("README.md"), "another\n").unwrap();
        let untouched = |tree: &Path| story.sandbox().git(tree, &["status", "--porcelain"]);
        let of_template = Path::new(template(&status(&story))["path"].as_str().unwrap()).to_owned();
        for tree in [warm.path(), of_template] {
            assert_eq!(untouched(&tree), "");
        }
        // And all of it can go.
        story.cli.run(&["rm", "issue-4", "--force"]).ok();
        story.cli.run(&["trash", "purge", "--all"]).ok();
        story.cli.run(&["pool", "drain"]).ok();
        assert_eq!(states(&status(&story)), Vec::<&str>::new());
        story.cli.run(&["restore", "issue-4"]).ok();
        assert_eq!(fs::read(cold.path().join("README.md")).unwrap(), b"another\n");
        story.cli.run(&["cleanup", "orphans"]).ok();
        story.assert_nothing_left_over();
    }
}

#[test]
fn a_template_follows_base_and_others_start_from_where_it_is() {
    for (image, populate) in sharing() {
        println!("{populate}");
        let story = with_dependencies(&Sandbox::inside(&image.path()));
        let first = template(&fill(&story, 1)).clone();
        let moved = story.remote().advance("moved.txt");
        story.cli.run(&["repo", "sync"]).ok();
        story.make(&["--issue", "1"]);
        // Neither the member nor the template is at base: only what differs is written.
        let cold = story.make(&["--issue", "2"]);
        assert_eq!((cold.text("populate"), cold.text("base_commit")), (populate, moved.as_str()));
        assert!(cold.path().join("moved.txt").exists());
        assert_as_checked_out(&story, &cold.path());
        let pool = fill(&story, 1);
        let second = template(&pool);
        assert_eq!((&second["path"], second["commit"].as_str()), (&first["path"], Some(moved.as_str())));
        let warm = story.make(&["--issue", "3"]);
        assert_as_checked_out(&story, &warm.path());
    }
}

#[test]
fn a_template_that_was_changed_is_not_used_and_is_made_anew() {
    // A snapshot's template can't be changed.
    let Some(image) = LoopImage::xfs(IMAGE_BYTES) else { return };
    let story = with_dependencies(&Sandbox::inside(&image.path()));
    let pool = fill(&story, 1);
    story.make(&["--issue", "1"]);
    let path = Path::new(template(&pool)["path"].as_str().unwrap());
    fs::write(path.join("README.md"), "somebody's\n").unwrap();
    let cold = story.make(&["--issue", "2"]);
    assert_eq!(cold.text("populate"), "checkout");
    assert!(cold.said().contains("the template was changed"), "{}", cold.said());
    assert_as_checked_out(&story, &cold.path());
    let anew = fill(&story, 1);
    assert_ne!(template(&anew)["path"].as_str(), path.to_str());
    assert_eq!(story.make(&["--issue", "3"]).text("populate"), "reflink");
    // What somebody wrote there is in the trash, not gone.
    let trash = story.cli.run(&["trash", "ls", "--json"]).ok().json();
    let name = trash["trash"][0]["name"].as_str().unwrap();
    story.cli.run(&["restore", name]).ok();
    assert_eq!(fs::read(path.join("README.md")).unwrap(), b"somebody's\n");
}

#[test]
fn what_somebody_staged_in_a_template_or_moved_it_to_reaches_nobody() {
    for (image, _) in sharing() {
        let story = with_dependencies(&Sandbox::inside(&image.path()));
        for meddle in
            [&["update-index", "--force-remove", "README.md"][..], &["update-ref", "--no-deref", "HEAD", "HEAD~1"]]
        {
            let pool = fill(&story, 1);
            let issue = format!("1{}", meddle.len());
            story.make(&["--issue", &issue]);
            story.sandbox().git(template(&pool)["path"].as_str().unwrap(), meddle);
            let made = story.make(&["--issue", &format!("2{issue}")]);
            assert_eq!(made.text("populate"), "checkout", "{meddle:?}");
            assert_as_checked_out(&story, &made.path());
        }
        // A person's filling takes each of them out, so that one is left.
        let pool = fill(&story, 1);
        assert_eq!(states(&pool), ["ready", "template"], "{pool:#}");
    }
}

#[test]
fn a_directory_that_git_has_is_no_artifact() {
    let plain = Sandbox::new();
    let images = sharing();
    let sandboxes = images.iter().map(|(image, _)| Sandbox::inside(&image.path())).chain([plain]);
    for sandbox in sandboxes {
        let story = with_dependencies(&sandbox);
        story.sandbox().write_config(&format!("{CONFIG}[workspace]\nartifacts = [\"src\", \"node_modules\"]\n"));
        for round in ["1", "2"] {
            fill(&story, 1);
            for issue in [round, &format!("3{round}")] {
                let made = story.make(&["--issue", issue]);
                assert_eq!(story.sandbox().git(made.path(), &["status", "--porcelain"]), "");
            }
            story.remote().advance(&format!("moved-{round}.txt"));
            story.cli.run(&["repo", "sync"]).ok();
        }
    }
}

#[test]
fn links_between_the_packages_of_a_repository_are_carried() {
    let story = with_dependencies(&Sandbox::new());
    story.change(|repository| {
        let modules = repository.path().join("node_modules");
        symlink("../src/part-1", modules.join("part")).unwrap();
        symlink("../../outside", modules.join("out")).unwrap();
    });
    let cli = story.cli.with_variable("SPINNEY_WORKSPACE__ARTIFACTS", "node_modules");
    let made = crate::support::common::make(&cli, &["--issue", "1"]);
    assert!(made.path().join("node_modules/part/file-1.txt").exists());
    assert!(made.path().join("node_modules/out").symlink_metadata().is_err());
    assert!(made.said().contains("without links that lead out of the tree"), "{}", made.said());
}

#[test]
fn where_files_can_not_be_shared_one_by_one_no_template_is_used_and_nobody_is_told_each_time() {
    let Some(image) = LoopImage::xfs(IMAGE_BYTES) else { return };
    let sandbox = Sandbox::inside(&image.path());
    let part = sandbox.repository("part").with_remote();
    let story = with_dependencies(&sandbox);
    story.change(|repository| {
        repository.add_submodule("part", &part);
        repository.commit("a part");
        repository.push();
    });
    let pool = fill(&story, 1);
    assert_eq!(states(&pool), ["failed", "ready"], "{pool}");
    story.make(&["--issue", "1"]);
    let made = story.make(&["--issue", "2"]);
    assert_eq!(made.text("populate"), "checkout");
    assert!(!made.said().contains("template"), "{}", made.said());
}

#[test]
fn a_sealed_template_can_not_be_changed() {
    let Some(image) = LoopImage::btrfs(IMAGE_BYTES) else { return };
    let story = with_dependencies(&Sandbox::inside(&image.path()));
    let pool = fill(&story, 1);
    let path = Path::new(template(&pool)["path"].as_str().unwrap());
    assert!(fs::write(path.join("README.md"), "somebody's\n").is_err());
}

#[test]
fn where_nothing_can_be_shared_files_are_checked_out_and_that_is_said_when_asked_for() {
    let story = with_dependencies(&Sandbox::new());
    let made = story.make(&["--issue", "1"]);
    assert_eq!(made.text("populate"), "checkout");
    assert!(!made.said().contains("share"), "{}", made.said());
    if fs::read_to_string(story.sandbox().spinney_home().join("file-systems.json")).unwrap().contains("\"none\"") {
        let cli = story.cli.with_variable("SPINNEY_WORKSPACE__POPULATE", "reflink");
        let asked = crate::support::common::make(&cli, &["--issue", "2"]);
        assert_eq!(asked.text("populate"), "checkout");
        assert!(asked.said().contains("can't share files"), "{}", asked.said());
        assert_eq!(states(&fill(&story, 1)), ["ready"], "a template would only cost");
    }
}

#[test]
fn artifacts_are_carried_and_belong_to_each_alone() {
    let plain = Sandbox::new();
    let images = sharing();
    let sandboxes = images.iter().map(|(image, _)| Sandbox::inside(&image.path())).chain([plain]);
    for sandbox in sandboxes {
        let story = with_dependencies(&sandbox);
        story.sandbox().write_config(&format!("{CONFIG}[workspace]\nartifacts = [\"node_modules\"]\n"));
        fill(&story, 1);
        for issue in ["1", "2"] {
            let made = story.make(&["--issue", issue]);
            let carried = made.path().join("node_modules");
            assert_eq!(fs::read(carried.join("left/index.js")).unwrap(), b"left\n");
            assert_eq!(fs::read_link(carried.join(".bin/left")).unwrap(), Path::new("../left/index.js"));
            fs::write(carried.join("left/index.js"), "mine\n").unwrap();
            assert_eq!(story.sandbox().git(made.path(), &["status", "--porcelain"]), "");
        }
        story.change(|repository| {
            assert_eq!(fs::read(repository.path().join("node_modules/left/index.js")).unwrap(), b"left\n");
        });
    }
}

#[test]
fn artifacts_that_can_not_be_carried_are_left_to_setup_and_told() {
    let story = with_dependencies(&Sandbox::new());
    story.change(|repository| {
        repository.write("venv-like/pyvenv.cfg", "home = /usr\n").write("seen/x", "x");
        repository.write(".git/info/exclude", "venv-like\nlinked\n");
        symlink("/etc", repository.path().join("linked")).unwrap();
    });
    let cli = story.cli.with_variable("SPINNEY_WORKSPACE__ARTIFACTS", "venv-like,seen,linked,src,absent");
    let made = crate::support::common::make(&cli, &["--issue", "1"]);
    for (directory, reason) in
        [("venv-like", "absolute paths"), ("seen", "git does not ignore it"), ("linked", "it is a link")]
    {
        assert!(made.said().contains(&format!("`{directory}` was not copied")), "{directory}: {}", made.said());
        assert!(made.said().contains(reason), "{}", made.said());
        assert!(!made.path().join(directory).exists(), "{directory}");
    }
    assert!(!made.said().contains("absent") && !made.said().contains("`src`"), "{}", made.said());
    let wrong = story.cli.with_variable("SPINNEY_WORKSPACE__ARTIFACTS", "target").run(&["ls"]).exits(2);
    assert!(wrong.stderr.contains("have `setup` build it in place"), "{}", wrong.told());
}

#[test]
fn a_template_is_made_in_the_background_once_it_pays() {
    let Some(image) = LoopImage::xfs(IMAGE_BYTES) else { return };
    let story = with_dependencies(&Sandbox::inside(&image.path()));
    story.make(&["--issue", "1"]);
    story.make(&["--issue", "2"]);
    wait_until(|| states(&status(&story)) == ["template"], LONG);
    assert_eq!(story.make(&["--issue", "3"]).text("populate"), "reflink");
}

/// A death while the template's directory is replaced by one that snapshots can be taken of, or by a snapshot.
#[cfg(feature = "fail-points")]
#[test]
fn a_death_while_a_directory_is_replaced_leaves_nothing() {
    for (image, populate) in sharing() {
        let story = with_dependencies(&Sandbox::inside(&image.path()));
        let armed = |points: &str| story.cli.with_variable("SPINNEY_FAIL", points);
        for point in ["template.emptied", "template.made", "warm.filled", "warm.prepared"] {
            if populate != "snapshot" && point.starts_with("template") {
                continue;
            }
            println!("{populate} dies at {point}");
            armed(point).with_variable("SPINNEY_POOL__SIZE", "1").run(&["pool", "fill"]).exits(134);
            assert_eq!(states(&fill(&story, 1)), ["ready", "template"]);
            story.cli.run(&["pool", "drain"]).ok();
            story.cli.run(&["cleanup", "orphans"]).ok();
            story.assert_nothing_left_over();
        }
        fill(&story, 0);
        for point in ["populate.emptied", "populate.copied", "create.filled"] {
            fill(&story, 1);
            story.make(&["--issue", "1"]);
            println!("{populate} of a workspace dies at {point}");
            if populate == "snapshot" || !point.ends_with("emptied") {
                armed(point).run(&["new", "--issue", "2"]).exits(134);
            }
            let made = story.make(&["--issue", "2"]);
            assert_as_checked_out(&story, &made.path());
            for name in ["issue-1", "issue-2"] {
                story.cli.run(&["rm", name, "--force"]).ok();
            }
            story.cli.run(&["trash", "purge", "--all"]).ok();
            story.cli.run(&["cleanup", "orphans"]).ok();
            story.assert_nothing_left_over();
        }
    }
}

#[test]
fn a_git_that_fails_to_move_what_differs_is_no_harm() {
    let Some(image) = LoopImage::xfs(IMAGE_BYTES) else { return };
    let story = with_dependencies(&Sandbox::inside(&image.path()));
    fill(&story, 1);
    story.make(&["--issue", "1"]);
    story.remote().advance("moved.txt");
    story.cli.run(&["repo", "sync"]).ok();
    let git = GitWrapper::new(
        r#"case " $* " in *' reset '*) if [ ! -e "$HERE/failed" ]; then : > "$HERE/failed"; exit 128; fi;; esac
exec "$GIT" "$@"
"#,
    );
    let made = crate::support::common::make(&story.cli.with_path_first(git.directory()), &["--issue", "2"]);
    assert_eq!(made.text("populate"), "checkout");
    assert!(made.path().join("moved.txt").exists());
    assert_as_checked_out(&story, &made.path());
}
