//! Claims: what somebody gets who is given a warm workspace.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::common::{BINARY, Story, make, names, refused};
use crate::support::pool::{Pool, SIZE, read, stamp};
use serde_json::Value;
use spinney_testkit::{Cli, Remote, Sandbox, postgres_database};

/// Writes where it runs to an ignored file, as a build does.
const BUILD: &str = "pwd > built.local";

#[track_caller]
fn assert_ready_to_work_in(pool: &Pool, tree: &Path, branch: &str, commit: &str) {
    assert_eq!(pool.git(tree, &["symbolic-ref", "HEAD"]), format!("refs/heads/{branch}"));
    assert_eq!(pool.git(tree, &["rev-parse", "HEAD"]), commit);
    assert_eq!(pool.git(tree, &["status", "--porcelain"]), "");
    let upstream = pool.story.sandbox().try_git(tree, &["rev-parse", "--abbrev-ref", "@{upstream}"]);
    assert_ne!(upstream.status, 0, "{}", upstream.told());
}

#[test]
fn a_claim_gives_a_member_as_it_was_prepared() {
    let pool = Pool::new(2);
    pool.set_up_with(&format!("{BUILD}; echo run >> '{}'", pool.log().display()));
    let filled = pool.fill();
    assert_eq!((&filled["made"], &filled["ready"]), (&2.into(), &2.into()), "{filled}");
    let base = pool.story.remote().head();
    let members: Vec<PathBuf> = pool.members().into_iter().map(|member| member.path).collect();
    assert_eq!((members.len(), pool.logged()), (2, 2));
    let before = stamp(&members[0].join("src/lib.rs"));

    let workspace = pool.claim(&["--issue", "1", "--title", "A title"]);
    let tree = workspace.path();
    assert!(members.contains(&tree), "{} is none of {members:?}", tree.display());
    assert_eq!(workspace.identity(), ("issue-1", "issue-1", "created"));
    assert_eq!((workspace.text("set_up_at"), workspace.text("base_commit")), (base.as_str(), base.as_str()));
    assert_eq!((workspace.text("status"), workspace.text("title")), ("active", "A title"));
    assert_ready_to_work_in(&pool, &tree, "issue-1", &base);
    assert_eq!(pool.logged(), 2, "set-up ran in the pool, and not again");
    assert_eq!(read(&tree, "built.local").unwrap().trim(), tree.to_str().unwrap(), "absolute paths stay valid");
    if tree == members[0] {
        assert_eq!(stamp(&tree.join("src/lib.rs")), before);
    }
    assert_eq!(fs::read_link(workspace.text("link")).unwrap(), tree);

    let admin_dir = PathBuf::from(pool.git(&tree, &["rev-parse", "--absolute-git-dir"]));
    let marker: Value = serde_json::from_str(&read(&admin_dir, "spinney.json").unwrap()).unwrap();
    assert_eq!((&marker["id"], &marker["branch"]), (&workspace.0["id"], &"issue-1".into()), "{marker}");
    assert_eq!((&marker["work"]["kind"], &marker["work"]["key"]), (&"issue".into(), &"1".into()), "{marker}");
    assert_eq!((&marker["base_commit"], &marker["ready"]), (&base.into(), &true.into()), "{marker}");
    assert_eq!(
        fs::read_to_string(admin_dir.join("locked")).unwrap().trim(),
        format!("spinney:{}", workspace.text("id"))
    );

    // Asked again, it is found, and no second one is taken.
    assert_eq!(pool.story.make(&["--issue", "1"]).text("method"), "reused");
    assert_eq!(pool.states(), ["ready"]);
}

#[test]
fn a_list_shows_work_and_warm_ones_only_when_asked() {
    let pool = Pool::new(2);
    pool.fill();
    pool.claim(&["--issue", "1"]);
    let warm = pool.member().name;
    let listed = |arguments: &[&str]| -> Vec<String> {
        let rows = pool.story.cli.run(&[&["ls", "--json"], arguments].concat()).ok().json();
        rows["workspaces"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(listed(&[]), ["issue-1"]);
    assert_eq!(listed(&["--status", "warm"]), [warm.as_str()]);
    assert_eq!(names(&pool.story.cli), ["issue-1", warm.as_str()]);
    assert!(!pool.story.cli.run(&["ls"]).ok().stdout.contains("warm-"));
    // A member is nobody's: no command takes it for a workspace.
    for command in [&["rm", &warm, "--force"][..], &["path", &warm], &["exec", &warm, "--", "true"], &["pin", &warm]] {
        let ran = pool.story.cli.run(command);
        assert_ne!(ran.status, 0, "{}", ran.told());
    }
    assert_eq!(pool.states(), ["ready"]);
    pool.story.cli.run(&["cleanup"]).ok();
    assert_eq!(pool.states(), ["ready"]);
}

#[test]
fn members_do_not_count_against_the_limit() {
    let pool = Pool::new(2);
    let limited = pool.story.cli.with_variable("SPINNEY_LIMITS__MAX_WORKSPACES", "1");
    limited.with_variable(SIZE, "2").run(&["pool", "fill"]).ok();
    assert_eq!(make(&limited, &["--issue", "1"]).0["warm"], true);
    fs::write(pool.story.show("issue-1").path().join("work.txt"), "work").unwrap();
    refused(&limited, 3, &["new", "--issue", "2"]);
    assert_eq!(pool.states(), ["ready"]);
}

#[test]
fn where_base_moved_only_the_files_that_differ_follow() {
    let pool = Pool::new(1);
    pool.set_up_with(BUILD);
    pool.fill();
    let old = pool.story.remote().head();
    let tree = pool.member().path;
    let files = ["src/lib.rs", "run.sh", "docs/größe und maß.txt", ".gitignore", "built.local"];
    let before: Vec<_> = files.iter().map(|file| stamp(&tree.join(file))).collect();
    let readme = stamp(&tree.join("README.md"));
    pool.move_base("README.md");
    let new = pool.move_base("added.txt");

    let workspace = pool.claim(&["--issue", "1"]);
    assert_eq!(workspace.path(), tree);
    assert_eq!((workspace.text("set_up_at"), workspace.text("base_commit")), (old.as_str(), new.as_str()));
    assert_ready_to_work_in(&pool, &tree, "issue-1", &new);
    assert!(tree.join("added.txt").is_file());
    assert_ne!(stamp(&tree.join("README.md")), readme);
    let after: Vec<_> = files.iter().map(|file| stamp(&tree.join(file))).collect();
    assert_eq!(after, before, "{files:?}");
}

#[test]
fn a_claim_says_how_far_its_set_up_lies_back() {
    let pool = Pool::new(2);
    pool.fill();
    let old = pool.story.remote().head();
    let said = pool.story.cli.run(&["new", "--issue", "1"]).ok().stderr;
    assert!(said.contains(", warm") && !said.contains("set up at"), "{said}");
    pool.move_base("moved.txt");
    let said = pool.story.cli.run(&["new", "--issue", "2"]).ok().stderr;
    assert!(said.contains(&format!("warm, set up at {}", &old[..7])), "{said}");
}

#[test]
fn a_copied_file_follows_its_source_and_what_set_up_changed_stays() {
    let pool = Pool::new(1);
    pool.configure("copy = [\".env\", \"kept.local\"]\nsetup = [\"echo from set-up >> kept.local\"]");
    pool.story.change(|repository| {
        repository.write(".env", "A=1").write("kept.local", "from main\n");
    });
    pool.fill();
    assert_eq!(read(&pool.member().path, ".env").as_deref(), Some("A=1"));
    pool.story.change(|repository| {
        repository.write(".env", "A=2");
    });
    let tree = pool.claim(&["--issue", "1"]).path();
    assert_eq!(read(&tree, ".env").as_deref(), Some("A=2"));
    assert_eq!(read(&tree, "kept.local").as_deref(), Some("from main\nfrom set-up\n"));
    assert_eq!(pool.git(&tree, &["status", "--porcelain"]), "");
    // What it was given last is known as a copy, whatever the main checkout has later.
    pool.story.change(|repository| {
        repository.write(".env", "A=3");
    });
    let why = pool.story.cli.run(&["why", "issue-1", "--json"]).ok().json();
    assert_eq!(why["reasons"][0]["items"], serde_json::json!(["kept.local"]), "{why}");
}

#[test]
fn every_kind_of_work_can_be_given_a_warm_one() {
    let pool = Pool::new(6);
    pool.set_up_with(BUILD);
    pool.fill();
    let remote = pool.story.remote();
    let (base, far) = (remote.head(), remote.advance_branch("issue-7", "far.txt"));
    let head = remote.advance_branch("feature/pr", "pr.txt");
    remote.pull_request(9, "feature/pr");
    let review = remote.fork_pull_request(12, "review.txt");
    let local = pool.story.change(|repository| {
        repository.git(&["switch", "--quiet", "--no-track", "-c", "topic/local"]);
        let commit = repository.write("local.txt", "local").commit("local");
        repository.git(&["switch", "--quiet", "main"]);
        commit
    });
    pool.story.cli.run(&["repo", "sync"]).ok();
    let cases: [(&[&str], &str, &str); 6] = [
        (&["--branch", "topic/local"], "topic/local", &local),
        (&["--issue", "7"], "issue-7", &far),
        (&["--pr", "9", "--head", "feature/pr"], "feature/pr", &head),
        (&["--review", "12"], "pr-12-review", &review),
        (&["--branch", "topic/new"], "topic/new", &base),
        (&["--thread", "C123:17.5"], "", &base),
    ];
    for (arguments, branch, commit) in cases {
        let workspace = pool.claim(arguments);
        let branch = if branch.is_empty() { workspace.text("branch") } else { branch };
        assert_ready_to_work_in(&pool, &workspace.path(), branch, commit);
        assert_eq!(read(&workspace.path(), "built.local").unwrap().trim(), workspace.text("path"));
        assert_eq!(workspace.text("set_up_at"), base);
    }
    pool.make_cold(&["--issue", "1"]);
}

#[test]
fn ports_are_each_members_own_and_stay_when_it_is_claimed() {
    let pool = Pool::new(3);
    pool.configure("ports = [\"web\"]\nsetup = [\"echo $SPINNEY_PORT_WEB > port.local\"]");
    pool.fill();
    let mut ports: Vec<String> = (1..=4)
        .map(|number| {
            let workspace = pool.story.make(&["--issue", &number.to_string()]);
            assert_eq!(workspace.0["warm"], number <= 3);
            let port = pool.story.show(workspace.text("name")).0["ports"]["web"].to_string();
            assert_eq!(read(&workspace.path(), "port.local").unwrap().trim(), port);
            port
        })
        .collect();
    ports.sort();
    ports.dedup();
    assert_eq!(ports.len(), 4);
}

#[test]
fn a_member_in_which_somebody_works_is_not_claimed() {
    let pool = Pool::new(1);
    pool.fill();
    let tree = pool.member().path;
    fs::write(tree.join("mine.txt"), "mine").unwrap();
    pool.git(&tree, &["add", "mine.txt"]);
    pool.git(&tree, &["commit", "--quiet", "--message", "mine"]);
    let made = pool.make_cold(&["--issue", "1"]);
    assert_ne!(made.path(), tree);
    // On a branch, at base: still somebody's.
    pool.git(&tree, &["switch", "--quiet", "-c", "mine"]);
    pool.git(&tree, &["switch", "--quiet", "-c", "mine-too", "HEAD^"]);
    pool.make_cold(&["--issue", "2"]);
    assert_eq!(read(&tree, "mine.txt"), None);
    assert_eq!(pool.git(&tree, &["show", "mine:mine.txt"]), "mine");
}

#[test]
fn a_member_that_a_git_is_at_work_in_is_not_claimed() {
    let pool = Pool::new(1);
    pool.fill();
    let tree = pool.member().path;
    let admin_dir = PathBuf::from(pool.git(&tree, &["rev-parse", "--absolute-git-dir"]));
    fs::write(admin_dir.join("index.lock"), "").unwrap();
    pool.make_cold(&["--issue", "1"]);
    fs::remove_file(admin_dir.join("index.lock")).unwrap();
    assert_eq!(pool.claim(&["--issue", "2"]).path(), tree);
}

#[test]
fn an_edit_that_is_in_the_way_is_kept_and_the_work_is_made_cold() {
    let pool = Pool::new(1);
    pool.fill();
    let tree = pool.member().path;
    fs::write(tree.join("README.md"), "edited by hand").unwrap();
    let new = pool.move_base("README.md");
    let made = pool.make_cold(&["--issue", "1"]);
    assert!(made.said().contains("a warm workspace could not be used"), "{}", made.said());
    assert_ready_to_work_in(&pool, &made.path(), "issue-1", &new);
    assert_eq!(read(&tree, "README.md").as_deref(), Some("edited by hand"));
    // Not offered again, told, and in the trash after the next filling.
    assert_eq!(pool.states(), ["failed"]);
    let filled = pool.fill();
    let trashed = filled["retired"]["trashed"][0].as_str().unwrap_or_else(|| panic!("{filled}")).to_owned();
    pool.story.cli.run(&["restore", &trashed]).ok();
    assert_eq!(read(&tree, "README.md").as_deref(), Some("edited by hand"));
}

#[test]
fn a_managed_clone_has_a_pool() {
    let sandbox = Sandbox::new();
    let remote: Remote = sandbox.repository("app").with_remote().remote().clone();
    let cli: Cli = sandbox.cli(BINARY).with_variable("SPINNEY_WORKSPACE__SETUP", format!("[{BUILD:?}]"));
    let url = format!("file://{}", remote.url());
    cli.run(&["repo", "add", &url, "--name", "acme/app"]).ok();
    let sized = cli.with_variable(SIZE, "2");
    sized.run(&["--repo", "acme/app", "pool", "fill"]).ok();
    let workspace = make(&cli, &["--repo", "acme/app", "--issue", "1"]);
    assert_eq!(workspace.0["warm"], true);
    let head = sandbox.git(workspace.path(), &["rev-parse", "HEAD"]);
    assert_eq!(head, remote.head());
    assert_eq!(read(&workspace.path(), "built.local").unwrap().trim(), workspace.text("path"));
    // Forgotten with the repository, which must not be while somebody has a workspace.
    refused(&sized, 3, &["repo", "rm", "acme/app"]).says(&["1 live workspace"]);
    let pool = || sized.run(&["--repo", "acme/app", "pool", "status", "--json"]).ok().json()["pools"][0].take();
    assert_eq!(pool()["ready"], 1, "a refusal changes nothing");
    cli.run(&["rm", "issue-1", "--force", "--repo", "acme/app"]).ok();
    cli.run(&["trash", "purge", "issue-1"]).ok();
    cli.run(&["repo", "rm", "acme/app"]).ok();
    let trees = crate::support::common::files_below(&sandbox.spinney_home().join("trees"), 3);
    assert_eq!(trees, Vec::<PathBuf>::new());
}

#[test]
fn submodules_are_there_and_follow_base() {
    let sandbox = Sandbox::new();
    let library = sandbox.repository("library").with_remote();
    let repository = sandbox.repository("app").with_remote();
    repository.git(&["submodule", "--quiet", "add", library.remote().url(), "libs/one"]);
    repository.commit("a submodule");
    repository.push();
    let pool = Pool::of(Story::of(repository), 2);
    pool.configure("submodules = true");
    pool.fill();
    let first = pool.claim(&["--issue", "1"]).path();
    assert!(first.join("libs/one/src/lib.rs").is_file());
    let newer = library.remote().advance("newer.txt");
    let base = pool.story.change(|repository| {
        let inside = repository.path().join("libs/one");
        sandbox.git(&inside, &["fetch", "--quiet", "origin"]);
        sandbox.git(&inside, &["checkout", "--quiet", &newer]);
        let commit = repository.commit("a newer submodule");
        repository.push();
        commit
    });
    pool.story.cli.run(&["repo", "sync"]).ok();
    let second = pool.claim(&["--issue", "2"]).path();
    assert_ready_to_work_in(&pool, &second, "issue-2", &base);
    assert!(second.join("libs/one/newer.txt").is_file());
}

#[test]
fn a_repository_of_sha256_has_a_pool() {
    let sandbox = Sandbox::new();
    let path = sandbox.path().join("repositories/big");
    let remote = sandbox.path().join("remotes/big.git");
    for (place, bare) in [(&path, false), (&remote, true)] {
        fs::create_dir_all(place).unwrap();
        let mut arguments = vec!["init", "--quiet", "--object-format=sha256", "--initial-branch=main"];
        arguments.extend(bare.then_some("--bare"));
        sandbox.git(place, &arguments);
    }
    fs::write(path.join("a.txt"), "a").unwrap();
    sandbox.git(&path, &["add", "a.txt"]);
    sandbox.git(&path, &["commit", "--quiet", "--message", "first"]);
    sandbox.git(&path, &["remote", "add", "origin", remote.to_str().unwrap()]);
    sandbox.git(&path, &["push", "--quiet", "origin", "main"]);
    sandbox.git(&path, &["fetch", "--quiet"]);
    let cli = sandbox.cli(BINARY).in_directory(&path);
    cli.with_variable(SIZE, "2").run(&["pool", "fill"]).ok();
    assert_eq!(make(&cli, &["--issue", "1"]).0["warm"], true);
    fs::write(path.join("a.txt"), "b").unwrap();
    sandbox.git(&path, &["commit", "--quiet", "--all", "--message", "second"]);
    sandbox.git(&path, &["push", "--quiet", "origin", "main"]);
    cli.run(&["repo", "sync"]).ok();
    let second = make(&cli, &["--issue", "2"]);
    assert_eq!(second.0["warm"], true);
    assert_eq!(read(&second.path(), "a.txt").as_deref(), Some("b"));
    assert_eq!(sandbox.git(second.path(), &["status", "--porcelain"]), "");
}

#[test]
fn a_main_checkout_that_moved_still_gives_workspaces() {
    let pool = Pool::new(2);
    pool.fill();
    let (before, after) = (pool.story.repository.path().to_owned(), pool.story.sandbox().path().join("moved"));
    fs::rename(&before, &after).unwrap();
    let moved = pool.story.cli.in_directory(&after);
    let made = make(&moved, &["--issue", "1"]);
    assert!(made.path().join("src/lib.rs").is_file());
    moved.with_variable(SIZE, "2").run(&["pool", "fill"]);
    let second = make(&moved, &["--issue", "2"]);
    assert!(second.path().join("src/lib.rs").is_file());
    assert_ne!(made.path(), second.path());
    moved.run(&["rm", "issue-1", "issue-2", "--force"]).ok();
    moved.run(&["pool", "drain"]).ok();
    fs::rename(&after, &before).unwrap();
}

#[test]
fn a_pool_lies_where_the_template_says() {
    let pool = Pool::new(1);
    let place = |cli: &Cli| cli.with_variable("SPINNEY_WORKSPACE__PATH", "{parent}/trees/{repo}-{name}-{id}");
    place(&pool.cli).run(&["pool", "fill"]).ok();
    let workspace = make(&place(&pool.story.cli), &["--issue", "1"]);
    assert_eq!(workspace.0["warm"], true);
    assert!(workspace.path().starts_with(pool.story.repository.path().with_file_name("trees")));
}

#[test]
fn wrong_input_is_told() {
    let pool = Pool::new(1);
    for size in ["-1", "5000", "abc", "1.5", ""] {
        let cli = pool.story.cli.with_variable(SIZE, size);
        refused(&cli, 2, &["pool", "fill"]).says(&["SPINNEY_POOL__SIZE"]);
    }
    pool.cli.run(&["pool", "frobnicate"]).exits(2);
    let outside = pool.cli.in_directory(pool.story.sandbox().path());
    for command in ["fill", "drain"] {
        let ran = outside.run(&["pool", command]);
        assert!([2, 4].contains(&ran.status), "{}", ran.told());
        refused(&pool.cli, 4, &["--repo", "no/where", "pool", command]).says(&["no/where"]);
    }
    outside.run(&["pool", "status"]).ok();
    pool.story.assert_nothing_made();
    let empty = pool.status();
    assert_eq!((&empty["size"], &empty["ready"]), (&1.into(), &0.into()), "{empty}");
    pool.story.cli.run(&["pool", "fill"]).ok();
    pool.story.assert_nothing_made();
}

#[test]
fn the_same_on_postgresql() {
    let database = postgres_database();
    let pool = Pool::new(2);
    pool.set_up_with(BUILD);
    let on_server = |cli: &Cli| cli.with_variable("SPINNEY_DATABASE_URL", database.url());
    on_server(&pool.cli).run(&["pool", "fill"]).ok();
    pool.story.remote().advance("moved.txt");
    let cli = on_server(&pool.story.cli);
    cli.run(&["repo", "sync"]).ok();
    let workspace = make(&cli, &["--issue", "1"]);
    assert_eq!(workspace.0["warm"], true);
    assert_ready_to_work_in(&pool, &workspace.path(), "issue-1", &pool.story.remote().head());
    assert_eq!(read(&workspace.path(), "built.local").unwrap().trim(), workspace.text("path"));
    let drained = on_server(&pool.cli).run(&["pool", "drain", "--json"]).ok().json();
    assert_eq!(drained["deleted"], 1, "{drained}");
    assert_eq!(names(&cli), ["issue-1"]);
    assert_eq!(database.query("select status from workspaces"), "active");
}
