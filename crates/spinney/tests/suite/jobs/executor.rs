//! Programs run where the workspace's executor says: shown with a second one, which starts them by another program and
//! gives them other paths.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use crate::support::job::Workshop;
use spinney_testkit::write_program;

/// The directory that the trial executor works with.
struct Trial(PathBuf);

impl Trial {
    /// Lets all commands of a workshop use it from now on.
    fn begin(workshop: &mut Workshop) -> Self {
        let directory = workshop.beside("trial");
        fs::create_dir(&directory).unwrap();
        symlink(workshop.story.sandbox().spinney_home(), directory.join("inside")).unwrap();
        let wrap = directory.join("wrap");
        let script = "#!/bin/sh\necho \"$PWD $*\" >> \"${0%/*}/wrapped\"\nWRAPPED=yes exec \"$@\"\n";
        write_program(&wrap, script);
        workshop.cli = workshop.cli.with_variable("SPINNEY_TRIAL_EXECUTOR", &directory);
        Self(directory)
    }

    /// How programs see a path below the home.
    fn inside(&self, workshop: &Workshop, path: &str) -> String {
        let below = PathBuf::from(path).strip_prefix(workshop.story.sandbox().spinney_home()).unwrap().to_owned();
        self.0.join("inside").join(below).to_str().unwrap().to_owned()
    }

    /// What the program that starts the others was given.
    fn wrapped(&self) -> Vec<String> {
        lines(&self.0.join("wrapped"))
    }

    /// What the executor was asked.
    fn asked(&self) -> Vec<String> {
        lines(&self.0.join("asked"))
    }
}

fn lines(path: &PathBuf) -> Vec<String> {
    fs::read_to_string(path).unwrap_or_default().lines().map(ToOwned::to_owned).collect()
}

#[test]
fn set_up_hooks_agent_and_exec_run_by_the_executor() {
    let see = |what: &str| format!("echo {what} $WRAPPED $PWD $SPINNEY_WORKSPACE_PATH >> $HOME/seen");
    let mut workshop = Workshop::new(&format!(
        "[agents.coder.hooks]\nbefore_run = [\"{}\"]\nafter_run = [\"{}\"]\n[workspace]\nsetup = [\"{}\"]\n",
        see("before"),
        see("after"),
        see("setup")
    ));
    let trial = Trial::begin(&mut workshop);
    let dump = workshop.beside_text("dump");

    let job =
        workshop.complete(&["--issue", "42"], &format!("prompt-file\ndump-env {dump}\nwrite made.txt by the agent"));
    let place = trial.inside(&workshop, job.text("path"));
    let ran = workshop.cli.run(&["exec", "issue-42", "--", "sh", "-c", &see("exec")]);
    ran.ok();

    // Each came by the program that starts them, and was told the directory as it is named there.
    let seen = lines(&workshop.story.sandbox().home().join("seen"));
    let expected = ["setup", "before", "after", "exec"].map(|what| format!("{what} yes {place} {place}"));
    assert_eq!(seen, expected);
    let variables = lines(&dump.into());
    for variable in ["WRAPPED=yes", &format!("PWD={place}"), &format!("SPINNEY_WORKSPACE_PATH={place}")] {
        assert!(variables.iter().any(|line| line == variable), "{variable} is not in {variables:#?}");
    }
    let prompt_file = format!("SPINNEY_PROMPT_FILE={}/inside/jobs/{}.prompt", trial.0.display(), job.id());
    assert!(variables.contains(&prompt_file), "{variables:#?}");
    workshop.assert_logged(job.id(), "prompt-file");
    let wrapped = trial.wrapped();
    assert_eq!(wrapped.len(), 5, "{wrapped:#?}");
    assert!(wrapped.iter().all(|line| line.starts_with(&format!("{place} "))), "{wrapped:#?}");

    // What was left of the job was ended through it, and what holds the workspace is asked through it.
    let end = format!("end issue-42 {}", job.id());
    assert!(trial.asked().contains(&end), "{:#?}", trial.asked());
    workshop.cli.run(&["rm", "issue-42", "--force"]).ok();
    let inside = format!("inside issue-42 {}", job.text("path"));
    assert!(trial.asked().contains(&inside), "{:#?}", trial.asked());
}

#[test]
fn what_a_dead_jobs_agent_left_is_ended_by_the_executor() {
    let mut workshop = Workshop::new("");
    let trial = Trial::begin(&mut workshop);
    let left = workshop.beside("left");
    let id = workshop.detach(&["--issue", "7"], &format!("daemon {}\nsleep 60", left.display()));
    spinney_testkit::wait_until(|| left.exists(), crate::support::job::LONG);
    let pid = crate::support::job::read_pid(&left);
    crate::support::job::signal(crate::support::job::runner_of(&id).unwrap(), rustix::process::Signal::KILL);

    workshop.wait_for(&id, "interrupted");

    assert!(!crate::support::job::is_alive(pid));
    let end = format!("end issue-7 {id}");
    assert!(trial.asked().contains(&end), "{:#?}", trial.asked());
}
