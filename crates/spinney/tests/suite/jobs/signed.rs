//! Commits that Spinney makes are signed as the person's own are, or say why not.

use std::fs;

use crate::support::job::Workshop;
use spinney_testkit::write_program;

const ISSUE: [&str; 2] = ["--issue", "7"];

/// A key without a passphrase, with which the person has every commit signed.
fn with_ssh_key(workshop: &Workshop) {
    let sandbox = workshop.story.sandbox();
    let key = workshop.beside("id_ed25519");
    let key_text = key.to_str().unwrap();
    sandbox.cli("ssh-keygen").run(&["-q", "-t", "ed25519", "-C", "", "-N", "", "-f", key_text]).ok();
    let public = fs::read_to_string(key.with_extension("pub")).unwrap();
    let email = workshop.git(sandbox.path(), &["config", "--global", "user.email"]);
    let signers = workshop.beside("allowed_signers");
    fs::write(&signers, format!("{email} {public}")).unwrap();
    for (name, value) in [
        ("commit.gpgSign", "true"),
        ("gpg.format", "ssh"),
        ("user.signingKey", key_text),
        ("gpg.ssh.allowedSignersFile", signers.to_str().unwrap()),
    ] {
        workshop.git(sandbox.path(), &["config", "--global", name, value]);
    }
}

#[test]
fn what_an_agent_left_over_is_signed_and_a_rescue_is_not() {
    let workshop = Workshop::new("");
    with_ssh_key(&workshop);
    let job = workshop.complete(&ISSUE, "write a.txt a");
    workshop.git(job.path(), &["verify-commit", "HEAD"]);
    assert!(!workshop.log(job.id()).iter().any(|event| event.to_string().contains("not signed")));
    fs::write(job.path().join("b.txt"), "b").unwrap();
    workshop.cli.run(&["deliver", "issue-7", "--message", "mine"]).ok();
    workshop.git(job.path(), &["verify-commit", "HEAD"]);
    fs::write(job.path().join("c.txt"), "c").unwrap();
    let root = workshop.story.repository.path();
    workshop.cli.run(&["rm", "issue-7", "--force"]).ok();
    let rescued = workshop.git(root, &["for-each-ref", "--format=%(objectname)", "refs/spinney/rescue"]);
    let rescued = workshop.git(root, &["cat-file", "commit", &rescued]);
    assert!(!rescued.contains("gpgsig"), "{rescued}");
}

#[test]
fn why_a_commit_is_not_signed_is_told() {
    let workshop = Workshop::new("");
    with_ssh_key(&workshop);
    let failing = workshop.beside("failing");
    write_program(&failing, "#!/bin/sh\necho 'no card is in the reader' >&2\nexit 2\n");
    let place = workshop.story.sandbox().path();
    workshop.git(place, &["config", "--global", "gpg.ssh.program", failing.to_str().unwrap()]);
    let job = workshop.complete(&ISSUE, "write a.txt a");
    assert_eq!(job.0["pushed"], true);
    workshop.assert_logged(job.id(), "its commit is not signed: ");
    workshop.assert_logged(job.id(), "no card is in the reader");
    fs::write(job.path().join("b.txt"), "b").unwrap();
    let delivered = workshop.cli.run(&["deliver", "issue-7", "--message", "mine"]).ok().told();
    assert!(delivered.contains("the commit is not signed: ") && delivered.contains("no card"), "{delivered}");
    fs::write(job.path().join("c.txt"), "c").unwrap();
    let delivered = workshop.cli.run(&["deliver", "issue-7", "--message", "mine", "--json"]).ok().json();
    assert!(delivered["unsigned"].as_str().unwrap().contains("no card"), "{delivered:#}");
}
