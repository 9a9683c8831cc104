//! Hosts that were measured by themselves, as they are shown: exact tables, published figures only beside what measured
//! the same, and nothing of a hostile host gets through.

mod written;

use plimsoll_model::device::{
    CoreMark, CoreMarkKind, CryptoMeans, Interrupt, Nic, Part, Queue, QueueDiscipline,
};
use plimsoll_model::{Device, HostSubject, Outcome, Study, StudyId, SubjectFacts, SubjectKind};
use plimsoll_record::{StudySummary, SubjectSummary, from_json};
use plimsoll_report::{Document, Style, list, redact};
use written::{compare, study as device};

const ROUTER: &str = include_str!("../../record/tests/golden/device-router.json");
const NAS: &str = include_str!("../../record/tests/golden/device-nas.json");
const VM: &str = include_str!("../../record/tests/golden/device-vm.json");
const SHELL: &str = include_str!("../../record/tests/golden/device-shell.json");

const NARROW: Style = Style { width: 80, colour: false };
const WIDE: Style = Style { width: 140, colour: false };

fn read(text: &str) -> Study {
    from_json(text).unwrap()
}

/// What is known of the host.
fn details(study: &mut Study) -> &mut Device {
    match &mut study.subjects[0] {
        SubjectFacts::Host(facts) => &mut facts.device,
        other => panic!("{other:?}"),
    }
}

fn paper(study: &Study) -> Document {
    Document::of_study(study)
}

#[test]
fn a_router() {
    insta::assert_snapshot!(device(&read(ROUTER), &WIDE));
}

#[test]
fn a_nas() {
    insta::assert_snapshot!(device(&read(NAS), &NARROW));
}

#[test]
fn a_virtual_machine() {
    insta::assert_snapshot!(device(&read(VM), &WIDE));
}

#[test]
fn a_host_without_a_probe() {
    insta::assert_snapshot!(device(&read(SHELL), &NARROW));
}

/// It failed each part that needs the probe, and stood in the answer for each, in each section and in a note.
#[test]
fn why_there_is_no_probe_is_said_once_with_the_parts_that_need_it() {
    let study = read(SHELL);
    let text = device(&study, &WIDE).split_whitespace().collect::<Vec<_>>().join(" ");
    let (reason, parts) =
        ("there are none at all", "! CPU, Memory and Cryptography: could not find");
    assert_eq!((text.matches(reason).count(), text.matches(parts).count()), (1, 1), "{text}");
    assert_eq!(paper(&study).html().matches(reason).count(), 1);
    // One reason for each part, where they differ.
    let mut other = study;
    let memory = details(&mut other).parts.iter_mut().find(|record| record.part == Part::Memory);
    memory.unwrap().failures[0].happened = "it has no memory left".to_owned();
    let text = device(&other, &WIDE).split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["! CPU and Cryptography: could not", "! Memory: could not"] {
        assert!(text.contains(words), "{words} in {text}");
    }
}

#[test]
fn a_router_as_markdown() {
    insta::assert_snapshot!(paper(&read(ROUTER)).markdown(Some("charts")));
}

#[test]
fn a_router_against_a_nas() {
    insta::assert_snapshot!(compare(&read(ROUTER), &read(NAS), &NARROW));
}

#[test]
fn devices_are_listed_in_their_order() {
    let at = |text: &str, id: &str, started_unix_seconds: u64| {
        let Study { subjects, plan, ended, origin, trials, .. } = read(text);
        let complete = trials.iter().filter(|t| t.result.outcome == Outcome::Complete).count();
        let model = |facts: &SubjectFacts| {
            facts.host()?.device.inventory.as_ref()?.system.as_ref()?.model.clone()
        };
        let subject = |facts: &SubjectFacts| SubjectSummary {
            given: facts.given().to_owned(),
            kind: Some(SubjectKind::Host),
            model: model(facts),
        };
        StudySummary {
            id: StudyId(id.to_owned()),
            started_unix_seconds,
            subjects: subjects.iter().map(subject).collect(),
            jobs: plan.workloads.iter().map(|w| w.parts[0].job.kind()).collect(),
            blocks: 1,
            complete: complete as u32,
            incomplete: (trials.len() - complete) as u32,
            ended,
            origin,
        }
    };
    let devices = [at(ROUTER, "de000001", 5), at(SHELL, "de000002", 1_760_000_000)];
    insta::assert_snapshot!(list(&devices, &NARROW));
}

/// The row of the table beside the published platforms, cell by cell, from the left.
fn row(study: &Study, name: &str) -> Vec<String> {
    let shown = device(study, &Style { width: 160, colour: false });
    let line = shown.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    line[name.len().min(line.len())..]
        .split("  ")
        .map(str::trim)
        .filter(|c| !c.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn only_what_measured_the_same_stands_beside_published_figures() {
    let router = read(ROUTER);
    assert_eq!(row(&router, "CoreMark, one core"), ["1346", "332", "701", "1263", "9457"]);
    assert_eq!(row(&router, "CoreMark per MHz"), ["2.40", "1.66", "1.75", "1.75", "3.54"]);
    assert_eq!(
        row(&router, "STREAM copy"),
        ["298 MB/s", "59 MB/s", "231 MB/s", "381 MB/s", "6830 MB/s"]
    );
    let rounds = "integer rounds/s";
    assert_eq!(row(&router, rounds), ["402", "–", "–", "–", "–"]);

    // The port has a row of its own, and so have several threads of CoreMark.
    let mut port = router.clone();
    let mark = &mut details(&mut port).cpu.as_mut().unwrap().coremark[0];
    *mark = CoreMark { kind: CoreMarkKind::Port { version: "1.0.0".to_owned() }, ..mark.clone() };
    assert_eq!(row(&port, "CoreMark, one core")[0], "–");
    assert_eq!(row(&port, "CoreMark per MHz")[0], "–");
    assert_eq!(row(&port, "port of CoreMark"), ["1346", "–", "–", "–", "–"]);
    let mut threads = router.clone();
    details(&mut threads).cpu.as_mut().unwrap().coremark[0].threads_count = 2;
    assert_eq!(row(&threads, "CoreMark, one core")[0], "–");

    // A STREAM that was not past the caches, or left wrong content, is no figure of the memory.
    for spoil in [
        (|s: &mut plimsoll_model::device::StreamFigure| s.past_caches = Some(false)) as fn(&mut _),
        |s: &mut plimsoll_model::device::StreamFigure| s.verified = Some(false),
    ] {
        let mut spoilt = router.clone();
        spoil(&mut details(&mut spoilt).memory.as_mut().unwrap().streams[0]);
        assert_eq!(row(&spoilt, "STREAM copy")[0], "–");
    }
}

/// Half of the bandwidth during other work is none of the host.
#[test]
fn what_was_measured_during_other_work_has_a_name_and_figures_of_its_own() {
    let router = read(ROUTER);
    let mut both = router.clone();
    let [cpu, memory] = [0, 1].map(|number: usize| router.plan.workloads[number].parts[0].clone());
    let mut workload = router.plan.workloads[1].clone();
    workload.parts = vec![memory, cpu];
    both.plan.workloads.push(workload);
    let mut trial = router.trials[1].clone();
    (trial.number, trial.cell.workload) = (4, 4);
    trial.result.parts.push(router.trials[0].result.parts[0].clone());
    trial.result.parts[0].quantities.values_mut().for_each(|value| *value /= 2.0);
    both.trials.push(trial);
    let shown = device(&both, &WIDE);
    let during = shown.lines().find(|line| line.starts_with("copy, memory during cpu"));
    assert!(during.is_some_and(|line| line.contains("149 MB/s")), "{shown}");
    assert!(shown.lines().any(|line| line == "Memory during cpu"), "{shown}");
    assert_eq!(row(&both, "STREAM copy")[0], row(&router, "STREAM copy")[0]);
    assert_eq!(row(&both, "STREAM copy")[0], "298 MB/s");
    // The jobs alone correspond to those of the other study, and the two at the same time to none.
    let only = plimsoll_explain::across(&both, &router).only_a;
    assert_eq!(only.iter().map(|cell| cell.workload).collect::<Vec<_>>(), [4]);
}

#[test]
fn limits_have_their_assumptions_and_are_left_out_without_them() {
    let text =
        |study: &Study| device(study, &WIDE).lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let nas = read(NAS);
    assert!(text(&nas).contains(
        "Disk encryption (AES-256-XTS, LUKS): at most about 283 MB/s on one core, 1.13 GB/s on all 4, if \
         the core does nothing else. "
    ));
    assert!(
        text(&nas).contains(
            "Encrypted transport (AES-128-GCM, SMB 3 and TLS): at most about 402 MB/s on one connection, if one \
             core serves the connection and does nothing else, and the server's code is as fast as the measured \
             code. The fastest link carries 125 MB/s."
        )
    );
    assert!(!text(&nas).contains("not a limit"));
    let mut portable = nas;
    for figure in &mut details(&mut portable).crypto.as_mut().unwrap().algorithms {
        figure.means = CryptoMeans::Portable;
    }
    assert_eq!(text(&portable).matches("not a limit").count(), 2);
}

/// Half of a core once made "about 559 MB/s at most" of 2.35 GB/s, without a word.
#[test]
fn figures_of_a_busy_device_are_flagged_and_no_limit_is_derived() {
    let text =
        |study: &Study| device(study, &WIDE).lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let mut quiet = read(NAS);
    let cores = &mut details(&mut quiet).cpu.as_mut().unwrap().cores;
    cores.iter_mut().for_each(|core| core.cpu_ns = core.elapsed_ns);
    quiet.trials.iter_mut().for_each(|trial| trial.result.flags.clear());
    assert!(!text(&quiet).contains("disturbed"), "{}", text(&quiet));
    assert!(!text(&quiet).contains('*'), "nothing is marked: {}", text(&quiet));

    let mut busy = quiet.clone();
    for figure in &mut details(&mut busy).crypto.as_mut().unwrap().algorithms {
        (figure.elapsed_ns, figure.cpu_ns) = (Some(2_000_000_000), Some(1_880_000_000));
    }
    let memory = details(&mut busy).memory.as_mut().unwrap();
    let latency = &mut memory.latencies[1];
    (latency.elapsed_ns, latency.cpu_ns) = (Some(1000), Some(200));
    let shown = text(&busy);
    for part in [
        "! Cryptography: 6 of 6 figures were disturbed: as little as 94% of a core (",
        "No limit is derived from AES-256-XTS, because its figure was disturbed.",
        "No limit is derived from AES-128-GCM, because its figure was disturbed.",
        "Memory: 1 of 10 figures was disturbed: as little as 20% of a core (latency, memory)",
        "Figures of this device were disturbed",
        "* disturbed; see the warning.",
        ", or other hardware did the kernel's work",
    ] {
        assert!(shown.contains(part), "{part} in\n{shown}");
    }
    assert!(!shown.contains("at most about"), "{shown}");
    // The rows themselves are marked, those that were disturbed alone.
    let page = device(&busy, &WIDE);
    let is_rate = |line: &&str| line.contains("GB/s") && line.contains(" ns");
    let mut rows = page.lines().filter(is_rate);
    let mut row = |start: &str| rows.find(|line| line.trim().starts_with(start)).unwrap();
    assert!(!row("level 1 cache").contains('*') && row("memory  ").contains('*'), "{page}");
    let both = compare(&quiet, &busy, &WIDE);
    assert!(both.contains(" of B were disturbed") && !both.contains("of A were"), "{both}");

    // Where a lab limits the host on purpose, nothing else is to be stopped.
    busy.plan.subjects[0] = HostSubject { host: "lab://routers/router".parse().unwrap() }.into();
    let shown = text(&busy);
    assert!(shown.contains("The lab's quota") && !shown.contains("Stop other"), "{shown}");

    // Enough of the core, but repetitions that are far apart: no limit either.
    let mut uneven = quiet.clone();
    for figure in &mut details(&mut uneven).crypto.as_mut().unwrap().algorithms {
        figure.slowest_bytes_per_second = Some(figure.bytes_per_second / 10 * 8);
    }
    let shown = text(&uneven);
    assert!(shown.contains("repetitions as low as 80% of the fastest"), "{shown}");
    assert_eq!(shown.matches("No limit is derived").count(), 2);
}

#[test]
fn what_the_host_says_does_not_steer_the_terminal_or_the_page() {
    let evil = "\u{1b}[2J<script>alert(1)</script>\u{202e}".to_owned();
    let mut study = read(ROUTER);
    let device = details(&mut study);
    let inventory = device.inventory.as_mut().unwrap();
    inventory.system.as_mut().unwrap().model = Some(evil.clone());
    inventory.cpu.as_mut().unwrap().model = Some(evil.clone());
    inventory.distribution.as_mut().unwrap().name = Some(evil.clone());
    inventory.nfs_server.as_mut().unwrap().exports_table = vec![evil.clone(); 256];
    let server = inventory.smb_server.as_mut().unwrap();
    server.configurations.insert(evil.clone(), vec![format!("{evil}=x"); 256]);
    inventory.network.as_mut().unwrap().nics =
        vec![
            Nic { name: Some(evil.clone()), driver: Some(evil.repeat(50)), ..Nic::default() };
            256
        ];
    device.cpu.as_mut().unwrap().coremark[0].compiler = evil.clone();
    device.disk.as_mut().unwrap().phases[0].phase = Some(evil.clone());
    device.odd = vec![evil.clone(); 33];
    let shown = self::device(&study, &NARROW);
    assert!(!shown.contains('\u{1b}') && !shown.contains('\u{202e}'));
    assert!(shown.lines().count() < 600, "{} lines", shown.lines().count());
    assert!(shown.contains("and 216 interfaces more"), "{shown}");
    let paper = paper(&study);
    for text in [paper.html(), paper.markdown(None)] {
        assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'));
        assert!(!text.contains("<script>alert"));
    }
    for (name, svg) in paper.charts() {
        roxmltree::Document::parse(&svg).unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn charts_have_names_of_their_own_and_are_pictures() {
    let charts: Vec<_> = paper(&read(ROUTER)).charts().collect();
    let names: Vec<&str> = charts.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        [
            "coremark.svg",
            "stream-copy.svg",
            "crypto-rates.svg",
            "disk-bandwidth.svg",
            "disk-operations.svg"
        ]
    );
    for (name, svg) in &charts {
        let picture = roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(picture.root_element().tag_name().name(), "svg");
    }
    let page = paper(&read(NAS)).html();
    assert!(page.contains("id=\"cores\"") && page.contains("WD40EFRX-68N32N0"));
}

/// A shaper of 1 Gbit/s once was "10 Gbit/s".
#[test]
fn the_setup_of_interfaces_is_shown_compared_and_redacted() {
    let mut study = read(NAS);
    let inventory = details(&mut study).inventory.as_mut().unwrap();
    let network = inventory.network.get_or_insert_default();
    let text = |text: &str| Some(text.to_owned());
    network.nics = vec![
        Nic {
            name: text("eth0"),
            state: text("up"),
            rate_bits_per_second: Some(10_000_000_000),
            shaped_rate_bits_per_second: Some(1_000_000_000),
            master: text("br0"),
            addresses: vec!["203.0.113.9/24".to_owned(), "2001:db8::77/64".to_owned()],
            queue_disciplines: vec![QueueDiscipline {
                kind: text("tbf"),
                parent: text("root"),
                rate_bits_per_second: Some(1_000_000_000),
            }],
            queues: vec![Queue { name: text("rx-0"), steering_cores_mask: text("3") }],
            interrupts: vec![Interrupt {
                interrupt_number: Some(25),
                name: text("eth0-rx-0"),
                cores_mask: text("2"),
            }],
            ..Nic::default()
        },
        Nic { name: text("br0"), state: text("up"), bridge: Some(true), ..Nic::default() },
        Nic {
            name: text("eth0.5"),
            state: text("up"),
            vlan_number: Some(5),
            vlan_of: text("eth0"),
            ..Nic::default()
        },
    ];
    let netfilter = inventory.netfilter.get_or_insert_default();
    (netfilter.nft_rules_count, netfilter.nft_flow_tables_count) = (Some(3100), Some(1));
    (netfilter.iptables_rules_count, netfilter.iptables_tables_count) = (Some(250), Some(2));
    (netfilter.ip6tables_rules_count, netfilter.ip6tables_tables_count) = (Some(0), Some(0));
    let shown = device(&study, &WIDE).split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "shaped to 1 Gbit/s (the link: 10 Gbit/s)",
        "queue discipline tbf 1 Gbit/s",
        "203.0.113.9/24, 2001:db8::77/64",
        "bridge of eth0",
        "VLAN 5 on eth0",
        "rx-0 RPS mask 3",
        "IRQ 25 eth0-rx-0 mask 2",
        "3100 rules, 1 flow table",
        "250 rules in 2 tables (IPv4)",
    ] {
        assert!(shown.contains(part), "{part} in\n{shown}");
    }
    let both = compare(&read(NAS), &study, &WIDE);
    let both = both.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        both.contains("Differences between the hosts") && both.contains("shaped to 1 Gbit/s"),
        "{both}"
    );
    let same = compare(&study, &study, &WIDE);
    assert!(!same.contains("Differences between the hosts"), "{same}");
    let redacted = serde_json::to_string(&redact(&study, &[]).unwrap()).unwrap();
    for address in ["203.0.113.9", "2001:db8::77", "db8"] {
        assert!(!redacted.contains(address), "{address} in {redacted}");
    }
    assert!(redacted.contains("eth0-rx-0") && redacted.contains("/64"), "{redacted}");
}

#[test]
fn redaction_leaves_the_hardware_and_takes_the_rest() {
    let mut secret = read(NAS);
    let url = "ssh://jane@attic.example.org:2222";
    secret.plan.subjects[0] = HostSubject { host: url.parse().unwrap() }.into();
    if let SubjectFacts::Host(facts) = &mut secret.subjects[0] {
        (facts.label, facts.given) = (url.to_owned(), url.to_owned());
    }
    secret.plan.command = "plimsoll device ssh://jane@attic.example.org:2222".to_owned();
    let mut redacted = redact(&secret, &["jane".to_owned()]).unwrap();
    let text = serde_json::to_string(&redacted).unwrap();
    for word in ["jane", "attic", "example.org", "volume1", "films"] {
        assert!(!text.contains(word), "{word} in {text}");
    }
    for word in ["Synology DS218play", "WD40EFRX-68N32N0", "ARM Cortex-A53", "rtd1296", "r8168"] {
        assert!(text.contains(word), "{word} is gone");
    }
    assert_eq!(redacted.plan.subjects[0].to_string(), "ssh://user-1@host-1:2222");
    let (now, was) = (details(&mut redacted).clone(), details(&mut secret).clone());
    assert_eq!((now.cpu, now.crypto), (was.cpu, was.crypto));
    // What is shown of it is still a device.
    assert!(paper(&redact(&read(ROUTER), &[]).unwrap()).html().contains("TL-WDR4300"));
}

#[test]
fn empty_records_are_shown_too() {
    let mut empty = read(ROUTER);
    *details(&mut empty) = Device::default();
    (empty.trials, empty.ended) = (Vec::new(), plimsoll_model::Ended::Interrupted);
    let shown = device(&empty, &NARROW);
    assert!(shown.contains("The study was interrupted"), "{shown}");
    assert!(paper(&empty).html().contains("ssh://root@box"));
    assert!(compare(&empty, &read(NAS), &NARROW).contains("no intervals"));
}
