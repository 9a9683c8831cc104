//! Plans of a network path.

use super::planned::{planned, planned_with};
use super::slips::{are_refused_at_their_lines, refused};
use crate::arguments::HostArguments;
use crate::command_line::{Arguments, Command};
use crate::net;
use clap::Parser;
use plimsoll_model::{
    Cause, HostName, HostRole, Job, Length, Parameter, Plan, Rule, Steps, factor,
};
use proptest::prelude::*;

const GOOD: &str = r#"about = "two hosts, three jobs, two settings"

[variable.payload]
about = "bytes"
default = "1000"

[path]
from = "ssh://laptop"
to = "ssh://root@nas"
address = "192.0.2.9"
port = 5201

[[job]]
kind = "tcp-out"
blocks = ["1KiB", "128KiB"]

[[job]]
kind = "udp-in"
name = "datagrams"
payloads = "${payload}"
streams = 2
sweep.rate = [100, 1000]

[[job]]
kind = "rrul"

[[factor]]
name = "congestion"
setting = "sysctl:net.ipv4.tcp_congestion_control"
levels = ["cubic", "bbr"]

[rule]
repeats = 4
time = "1s"
margin = 10

[[claim]]
compare = "congestion"
jobs = ["tcp-out"]
"#;

/// A router on the path, and a link without it.
const ROUTER: &str = r#"about = "through a router"

[path]
from = "ssh://lan"
to = "ssh://wan"
via = "ssh://root@router"
direct = "192.0.2.7"

[[job]]
kind = "forwarding"
frames = [512, "imix"]
direction = "out"
final = "20s"

[[job]]
kind = "connections"
connections = [4, 16]

[rule]
quick = true
"#;

/// The plan of `plimsoll net` with these words.
fn of_command(words: &[&str]) -> Plan {
    let words = ["plimsoll", "net"].iter().chain(words);
    let Command::Net(given) = Arguments::parse_from(words).command else { panic!() };
    let [a, b] = net::ends(&given).unwrap();
    let work = net::work(&given, &a, &b).unwrap();
    net::plan_of(&given, &a, &b, work).unwrap()
}

fn without_command(plan: Plan) -> Plan {
    Plan { command: String::new(), ..plan }
}

#[test]
fn a_plan_of_a_path_says_all_that_the_command_line_does() {
    let plan = planned(GOOD, &[], &[]).unwrap();
    let subjects: Vec<String> = plan.subjects.iter().map(ToString::to_string).collect();
    assert_eq!(subjects, ["ssh://laptop to ssh://root@nas"]);
    let address = plan.subjects[0].path().unwrap().to.address.unwrap();
    assert_eq!(address.to_string(), "192.0.2.9");
    let hosts: Vec<(String, HostRole)> =
        plan.watched.iter().map(|one| (one.host.to_string(), one.role)).collect();
    let ends = [("ssh://laptop", HostRole::Client), ("ssh://root@nas", HostRole::Peer)];
    assert_eq!(hosts, ends.map(|(host, role)| (host.to_owned(), role)));
    let kinds: Vec<&str> = plan.workloads.iter().map(|w| w.parts[0].job.kind()).collect();
    assert_eq!(kinds, ["tcp-out", "tcp-out", "udp-in", "request"]);
    let length = Length::For { seconds: 1.0, warm_up_seconds: 0.2 };
    assert!(plan.workloads.iter().all(|workload| workload.length == length));
    assert_eq!((&plan.design.rule, plan.design.margin), (&Rule::Fixed { blocks: 4 }, 0.1));
    assert_eq!(
        (plan.factors[0].host.to_string(), factor::settings(&plan.factors)),
        ("ssh://laptop".into(), 2)
    );
    let claims = plan.contrasts.iter().filter(|contrast| contrast.claim);
    assert_eq!(claims.map(|claim| claim.of.cell.workload).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(plan.contrasts.len(), 4, "the other jobs are estimated");
}

/// A rate of the file is one of each stream, and a step is one of all streams in bytes.
#[test]
fn rates_of_datagrams_are_swept_as_the_option_has_them() {
    let plan = planned(GOOD, &[], &[]).unwrap();
    let workload = &plan.workloads[2];
    let over = Parameter::Rate;
    let values = vec![100.0 * 2.0 * 1000.0, 1000.0 * 2.0 * 1000.0];
    assert_eq!(workload.steps, Some(Steps::Sweep { over, values: values.clone() }));
    workload.expect_steps().unwrap();
    for (value, rate) in values.into_iter().zip([100, 1000]) {
        let at = workload.at(over, value).unwrap();
        let Job::Datagrams(job) = &at.parts[0].job else { panic!() };
        assert_eq!((job.rate.map(|own| own.get()), job.streams), (Some(rate), 2));
    }
}

#[test]
fn the_plan_is_that_of_the_command() {
    let file = "about = \"x\"\n[path]\nto = \"ssh://nas\"\nconnect-from = \"b\"\n\
                [[job]]\nkind = \"tcp-both\"\n[[job]]\nkind = \"udp-out\"\nloss = 1\n\
                [rule]\nseed = 7\nquick = true\n";
    let made = planned(file, &[], &[]).unwrap();
    let words = ["local", "ssh://nas", "--connect-from=b", "--job=tcp-both,udp-out", "--loss=1"];
    let command = of_command(&[&words[..], &["--seed=7", "--quick"]].concat());
    assert_eq!(without_command(made), command);
    let made = planned(ROUTER, &[], &["--seed=7"]).unwrap();
    let words = ["ssh://lan", "ssh://wan", "--via=ssh://root@router", "--direct=192.0.2.7"];
    let frames = ["--frames=512,imix", "--direction=out", "--final=20s", "--connections=4,16"];
    let command = of_command(&[&words[..], &frames, &["--seed=7", "--quick"]].concat());
    // Trials that confirm a rate are those of frames.
    let cap_seconds = 60.0 + 2.0 * 2.0 * 20.0;
    assert_eq!((made.subjects.len(), made.design.cap_seconds), (2, cap_seconds));
    let (mut made, mut command) = (without_command(made), command);
    for plan in [&mut made, &mut command] {
        plan.design.cap_seconds = 0.0;
    }
    assert_eq!(made, command);
}

#[test]
fn hosts_and_options_of_the_command_line_complete_the_plan() {
    let open = GOOD.replace("from = \"ssh://laptop\"\nto = \"ssh://root@nas\"\n", "");
    let ends = |text: &str, hosts: &[&str]| {
        planned(text, hosts, &[]).map(|plan| plan.subjects[0].to_string())
    };
    assert_eq!(ends(&open, &["ssh://nas"]).unwrap(), "local to ssh://nas");
    assert_eq!(ends(&open, &["ssh://a", "ssh://b"]).unwrap(), "ssh://a to ssh://b");
    let to_name = GOOD.replace("to = \"ssh://root@nas\"\n", "");
    assert_eq!(ends(&to_name, &["ssh://nas"]).unwrap(), "ssh://laptop to ssh://nas");
    for (text, hosts, expected) in [
        (&open, &[][..], "the far end of the path is missing"),
        (&open, &["ssh://a", "ssh://b", "ssh://c"], "fewer open ends"),
        (&to_name, &["ssh://a", "ssh://b"], "fewer open ends"),
        (&GOOD.to_owned(), &["ssh://a"], "fewer open ends"),
        (&open, &["nas"], "scheme is missing"),
    ] {
        let failure = ends(text, hosts).unwrap_err();
        assert_eq!(failure.cause, Cause::Usage);
        assert!(failure.happened.contains(expected), "{hosts:?}: {failure}");
    }
    let plan = planned(GOOD, &[], &["--repeats=2", "--time=3s", "--seed=9"]).unwrap();
    assert_eq!((plan.design.rule, plan.design.seed), (Rule::Fixed { blocks: 2 }, 9));
    assert_eq!(plan.workloads[0].seconds(), 3.0);
    let set = vec!["sysctl:net.core.rmem_max=as-found,1048576".to_owned()];
    let plan = planned_with(GOOD, &[], &[], |hosts| HostArguments { set, ..hosts }).unwrap();
    assert_eq!((plan.factors.len(), plan.factors[1].host.to_string()), (2, "ssh://laptop".into()));
    for option in ["--timeout=5s", "--baseline=0s"] {
        let failure = planned(GOOD, &[], &[option]).unwrap_err();
        assert!(option.starts_with(&failure.on), "{failure}");
        assert!(failure.happened.contains("it is for storage"), "{failure}");
    }
    let host = vec!["ssh://root@nas".to_owned()];
    let changed = |hosts| HostArguments { hosts: host, ..hosts };
    let failure = planned_with(GOOD, &[], &[], changed).unwrap_err();
    assert_eq!((failure.cause, &*failure.on), (Cause::Usage, "--host"));
    let plan = planned(ROUTER, &[], &[]).unwrap();
    assert_eq!(plan.router(0), Some(&"ssh://root@router".parse::<HostName>().unwrap()));
}

#[test]
fn slips_are_reported_with_line_and_nearest_word() {
    let slips = [
        ("port = 5201", "prot = 5201", "unknown key `prot`", "`port`"),
        ("port = 5201", "streams = 2", "unknown key `streams`", "address"),
        ("port = 5201", "port = 0", "`0` is not a value of `port`", ""),
        ("port = 5201", "port = 5201\ndirect = \"192.0.2.7\"", "missing key `via`", "Add it"),
        ("\"ssh://root@nas\"", "\"nas\"", "the URL scheme is missing", "ssh://nas"),
        ("to = \"ssh://root@nas\"", "to = 5", "`to` must be a string", "quotes"),
        ("kind = \"rrul\"", "kind = \"rull\"", "unknown word `rull`", "`rrul`"),
        ("kind = \"rrul\"", "kind = \"scan\"", "`scan` measures storage", "[[target]]"),
        ("kind = \"rrul\"", "kind = \"forwarding\"", "needs a router", "via ="),
        ("[\"1KiB\", \"128KiB\"]", "[\"8MiB\"]", "4 MiB", "128KiB"),
        ("blocks =", "payloads = [18]\nblocks =", "unknown key `payloads`", "blocks"),
        ("blocks =", "while = [\"rrul\"]\nblocks =", "run one after the other", "loaded"),
        ("blocks =", "sweep.rate = [1, 2]\nblocks =", "`tcp-out` has no rate", "udp-out"),
        ("sweep.rate = [100", "sweep.workers = [100", "a rate, and no workers", "sweep.rate"),
        ("sweep.rate = [100", "sweep.rate = [200000000", "more than 100000000", "lower"),
        ("sweep.rate = [100", "rate = 5\nsweep.rate = [100", "`rate` has no use", "Remove one"),
        ("sweep.rate = [100, 1000]", "search.rate = [1, 9]", "search for the highest", "`loss`"),
        ("name = \"datagrams\"", "name = \"tcp-out\"", "another job has the name `tcp-out`", ""),
        ("repeats = 4", "timeout = \"1s\"", "unknown key `timeout`", "max-time"),
        ("repeats = 4", "repeats = 0", "`0` is not a value of `repeats`", ""),
        ("time = \"1s\"", "time = \"10ms\"", "200 ms", "--time 2s"),
        ("jobs = [\"tcp-out\"]", "jobs = [\"tcp-in\"]", "no job has the name", "`tcp-out`"),
        ("\n\n[variable", "\nwatch = [\"local\"]\n[variable", "`watch` is for storage", "Remove"),
        ("\n\n[variable", "\ndrop-caches = true\n[variable", "`drop-caches` is for", "Remove"),
        ("[rule]", "[reboot]\n[rule]", "`reboot` is for storage", "Remove"),
        ("[rule]", "[[target]]\nname = \"x\"\n[rule]", "subjects of one kind", "a plan of its own"),
    ];
    let of_table = ["4 MiB", "200 ms", "missing key `via`", "subjects of one kind"];
    are_refused_at_their_lines(GOOD, &slips, &of_table, |text| planned(text, &[], &[]));
}

#[test]
fn work_through_a_router_and_without_one_are_told_apart() {
    for (from, to, happened, next) in [
        ("kind = \"forwarding\"", "kind = \"tcp-out\"", "without a router", "forwarding"),
        ("connections = [4, 16]", "", "missing key `connections`", "connections = [4"),
        ("connections = [4, 16]", "connections = [1]", "`1` is not a value of", ""),
        ("frames = [512", "frames = [5", "`5` is not a value of `frames`", ""),
        ("quick = true", "quick = true\ntime = \"2s\"", "a search chooses its rates", "--time"),
        ("via = \"ssh://root@router\"", "via = \"iperf3://r\"", "cannot be monitored", "--via"),
        (
            "[rule]",
            "[[factor]]\nsetting = \"nfsd-threads\"\nlevels = [1, 2]\n[rule]",
            "`direct`",
            "",
        ),
    ] {
        let text = ROUTER.replacen(from, to, 1);
        let failure = refused(planned(&text, &[], &[]), happened, next);
        assert!(failure.on.starts_with("plan.toml:"), "{to}: {failure}");
    }
    let of_path = planned("about = \"x\"\n[[job]]\nkind = \"tcp-out\"\n", &["nfs://nas/a"], &[]);
    let failure = of_path.unwrap_err();
    assert!(failure.happened.contains("`tcp-out` measures a network path"), "{failure}");
    assert!(failure.next.contains("[path]"), "{failure}");
}

#[test]
fn a_password_of_a_host_is_not_repeated() {
    for to in ["\"ssh://root:secret@nas\"", "\"http://root:secret@nas\""] {
        let text = GOOD.replacen("\"ssh://root@nas\"", to, 1);
        let failure = planned(&text, &[], &[]).unwrap_err();
        assert!(!failure.to_string().contains("secret"), "{failure}");
    }
}

#[test]
fn the_example_on_the_page_is_a_plan() {
    let page = include_str!("../../../../../docs/run.md");
    let (_, rest) = page.split_once("### A network path").unwrap();
    let (_, rest) = rest.split_once("```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let plan = planned(text, &[], &[]).unwrap();
    // Two blocks of TCP, two payloads, and a sweep; each under two settings.
    assert_eq!((plan.workloads.len(), plan.contrasts.len()), (5, 5));
    // The keys of the table are those of the jobs.
    for kind in net::KINDS {
        let row = rest.lines().find(|line| line.contains(&format!("`{}`", kind.name))).unwrap();
        for option in kind.options {
            assert!(row.contains(&format!("`{option}`")), "{option} of {}: {row}", kind.name);
        }
    }
}

proptest! {
    #[test]
    fn nothing_panics(at in 0..GOOD.len(), byte in "\\PC{0,3}", gone in 0..20_usize) {
        let mut text = GOOD.to_owned();
        let end = (at + gone).min(text.len());
        if text.is_char_boundary(at) && text.is_char_boundary(end) {
            text.replace_range(at..end, &byte);
        }
        let _ = planned(&text, &[], &[]);
    }
}
