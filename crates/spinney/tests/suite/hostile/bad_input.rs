//! Bad input: one line that says what is wrong with which value, a hint, the right exit status, and nothing left behind.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::common::{BINARY, Refusal, Story, refused};
use spinney_testkit::{Cli, GitWrapper, Sandbox, git_of_version, postgres_database};

/// Names that somebody might try, and what a message shows of them.
fn hostile() -> Vec<(String, String)> {
    let long = "x".repeat(10_000);
    let shown_long = format!("{}…", "x".repeat(60));
    [
        ("../..", "../.."),
        ("--upload-pack=touch pwned", "--upload-pack=touch pwned"),
        ("$(touch pwned)", "$(touch pwned)"),
        ("a\nb", "a\\nb"),
        ("a\u{1b}[31mb", "a\\u{1b}[31mb"),
        ("🎉", "🎉"),
        ("x.lock", "x.lock"),
        ("@{u}", "@{u}"),
        ("-", "-"),
        ("", ""),
        (&long, &shown_long),
    ]
    .map(|(name, shown)| (name.to_owned(), format!("`{shown}`")))
    .into()
}

/// Everything in Spinney's home and in the repository that a failed command could leave behind, with all refs.
fn traces(story: &Story) -> BTreeSet<PathBuf> {
    let mut found: BTreeSet<_> = story.repository.git(&["for-each-ref"]).lines().map(PathBuf::from).collect();
    let home = story.sandbox().spinney_home();
    let mut open = vec![home.clone(), story.repository.path().to_owned(), story.sandbox().remotes()];
    while let Some(place) = open.pop() {
        for entry in fs::read_dir(&place).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() && !path.is_symlink() {
                open.push(path.clone());
            }
            found.insert(path);
        }
    }
    // The database has files that come and go, and the home its empty rooms.
    found.retain(|path| !path.to_string_lossy().contains("spinney.db") && path.parent() != Some(&home));
    found
}

/// Asserts that no command left anything behind.
#[track_caller]
fn nothing_left(story: &Story, before: &BTreeSet<PathBuf>) {
    let after = traces(story);
    let changed: Vec<_> = before.symmetric_difference(&after).collect();
    assert!(changed.is_empty(), "{changed:?}");
}

/// A message that a person can read at a glance.
#[track_caller]
fn is_good(refusal: &Refusal, shown: &str) {
    let message = refusal.message();
    assert!(message.contains(shown), "{shown} is not in: {message}");
    assert!(message.chars().count() <= 300 && !message.contains(char::is_control), "{message}");
    let error = refusal.0.error_json();
    assert!(!error["error"]["hints"].as_array().unwrap().is_empty(), "no hint: {}", refusal.0.told());
    assert_eq!((refusal.0.stderr.lines().count(), refusal.0.stdout.as_str()), (1, ""), "{}", refusal.0.told());
}

/// Runs each command with each hostile name; all must fail so, and leave nothing.
#[track_caller]
fn all_refused(story: &Story, status: i32, arguments: impl Fn(&str) -> Vec<String>, accepted: &[&str]) {
    for (name, shown) in hostile().into_iter().filter(|(name, _)| !accepted.contains(&name.as_str())) {
        let arguments = arguments(&name);
        let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
        is_good(&refused(&story.cli, status, &arguments), &shown);
    }
}

fn words(before: &[&str], last: &str) -> Vec<String> {
    before.iter().map(|word| (*word).to_owned()).chain([last.to_owned()]).collect()
}

#[test]
fn hostile_branches_are_refused() {
    let story = Story::new();
    story.cli.run(&["ls"]).ok();
    let before = traces(&story);
    all_refused(&story, 2, |name| words(&["new"], &format!("--branch={name}")), &[]);
    all_refused(&story, 2, |name| words(&["new", "--issue", "1"], &format!("--base={name}")), &[]);
    all_refused(&story, 2, |name| words(&["new", "--issue", "1"], &format!("--suggest={name}")), &[]);
    all_refused(&story, 2, |name| words(&["new", "--pr", "1"], &format!("--head={name}")), &[]);
    all_refused(&story, 2, |name| words(&["restore", "x"], &format!("--branch={name}")), &[]);
    all_refused(&story, 2, |name| words(&["adopt", "--all"], &format!("--base={name}")), &[]);
    nothing_left(&story, &before);
    story.assert_nothing_made();
}

#[test]
fn hostile_numbers_links_and_words_are_refused() {
    let story = Story::new();
    story.cli.run(&["ls"]).ok();
    let before = traces(&story);
    for flag in ["--issue", "--pr", "--review"] {
        all_refused(&story, 2, |name| words(&["new"], &format!("{flag}={name}")), &[]);
    }
    for number in ["0", "-1", "+1", "1.5", "18446744073709551616", "٣"] {
        is_good(&refused(&story.cli, 2, &["new", &format!("--issue={number}")]), &format!("`{number}`"));
    }
    all_refused(&story, 2, |name| words(&["new", "--issue", "1"], &format!("--links={name}")), &[]);
    all_refused(&story, 2, |name| words(&["new", "--review", "1"], &format!("--sha={name}")), &[]);
    all_refused(&story, 2, |name| words(&["new", "--issue", "1"], &format!("--platform={name}")), &[]);
    all_refused(&story, 2, |name| words(&["ls"], &format!("--status={name}")), &[]);
    all_refused(&story, 2, |name| words(&["rm", "x"], &format!("--allow={name}")), &[]);
    all_refused(&story, 2, |name| words(&["completions", "--"], name), &[]);
    // A task is words, and a thread's id the platform's own: only what can name nothing is refused.
    for task in ["", " ", "../..", "🎉", "-"] {
        is_good(&refused(&story.cli, 2, &["new", &format!("--task={task}")]), &format!("`{task}`"));
    }
    let long = "x".repeat(10_000);
    for id in ["", " ", "a\nb", "a\u{1b}b", &long] {
        is_good(&refused(&story.cli, 2, &["new", &format!("--thread={id}")]), "`");
        is_good(&refused(&story.cli, 2, &["new", "--issue", "1", &format!("--conversation={id}")]), "`");
    }
    nothing_left(&story, &before);
    story.assert_nothing_made();
}

#[test]
fn words_and_ids_that_look_dangerous_name_harmless_branches() {
    let story = Story::new();
    let pwned = story.repository.path().join("pwned");
    let long = "x".repeat(10_000);
    for text in ["--upload-pack=touch pwned", "$(touch pwned)", "a\nb", "x.lock", "@{u}", "; touch pwned #", &long] {
        for kind in
            ["task", "thread"].iter().filter(|kind| **kind == "task" || text.len() < 100 && !text.contains('\n'))
        {
            let made = story.make(&[&format!("--{kind}={text}"), &format!("--title={text}")]);
            let branch = made.text("branch");
            let allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "._/-".contains(c);
            assert!(branch.starts_with(kind) && branch.len() <= 100 && branch.chars().all(allowed), "{branch}");
            assert_eq!(made.text("title"), text);
            // On a screen no control character of it is left.
            let shown = story.cli.run(&["show", made.text("id")]).ok().stdout;
            assert!(!shown.contains('\u{1b}') && shown.lines().count() < 20, "{shown}");
            story.cli.run(&["rm", made.text("id")]).ok();
        }
    }
    assert!(!pwned.exists());
}

#[test]
fn hostile_names_find_no_workspace_and_no_repository() {
    let story = Story::new();
    story.make(&["--issue", "1"]);
    let before = traces(&story);
    for command in ["show", "path", "why", "rm", "restore"] {
        all_refused(&story, 4, |name| words(&[command, "--"], name), &[]);
    }
    for (name, shown) in hostile().into_iter().filter(|(name, _)| !name.starts_with('-')) {
        is_good(&refused(&story.cli, 125, &["exec", &name, "--", "touch", "pwned"]), &shown);
    }
    // `../..` is a directory, if not one in a repository.
    all_refused(&story, 4, |name| words(&["ls"], &format!("--repo={name}")), &["../.."]);
    all_refused(&story, 4, |name| words(&["repo", "sync", "--"], name), &["../.."]);
    all_refused(&story, 4, |name| words(&["repo", "rm", "--"], name), &["../.."]);
    for command in [&["ls", "--repo"][..], &["repo", "rm"], &["repo", "add"]] {
        let refusal = refused(&story.cli, 4, &[command, &["../.."]].concat());
        is_good(&refusal, &format!("`{}/../..`", story.repository.path().display()));
    }
    for (name, _) in hostile() {
        let refusal = Refusal(story.cli.run(&["--json", "adopt", "--", &name]).exits(2));
        assert!(refusal.message().chars().count() < 700, "{}", refusal.0.told());
    }
    nothing_left(&story, &before);
}

#[test]
fn hostile_urls_run_nothing_and_leave_nothing() {
    let story = Story::new();
    story.cli.run(&["ls"]).ok();
    let before = traces(&story);
    let pwned = story.sandbox().path().join("pwned");
    let touch = format!("touch {}", pwned.display());
    for url in [
        format!("--upload-pack={touch}"),
        format!("-oProxyCommand={touch}"),
        format!("ext::sh -c {}", touch.replace(' ', "% ")),
        "fd::17/x".to_owned(),
        format!("ssh://-oProxyCommand={}/acme/app.git", touch.replace(' ', "${IFS}")),
        "ftp://127.0.0.1/acme/app.git".to_owned(),
        "https://127.0.0.1/acme/a\u{1b}[31m.git".to_owned(),
        "https://127.0.0.1/acme/a\nb.git".to_owned(),
    ] {
        let refusal = refused(&story.cli, 2, &["repo", "add", "--", &url]);
        is_good(&refusal, "can't be cloned");
        assert!(refusal.message().starts_with('`'), "{}", refusal.message());
    }
    for (url, status) in
        [("/nope/acme/app.git", 4), ("file:///nope/acme/app.git", 4), ("https://127.0.0.1:1/a/b.git", 1)]
    {
        is_good(&refused(&story.cli, status, &["repo", "add", url]), &format!("could not clone `{url}`"));
    }
    let secret = refused(&story.cli, 1, &["repo", "add", "https://me:s3cret@127.0.0.1:1/acme/app.git"]);
    assert!(!secret.0.stderr.contains("s3cret"), "{}", secret.0.told());
    all_refused(&story, 2, |name| words(&["repo", "add", "."], &format!("--name={name}")), &[]);
    let absent = ["repo", "add", "https://127.0.0.1:1/acme/app.git", "--token-env", "NO_SUCH_TOKEN"];
    is_good(&refused(&story.cli, 2, &absent), "`NO_SUCH_TOKEN`");
    nothing_left(&story, &before);
    assert!(!pwned.exists());
}

#[test]
fn a_place_without_a_repository_says_so() {
    let sandbox = Sandbox::new();
    let nowhere = sandbox.path().join("nowhere");
    fs::create_dir(&nowhere).unwrap();
    let cli = sandbox.cli(BINARY).in_directory(&nowhere);
    let place = format!("`{}` is not in a git repository", nowhere.display());
    for arguments in
        [&["new", "--issue", "1"][..], &["trust"], &["init"], &["adopt", "--all"], &["repo", "sync"], &["repo", "rm"]]
    {
        let refusal = refused(&cli, 4, arguments);
        is_good(&refusal, &place);
        refusal.hints(&["--repo"]);
    }
    is_good(&refused(&cli, 4, &["repo", "add", "."]), "is not in a git repository");
    assert_eq!(fs::read_dir(&nowhere).unwrap().count(), 0);
    cli.run(&["ls"]).ok();
    cli.run(&["status"]).ok();
}

#[test]
fn a_repository_without_commits_or_remote_says_what_is_missing() {
    let story = Story::of(Sandbox::new().empty_repository("empty"));
    let refusal = refused(&story.cli, 2, &["new", "--issue", "1"]);
    is_good(&refusal, "local/empty has no commit yet");
    refusal.hints(&["git commit"]);
    story.cli.run(&["ls"]).ok();
    story.change(|repository| repository.commit("first"));
    let refusal = refused(&story.cli, 2, &["repo", "sync"]);
    is_good(&refusal, "local/empty has no remote to fetch from");
    refusal.hints(&["git remote add"]);
    story.assert_nothing_made();
    assert_eq!(story.make(&["--issue", "1", "--base", "main"]).identity(), ("issue-1", "issue-1", "created"));
}

#[test]
fn a_home_that_cannot_be_used_is_named() {
    let story = Story::new();
    let file = story.sandbox().path().join("file");
    fs::write(&file, "").unwrap();
    let dangling = story.sandbox().path().join("dangling");
    std::os::unix::fs::symlink("/nope/nope", &dangling).unwrap();
    for home in [&file, &file.join("below"), &dangling, Path::new("/proc/nope")].map(|path| path.display().to_string())
    {
        let refusal = refused(&story.cli, 1, &["--home", &home, "new", "--issue", "1"]);
        is_good(&refusal, &format!("`{home}` can't be used as Spinney's home"));
        refusal.hints(&["--home DIR", "SPINNEY_HOME"]);
    }
    is_good(&refused(&story.cli, 2, &["--home", "", "ls"]), "--home");
    let homeless = story.cli.without_variable("SPINNEY_HOME").without_variable("HOME");
    is_good(&refused(&homeless, 2, &["ls"]), "neither `SPINNEY_HOME` nor `HOME` is set");
    assert_eq!(story.branches(), ["main"]);
}

#[test]
fn a_tree_root_that_cannot_be_written_leaves_nothing() {
    let story = Story::new();
    story.cli.run(&["ls"]).ok();
    let trees = story.sandbox().spinney_home().join("trees");
    fs::write(&trees, "in the way").unwrap();
    let refusal = refused(&story.cli, 1, &["new", "--issue", "1"]);
    is_good(&refusal, &format!("`{}/local/local/app` can't be made", trees.display()));
    refusal.hints(&["workspace.path"]);
    story.assert_nothing_made();
    fs::remove_file(&trees).unwrap();
    story.make(&["--issue", "1"]);
    // A readable link is a courtesy: without it the work goes on.
    let links = story.sandbox().spinney_home().join("links");
    fs::remove_file(links.join("local/local/app/issue-1")).unwrap();
    for below in ["local/local/app", "local/local", "local", ""] {
        fs::remove_dir(links.join(below)).unwrap();
    }
    fs::write(&links, "in the way").unwrap();
    let made = story.make(&["--issue", "2"]);
    assert!(made.said().contains("warning: the readable link"), "{}", made.said());
    fs::remove_file(&links).unwrap();
}

/// A small file system; unmounted when the guard goes.
struct SmallDisk(Sandbox, String);

impl SmallDisk {
    fn mount(sandbox: &Sandbox) -> Option<Self> {
        let place = sandbox.path().join("small");
        fs::create_dir_all(&place).unwrap();
        let place = place.to_str().unwrap().to_owned();
        let ran = sandbox.cli("/bin/mount").run(&["-t", "tmpfs", "-o", "size=2m", "tmpfs", &place]);
        (ran.status == 0).then(|| Self(sandbox.clone(), place))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        self.0.cli("/bin/umount").run(&["--lazy", &self.1]);
    }
}

#[test]
fn a_full_disk_is_told_and_leaves_nothing() {
    let story = Story::new();
    let Some(disk) = SmallDisk::mount(story.sandbox()) else {
        println!("SKIPPED: a full disk needs root, to mount a small tmpfs");
        return;
    };
    story.change(|repository| {
        repository.write("large.bin", vec![7; 3_000_000]);
        repository.commit("large");
        repository.push();
    });
    let config = format!("[workspace]\npath = \"{}/{{id}}\"\n[limits]\nmin_free_disk = \"0\"\n", disk.1);
    story.sandbox().write_config(&config);
    // The size of the tree is known beforehand.
    is_good(&refused(&story.cli, 3, &["new", "--issue", "1"]), "free where the workspace would go");
    story.assert_nothing_made();
    // A size that nobody could know: the disk fills while files are checked out.
    let filled = format!("dd if=/dev/zero of={}/filler bs=1024 2>/dev/null; exec \"$GIT\" \"$@\"\n", disk.1);
    let git = GitWrapper::new(&format!(
        "for a; do if [ \"$a\" = reset ] || [ \"$a\" = checkout ] || [ \"$a\" = read-tree ]; then {filled} fi; done\nexec \"$GIT\" \"$@\"\n"
    ));
    story.change(|repository| {
        repository.write("large.bin", vec![7; 500_000]);
        repository.commit("smaller");
        repository.push();
    });
    let refusal = Refusal(story.cli.with_path_first(git.directory()).run(&["--json", "new", "--issue", "1"]));
    assert_ne!(refusal.0.status, 0, "{}", refusal.0.told());
    refusal.says(&["no space"]).hints(&["free some space"]);
    fs::remove_file(format!("{}/filler", disk.1)).ok();
    story.assert_nothing_made();
    let left: Vec<_> = crate::support::common::files_below(Path::new(&disk.1), 0);
    assert_eq!(left, Vec::<PathBuf>::new());
    story.make(&["--issue", "1"]);
    story.cli.run(&["rm", "issue-1"]).ok();
}

#[test]
fn a_home_that_can_only_be_read_is_told() {
    let story = Story::new();
    let Some(disk) = SmallDisk::mount(story.sandbox()) else {
        println!("SKIPPED: a disk that can only be read needs root, to mount one");
        return;
    };
    story.sandbox().write_config("[limits]\nmin_free_disk = \"0\"\n");
    let cli = story.cli.with_variable("SPINNEY_HOME", &disk.1);
    cli.run(&["ls"]).ok();
    let mount = story.sandbox().cli("/bin/mount");
    mount.run(&["-o", "remount,ro", &disk.1]).ok();
    // What only looks may get its answer all the same: that depends on what SQLite left beside its file.
    for arguments in [&["ls"][..], &["jobs"], &["new", "--issue", "1"]] {
        if arguments[0] == "new" || cli.run(arguments).status != 0 {
            let refusal = refused(&cli, 1, arguments);
            refusal.says(&["spinney.db` can only be read"]).hints(&["mounted for writing"]);
        }
    }
    mount.run(&["-o", "remount,rw", &disk.1]).ok();
    cli.run(&["ls"]).ok();
}

#[test]
fn a_damaged_git_file_is_never_taken_for_clean() {
    let story = Story::new();
    let workspace = story.make(&["--issue", "42"]);
    let pointer = workspace.path().join(".git");
    let whole = fs::read(&pointer).unwrap();
    for content in [&b"garbage"[..], b"gitdir: /nope/nope\n", b"", b"gitdir: \xff\xfe\n"] {
        fs::write(&pointer, content).unwrap();
        let refusal = refused(&story.cli, 1, &["new", "--issue", "42"]);
        refusal.says(&[workspace.text("path")]).hints(&["git worktree repair", "spinney doctor"]);
        let why = story.cli.run(&["why", "issue-42", "--json"]).ok().json();
        assert_eq!((&why["removable"], &why["reasons"][0]["code"]), (&false.into(), &"unverifiable".into()));
        refused(&story.cli, 3, &["rm", "issue-42"]).says(&["unverifiable"]);
        let listed = story.cli.run(&["ls", "-l", "--json"]).ok().json();
        assert_eq!(listed["workspaces"][0]["state"], "broken");
        let doctor = story.cli.run(&["doctor"]).ok().stdout;
        let repair = format!("worktree repair {}", workspace.text("path"));
        assert!(doctor.contains("! ") && doctor.contains(&repair), "{doctor}");
    }
    // Doing what the hint says helps.
    story.repository.try_git(&["worktree", "repair", workspace.text("path")]);
    assert_eq!(fs::read(&pointer).unwrap(), whole);
    story.make(&["--issue", "42"]);
}

#[test]
fn a_database_from_the_future_is_left_alone() {
    let database = postgres_database();
    let story = Story::new();
    let cli = story.cli.with_variable("SPINNEY_DATABASE_URL", database.url());
    cli.run(&["ls"]).ok();
    database.query("insert into schema_migrations select max(version) + 1000, 'x', 'x', 0 from schema_migrations");
    for arguments in [&["ls"][..], &["new", "--issue", "1"]] {
        is_good(&refused(&cli, 1, arguments), "update Spinney");
    }
    assert_eq!(story.branches(), ["main"]);
}

#[test]
fn a_database_that_is_damaged_is_left_alone() {
    let story = Story::new();
    story.make(&["--issue", "42"]);
    let database = story.sandbox().spinney_home().join("spinney.db");
    let whole = fs::read(&database).unwrap();
    for beside in ["spinney.db-wal", "spinney.db-shm"] {
        fs::remove_file(database.with_file_name(beside)).ok();
    }
    let garbage = "not a database ".repeat(1000);
    fs::write(&database, &garbage).unwrap();
    let refusal = refused(&story.cli, 1, &["new", "--issue", "43"]);
    is_good(&refusal, &format!("`{}` is damaged, or not a database", database.display()));
    refusal.hints(&["backup", "spinney adopt --all"]);
    assert_eq!(fs::read_to_string(&database).unwrap(), garbage);
    let doctor = story.cli.run(&["doctor"]).exits(1).stdout;
    assert!(doctor.starts_with("✗") && doctor.contains("is damaged"), "{doctor}");
    // The hint's second way: without a database the workspaces are found again.
    fs::remove_file(&database).unwrap();
    let adopted = story.cli.run(&["adopt", "--all", "--json"]).ok().json();
    assert_eq!(adopted["workspaces"][0]["branch"], "issue-42");
    fs::write(&database, whole).unwrap();
    for beside in ["spinney.db-wal", "spinney.db-shm"] {
        fs::remove_file(database.with_file_name(beside)).ok();
    }
}

#[test]
fn a_database_that_cannot_be_reached_keeps_its_password_to_itself() {
    let story = Story::new();
    let cli = story.cli.with_variable("SPINNEY_DATABASE_URL", "postgres://me:s3cret@127.0.0.1:1/db");
    for arguments in [&["ls"][..], &["new", "--issue", "1"]] {
        let refusal = refused(&cli, 1, arguments);
        is_good(&refusal, "PostgreSQL at `postgres://me:***@127.0.0.1:1/db` can't be reached");
        refusal.hints(&["SPINNEY_DATABASE_URL"]);
        assert!(!refusal.0.stderr.contains("s3cret"));
    }
    let wrong = story.cli.with_variable("SPINNEY_DATABASE_URL", "mysql://me:s3cret@host/db");
    let refusal = refused(&wrong, 2, &["ls"]);
    is_good(&refusal, "SPINNEY_DATABASE_URL");
    assert!(!refusal.0.stderr.contains("s3cret"));
}

/// The same with no git on the path.
fn without_git(cli: &Cli, sandbox: &Sandbox) -> Cli {
    let empty = sandbox.path().join("no-programs");
    fs::create_dir_all(&empty).unwrap();
    cli.with_variable("PATH", empty)
}

#[test]
fn a_git_that_is_missing_or_too_old_is_named() {
    let story = Story::new();
    let missing = without_git(&story.cli, story.sandbox());
    let refusal = refused(&missing, 2, &["new", "--issue", "1"]);
    is_good(&refusal, "`git` can't be run");
    refusal.hints(&["install git 2.38"]);
    let old = git_of_version("2.37.9");
    let old_cli = story.cli.with_path_first(old.directory());
    let refusal = refused(&old_cli, 2, &["new", "--issue", "1"]);
    is_good(&refusal, "git 2.37.9 is too old");
    refusal.hints(&["install git 2.38"]);
    for cli in [&missing, &old_cli] {
        let doctor = cli.run(&["doctor"]).exits(1).stdout;
        let bad: Vec<_> = doctor.lines().filter(|line| line.starts_with('✗')).collect();
        assert!(matches!(bad.as_slice(), [line] if line.contains("install git 2.38")), "{doctor}");
    }
    story.assert_nothing_made();
}
