//! What limits, in words, and what would have to be typed to be sure of it.

mod support;

use plimsoll_model::{NfsdLoad, Study};
use plimsoll_report::{Document, Style};
use support::plain::servers::{SERVER, Truth, study, with_ladder};

fn explained(study: &Study) -> String {
    let style = Style { width: 160, colour: false };
    let text = Document::explaining(study, &[]).screen(&style);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// One thread of an NFS server that waits for a slow disk is as busy as that: only more threads tell whether
/// the disk can do more at a time.
#[test]
fn threads_that_wait_for_a_disk_are_to_be_tried_with_more_of_them() {
    let at = |depth| Truth { depth, disk: 5e-3, at_a_time: 1.0, ..Truth::default() };
    let mut study = with_ladder(study(at(4), true), true, [1, 4, 16], at);
    study.plan.command = "plimsoll check nfs://nas/a --explain".into();
    let of_points =
        study.trials.iter_mut().flat_map(|trial| &mut trial.points).flat_map(|p| &mut p.loads);
    of_points.for_each(|load| load.nfsd = None);
    for load in study.trials.iter_mut().flat_map(|trial| &mut trial.loads) {
        load.nfsd = Some(NfsdLoad { threads: Some(1), ..NfsdLoad::default() });
    }
    let said = explained(&study);
    let wanted = [
        "It cannot be told which is the limit: ",
        "the one NFS thread of ",
        "more of them help where it can do several operations at a time.",
        &format!("--explain --set {SERVER}/nfsd-threads=as-found,8"),
    ];
    for words in wanted {
        assert!(said.contains(words), "no {words:?} in {said}");
    }
}

/// A disk alone is named, and nothing is to be varied.
#[test]
fn a_disk_that_is_the_limit_takes_no_more_threads() {
    let at = |depth| Truth { depth, disk: 5e-3, at_a_time: 1.0, ..Truth::default() };
    let said = explained(&study(at(4), true));
    assert!(said.contains(" is the limit: 100%") || said.contains(" is the limit: 99%"), "{said}");
    assert!(!said.contains("--set"), "{said}");
}
