//! What is found out about a lab and about this machine.

use super::super::support::{self, beds::Beds};
use super::super::{PAIR, namespaces};
use plimsoll_testkit::Need;
use std::fs;

#[test]
fn what_a_lab_was_is_kept_with_each_study_and_compared() {
    if !namespaces() {
        return;
    }
    let beds = Beds::new();
    let file = beds.file("pair", &PAIR.replace("cpu = \"50%\"\n", ""));
    beds.lab(&["up", &file]).expect(0);
    let target = tempfile::tempdir().unwrap();
    let measure = || {
        let words = ["check", target.path().to_str().unwrap(), "--host=lab://pair/a"];
        let short = ["--pattern=random-read", "--size=16MiB", "--repeats=1", "--time=1s", "-q"];
        beds.program.run(&[&words[..], &short[..]].concat()).expect(0);
        let study = beds.program.latest();
        let lab = study.hosts.iter().find_map(|host| host.lab.clone()).unwrap();
        assert_eq!(lab.name, "pair");
        (study.id.0, lab.settings)
    };
    let (first, was) = measure();
    assert_eq!(was["link lan rate"], "100Mbit/s");
    assert_eq!(was["link lan between"], "a, b");
    let (same, _) = measure();
    beds.lab(&["set", "pair", "lan", "rate=1Mbit/s", "mtu=1400"]).expect(0);
    let (second, is) = measure();
    assert_eq!(is["link lan rate"], "1Mbit/s");
    let equal = beds.program.run(&["compare", &first, &same, "--details"]).expect(0).out;
    assert!(!equal.contains("lab"), "{equal}");
    let compared = beds.program.run(&["compare", &first, &second, "--details"]).expect(0).out;
    let compared = compared.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(compared.contains("link lan rate of the lab: 100Mbit/s, then 1Mbit/s"), "{compared}");
    assert!(compared.contains("link lan mtu of the lab: none, then 1400"), "{compared}");
}

/// The cache in use, not another one; and KVM is tried, for its device says little.
#[test]
fn the_doctor_looks_at_the_cache_in_use_and_tries_kvm() {
    let beds = Beds::new();
    let findings = |cache: &std::path::Path| -> serde_json::Value {
        let mut command = beds.program.command(&["lab", "doctor", "--json"]);
        let ran: support::Ran = command.env("PLIMSOLL_LAB_CACHE", cache).output().unwrap().into();
        serde_json::from_str(&ran.expect(0).out).unwrap()
    };
    let says = |found: &serde_json::Value, what: &str| {
        found.as_array().unwrap().iter().find(|one| one["what"] == what).unwrap().clone()
    };
    let cache = beds.program.home().join("not/made/yet");
    let found = findings(&cache);
    let disk = says(&found, "disk");
    assert!(disk["found"].as_str().unwrap().contains(cache.to_str().unwrap()), "{disk}");
    let kvm = says(&found, "kvm");
    let word = kvm["found"].as_str().unwrap().to_owned();
    let device = fs::File::options().read(true).write(true).open("/dev/kvm").is_ok();
    let signs: &[&str] = match (device, plimsoll_testkit::available(Need::Machines)) {
        (true, true) => &["ran with it", "hung with it"],
        (true, false) => &["cannot start a guest"],
        (false, _) => &["/dev/kvm: "],
    };
    assert!(signs.iter().any(|sign| word.contains(sign)), "{word}");
    assert_eq!(kvm["good"], word.contains("ran with it"), "{kvm}");
    assert!(!cache.exists(), "nothing is changed");
    // What was found out with a whole machine is known.
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    fs::create_dir_all(&cache).unwrap();
    fs::write(cache.join("kvm"), format!("{} hangs\n", boot.trim())).unwrap();
    if device {
        let known = says(&findings(&cache), "kvm");
        assert!(known["found"].as_str().unwrap().contains("a virtual machine hung"), "{known}");
    }
    let file = beds.program.home().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(says(&findings(&file), "disk")["good"], false, "no place for images");
}
