//! No room: what is said, what helps, and how it goes on.

use std::fs;

use crate::platforms::office::Office;

#[test]
fn what_waits_for_room_says_so_and_goes_on_by_itself() {
    let office = Office::new("[limits]\nmax_workspaces = 1\n[cleanup]\non_startup = false\n");
    let workshop = &office.workshop;
    let first = office.ask("Login fails", "write fix.txt fixed");
    office.hears(first, 1, &["✓ Done"]);
    let held = workshop.hold("held");
    office.comment(first, &format!("@spinney more\nscript:\n{held}"));
    workshop.wait_for_agent("held");
    let waiting = office.ask("Logout fails", "write other.txt fixed\nprint Out.");
    let said = office.hears(waiting, 1, &["I can't start"]);
    let counted = "acme/app has 1 active workspaces (limit 1): 0 merged, 0 stale for 14+ days, 1 active. ";
    let helps = "`/worktree list` shows them. I'll go on by myself when there is room.";
    assert!(said.contains(&format!("{counted}{helps}")), "{said}");
    workshop.let_go("held");
    office.hears(first, 2, &["✓ Done"]);
    // Merged, but somebody left something in it: not taken by itself, nor by a sweep.
    let tree = workshop.story.show("issue-1").path();
    fs::write(tree.join("notes.txt"), "mine").unwrap();
    let merge = workshop.story.remote().merge("agent/coder/issue-1");
    let pull = office.forge.pull_requests().remove(0).number;
    office.forge.merge(pull, &merge);
    office.comment(waiting, "@spinney /worktree cleanup merged");
    office.hears(waiting, 2, &["kept issue-1", "untracked"]);
    fs::remove_file(tree.join("notes.txt")).unwrap();
    office.comment(waiting, "/worktree cleanup merged");
    office.hears(waiting, 3, &["removed issue-1"]);
    // The message that said that there is no room is the answer now.
    let answered = || office.said_on(waiting)[0].clone();
    spinney_testkit::wait_until(|| answered().contains("✓ Done"), crate::support::job::LONG);
    assert!(answered().contains("Out.") && !answered().contains("can't start"), "{}", answered());
    assert_eq!(office.said_on(waiting).len(), 3);
    assert_eq!(office.live(), ["issue-3"]);
}
