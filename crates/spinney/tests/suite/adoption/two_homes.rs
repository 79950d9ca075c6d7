//! Two homes on one repository: each leaves the other's workspaces alone, wherever they lie, until a person says that the
//! other home is gone.

use std::fs;
use std::path::PathBuf;

use crate::support::common::{Story, make, names, refused};
use crate::support::lost::Work;
use spinney_testkit::Cli;

struct Homes {
    story: Story,
    /// The program with the second home.
    second: Cli,
}

impl Homes {
    fn new() -> Self {
        let story = Story::new();
        let second = story.cli.with_variable("SPINNEY_HOME", story.sandbox().path().join("second home"));
        Self { story, second }
    }

    /// The id of the first home.
    fn first_id(&self) -> String {
        fs::read_to_string(self.story.sandbox().spinney_home().join("node")).unwrap().trim().to_owned()
    }

    /// A live workspace of the first home.
    fn first_work(&self) -> Work {
        let work = Work::new(&self.story, "1");
        work.write("new.txt", "of the first");
        work
    }

    /// The first home is gone; its trees lie elsewhere.
    fn lose_first(&self) {
        let home = self.story.sandbox().spinney_home();
        fs::rename(&home, home.with_file_name("lost")).unwrap();
    }
}

#[test]
fn the_second_home_adopts_nothing_of_the_first() {
    let homes = Homes::new();
    let work = homes.first_work();
    let before = work.snapshot();
    let path = work.path.to_str().unwrap();
    // By its work, by its branch, by a hint, by its path, all of them, and by an import.
    let first = homes.first_id();
    for arguments in [&["new", "--issue", "1"][..], &["new", "--branch", "issue-1"], &["adopt", path]] {
        let refusal = refused(&homes.second, 5, arguments);
        refusal.says(&[path, "another Spinney home", &first]).hints(&["--from-home", &first]);
    }
    let suggested = make(&homes.second, &["--issue", "2", "--suggest", "issue-1"]);
    assert_eq!(suggested.identity(), ("issue-2", "issue-2", "created"));
    let all = homes.second.run(&["adopt", "--all"]).ok();
    assert_eq!(all.stdout, "", "{}", all.told());
    homes.second.run(&["import"]).ok();
    let orphans = homes.second.run(&["cleanup", "orphans"]).ok();
    assert!(orphans.told().contains("another Spinney home"), "{}", orphans.told());
    assert_eq!(names(&homes.second), ["issue-2"]);
    let doctor = homes.second.run(&["doctor"]);
    assert!(!doctor.told().contains("adopt"), "{}", doctor.told());
    assert!(doctor.told().contains("1 workspace of local/app belong to another home"), "{}", doctor.told());
    before.assert_same(&work.snapshot(), "the second home looked");
    // The first works with it as before.
    assert_eq!(homes.story.make(&["--issue", "1"]).text("method"), "reused");
    homes.story.cli.run(&["rm", &work.name, "--force"]).ok();
}

#[test]
fn a_row_that_an_older_version_gave_the_second_home_moves_nothing() {
    let homes = Homes::new();
    let work = homes.first_work();
    // The second home took it in before, and the first one's marker is back.
    let admin_dir = PathBuf::from(work.git(&["rev-parse", "--absolute-git-dir"]));
    let marker = fs::read(admin_dir.join("spinney.json")).unwrap();
    fs::remove_file(admin_dir.join("spinney.json")).unwrap();
    work.sandbox().git(&work.repository, &["worktree", "unlock", work.path.to_str().unwrap()]);
    homes.second.run(&["adopt", work.path.to_str().unwrap()]).ok();
    fs::write(admin_dir.join("spinney.json"), marker).unwrap();
    for arguments in [&["rm", "issue-1"][..], &["rm", "issue-1", "--force"], &["new", "--issue", "1"]] {
        let told = homes.second.run(arguments);
        assert_ne!(told.status, 0, "{arguments:?}: {}", told.told());
        assert!(told.stderr.contains("another Spinney home"), "{}", told.told());
        assert!(work.path.join("new.txt").exists(), "{arguments:?}");
    }
    let told = homes.second.run(&["cleanup", "orphans"]).ok();
    assert!(told.told().contains("forgotten here"), "{}", told.told());
    assert_eq!(names(&homes.second), Vec::<String>::new());
    assert!(work.path.join("new.txt").exists());
}

#[test]
fn a_tree_with_another_homes_workspace_in_it_is_not_moved() {
    let homes = Homes::new();
    let work = homes.first_work();
    let inner = work.path.join("inner");
    work.git(&["worktree", "add", "--quiet", "-b", "inner", inner.to_str().unwrap()]);
    homes.second.run(&["adopt", inner.to_str().unwrap()]).ok();
    refused(&homes.story.cli, 5, &["rm", &work.name, "--force"]).says(&["another Spinney home"]);
    assert!(inner.join("README.md").exists());
    assert_eq!(homes.story.show(&work.name).text("status"), "active");
}

#[test]
fn what_is_half_made_is_not_adopted() {
    let homes = Homes::new();
    let tree = homes.story.foreign_worktree("half made", "half");
    homes.story.repository.git(&["worktree", "lock", "--reason", "spinney:jcc603jftz", tree.to_str().unwrap()]);
    let refusal = refused(&homes.second, 5, &["adopt", tree.to_str().unwrap()]);
    refusal.says(&["no marker"]).hints(&["git worktree unlock"]);
}

#[test]
fn a_home_that_is_gone_is_taken_over_by_its_id() {
    let homes = Homes::new();
    // Its trees lie beside the repository, so that they outlive it.
    let trees = homes.story.sandbox().path().join("trees");
    homes.story.sandbox().write_config(&format!("workspace.path = \"{}/{{id}}\"\n", trees.display()));
    let work = homes.first_work();
    let first = homes.first_id();
    // While it is there, nothing is taken over.
    let refusal = refused(&homes.second, 5, &["adopt", "--from-home", &first]);
    refusal.says(&["is there still", homes.story.sandbox().spinney_home().to_str().unwrap()]);
    refused(&homes.story.cli, 2, &["adopt", "--from-home", &first]).says(&["this home"]);
    homes.lose_first();
    let doctor = homes.second.run(&["doctor"]);
    assert!(doctor.told().contains(&format!("adopt --from-home {first}")), "{}", doctor.told());
    // Another id takes nothing.
    let told = homes.second.run(&["adopt", "--from-home", "jcc603jftz", "--json"]).ok();
    assert_eq!(told.json()["workspaces"].as_array().unwrap().len(), 0);
    let taken = homes.second.run(&["adopt", "--from-home", &first, "--json"]).ok().json();
    assert_eq!(taken["workspaces"][0]["path"], work.path.to_str().unwrap());
    assert_eq!(taken["workspaces"][0]["id"], work.id.as_str());
    assert_eq!(make(&homes.second, &["--issue", "1"]).identity(), ("issue-1", "issue-1", "reused"));
    assert_eq!(fs::read_to_string(work.path.join("new.txt")).unwrap(), "of the first");
    homes.second.run(&["rm", "issue-1", "--force"]).ok();
    homes.second.run(&["restore", "issue-1"]).ok();
    assert_eq!(fs::read_to_string(work.path.join("new.txt")).unwrap(), "of the first");
}

#[test]
fn a_home_of_an_older_version_is_found_by_its_trees() {
    let homes = Homes::new();
    homes.first_work();
    let first = homes.first_id();
    fs::remove_file(homes.story.repository.path().join(".git/spinney/homes").join(&first)).unwrap();
    refused(&homes.second, 5, &["adopt", "--from-home", &first]).says(&["is there still"]);
}
