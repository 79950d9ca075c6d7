//! The process dies at every step of every operation, dies again while the next command heals that, and is killed at
//! random, alone, with its git, or its git alone. After each: nothing lost, nothing stuck, no stale lock, and a second
//! look finds nothing to do.

mod common;
mod crash_support;

use crash_support::{ABORTED, Deed, Wood};
use spinney_engine::fail::POINTS;
use spinney_testkit::Plant;

/// The ways to reach a point: a deed, and what must fail before so that the point is passed.
fn ways_to(point: &str) -> &'static [(Deed, &'static str)] {
    use Deed::{Adopt, Create, CreateAgain, Purge, Remove, RemoveUnstarted, Restore, RestoreArchived};
    match point.split_once('.').unwrap() {
        ("create", "lost-pinned" | "lost-retired") => &[(CreateAgain, "")],
        ("create", _) => &[(Create, ""), (CreateAgain, "")],
        ("undo", _) => &[(Create, "create.filled=denied,"), (CreateAgain, "create.filled=denied,")],
        ("remove", "branch") => &[(RemoveUnstarted, "")],
        ("remove", "undone") => &[(Remove, "remove.recorded=denied,")],
        ("remove", _) => &[(Remove, "")],
        ("restore", "undo-moved" | "undone") => &[(Restore, "restore.branch=denied,")],
        ("restore", _) => &[(Restore, ""), (RestoreArchived, "")],
        ("unarchive", _) => &[(RestoreArchived, "")],
        ("purge", "undone") => &[(Purge, "purge.written=denied,")],
        ("purge", _) => &[(Purge, "")],
        ("adopt", _) => &[(Adopt, "")],
        _ => panic!("no operation is known to pass `{point}`"),
    }
}

/// Dies at every point of an operation, heals, and goes on; once with a healer that dies too, at each of its own steps.
fn die_at_each(operation: &str, plants: &[Plant]) {
    let mut wood = Wood::new(plants);
    let points = POINTS.iter().filter(|point| point.split_once('.').unwrap().0 == operation);
    for (point, (deed, before)) in points.flat_map(|point| ways_to(point).iter().map(move |way| (point, way))) {
        for again in [false, true] {
            println!("{deed:?} dies at {point}, the healer {}", if again { "too" } else { "lives" });
            let line = wood.prepare(*deed);
            wood.run_armed(&format!("{before}{point}"), &line).exits(ABORTED);
            // Each healer dies one step further than the one before, until one comes to its end.
            let healers = (1..).take_while(|_| again).map(|step| wood.run_armed(&format!("#{step}"), &["ls".to_owned()]));
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

#[test]
fn creation_survives_a_death_at_every_step() {
    die_at_each("create", Plant::PLAIN);
}

#[test]
fn the_undoing_of_a_creation_survives_a_death_at_every_step() {
    die_at_each("undo", Plant::PLAIN);
}

#[test]
fn removal_survives_a_death_at_every_step() {
    die_at_each("remove", Plant::PLAIN);
}

#[test]
fn removal_of_a_detached_head_survives_a_death_at_every_step() {
    die_at_each("remove", Plant::DETACHED);
}

#[test]
fn restore_survives_a_death_at_every_step() {
    die_at_each("restore", Plant::REBASING);
}

#[test]
fn restore_from_an_archive_survives_a_death_at_every_step() {
    die_at_each("unarchive", Plant::DETACHED);
}

#[test]
fn purge_survives_a_death_at_every_step() {
    die_at_each("purge", Plant::REBASING);
}

#[test]
fn adoption_survives_a_death_at_every_step() {
    die_at_each("adopt", Plant::PLAIN);
}

#[test]
fn no_operation_is_left_out() {
    let known = ["create", "undo", "remove", "restore", "unarchive", "purge", "adopt"];
    let unknown: Vec<_> = POINTS.iter().filter(|point| !known.contains(&point.split_once('.').unwrap().0)).collect();
    assert!(unknown.is_empty(), "no test dies at {unknown:?}");
}
