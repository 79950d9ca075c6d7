//! The process dies at every step of every operation, dies again while the next command heals that, and is killed at
//! random, alone, with its git, or its git alone. After each: nothing lost, nothing stuck, no stale lock, and a second
//! look finds nothing to do.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use crate::support::common::Story;
use crate::support::crash::{ABORTED, Deed, Wood, ways_to};
use crate::support::kill::{Random, Victim, kill};
use spinney_engine::fail::POINTS;
use spinney_testkit::{GitWrapper, Plant, Sandbox, wait_until};

const LONG: Duration = Duration::from_secs(60);
/// Kills at random, unless another number is given.
const ROUNDS: u64 = 24;

/// Dies at every point of an operation, heals, and goes on; once with a healer that dies too, at each of its own steps.
fn die_at_each(provider: &str, operation: &str, plants: &[Plant]) {
    let mut wood = Wood::of(Story::new().by(provider), plants);
    assert_eq!(wood.story.show("issue-1").text("provider"), provider);
    let points = POINTS.iter().filter(|point| point.split_once('.').unwrap().0 == operation);
    // What a healer does by its own journal is the same with every git.
    let healers = if told("SPINNEY_TEST_GIT").is_some() { &[false][..] } else { &[false, true] };
    for (point, (deed, before)) in points.flat_map(|point| ways_to(point).iter().map(move |way| (point, way))) {
        for &again in healers {
            println!("{deed:?} dies at {point}, the healer {}", if again { "too" } else { "lives" });
            let line = wood.prepare(*deed);
            wood.run_armed(&format!("{before}{point}"), &line).exits(ABORTED);
            // Each healer dies one step further than the one before, until one comes to its end.
            let healers =
                (1..).take_while(|_| again).map(|step| wood.run_armed(&format!("#{step}"), &["ls".to_owned()]));
            for healer in healers {
                if healer.status == 0 {
                    break;
                }
                healer.exits(ABORTED);
            }
            wood.assert_healed();
            wood.carry_on(*deed);
        }
    }
}

/// The same deaths, whatever makes the workspaces.
macro_rules! by_each_provider {
    ($($name:ident => $($operation:literal)+, $plants:expr;)*) => {
        mod worktree {
            $(
                #[test]
                fn $name() {
                    $(super::die_at_each("worktree", $operation, $plants);)+
                }
            )*
        }

        mod clone {
            $(
                #[test]
                fn $name() {
                    $(super::die_at_each("clone", $operation, $plants);)+
                }
            )*
        }
    };
}

by_each_provider! {
    creation_survives_a_death_at_every_step => "create", super::Plant::PLAIN;
    the_undoing_of_a_creation_survives_a_death_at_every_step => "undo", super::Plant::PLAIN;
    removal_survives_a_death_at_every_step => "remove", super::Plant::PLAIN;
    removal_of_a_detached_head_survives_a_death_at_every_step => "remove", super::Plant::DETACHED;
    restore_survives_a_death_at_every_step => "restore", super::Plant::REBASING;
    restore_from_an_archive_survives_a_death_at_every_step => "unarchive", super::Plant::DETACHED;
    purge_survives_a_death_at_every_step => "purge", super::Plant::REBASING;
    an_erasure_survives_a_death_at_every_step => "erase", super::Plant::PLAIN;
    adoption_survives_a_death_at_every_step => "adopt", super::Plant::PLAIN;
    filling_the_pool_survives_a_death_at_every_step => "warm" "refresh" "retire", super::Plant::PLAIN;
    a_claim_survives_a_death_at_every_step => "claim" "unclaim", super::Plant::PLAIN;
}

#[test]
fn no_operation_is_left_out() {
    let known = [
        "create",
        "undo",
        "remove",
        "restore",
        "unarchive",
        "purge",
        "erase",
        "adopt",
        "warm",
        "refresh",
        "retire",
        "claim",
        "unclaim",
    ];
    // These are passed only on file systems that share blocks, where creation/populate.rs dies, and in jobs (jobs/death.rs),
    // where they wait (jobs/waiting.rs) and read (jobs/reading.rs), in deliveries (commands/deliver.rs), conversations
    // (platforms/) and schedules (the tests of spinney-jobs).
    let elsewhere = ["populate", "template", "job", "queue", "reading", "schedule", "deliver", "delivery", "answer"];
    let known = [&known[..], &elsewhere].concat();
    let unknown: Vec<_> = POINTS.iter().filter(|point| !known.contains(&point.split_once('.').unwrap().0)).collect();
    assert!(unknown.is_empty(), "no test dies at {unknown:?}");
}

/// A git that locks the ref it is to change, and is killed there.
fn git_killed_over_a_ref() -> GitWrapper {
    GitWrapper::new(
        r#"case " $* " in *' update-ref '*)
    for word; do case "$word" in refs/*)
        lock="$("$GIT" rev-parse --git-common-dir)/$word.lock"
        mkdir -p "$(dirname "$lock")" && : > "$lock" && kill -9 $$
    esac; done
esac
exec "$GIT" "$@"
"#,
    )
}

#[test]
fn a_lock_that_a_killed_git_left_on_a_ref_is_cleared_away() {
    let mut wood = Wood::new(Plant::DETACHED);
    for deed in [Deed::Remove, Deed::RemoveUnstarted, Deed::CreateAgain] {
        println!("{deed:?}");
        let line = wood.prepare(deed);
        let git = git_killed_over_a_ref();
        let ran = wood.story.cli.with_path_first(git.directory()).run(&line);
        assert!(ran.status != 0 || ran.stderr.contains("its branch stays"), "{}", ran.told());
        // At once, not after a sweep.
        wood.carry_on(deed);
        wood.assert_healed();
    }
}

/// A git that waits before a call until the file `go` appears beside it, and Spinney killed while it does.
fn leave_git_behind(wood: &Wood, call: &str, line: &[String]) -> GitWrapper {
    let git = GitWrapper::new(&format!(
        r#"case " $* " in *' {call} '*)
    echo $$ > "$HERE/new"; mv "$HERE/new" "$HERE/reached"
    while [ ! -e "$HERE/go" ] && [ -e "$0" ]; do sleep 0.02; done
esac
exec "$GIT" "$@"
"#
    ));
    let running = wood.story.cli.with_path_first(git.directory()).spawn(line);
    wait_until(|| git.directory().join("reached").exists(), LONG);
    running.kill();
    git
}

/// Whether the git that was left behind still runs: one that has ended has no environment.
fn is_left(git: &GitWrapper) -> bool {
    let pid = fs::read_to_string(git.directory().join("reached")).unwrap();
    fs::read(format!("/proc/{}/environ", pid.trim())).is_ok_and(|environment| !environment.is_empty())
}

#[test]
fn a_git_that_fills_a_tree_is_ended_before_anything_else_goes_there() {
    let mut wood = Wood::new(Plant::REBASING);
    for (deed, call) in [(Deed::Create, "reset"), (Deed::RestoreArchived, "checkout-index")] {
        println!("{deed:?}, left behind in `git {call}`");
        let line = wood.prepare(deed);
        let git = leave_git_behind(&wood, call, &line);
        assert!(is_left(&git));
        wood.story.cli.run(&line).ok();
        assert!(!is_left(&git), "it would go on writing");
        wood.assert_healed();
        wood.carry_on(deed);
    }
}

#[test]
fn a_git_that_changes_the_repository_keeps_its_lock_when_spinney_dies() {
    let mut wood = Wood::new(Plant::DETACHED);
    for (deed, call) in [(Deed::Create, "worktree add"), (Deed::Remove, "update-ref"), (Deed::Remove, "mktree")] {
        println!("{deed:?}, left behind in `git {call}`");
        let line = wood.prepare(deed);
        let git = leave_git_behind(&wood, call, &line);
        assert!(wood.is_locked(), "others would change the repository beside it");
        let next = wood.story.cli.spawn(&["ls"]);
        fs::write(git.directory().join("go"), "").unwrap();
        next.wait().ok();
        wait_until(|| !is_left(&git), LONG);
        wood.assert_healed();
        wood.carry_on(deed);
    }
}

/// What the caller of the test tells it.
#[expect(clippy::disallowed_methods, reason = "`cargo xtask` hands its options over by the environment")]
fn told(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

/// A number that the caller of the test may give.
fn given(variable: &str) -> Option<u64> {
    told(variable).map(|text| text.parse().unwrap_or_else(|_| panic!("`{variable}` is no number")))
}

/// A repository whose checkout and set-up take long enough to be hit.
fn slow_story() -> Story {
    let repository = Sandbox::new().repository("app");
    for number in 0..400 {
        repository.write(format!("src/{}/file-{number}.txt", number % 20), format!("{number}\n").repeat(50));
    }
    repository.commit("many files");
    let repository = repository.with_remote();
    repository.sandbox().write_config(
        "[workspace]\nports = [\"web\"]\nsetup = [\"echo made > target-made.local; sleep 0.02; true\"]\n",
    );
    Story::of(repository)
}

/// Issue 1 and further ones are made, removed, restored and purged, and each time somebody is killed in the middle.
/// `SPINNEY_CRASH_ROUNDS` and `SPINNEY_CRASH_SEED` make it longer, and the same again.
fn kill_at_random(provider: &str) {
    let rounds = given("SPINNEY_CRASH_ROUNDS").unwrap_or(ROUNDS);
    let seed = given("SPINNEY_CRASH_SEED").unwrap_or_else(|| u64::from(std::process::id()));
    println!("{rounds} rounds with SPINNEY_CRASH_SEED={seed}");
    let mut random = Random::new(seed);
    let deeds = [
        Deed::Create,
        Deed::CreateAgain,
        Deed::Remove,
        Deed::Restore,
        Deed::RestoreArchived,
        Deed::Purge,
        Deed::Erase,
        Deed::EraseArchived,
        Deed::Fill,
        Deed::Refresh,
        Deed::Drain,
        Deed::Claim,
    ];
    let mut wood = Wood::of(slow_story().by(provider), Plant::REBASING);
    // How long each deed takes when nobody is killed: a delay is drawn from that.
    let mut usual: HashMap<String, Duration> = HashMap::new();
    let mut hit = 0;
    for round in 1..=rounds {
        if round % 60 == 0 {
            let plants = random.choose(&[Plant::PLAIN, Plant::DETACHED, Plant::REBASING]);
            wood = Wood::of(slow_story().by(provider), plants);
        }
        let (deed, victim) = (random.choose(&deeds), random.choose(&[Victim::Spinney, Victim::Git, Victim::All]));
        let line = wood.prepare(deed);
        let most = *usual.entry(format!("{deed:?}")).or_insert(Duration::from_millis(60));
        let delay = Duration::from_micros(random.below(most.as_micros() as u64));
        println!("round {round}: {deed:?}, {victim:?} killed after {delay:?}");
        let start = Instant::now();
        let mut running = wood.cli_for(&line).spawn(&line);
        std::thread::sleep(delay);
        kill(running.id(), victim, &mut || running.is_running());
        let ran = running.wait();
        let survived = ran.status == 0;
        hit += u64::from(!survived);
        let took = if survived { start.elapsed() } else { most + most / 8 };
        usual.insert(format!("{deed:?}"), took.clamp(Duration::from_millis(20), Duration::from_secs(2)));
        // The next command waits for a git that was left behind, and heals.
        wood.story.cli.run(&["ls"]).ok();
        wood.assert_healed();
        wood.carry_on(deed);
    }
    println!("{hit} of {rounds} commands were hit before their end");
    // Of few, by chance, hardly one may be hit.
    assert!(rounds < ROUNDS || hit * 4 >= rounds, "only {hit} of {rounds} were hit: the delays are too long");
}

#[test]
fn killed_at_random_nothing_is_lost() {
    kill_at_random("worktree");
}

#[test]
fn killed_at_random_no_clone_is_lost() {
    kill_at_random("clone");
}
