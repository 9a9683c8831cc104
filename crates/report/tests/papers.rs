//! Pages, Markdown and charts of whole studies.

#[path = "../../record/tests/support/mod.rs"]
mod any_study;
mod hostile;
mod imports;
mod support;
mod written;

use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Ended, Film, Flag, HostName, Length, Measure, Metric, OpKind, Outcome, Pace, Pattern,
    PlaybackJob, Player, StorageSubject, Study, StudyId, Subject, Target,
};
use plimsoll_report::{Document, redact};
use proptest::prelude::*;
use support::{TWO, enrich, measured, plain, rate};

/// Two studies of two targets, five patterns: what `check` makes.
const CHECK_LIMIT: usize = 300_000;
/// Whatever there is.
const LIMIT: usize = 2_000_000;

const WIDE: plimsoll_report::Style = plimsoll_report::Style { width: 120, colour: false };

/// The page, with plain spaces in its figures.
fn html(study: &Study) -> String {
    Document::of_study(study).html().replace("&nbsp;", " ")
}

fn count(page: &str, what: &str) -> usize {
    page.matches(what).count()
}

/// Every chart is well-formed, names itself, and has only finite numbers.
fn charts_are_sound(studies: &[Study]) -> usize {
    let mut ids = Vec::new();
    for (file, svg) in Document::of_studies(studies).charts() {
        assert!(!ids.contains(&file), "{file} twice");
        assert!(file.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b)), "{file}");
        let document = roxmltree::Document::parse(&svg).unwrap_or_else(|e| panic!("{file}: {e}"));
        let root = document.root_element();
        assert_eq!(root.attribute("role"), Some("img"));
        assert!(root.children().any(|n| n.has_tag_name("title") && n.text().is_some()), "{file}");
        for word in ["NaN", "inf"] {
            let odd =
                root.descendants().flat_map(|n| n.attributes()).find(|a| a.value().contains(word));
            assert!(odd.is_none(), "{file}: {odd:?}");
        }
        ids.push(file);
    }
    ids.len()
}

#[test]
fn a_check_of_two_targets() {
    let study = measured(&TWO, 6);
    let page = html(&study);
    assert!(page.len() <= CHECK_LIMIT, "{}", page.len());
    // The speeds of all, the time of an operation; of each pattern: throughput, ratio, latency, rate
    // over time (the number in flight where it has phases), CPU for each target; CPU of the machine, its cores.
    let charts = 2 + 5 * 6 + 1 + 2;
    assert_eq!(count(&page, "<svg"), charts);
    assert_eq!(charts_are_sound(std::slice::from_ref(&study)), charts);
    assert_eq!(count(&page, "<details class=\"behind\">"), charts, "a table behind every chart");
    // Rate, in flight and CPU of the one target whose cache fills.
    assert_eq!(count(&page, " before, "), 3, "phases are marked and named");
    let addresses = page.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!addresses.contains(outside), "{outside}: nothing is fetched");
    }
    assert!(page.contains("plimsoll check nfs://nas/volume1 /srv/data --seed 42"));
}

#[test]
fn a_mounted_target_has_the_kernels_account() {
    let mut study = measured(&TWO, 2);
    for trial in study.trials.iter_mut().filter(|t| t.cell.subject == 1) {
        trial.mount = Some(any_study::mount(0.007, 7));
    }
    for facts in &mut study.subjects {
        plain::storage(facts).mount_options = Some("rw,wsize=16384".into());
    }
    let said = "The kernel's client on /srv/data: 14 READ of 2.00 B (1.00 ms from request to reply, 1.00 ms \
         queued before sending), 4 failed; 14 Writes, 4 failed.";
    let terminal =
        crate::written::study(&study, &plimsoll_report::Style { width: 4000, colour: false });
    assert_eq!(count(&terminal, said), 5, "{terminal}");
    assert_eq!(count(&terminal, "mounted with rw,wsize=16384."), 1, "of one alone: {terminal}");
    assert_eq!(count(&html(&study), &said.replace('\'', "&#39;")), 5);
}

#[test]
fn plimsolls_client_stands_beside_the_kernels() {
    let mut study = measured(&TWO, 3);
    for trial in &mut study.trials {
        match trial.cell.subject {
            1 => trial.mount = Some(any_study::mount(0.007, 7)),
            _ => trial.result.parts[0].ops.values_mut().for_each(|stats| {
                stats.rpc_latency = Some(stats.client_latency.clone());
            }),
        }
    }
    let mounted = plain::storage(&mut study.subjects[1]);
    (mounted.protocol, mounted.mount_options) = ("directory on nfs".into(), Some("vers=3".into()));
    let terminal =
        crate::written::study(&study, &plimsoll_report::Style { width: 4000, colour: false });
    for said in [
        " with plimsoll's client to ",
        "; only the kernel's client sends Writes",
        "plimsoll's client compared with the kernel's",
        "server time,",
    ] {
        assert!(terminal.contains(said), "{said} in {terminal}");
    }
    // A table for each of the five patterns.
    assert_eq!(
        count(&terminal, "with plimsoll's client, /srv/data with the kernel's:"),
        5,
        "{terminal}"
    );
    study.trials.iter_mut().for_each(|trial| trial.mount = None);
    assert!(!html(&study).contains("compared with the kernel"));
}

#[test]
fn which_watched_and_what_was_not_watched_is_reported() {
    let mut study = measured(&TWO, 2);
    support::watch(&mut study, "ssh://root@nas");
    study.hosts[1].without_probe = Some("there is no probe for mips here".into());
    let (host, reason) = ("ssh://other".parse().unwrap(), "Connection refused".into());
    study.flags.push(Flag::NotWatched { host, reason });
    let pages = [
        crate::written::study(&study, &plimsoll_report::Style { width: 4000, colour: false }),
        html(&study),
    ];
    for page in pages {
        for said in [
            "Monitoring by a shell on the host took",
            "could not be used: there is no probe for mips here.",
            "ssh://other was not monitored: Connection refused",
        ] {
            assert!(page.contains(said), "{said} in {page}");
        }
        assert_eq!(count(&page, "there is no probe for mips here"), 1, "{page}");
    }
}

/// A server that is watched beside the client brings a part of its own.
#[test]
fn a_check_with_a_watched_server() {
    let mut study = measured(&TWO, 6);
    support::watch(&mut study, "ssh://root@nas");
    let page = html(&study);
    assert!(page.len() <= CHECK_LIMIT, "{}", page.len());
    // Beside what there is without it: CPU over time, of the target it serves; CPU, memory, network
    // and disks.
    let charts = 2 + 5 * 6 + 1 + 2 + 5 + 4;
    assert_eq!(charts_are_sound(std::slice::from_ref(&study)), charts);
    for word in [">sirq", "Random write, nas", "Memory of ssh://root@nas", "server\nCPU"] {
        assert!(page.contains(word), "{word}");
    }
    let part = |id: &str| page.find(&format!("id=\"{id}\"")).unwrap();
    assert!(part("machines") < part("machines-2"));
    assert!(page.contains("Not monitored: "), "in the answer");
    let terminal =
        crate::written::study(&study, &plimsoll_report::Style { width: 100, colour: false });
    insta::assert_snapshot!(terminal.split("CPU of this machine\n").nth(1).unwrap());
}

/// The column of costs once said "-26.8 of sys".
#[test]
fn a_cost_that_may_as_well_be_none_has_no_negative_digits() {
    let mut study = measured(&TWO, 6);
    enrich(&mut study, 0.1);
    support::watch(&mut study, "ssh://root@nas");
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = words(crate::written::study(&study, &WIDE));
    let page = html(&study);
    assert!(!text.contains("distinguishable") && !page.contains("distinguishable"), "{text}");

    // The same with a baseline as busy as the trials, one class of it far busier.
    for trial in &mut study.trials {
        let sign = if trial.block.unwrap_or(0) % 2 == 0 { 1.0 } else { -1.0 };
        let count = trial.result.moved();
        for load in &mut trial.loads {
            let mut idle = load.cpu * (1.0 / load.seconds);
            (idle.system, idle.user) = (2.0 * idle.system, idle.user - 0.9 * idle.system);
            load.idle = Some(idle * (1.0 + 0.3 * sign));
            load.idle_baseline = load.idle.unwrap().busy().0;
            let caused = load.caused().0;
            let (operation, byte) = match load.host {
                HostName::Local => (Measure::MACHINE_CPU_PER_OP, Measure::MACHINE_CPU_PER_BYTE),
                _ => (Measure::SERVER_CPU_PER_OP, Measure::SERVER_CPU_PER_BYTE),
            };
            for (measure, count) in [(operation, count.operations), (byte, count.bytes)] {
                let metric = Metric::all(measure);
                if let Some(value) = trial.result.parts[0].quantities.get_mut(&metric) {
                    *value = caused / count as f64;
                }
            }
        }
    }
    let markdown = Document::of_study(&study).markdown(None);
    for text in [words(crate::written::study(&study, &WIDE)), words(html(&study)), words(markdown)]
    {
        assert!(text.contains("not distinguishable from idle"), "{text}");
        assert!(text.contains("< ") || text.contains("&lt; "), "{text}");
        for unit in [" s/GB", " s/100k"] {
            for (at, _) in text.match_indices(unit) {
                let figure = text[..at].rsplit(' ').next().unwrap();
                assert!(!figure.contains('-') && !figure.contains('\u{2212}'), "{figure}{unit}");
            }
        }
        for class in ["sys -", "usr -", "sirq -", "s/GB [-", "s/100k [-"] {
            assert!(!text.contains(class), "{class} in {text}");
        }
    }
    // Raw values stay in what is exported.
    let negative =
        |trial: &plimsoll_model::Trial| trial.loads.iter().any(|load| load.caused().0 < 0.0);
    assert!(study.trials.iter().any(negative));
}

#[test]
fn the_page_says_what_the_terminal_says() {
    let study = measured(&TWO, 6);
    let page = html(&study);
    let screen = Document::of_study(&study).text(&WIDE);
    let (head, rest) = screen.split_once("\n\n").unwrap();
    let (table, rest) = rest.split_once("\n\n").unwrap();
    let (rest, _) = rest.split_once("\n\n").unwrap();
    let rows = table.lines().filter(|line| !line.contains('─'));
    let cells = rows.flat_map(|row| row.split("  ")).map(str::trim).filter(|cell| !cell.is_empty());
    let sentences =
        rest.lines().filter(|line| line.ends_with('.') && !line.starts_with(['!', ' ']));
    let said: Vec<&str> = cells.chain(sentences).chain(head.lines().take(1)).collect();
    assert!(said.len() > 20, "{screen}");
    for said in said {
        let words = said.split(": ").map(|part| part.replace('\'', "&#39;"));
        words.for_each(|words| assert!(page.contains(&words), "{words}"));
    }
}

#[test]
fn order_of_the_page() {
    let page = html(&measured(&TWO, 6));
    let places: Vec<usize> = [
        "id=\"answer\"",
        "class=\"figures words\"",
        "id=\"speeds\"",
        "plimsoll show 5eed0001",
        "id=\"sequential-read\"",
        "id=\"sequential-read-throughput\"",
        "id=\"sequential-read-ratio\"",
        "id=\"sequential-read-latency\"",
        "id=\"sequential-read-over-time\"",
        "id=\"random-mixed\"",
        "id=\"machines\"",
        "id=\"method\"",
    ]
    .iter()
    .map(|id| page.find(id).unwrap_or_else(|| panic!("{id} is missing")))
    .collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn markdown_of_two_targets() {
    let paper = Document::of_studies(&[measured(&TWO, 6)]);
    insta::assert_snapshot!(paper.markdown(None));
    let linked = paper.markdown(Some("pictures"));
    assert_eq!(count(&linked, "](<pictures/"), paper.charts().count());
}

#[test]
fn little_and_nothing() {
    let empty = plain::empty(&TWO, &Pattern::USUAL);
    let page = html(&empty);
    assert!(page.contains("No trial ran to its end") && count(&page, "<svg") == 0);

    let nothing = plain::empty(&[], &[]);
    assert!(html(&nothing).contains("A study without a subject"));

    let mut one = plain::empty(&TWO[..1], &[Pattern::RandomRead]);
    plain::add(&mut one, 0, 0, Pattern::RandomRead, 30e6);
    enrich(&mut one, 0.1);
    assert!(html(&one).contains("one block, so no interval"));
    assert!(charts_are_sound(&[one]) >= 3);

    let mut failed = measured(&TWO, 2);
    failed.trials.iter_mut().for_each(plain::fail);
    failed.ended = Ended::Interrupted;
    let page = html(&failed);
    assert!(
        page.contains("20 of 20 trials failed at") && page.contains("The study was interrupted")
    );
    charts_are_sound(&[failed]);
}

#[test]
fn names_with_markup_in_them_are_text() {
    let evil = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>&amp;`|*";
    let mut study = measured(&TWO, 3);
    study.plan.command = evil.into();
    study.hosts[0].cpu_model = evil.into();
    study.flags.push(Flag::SameTarget { target: evil.into() });
    study.id = StudyId(evil.into());
    for facts in study.subjects.iter_mut().map(plain::storage) {
        facts.label = evil.into();
        facts.given = evil.into();
        facts.stability = evil.into();
        facts.notes = vec![evil.into()];
    }
    support::watch(&mut study, "ssh://jane@secretnas.example.org:2222");
    study.flags.push(Flag::HostLost {
        host: "ssh://jane@secretnas.example.org:2222".parse().unwrap(),
        reason: "ssh: connect to host secretnas.example.org port 2222: gone".into(),
    });
    study.hosts.last_mut().unwrap().without_probe =
        Some("/home/jane/probes on secretnas.example.org: no space left".into());
    study.flags.push(Flag::NotWatched {
        host: "ssh://secretnas.example.org".parse().unwrap(),
        reason: "jane@secretnas.example.org: Permission denied (publickey)".into(),
    });
    plain::fail(&mut study.trials[0]);
    if let Outcome::Failed { phase, failure } = &mut study.trials[0].result.outcome {
        *phase = evil.into();
        failure.happened = evil.into();
    }
    let page = html(&study);
    assert_eq!(count(&page, "<script"), 1, "the page's own");
    assert_eq!(count(&page, "<img"), 0);
    assert!(page.contains("&lt;script&gt;"));
    charts_are_sound(&[study.clone()]);
    let markdown = Document::of_studies(&[study.clone(), measured(&TWO, 3)]).markdown(Some("x"));
    assert!(!markdown.replace("    <script>", "").contains("<script>"), "only in the code block");
    let trend = Document::of_studies(&[study, measured(&TWO, 3)]).html();
    assert_eq!((count(&trend, "<script"), count(&trend, "<img")), (1, 0));
}

#[test]
fn two_hundred_targets() {
    let names: Vec<String> = (0..200).map(|i| format!("nfs://nas{i}.example.org/volume")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let study = measured(&names, 2);
    let page = html(&study);
    assert!(page.len() <= LIMIT, "{}", page.len());
    assert!(page.contains("The chart has the first 8 of 200 targets"));
    assert!(page.contains("was idle. The chart has the first 4 of 200 targets"), "CPU over time");
    charts_are_sound(&[study]);
}

#[test]
fn a_thousand_trials() {
    let study = measured(&TWO, 100);
    assert_eq!(study.trials.len(), 1000);
    let page = html(&study);
    assert!(page.len() <= LIMIT, "{}", page.len());
}

#[test]
fn a_week_of_samples() {
    let mut study = plain::empty(&TWO, &[Pattern::SequentialWrite]);
    study.plan.workloads[0].length = Length::For { seconds: 7.0 * 86_400.0, warm_up_seconds: 1.0 };
    plain::add_blocks(&mut study, 1, 0.02, rate);
    enrich(&mut study, 1.0);
    // A dip that lasts a second of the week is still to be seen.
    let series = &mut study.trials[1].result.parts[0].series;
    assert!(series.len() > 600_000);
    let writes = series.kinds.get_mut(&OpKind::WRITE).unwrap();
    (writes.bytes[400_000], writes.operations[400_000]) = (0, 0);
    let page = html(&study);
    assert!(page.len() <= LIMIT, "{}", page.len());
    assert!(page.contains("<td>0\n"), "the dip is in the table");
}

#[test]
fn several_studies_are_a_trend() {
    let mut studies: Vec<Study> = (0..4).map(|_| measured(&TWO, 4)).collect();
    for (i, study) in studies.iter_mut().enumerate() {
        study.id = StudyId(format!("5eed000{i}"));
        study.started_unix_seconds += 86_400 * i as u64;
    }
    // One is of another size: another workload, which is not mixed with the others.
    plain::job(&mut studies[3].plan.workloads[0]).size = Bytes(1 << 20);
    studies.reverse();
    assert_eq!(charts_are_sound(&studies), 6);
    let page = Document::of_studies(&studies).html();
    assert!(page.find("5eed0000").unwrap() < page.find("5eed0003").unwrap(), "oldest first");
    assert!(page.contains("The studies were measured at different times"));
}

/// What has no interval gets no verdict, no margin, and no word of blocks.
#[test]
fn single_runs_of_another_tool_are_reported_without_intervals() {
    let before = imports::study(&TWO, &imports::PUBLISHED);
    let page = html(&before);
    charts_are_sound(std::slice::from_ref(&before));
    for said in ["33% faster", "ratio of single runs, no interval", "without an interval"] {
        assert!(page.contains(said), "{said} is missing");
    }
    for false_here in ["so no verdict", "mean of the blocks", "margin of", "one block,"] {
        assert!(!page.contains(false_here), "{false_here}");
    }

    let mut after = imports::study(
        &TWO,
        &[(Pattern::SequentialRead, 58.1e6, 117.5e6), (Pattern::RandomRead, 33.0e6, 24.0e6)],
    );
    after.id = StudyId("5eed0002".into());
    after.started_unix_seconds += 86_400;
    let studies = [before, after];
    charts_are_sound(&studies);
    let page = Document::of_studies(&studies).html();
    for said in [
        "From 5eed0001 to 5eed0002: of 4 ratios, 2 faster, 1 slower and 1 equally fast.",
        "5eed0001 100% faster",
        "single runs in an unknown order",
    ] {
        assert!(page.contains(said), "{said} is missing");
    }
    assert!(!page.contains("Welch"), "nothing is made of single runs");
}

#[test]
fn nothing_of_the_user_is_left_after_redaction() {
    let mut study = measured(&["nfs://secretnas.example.org/export/private films", "/srv/mine"], 3);
    match &mut study.plan.subjects[0] {
        Subject::Storage(StorageSubject { target: Target::Nfs(nfs) }) => {
            nfs.uid = Some(3_999_482_137)
        }
        other => panic!("{other:?}"),
    }
    plain::storage(&mut study.subjects[0]).notes = vec![
        "mounted from secretnas.example.org:/export/private films on /mnt/mine by jane".into(),
        "addr=192.168.7.9, disk WD-WCC4E1234567, 00:1b:44:11:3a:b7".into(),
    ];
    study.flags.push(Flag::NotCleaned {
        target: "nfs://secretnas.example.org/export/private films".into(),
        directory: ".plimsoll-5eed0001-ab12".into(),
        on: Some("ssh://jane@secretnas.example.org:2222".into()),
    });
    support::watch(&mut study, "ssh://jane@secretnas.example.org:2222");
    study.flags.push(Flag::HostLost {
        host: "ssh://jane@secretnas.example.org:2222".parse().unwrap(),
        reason: "ssh: connect to host secretnas.example.org port 2222: gone".into(),
    });
    plain::fail(&mut study.trials[0]);
    if let Outcome::Failed { failure, .. } = &mut study.trials[0].result.outcome {
        failure.on = "/srv/mine/.plimsoll-5eed0001-ab12/read.dat".into();
        failure.happened = "jane's quota on janesbox is used up".into();
    }
    let redacted = redact(&study, &["jane".into(), "janesbox".into()]).unwrap();
    let pages = [
        html(&redacted),
        Document::of_study(&redacted).markdown(None),
        serde_json::to_string(&redacted).unwrap(),
        plimsoll_record::to_csv(&redacted).unwrap(),
    ];
    let secrets = [
        "secretnas",
        "example",
        "private",
        "films",
        "export",
        "mine",
        "jane",
        "192.168",
        "WCC4E",
        "00:1b",
        "3999482137",
    ];
    for page in pages {
        for secret in secrets {
            // "examples" and "exports" of plimsoll's own words do not occur on these pages.
            let found = page.find(secret).map(|at| &page[at.saturating_sub(40)..at + 20]);
            let own = found.is_some_and(|f| f.contains("for example"));
            assert!(found.is_none() || own, "{secret}: {found:?}");
        }
    }
    let text = serde_json::to_string(&redacted).unwrap();
    assert!(text.contains("host-1") && text.contains("path-1"), "{text}");
    let server = redacted.plan.watched[1].host.to_string();
    assert_eq!(server, "ssh://user-1@host-1:2222", "the same host as the target's");
    assert!(redacted.trials.iter().all(|t| t.loads[1].host == *server));
    // The figures are the same.
    assert_eq!(
        plimsoll_explain::findings(&study).workloads[0].pairs,
        plimsoll_explain::findings(&redacted).workloads[0].pairs
    );
}

/// The plan does not name a host that could not be monitored.
#[test]
fn a_host_of_a_warning_is_a_host_after_redaction() {
    let mut study = measured(&["nfs://10.77.1.1/films"], 2);
    let host = "ssh://jane@secretnas.example.org:2222".parse().unwrap();
    study.flags.push(Flag::NotWatched { host, reason: "Connection refused".into() });
    let redacted = redact(&study, &[]).unwrap();
    let host = redacted.flags.last().and_then(Flag::host).unwrap();
    assert_eq!(host.to_string(), "ssh://user-1@host-1:2222");
}

/// In the command it is no path that could be told from other words.
#[test]
fn the_file_of_a_film_is_not_left_after_redaction() {
    let mut study = measured(&["nfs://10.77.1.1/films"], 2);
    let film = Film { file: Some("our wedding.mkv".to_owned()), ..Film::constant("film", 1e6) };
    let (player, pace, size) = (Player::kodi(), Pace::Uncapped, Bytes(1 << 30));
    let job = PlaybackJob { film, player, pace, size, seek_every_seconds: None };
    study.plan.workloads[0].parts[0].job = job.into();
    study.plan.command = "plimsoll play --film 'our wedding.mkv' nfs://10.77.1.1/films".to_owned();
    let text = serde_json::to_string(&redact(&study, &[]).unwrap()).unwrap();
    assert!(text.contains("--film") && !text.contains("wedding"), "{text}");
}

/// A host of a lab has no address, and its name stands wherever the study names it.
#[test]
fn hosts_of_labs_keep_their_names() {
    let mut study = measured(&["nfs://10.77.1.1/films"], 2);
    support::watch(&mut study, "lab://home/router");
    let redacted = redact(&study, &[]).unwrap();
    assert_eq!(redacted.plan.watched, study.plan.watched);
    assert_eq!(redacted.hosts[1].name, *"lab://home/router");
    assert!(redacted.trials.iter().all(|trial| trial.loads[1].host == *"lab://home/router"));
    redact(&redacted, &[]).unwrap();
}

#[test]
fn words_of_the_schema_survive_hosts_that_are_called_so() {
    for host in ["nfs", "read", "complete", "local", "sequential_read", "done", "a", "iops"] {
        let study = measured(&[&format!("nfs://{host}/{host}"), "/nfs"], 2);
        let redacted = redact(&study, &[]).unwrap();
        assert_eq!(redacted.trials.len(), study.trials.len());
        assert_eq!(redacted.plan.workloads, study.plan.workloads);
        assert_eq!(redacted.trials[0].result, study.trials[0].result);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_study_makes_a_page(a in any_study::any::study(), b in any_study::any::study(), bad in any::<u64>()) {
        let mut a = a;
        for (i, trial) in a.trials.iter_mut().enumerate() {
            if i % 2 < a.plan.workloads.len() {
                trial.cell.workload = (i % 2) as u16;
            }
            if bad >> i & 1 == 1 {
                trial.started_seconds = f64::NAN;
                let odd = [f64::NAN, f64::INFINITY, -1.0, 1e300];
                for part in &mut trial.result.parts {
                    part.series.window_seconds = [f64::NAN, 0.1, 0.0, -1.0][i % 4];
                    part.quantities.values_mut().for_each(|value| *value = odd[i % 4]);
                }
            }
        }
        charts_are_sound(std::slice::from_ref(&a));
        let studies = [a, b];
        charts_are_sound(&studies);
        let page = html(&studies[0]);
        prop_assert!(page.ends_with("</html>") && count(&page, "<script") == 1);
        Document::of_studies(&studies).markdown(None);
    }

    #[test]
    fn any_study_can_be_redacted(study in any_study::any::study()) {
        let redacted = redact(&study, &[]).unwrap();
        prop_assert_eq!(redacted.trials.len(), study.trials.len());
        // Redacting what is redacted changes nothing that matters: it can be read again.
        redact(&redacted, &[]).unwrap();
    }
}
