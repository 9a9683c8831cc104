//! A machine with a part of a core between client and server: it is the bottleneck, and is named as such where it is
//! monitored; where it is not, as what was not monitored.

use super::super::support::beds::Beds;
use super::super::support::probes;
use super::super::support::runner_program::runner;
use super::super::support::{Plimsoll, Ran};
use plimsoll_explain::{Limit, Resource, limits};
use plimsoll_testkit::Need;

const NAMED: &str = "the CPU of lab://slow-router/router (held to 20% of a core by the lab)";

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn a_router_with_a_fifth_of_a_core_is_the_bottleneck() {
    if !plimsoll_testkit::available(Need::Machines) {
        return;
    }
    let program = Plimsoll::new()
        .with("PLIMSOLL_RUNNER", runner().to_str().unwrap())
        .with("PLIMSOLL_PROBES", probes().to_str().unwrap());
    let beds = Beds::with_program(program);
    beds.lab(&["up", "slow-router"]).expect(0);
    let check = |hosts: &[&str]| -> Ran {
        let words = ["check", "--quiet", "--on=lab://slow-router/lan", "nfs://wan/srv/data"];
        let what = ["--pattern=sequential-read", "--workers=4", "--size=32MiB", "--block=256KiB"];
        let how = ["--repeats=4", "--time=3s", "--baseline=2s", "--timeout=60s"];
        beds.program.run(&[&words[..], &what, &how, hosts].concat()).expect(0);
        beds.program.run(&["explain", "latest"]).expect(0)
    };
    let said = check(&["--host=lab://slow-router/wan", "--host=lab://slow-router/router"]);
    eprintln!("monitored:\n{}", said.out);
    let study = beds.program.latest();
    let found = limits(&study);
    let Limit::Resource { binding, .. } = found[0].verdict else {
        panic!("{:?}", found[0].verdict)
    };
    let one = &found[0].uses[binding];
    assert!(matches!(one.resource, Resource::Quota { .. }), "{one:?}");
    assert_eq!(one.host, "lab://slow-router/router".parse().ok());
    assert!(words(&said.out).contains(NAMED), "{said:?}");

    let said = check(&["--host=lab://slow-router/wan"]);
    eprintln!("not monitored:\n{}", said.out);
    let text = words(&said.out);
    assert!(text.contains("Not monitored: ") && text.contains(NAMED), "{said:?}");
    assert!(text.contains("--host lab://slow-router/router"), "{said:?}");
    beds.lab(&["down", "slow-router"]).expect(0);
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
