//! What is wrong with the commits themselves: attacks 19 to 24 and 44.

use std::fs;
use std::path::{Path, PathBuf};

use spinney_git::{Error, Finding, Import, ImportLimits, Leads, Refusal};

use super::fixture::Boxed;

fn refusal(error: Error) -> Refusal {
    match error {
        Error::ImportRefused(refusal) => *refusal,
        error => panic!("{error:?}"),
    }
}

async fn fault_of(boxed: &Boxed) -> String {
    let error = boxed.import().await.unwrap_err();
    assert_eq!(boxed.host_tip().await, boxed.base);
    match refusal(error) {
        Refusal::Unsound { fault, .. } => fault,
        refusal => panic!("{refusal:?}"),
    }
}

#[tokio::test]
async fn attack_19_names_that_are_git_dirs_or_lead_out() {
    for (name, expected) in
        [(".git", "hasDotgit"), (".GIT", "hasDotgit"), ("git~1", "hasDotgit"), ("..", "hasDotdot"), (".", "hasDot")]
    {
        let boxed = Boxed::new().await;
        let blob = boxed.object("blob", format!("[core]\n\tfsmonitor = {}\n", boxed.payload()).as_bytes());
        let inner = boxed.tree_of(&[("100644", "config", &blob)]);
        let tree = boxed.tree_of(&[("40000", name, &inner)]);
        boxed.commit_tree(&tree);
        assert_eq!(fault_of(&boxed).await, expected, "{name}");
        boxed.ask_everything().await.assert_import_refused();
    }
}

#[tokio::test]
async fn attack_20_submodules_that_inject_options_or_commands() {
    for (text, expected) in [
        ("[submodule \"a\"]\n\tpath = a\n\turl = -u./x\n", "gitmodulesUrl"),
        ("[submodule \"a\"]\n\tpath = -a\n\turl = ./a\n", "gitmodulesPath"),
        ("[submodule \"../a\"]\n\tpath = a\n\turl = ./a\n", "gitmodulesName"),
        ("[submodule \"a\"]\n\tpath = a\n\turl = ./a\n\tupdate = !touch x\n", "gitmodulesUpdate"),
    ] {
        let boxed = Boxed::new().await;
        let blob = boxed.object("blob", text.as_bytes());
        let tree = boxed.tree_of(&[("100644", ".gitmodules", &blob)]);
        boxed.commit_tree(&tree);
        assert_eq!(fault_of(&boxed).await, expected, "{text}");
        boxed.ask_everything().await.assert_import_refused();
    }
}

#[tokio::test]
async fn attack_21_what_git_lets_pass_is_reported() {
    let boxed = Boxed::new().await;
    let modules = boxed.object("blob", b"[submodule \"a\"]\n\tpath = a\n\turl = \"EXT::sh -c x\"\n");
    let link = |target: &str| boxed.object("blob", target.as_bytes());
    let (attributes, absolute, inner) = (link("elsewhere"), link("/etc/passwd"), link(".git/hooks"));
    let plain = boxed.object("blob", b"x\n");
    let tree = boxed.tree_of(&[
        ("120000", ".gitattributes", &attributes),
        ("100644", ".gitmodules", &modules),
        ("120000", "absolute", &absolute),
        ("100644", "c\rd", &plain),
        ("120000", "inner", &inner),
        ("160000", "repository", boxed.base.as_str()),
    ]);
    let tip = boxed.commit_tree(&tree);
    let imported = boxed.import().await.unwrap();
    assert_eq!((&imported.to, imported.commits), (&tip, 1));
    let to = |path: &str, target: &str, leads| Finding::Link { path: path.into(), target: target.into(), leads };
    for finding in [
        Finding::Submodules,
        Finding::UrlOfProgram,
        Finding::LinkedAttributes(".gitattributes".into()),
        Finding::ControlCharacter("c\rd".into()),
        Finding::Repository("repository".into()),
        to("absolute", "/etc/passwd", Leads::Absolute),
        to("inner", ".git/hooks", Leads::IntoGitDir),
    ] {
        assert!(imported.findings.contains(&finding), "{finding:?} is not in {:?}", imported.findings);
    }
    boxed.ask_everything().await.assert_answered();
}

#[tokio::test]
async fn attack_22_submodules_that_are_configured_by_a_link() {
    let boxed = Boxed::new().await;
    let target = boxed.object("blob", b"elsewhere");
    let tree = boxed.tree_of(&[("120000", ".gitmodules", &target)]);
    boxed.commit_tree(&tree);
    assert_eq!(fault_of(&boxed).await, "gitmodulesSymlink");
    boxed.ask_everything().await.assert_import_refused();
}

#[tokio::test]
async fn attack_23_an_object_that_is_missing() {
    for what in ["work:a", "work^{tree}", "work"] {
        let boxed = Boxed::new().await;
        boxed.commit("a", "a\n");
        let name = boxed.agent(&["rev-parse", what]);
        fs::remove_file(boxed.git_dir().join("objects").join(&name[..2]).join(&name[2..])).unwrap();
        boxed.ask_everything().await.assert_import_refused();
        assert_eq!(boxed.host_tip().await, boxed.base);
    }
}

#[tokio::test]
async fn attack_24_packs_that_are_huge_or_become_it() {
    let boxed = Boxed::new().await;
    let noise: Vec<u8> = (0..300_000u64).flat_map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect();
    let blob = boxed.object("blob", &noise);
    let tree = boxed.tree_of(&[("100644", "noise", &blob)]);
    boxed.commit_tree(&tree);
    let limits = ImportLimits { pack_bytes: 100_000, unpacked_bytes: 32 << 20 };
    let import = Import { limits, ..boxed.import_of(&[]) };
    let error = boxed.worktree.import(&import).await.unwrap_err();
    assert_eq!(refusal(error), Refusal::TooLarge { limit: 100_000 });

    // Small on the way, and large on arrival.
    let boxed = Boxed::new().await;
    let blob = boxed.object("blob", &vec![0; 40 << 20]);
    let tree = boxed.tree_of(&[("100644", "zeros", &blob)]);
    boxed.commit_tree(&tree);
    let error = boxed.import().await.unwrap_err();
    assert_eq!(refusal(error), Refusal::TooLargeUnpacked { limit: 32 << 20 });
    assert!(!boxed.has_object(&blob));
    boxed.ask_everything().await.assert_import_refused();
}

#[tokio::test]
async fn attack_44_changes_of_protected_paths_are_held() {
    let boxed = Boxed::new().await;
    boxed.commit("src/a", "a\n");
    boxed.commit(".github/workflows/ci.yml", "on: push\n");
    // Later commits do not take it back: each is pushed.
    boxed.agent(&["rm", "-q", ".github/workflows/ci.yml"]);
    boxed.agent(&["commit", "-q", "-m", "nothing to see"]);
    let protected = [".github/workflows/**".to_owned(), ".gitlab-ci.yml".to_owned()];
    let imported = boxed.worktree.import(&boxed.import_of(&protected)).await.unwrap();
    assert_eq!(imported.held, [Path::new(".github/workflows/ci.yml")]);
    assert_eq!(imported.commits, 3);
    let again = boxed.worktree.import(&boxed.import_of(&protected)).await.unwrap();
    assert_eq!(again.held, imported.held, "it stays held as long as the branch has it");
    let other = boxed.worktree.import(&boxed.import_of(&["docs/**".to_owned()])).await.unwrap();
    assert_eq!(other.held, Vec::<PathBuf>::new());
}
