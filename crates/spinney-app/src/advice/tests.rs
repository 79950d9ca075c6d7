//! Every advice, in the terms of every front.

use spinney_core::{AccountName, Advice, JobId, NodeId, WorkspaceId, WorkspaceName};

use super::{Front, advise};

/// Where the variants are declared: what is not among the samples below is found by it.
const DECLARED: &str = include_str!("../../../spinney-core/src/advice.rs");

fn name() -> WorkspaceName {
    WorkspaceName::new("issue-42")
}

fn every() -> Vec<Advice> {
    vec![
        Advice::ChooseHome,
        Advice::ChooseHomeOrMoveAway,
        Advice::ChoosePlaceOfHome,
        Advice::ChooseHomeOrMount,
        Advice::MountForWriting,
        Advice::SeeWhoOwnsPlace,
        Advice::SeeWhoOwnsFile,
        Advice::AskOwner,
        Advice::AskOwnerOrChooseBranch,
        Advice::FreeSpace,
        Advice::FreeSpaceOrLowerLimit,
        Advice::UseTheOtherHome,
        Advice::StopTheDaemon,
        Advice::UseOtherHome { place: "/srv/x".to_owned() },
        Advice::TakeOverHome { node: NodeId::generate() },
        Advice::RemoveInHome { place: "/srv/x".to_owned() },
        Advice::MountTreeRoot,
        Advice::DeclareTreesGone { path: "/srv/x".to_owned(), marker: "/srv/x".to_owned() },
        Advice::InstallGit,
        Advice::InstallProgram { agent: "coder".parse().unwrap(), command: Some("npm install -g x".to_owned()) },
        Advice::CheckStoreUrl,
        Advice::WaitForStore,
        Advice::PutBackupInPlace,
        Advice::PutStoreTogether { store: "spinney.db".to_owned(), files: vec!["spinney.db-wal".to_owned()] },
        Advice::SeeVersion,
        Advice::Configuration("set `x`".to_owned()),
        Advice::SetAgentInFile,
        Advice::ValidateConfiguration,
        Advice::SetRemote,
        Advice::NameBase,
        Advice::IgnoreDirectory,
        Advice::MoveAwayOrChangePath,
        Advice::FixSetup,
        Advice::FetchFromWhatIsKnown,
        Advice::Trust,
        Advice::TrustAgent,
        Advice::TrustSetup,
        Advice::TrustForeignSetup { flag: "/srv/x".to_owned(), commit: "/srv/x".to_owned() },
        Advice::WaitAndRepeat,
        Advice::WaitOrEndAndRepeat,
        Advice::EndProcessAndRepeat,
        Advice::LetGoOnOrKill { pid: 7 },
        Advice::WorkOnItThere,
        Advice::BeginAtNewest,
        Advice::LeaveExpiryOut,
        Advice::ListRepositories,
        Advice::RunInRepository,
        Advice::RunWhereItStands,
        Advice::FindAgainOrForget { repository: "acme/app".parse().unwrap() },
        Advice::GiveRepositoryAnotherName,
        Advice::PutBackOrForget { repository: "acme/app".parse().unwrap() },
        Advice::EmptyRepositoryFirst { repository: "acme/app".parse().unwrap() },
        Advice::EmptyTrashFirst { repository: "acme/app".parse().unwrap() },
        Advice::CommitFirst,
        Advice::AddRemote,
        Advice::GiveUsableUrl,
        Advice::CheckAddress,
        Advice::CheckNetwork,
        Advice::SetUpCredentials,
        Advice::SetUpCredentialsOrNameToken,
        Advice::SetForgeTokenOrCredentials { variable: "GITHUB_TOKEN".to_owned() },
        Advice::SetUpCredentialsForClone,
        Advice::ExportVariable { variable: "/srv/x".to_owned() },
        Advice::SyncBranches,
        Advice::SyncBranchesOrNameCommit,
        Advice::ListAccounts,
        Advice::AddAccount { account: AccountName::local() },
        Advice::ListTokens { account: AccountName::local() },
        Advice::RenameOrRevokeToken { token: "ci".parse().unwrap() },
        Advice::LeaveAccountOut,
        Advice::ListWorkspaces,
        Advice::NameOrEnterWorkspace,
        Advice::DidYouMean { name: "issue-42".to_owned() },
        Advice::NameOtherRepository { workspace: name(), repository: "local/app".parse().unwrap() },
        Advice::NameWorkspaceById,
        Advice::ShowWorkspace { workspace: name() },
        Advice::Restore { workspace: name(), id: WorkspaceId::generate() },
        Advice::RestoreOnBranch { workspace: name() },
        Advice::AllowReasons,
        Advice::MakeRoom { workspace: name(), is_stale: true },
        Advice::RaiseLimit,
        Advice::ChooseBranch,
        Advice::ChooseBranchOrPattern,
        Advice::SwitchMainCheckout,
        Advice::UnlockToAdopt { path: "/srv/x".to_owned() },
        Advice::LockWorktree { path: "/srv/x".to_owned() },
        Advice::ListAdoptable,
        Advice::NoteTheMove { from: "/srv/x".to_owned(), to: "/srv/x".to_owned() },
        Advice::RepairOrPrune { path: "/srv/x".to_owned() },
        Advice::RepairLinks,
        Advice::TakeInOrphans,
        Advice::Adopt,
        Advice::SeeStatus { path: "/srv/x".to_owned() },
        Advice::SeeWhatIsLeft { path: "/srv/x".to_owned() },
        Advice::ResolveConflicts,
        Advice::TakeInRemoteCommits,
        Advice::CheckObjects,
        Advice::MakeIndexAnew { path: "/srv/x".to_owned() },
        Advice::DeclareSafe { path: "/srv/x".to_owned() },
        Advice::AllowTransport { transport: "file".to_owned() },
        Advice::NameImportSource,
        Advice::ListJobs,
        Advice::ConfigureAgent,
        Advice::NameAgent,
        Advice::ChooseAgentOf { repository: "acme/app".to_owned() },
        Advice::NameRepositoryOfAgent,
        Advice::GiveAgentOwnWorkspaces,
        Advice::WaitBehind { job: JobId::generate() },
        Advice::Cancel { job: JobId::generate() },
        Advice::Retry { job: JobId::generate() },
        Advice::AcceptHeld { job: JobId::generate(), without_lost: true },
        Advice::TakeOutAndRetry { job: JobId::generate() },
        Advice::DeliverHeld { workspace: name(), commit: "a".repeat(40).parse().unwrap() },
        Advice::TakeOutCopied,
        Advice::AcceptRemote,
        Advice::NameForge,
        Advice::AddCloneElsewhere,
        Advice::MergeBack { workspace: name(), refs: "/srv/x".to_owned() },
        Advice::SeeStatusOf { workspace: name() },
        Advice::DaemonClones,
        Advice::CloneForAgent { url: "/srv/x".to_owned() },
        Advice::NameRepositoryOfSchedule,
        Advice::PutPromptIntoFile,
    ]
}

#[test]
fn every_advice_is_among_the_samples() {
    let (_, variants) = DECLARED.split_once("pub enum Advice {").unwrap();
    let declared =
        variants.lines().filter(|line| line.starts_with("    ") && line.trim().starts_with(char::is_uppercase));
    assert_eq!(declared.count(), every().len());
}

#[test]
fn the_api_and_chats_name_no_command_of_ours_and_no_flag() {
    for advice in every() {
        for front in [Front::Api, Front::Chat, Front::Tools] {
            let told = advise(&advice, front).unwrap_or_default();
            assert!(!told.contains("spinney ") && !told.contains("`spinney`"), "{advice:?}: {told}");
            let is_gits = told.contains("`git ");
            assert!(is_gits || !told.contains("`--") && !told.contains(" --"), "{advice:?}: {told}");
        }
        let chat = advise(&advice, Front::Chat).unwrap_or_default();
        assert!(!chat.contains("/api/"), "{advice:?}: {chat}");
        let tools = advise(&advice, Front::Tools).unwrap_or_default();
        assert!(!tools.contains("/api/") && !tools.contains("`force`"), "{advice:?}: {tools}");
    }
}

#[test]
fn somebody_can_do_something_about_every_advice() {
    for advice in every() {
        let told = [Front::CommandLine, Front::Api, Front::Chat, Front::Tools].map(|front| advise(&advice, front));
        assert!(told.iter().any(Option::is_some), "{advice:?}");
        for told in told.into_iter().flatten() {
            assert!(!told.is_empty() && !told.contains('\n') && told.matches('`').count() % 2 == 0, "{told}");
        }
    }
}

#[test]
fn an_advice_is_read_again_as_it_was_written() {
    for advice in every() {
        let written = serde_json::to_string(&advice).unwrap();
        assert_eq!(serde_json::from_str::<Advice>(&written).unwrap(), advice, "{written}");
    }
}
