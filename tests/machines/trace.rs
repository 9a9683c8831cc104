//! `plimsoll trace` in a machine, whose kernel has the tracer.

use super::super::support::beds::Beds;
use super::super::support::lab_file::LabFile;
use super::super::support::{Plimsoll, probes, signal, wait_until_within};
use super::saved::Machines;
use plimsoll_model::kernel_trace::{TraceJob, block_kind};
use plimsoll_model::{Ended, Metric, Outcome, PartResult, Study};
use plimsoll_testkit::Need;
use std::time::Duration;

/// An address behind the router, and the network that it is in.
const BEHIND: [&str; 2] = ["10.99.0.1", "10.99.0.0/24"];

/// A table of rules on a hook of the packet filter, which no datagram matches.
pub(super) fn rules(hook: &str, count: u32) -> String {
    let rules: String = (1..=count).map(|n| format!("  udp dport {} drop\n", 1000 + n)).collect();
    format!("table ip t {{\n chain c {{\n  type filter hook {hook} priority 0;\n{rules} }}\n}}\n")
}

/// A router that is an NFS server too, and a host that has two links to it.
fn lab() -> LabFile {
    LabFile::new()
        .machine("router", "256MiB")
        .line(format_args!("forward = true"))
        .disk("data", "64MiB", "/srv/data")
        .nfsd(2, &["3", "4.2"], "/srv/data", "rw,sync,no_root_squash")
        .machine("other", "256MiB")
        .link("lan", ["router", "other"])
        .link("wan", ["router", "other"])
}

/// The first tracer enlarges the kernel's buffer for good.
pub(super) fn expand_buffer(beds: &Beds) {
    beds.on(
        "trace/router",
        "cd /sys/kernel/tracing; echo nop >current_tracer; echo 1408 >buffer_size_kb",
    );
}

/// What of the tracer's state a run may change.
pub(super) fn state(beds: &Beds) -> String {
    beds.on(
        "trace/router",
        "cd /sys/kernel/tracing; for f in current_tracer tracing_on set_graph_function set_ftrace_pid set_ftrace_filter \
         buffer_size_kb max_graph_depth options/latency-format options/function-fork options/funcgraph-*; do \
         echo \"$f $(grep -v '^#' $f)\"; done; grep -v '^#' trace | head -n 3",
    )
}

/// The figures of a setting, trial by trial.
pub(super) fn figures(study: &Study, setting: u16, metric: Metric) -> Vec<f64> {
    let own = study.trials.iter().filter(|trial| trial.cell.setting == setting);
    own.map(|trial| trial.result.value(0, metric).unwrap_or(0.0)).collect()
}

#[test]
#[ignore = "machines take minutes: make check-machines"]
fn kernel_functions_of_a_datagram_are_counted_and_the_tracer_is_put_back() {
    if !plimsoll_testkit::available(Need::Machines) {
        return;
    }
    let probes = probes().to_str().expect("letters").to_owned();
    let program = Plimsoll::new().with("PLIMSOLL_PROBES", &probes).with_runner();
    let machines = Machines::with(program);
    let beds = &machines.beds;
    beds.up("trace", &lab());
    expand_buffer(beds);
    let found = state(beds);
    calls_to_the_nfs_server_are_counted(beds);
    assert_eq!(state(beds), found);
    forwarded_packets_are_counted(beds);
    assert_eq!(state(beds), found);
    a_received_datagram_is_counted(beds);
    assert_eq!(state(beds), found);
    rules_are_counted(beds);
    assert_eq!(state(beds), found);
    a_killed_run_is_restored(beds);
    assert_eq!(state(beds), found);
    a_tracer_in_use_is_left_alone(beds);
    assert_eq!(state(beds), found);
}

/// A rule is a function of netfilter, and nothing else changes.
fn rules_are_counted(beds: &Beds) {
    let file = beds.program.home().join("rules.nft");
    std::fs::write(&file, rules("output", 10)).unwrap();
    let set = format!("--set=nft-ruleset=none,{}", file.display());
    let words = ["trace", "lab://trace/router", "--payload=400", &set, "--repeats=2", "--quiet"];
    beds.program.run(&words).expect(0);
    let study = beds.program.latest();
    assert_eq!((&study.ended, study.trials.len()), (&Ended::Done, 4));
    assert!(study.trials.iter().all(|trial| trial.result.outcome == Outcome::Complete));
    let netfilter = Metric::for_kind(block_kind("netfilter").unwrap(), TraceJob::FUNCTIONS);
    let all = Metric::all(TraceJob::FUNCTIONS);
    let [without, with] = [0, 1].map(|setting| figures(&study, setting, netfilter));
    assert!(without[0] == without[1] && with[0] == with[1], "{without:?} {with:?}");
    // Ten rules, and the chain that has them.
    let more = with[0] - without[0];
    assert!((10.0..20.0).contains(&more), "{more} more functions of netfilter");
    // A queue that is busy costs a function or two.
    let [without, with] = [0, 1].map(|setting| figures(&study, setting, all));
    assert!((with[0] - without[0] - more).abs() <= 5.0, "{without:?} {with:?}");
    assert!((100.0..300.0).contains(&without[0]), "{without:?}");
    let part = study.trials[0].result.main().unwrap();
    assert!(part.quantities[&Metric::all(TraceJob::SAME)] > 0.5, "{:?}", part.quantities);
    assert!(part.functions[0].name.ends_with("sys_sendto"), "{:?}", part.functions[0]);
    let unclassified = part.quantities.get(&Metric::all(TraceJob::UNCLASSIFIED));
    assert!(unclassified.is_none_or(|share| *share <= 0.05), "{unclassified:?}");

    let shown = beds.program.run(&["show", &study.id.0]).expect(0).out;
    assert!(shown.lines().count() <= 24, "{shown}");
    assert!(shown.contains("One sendto of 400 B runs"), "{shown}");
    assert!(shown.contains("with nft-ruleset=none") && shown.contains("rules.nft"), "{shown}");
    let details = beds.program.run(&["show", &study.id.0, "--details"]).expect(0).out;
    assert!(details.contains("traced time"), "{details}");
    let list = beds.program.run(&["list"]).expect(0).out;
    assert!(list.contains("trace-sendto"), "{list}");
    beds.program.run(&["compare", &study.id.0, &study.id.0]).expect(0);
    let table = beds.program.run(&["export", &study.id.0, "--csv"]).expect(0).out;
    assert!(table.contains("netfilter_kernel_functions"), "{table}");
    let page = beds.program.home().join("page.html");
    beds.program.run(&["report", "--output", page.to_str().unwrap()]).expect(0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("nft_do_chain"), "the call tree");
}

/// Fails unless these are the functions of one operation, nearly all of them in a block, and more than this share of
/// the operations ran as many.
fn is_counted(part: &PartResult, functions: &[&str], same: f64) {
    let names: Vec<&str> = part.functions.iter().map(|function| &*function.name).collect();
    assert_eq!(names[0], functions[0]);
    for function in functions {
        assert!(names.contains(function), "{function} in {names:?}");
    }
    let figure = |measure| part.quantities.get(&Metric::all(measure)).copied().unwrap_or(0.0);
    assert!(figure(TraceJob::SAME) > same, "{:?}", part.quantities);
    assert!(figure(TraceJob::UNCLASSIFIED) <= 0.05, "{names:?}");
    let (untraced, traced) = (figure(TraceJob::UNTRACED), figure(TraceJob::TRACED));
    assert!(untraced > 0.0 && traced > 0.0, "{untraced} {traced}");
}

fn a_received_datagram_is_counted(beds: &Beds) {
    let words = ["trace", "lab://trace/router", "recv", "--payload=400", "--repeats=1", "--quiet"];
    beds.program.run(&words).expect(0);
    let study = beds.program.latest();
    assert_eq!((&study.ended, study.trials.len()), (&Ended::Done, 1));
    let part = study.trials[0].result.main().unwrap();
    is_counted(part, &["__x64_sys_recvfrom", "sock_recvmsg", "udp_recvmsg"], 0.5);
}

/// One READ and one WRITE in the threads of the server, called from the other machine.
fn calls_to_the_nfs_server_are_counted(beds: &Beds) {
    let words = ["trace", "lab://trace/router", "nfsd", "--on=lab://trace/other", "--repeats=1"];
    let target = "--target=nfs://router/srv/data?uid=0&gid=0";
    beds.program.run(&[&words[..], &[target, "--quiet"]].concat()).expect(0);
    let study = beds.program.latest();
    assert_eq!((&study.ended, study.trials.len()), (&Ended::Done, 2));
    for trial in &study.trials {
        assert_eq!(trial.result.outcome, Outcome::Complete);
        let mark = ["nfsd4_read", "nfsd4_write"][usize::from(trial.cell.workload)];
        let functions = ["nfsd_dispatch", "nfsd4_proc_compound", mark, "fh_verify"];
        // Threads are preempted, and pages of the cache become active.
        is_counted(trial.result.main().unwrap(), &functions, 0.1);
        let functions_in =
            |block| Metric::for_kind(block_kind(block).unwrap(), TraceJob::FUNCTIONS);
        for block in ["NFS server", "RPC", "file system", "page cache"] {
            assert!(
                trial.result.value(0, functions_in(block)).is_some_and(|count| count > 1.0),
                "{block}"
            );
        }
    }
    let shown = beds.program.run(&["show", &study.id.0]).expect(0).out;
    assert!(shown.lines().count() <= 24, "{shown}");
    for words in ["One NFS READ of 4", "NFS WRITE", "NFS server", "untraced time"] {
        assert!(shown.contains(words), "{words} in\n{shown}");
    }
    beds.program.run(&["show", &study.id.0, "--details"]).expect(0);
    let folded = beds.program.run(&["export", &study.id.0, "--folded"]).expect(0).out;
    assert!(folded.contains("nfsd_dispatch;") && folded.contains("nfsd4_write"), "{folded}");
    let left = beds.on("trace/router", "ls -A /srv/data | grep plimsoll || true");
    assert_eq!(left, "", "nothing is left of the client's files");
    // The other machine has no server, and the error says so.
    let words = ["trace", "lab://trace/other", "nfsd", target, "--quiet"];
    let refused = beds.program.run(&words).expect(5);
    assert!(refused.err.contains("Start the kernel's NFS server"), "{refused:?}");
}

/// Packets that come by one link and leave by the other.
fn forwarded_packets_are_counted(beds: &Beds) {
    let [address, network] = BEHIND;
    let at = |host: &str, link: &str| {
        let line =
            format!("ip -4 -o address show dev {link} | sed 's/.* inet \\([0-9.]*\\).*/\\1/'");
        beds.on(&format!("trace/{host}"), &line).trim().to_owned()
    };
    let (router, other) = (at("router", "lan"), at("other", "wan"));
    beds.on("trace/other", &format!("ip route add {network} via {router}"));
    beds.on("trace/router", &format!("ip route add {network} via {other}"));
    let file = beds.program.home().join("forward.nft");
    std::fs::write(&file, rules("forward", 10)).unwrap();
    let set = format!("--set=nft-ruleset=none,{}", file.display());
    let to = format!("--to={address}");
    let words = ["trace", "lab://trace/router", "forward", "--from=lab://trace/other", &to, &set];
    let more = ["--payload=400", "--repeats=1", "--quiet"];
    beds.program.run(&[&words[..], &more].concat()).expect(0);
    let study = beds.program.latest();
    assert_eq!((&study.ended, study.trials.len()), (&Ended::Done, 2));
    for trial in &study.trials {
        assert_eq!(trial.result.outcome, Outcome::Complete);
        let functions = ["net_rx_action", "ip_forward", "ip_output", "dev_hard_start_xmit"];
        is_counted(trial.result.main().unwrap(), &functions, 0.5);
    }
    let netfilter = Metric::for_kind(block_kind("netfilter").unwrap(), TraceJob::FUNCTIONS);
    let [without, with] = [0, 1].map(|setting| figures(&study, setting, netfilter)[0]);
    assert!((10.0..20.0).contains(&(with - without)), "{without} {with}");
    let shown = beds.program.run(&["show", &study.id.0]).expect(0).out;
    assert!(shown.lines().count() <= 24, "{shown}");
    assert!(shown.contains("One forwarded packet of 400 B runs"), "{shown}");
}

/// Killed while the tracer is on.
fn a_killed_run_is_restored(beds: &Beds) {
    let words = ["trace", "lab://trace/router", "--payload=400", "--quiet"];
    let mut run = beds.program.start(&words);
    let is_on = || {
        let line = "grep -c function_graph /sys/kernel/tracing/current_tracer || true";
        beds.on("trace/router", line).trim() == "1"
    };
    wait_until_within(Duration::from_secs(300), "the tracer is on", is_on);
    signal(&run, "-KILL");
    run.wait().unwrap();
    let refused = beds.program.run(&words).expect(2);
    assert!(refused.err.contains("plimsoll restore lab://trace/router"), "{refused:?}");
    let restored = beds.program.run(&["restore", "lab://trace/router"]).expect(0);
    assert!(restored.out.contains("tracer"), "{restored:?}");
}

fn a_tracer_in_use_is_left_alone(beds: &Beds) {
    let tracing = "cd /sys/kernel/tracing; ";
    beds.on("trace/router", &format!("{tracing}echo vfs_read >set_graph_function"));
    let refused = beds.program.run(&["trace", "lab://trace/router", "--quiet"]).expect(5);
    assert!(refused.err.contains("set_graph_function has entries"), "{refused:?}");
    let kept = beds.on("trace/router", &format!("{tracing}cat set_graph_function"));
    assert_eq!(kept.trim(), "vfs_read");
    beds.on("trace/router", &format!("{tracing}echo >set_graph_function"));
}
