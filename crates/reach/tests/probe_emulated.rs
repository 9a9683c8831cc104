//! Every build of the probe through a reach, on its machine's least processor, emulated.

mod probe_support;

use plimsoll_reach::probe::{FileKind, Placed, Request};
use probe_support::emulated::{ALL, Emulated};
use probe_support::{LONG, local, only, run};
use std::time::Instant;

/// What must hold of each, run again where its programs can be executed.
#[test]
fn inner_on_its_machine() {
    let Some(emulated) = Emulated::inner() else { return };
    let (_kept, programs) = only(emulated.machine).unwrap();
    let placed = Placed::place(local(), &programs, None).unwrap();
    assert_eq!(placed.machine(), emulated.machine);
    let (sections, done) = run(&placed, &Request::new("selftest"));
    done.unwrap();
    assert_eq!(sections[0]["crypto_vectors_good"], true, "{sections:?}");
    let (sections, done) = run(&placed, &Request::new("inventory").set("path", "/"));
    done.unwrap();
    let probe = sections.iter().find(|section| section["section"] == "probe").unwrap();
    let order = if emulated.machine.name() == "mips" { "big" } else { "little" };
    assert_eq!(probe["byte_order"], order);
    let (sections, done) = run(&placed, &Request::new("cpu").set("duration_ms", 10));
    done.unwrap();
    assert!(sections.iter().any(|section| section["section"] == "cpu_all"));
    let mut sampler = placed.sampler().unwrap();
    for _ in 0..2 {
        let before = Instant::now();
        sampler.ask().unwrap();
        let sample = sampler.sample(Instant::now() + LONG).unwrap().unwrap();
        assert!(before <= sample.moment.at && sample.moment.at <= Instant::now());
        assert!(sample.files.iter().any(|file| file.kind == FileKind::Stat));
    }
    let directory = placed.directory().to_owned();
    placed.remove().unwrap();
    assert!(!std::path::Path::new(&directory).exists());
}

#[test]
fn each_build_runs_on_its_machine() {
    for (number, emulated) in ALL.iter().enumerate() {
        if only(emulated.machine).is_some() {
            emulated.run_test(number, "inner_on_its_machine");
        }
    }
}
