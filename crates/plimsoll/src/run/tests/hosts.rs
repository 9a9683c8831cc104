//! Plans of hosts: parts of their devices, and their clocks.

use super::planned::{planned, planned_with};
use super::slips::are_refused_at_their_lines;
use crate::arguments::HostArguments;
use plimsoll_model::{Cause, Length, Plan, Rule, SubjectKind, factor, label};
use proptest::prelude::*;

const GOOD: &str = r#"about = "two hosts, two jobs one after the other and at the same time"

[[host]]
name = "old"
url = "ssh://root@old"

[[host]]
name = "new"
about = "the new box"

[[job]]
kind = "memory"

[[job]]
kind = "cpu"
coremark = "/opt/coremark"

[[job]]
kind = "memory"
name = "memory during cpu"
while = ["cpu"]

[[factor]]
name = "swappiness"
setting = "sysctl:vm.swappiness"
levels = [10, 60]

[rule]
repeats = 4
max-time = "1h"

[[claim]]
compare = "jobs"
jobs = ["memory", "memory during cpu"]
targets = ["old"]

[[claim]]
compare = "targets"
jobs = ["cpu"]
"#;

const CLOCKS: &str = r#"about = "two clocks"

[[host]]
name = "here"
url = "local"

[[job]]
kind = "clock"
clock = ["monotonic", "process-cpu"]

[rule]
time = "1s"
"#;

/// The kinds of the parts of each workload.
fn kinds(plan: &Plan) -> Vec<Vec<&'static str>> {
    let of_workload = plan.workloads.iter().map(|workload| &workload.parts);
    of_workload.map(|parts| parts.iter().map(|part| part.job.kind()).collect()).collect()
}

#[test]
fn jobs_of_hosts_run_one_after_the_other_and_at_the_same_time() {
    let plan = planned(GOOD, &["ssh://root@new"], &[]).unwrap();
    let subjects: Vec<String> = plan.subjects.iter().map(ToString::to_string).collect();
    assert_eq!(subjects, ["ssh://root@old", "ssh://root@new"]);
    assert_eq!(label::labels(&plan), ["old", "new"]);
    assert!(plan.subjects.iter().all(|subject| subject.kind() == SubjectKind::Host));
    assert_eq!(kinds(&plan), [vec!["memory"], vec!["cpu"], vec!["memory", "cpu"]]);
    let length = Length::UntilDone { at_most_seconds: 60.0 };
    assert!(plan.workloads.iter().all(|workload| workload.length == length));
    assert_eq!((plan.design.rule, plan.design.cap_seconds), (Rule::Fixed { blocks: 4 }, 3600.0));
    let (host, settings) = (plan.factors[0].host.to_string(), factor::settings(&plan.factors));
    assert_eq!((host.as_str(), settings), ("ssh://root@old", 2), "of the first host");
    // At each setting: one host with and without the other job, and both hosts.
    let claims = plan.contrasts.iter().filter(|contrast| contrast.claim);
    let claims: Vec<_> =
        claims.map(|claim| (claim.of.cell.subject, claim.of.cell.workload)).collect();
    assert_eq!(claims, [(0, 2), (0, 2), (1, 1), (1, 1)]);
    assert!(plan.watched.iter().all(|one| one.host == *"local"), "no host is monitored");
    // A quick plan has short measurements.
    let quick = GOOD.replace("repeats = 4", "quick = true");
    let plan = planned(&quick, &["ssh://root@new"], &[]).unwrap();
    assert!(plan.workloads.iter().flat_map(|w| &w.parts).all(|part| part.job.is_quick()));
}

#[test]
fn clocks_are_subjects_of_their_own() {
    let plan = planned(CLOCKS, &[], &[]).unwrap();
    assert!(plan.subjects.iter().all(|subject| subject.kind() == SubjectKind::Clock));
    assert_eq!(plan.workloads.len(), 2);
    let length = Length::For { seconds: 1.0, warm_up_seconds: 0.0 };
    assert!(plan.workloads.iter().all(|workload| workload.length == length));
    assert_eq!(plan.continued_by(), Some("plimsoll clock"));
    let plan = planned(CLOCKS, &[], &["--time=2s", "--repeats=5"]).unwrap();
    assert_eq!((plan.workloads[0].seconds(), plan.first_blocks()), (2.0, 5));
}

#[test]
fn slips_are_reported_with_line_and_nearest_word() {
    let slips = [
        ("url = \"ssh", "ulr = \"ssh", "unknown key `ulr`", "`url`"),
        ("\"ssh://root@old\"", "\"old\"", "the URL scheme is missing", "ssh://old"),
        ("name = \"new\"", "name = \"old\"", "another target has the same label", ""),
        (
            "[[host]]\nname = \"new\"",
            "[path]\n[[host]]\nname = \"new\"",
            "subjects of one kind",
            "its own",
        ),
        ("kind = \"cpu\"", "kind = \"cpus\"", "unknown word `cpus`", "`cpu`"),
        ("kind = \"cpu\"", "knd = \"cpu\"", "missing key `kind`", "memory"),
        ("kind = \"cpu\"", "kind = \"scan\"", "`scan` measures storage", "[[target]]"),
        ("kind = \"cpu\"", "kind = \"rrul\"", "`rrul` measures a network path", "[path]"),
        (
            "kind = \"cpu\"",
            "kind = \"clock\"",
            "subjects of different kinds",
            "a plan of their own",
        ),
        ("coremark =", "coremrk =", "unknown key `coremrk`", "`coremark`"),
        ("coremark =", "disk =", "unknown key `disk`", "coremark"),
        (
            "kind = \"cpu\"\ncoremark = \"/opt/coremark\"",
            "kind = \"disk\"",
            "missing key `disk`",
            "directory",
        ),
        ("while = [\"cpu\"]", "while = [\"cp\"]", "no job has the name `cp`", "`cpu`"),
        ("while = [\"cpu\"]", "while = [\"memory\"]", "same part of a host", "another job"),
        ("while = [\"cpu\"]", "while = []", "the list of `while` is empty", "names of other jobs"),
        ("while = [\"cpu\"]", "sweep.depth = [1, 2]", "no parameter to step through", "Remove"),
        ("while = [\"cpu\"]", "search.rate = [1, 2]", "no parameter to step through", "Remove"),
        ("name = \"memory during cpu\"", "name = \"cpu\"", "another job has the name `cpu`", ""),
        ("repeats = 4", "time = \"1s\"", "unknown key `time`", "max-time"),
        ("repeats = 4", "repeats = 0", "`0` is not a value of `repeats`", ""),
        ("[rule]", "[reboot]\n[rule]", "`reboot` is for storage", "Remove"),
        ("targets = [\"old\"]", "targets = [\"odl\"]", "no target has the name `odl`", "`old`"),
    ];
    let of_table = [
        "missing key `disk`",
        "same part",
        "subjects of one kind",
        "missing key `kind`",
        "another target has the same label",
    ];
    are_refused_at_their_lines(GOOD, &slips, &of_table, |text| planned(text, &["ssh://new"], &[]));
}

#[test]
fn all_jobs_share_a_path_on_the_host() {
    let text = "about = \"x\"\n[[host]]\nname = \"a\"\nurl = \"local\"\n\
                [[job]]\nkind = \"disk\"\ndisk = \"/mnt/a\"\n[[job]]\nkind = \"cpu\"\n\
                [[job]]\nkind = \"disk\"\nname = \"both\"\nwhile = \"cpu\"\nMORE\n";
    let made = planned(&text.replace("MORE", ""), &[], &[]).unwrap();
    assert_eq!(kinds(&made), [vec!["disk"], vec!["cpu"], vec!["disk", "cpu"]]);
    planned(&text.replace("MORE", "disk = \"/mnt/a\""), &[], &[]).unwrap();
    let failure = planned(&text.replace("MORE", "disk = \"/mnt/b\""), &[], &[]).unwrap_err();
    assert!(failure.happened.contains("a job above has another `disk`"), "{failure}");
    assert_eq!(failure.on, "plan.toml:14");
}

#[test]
fn clocks_run_one_after_the_other_and_apart_from_parts() {
    let job = |keys: &str| format!("{CLOCKS}\n[[job]]\n{keys}\n");
    for (keys, happened) in [
        ("kind = \"memory\"", "subjects of different kinds"),
        ("kind = \"clock\"\nname = \"two\"\nwhile = \"clock\"", "called on every core"),
        ("kind = \"clock\"\nname = \"two\"\nclock = \"sundial\"", "unknown word `sundial`"),
        ("kind = \"clock\"\nname = \"two\"\ndisk = \"/mnt\"", "unknown key `disk`"),
    ] {
        let failure = planned(&job(keys), &[], &[]).unwrap_err();
        assert!(failure.happened.contains(happened), "{keys}: {failure}");
        assert!(failure.on.starts_with("plan.toml:"), "{keys}: {failure}");
    }
    let long = CLOCKS.replace("1s", "2min");
    assert!(planned(&long, &[], &[]).unwrap_err().happened.contains("10 ms to 60 s"));
}

#[test]
fn hosts_of_the_command_line_are_those_that_the_plan_leaves_open() {
    let refused = |hosts: &[&str]| planned(GOOD, hosts, &[]).unwrap_err();
    let failure = refused(&[]);
    assert!(failure.happened.contains("hosts are missing: new (the new box)"), "{failure}");
    let failure = refused(&["ssh://a", "ssh://b"]);
    assert_eq!((failure.cause, failure.on.as_str()), (Cause::Usage, "ssh://b"));
    assert!(failure.happened.contains("1 open hosts: new"), "{failure}");
    let failure = refused(&["ssh://root:secret@nas"]);
    assert!(!failure.to_string().contains("secret"), "{failure}");
    let on = vec!["ssh://root@nas".to_owned()];
    let changed = |hosts| HostArguments { on, ..hosts };
    let failure = planned_with(GOOD, &["ssh://a"], &[], changed).unwrap_err();
    assert_eq!(failure.on, "--on");
    let failure = planned(GOOD, &["ssh://a"], &["--time=1s"]).unwrap_err();
    assert_eq!(failure.on, "--time");
}

#[test]
fn the_example_on_the_page_is_a_plan() {
    let page = include_str!("../../../../../docs/run.md");
    let (_, rest) = page.split_once("### Hosts").unwrap();
    let (_, rest) = rest.split_once("```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let plan = planned(text, &[], &[]).unwrap();
    assert_eq!(kinds(&plan), [vec!["memory"], vec!["cpu"], vec!["memory", "cpu"]]);
    assert_eq!(plan.contrasts.len(), 1);
}

proptest! {
    #[test]
    fn nothing_panics(at in 0..GOOD.len(), byte in "\\PC{0,3}", gone in 0..20_usize) {
        let mut text = GOOD.to_owned();
        let end = (at + gone).min(text.len());
        if text.is_char_boundary(at) && text.is_char_boundary(end) {
            text.replace_range(at..end, &byte);
        }
        let _ = planned(&text, &["ssh://new"], &[]);
    }
}
