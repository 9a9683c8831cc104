//! Importing what the real fio writes, in every form, and what the commands make of it.

mod support;

use plimsoll_model::{
    ImportedCpu, Job, LatencySummary, Measure, Metric, OpKind, Part, Pattern, Study, Trial,
};
use plimsoll_testkit::Need;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;
use support::Plimsoll;

/// fio's word, plimsoll's word, and what is special about the run.
const RUNS: [(&str, Pattern, &[&str]); 6] = [
    ("read", Pattern::SequentialRead, &["--bs=64k", "--ioengine=psync"]),
    ("write", Pattern::SequentialWrite, &["--bs=64k", "--ioengine=psync"]),
    ("randread", Pattern::RandomRead, &["--bs=4k", "--ioengine=psync"]),
    ("randwrite", Pattern::RandomWrite, &["--bs=4k", "--ioengine=psync"]),
    ("randrw", Pattern::RandomMixed, &["--bs=4k", "--ioengine=libaio", "--iodepth=4"]),
    ("rw", Pattern::SequentialMixed, &["--bs=64k", "--ioengine=libaio", "--iodepth=4"]),
];
const JOBS: u16 = 4;

/// What one run of fio wrote, in all forms at once.
fn fio(directory: &Path, rw: &str, more: &[&str]) -> String {
    let output = Command::new("fio")
        .args([&format!("--name={rw}"), &format!("--rw={rw}"), &format!("--numjobs={JOBS}")])
        .arg(format!("--filename={}", directory.join("file").display()))
        .args(["--size=16m", "--runtime=1", "--time_based", "--group_reporting"])
        .args(["--output-format=normal,json,terse"])
        .args(more)
        .output()
        .expect("fio starts");
    let said = String::from_utf8(output.stdout).expect("fio writes text");
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// The forms apart: terse lines, the JSON document, and everything else.
struct Forms {
    json: String,
    text: String,
    terse: String,
}

fn apart(all: &str) -> Forms {
    let begin = all.find("\n{").expect("a JSON document") + 1;
    let end = begin + all[begin..].find("\n}\n").expect("its end") + 3;
    let around = format!("{}{}", &all[..begin], &all[end..]);
    let is_terse = |line: &&str| line.starts_with("3;fio-");
    let join = |lines: Vec<&str>| lines.join("\n") + "\n";
    Forms {
        json: all[begin..end].to_owned(),
        text: join(around.lines().filter(|l| !is_terse(l)).collect()),
        terse: join(around.lines().filter(is_terse).collect()),
    }
}

fn imported(content: &str, options: &[&str]) -> (Part, Trial) {
    let mut study = study_of(content, options);
    assert_eq!(study.trials.len(), 1, "one run, however often it is printed");
    let trial = study.trials.remove(0);
    let workload = study.plan.workload(trial.cell).expect("it names one of the plan");
    assert_eq!((workload.parts.len(), trial.result.parts.len()), (1, 1), "one job");
    (workload.parts[0].clone(), trial)
}

fn pattern_of(part: &Part) -> Pattern {
    match &part.job {
        Job::Pattern(job) => job.pattern,
        other => panic!("{other:?} is no pattern"),
    }
}

fn study_of(content: &str, options: &[&str]) -> Study {
    let plimsoll = Plimsoll::new();
    let file = plimsoll.db().with_file_name("nas.out");
    std::fs::write(&file, content).unwrap();
    let file = file.display().to_string();
    plimsoll.run(&[&["import", &file], options].concat()).expect(0);
    plimsoll.latest()
}

#[track_caller]
fn near(what: &str, found: f64, fio: f64, within: f64) {
    let slack = 1e-9 * fio.abs();
    assert!((found - fio).abs() <= within + slack, "{what}: {found} is not fio's {fio} ± {within}");
}

/// How exactly a form tells a latency, in nanoseconds.
#[derive(Clone, Copy)]
struct Steps {
    least_and_most: f64,
    mean: f64,
    percentile: f64,
}

/// A direction in fio's own JSON.
struct Truth<'a>(&'a Value);

impl Truth<'_> {
    fn number(&self, name: &str) -> f64 {
        self.0[name].as_f64().unwrap_or_else(|| panic!("{name} in {}", self.0))
    }

    fn latency(&self, found: &LatencySummary, kind: &str, steps: Steps, percentiles: bool) {
        let truth = Truth(&self.0[kind]);
        let ns = |seconds: f64| seconds * 1e9;
        for (name, found) in [("min", found.min_seconds), ("max", found.max_seconds)] {
            let truth = truth.number(name);
            // The text has room for six digits; then it goes on in thousands.
            let wide = steps.least_and_most >= 1.0 && truth >= 1e6 * steps.least_and_most;
            let step = steps.least_and_most * if wide { 1e3 } else { 1.0 };
            near(name, ns(found), truth, step);
        }
        near("mean", ns(found.mean_seconds), truth.number("mean"), steps.mean);
        let deviation = found.standard_deviation_seconds.expect("fio tells it");
        near("deviation", ns(deviation), truth.number("stddev"), steps.mean);
        let listed = truth.0["percentile"].as_object().filter(|_| percentiles);
        for (percent, value) in listed.into_iter().flatten() {
            let share = percent.parse::<f64>().unwrap() / 100.0;
            let same = |q: &&String| (q.parse::<f64>().unwrap() - share).abs() < 1e-9;
            let name = found.quantiles_seconds.keys().find(same).expect(percent);
            let found = ns(found.quantiles_seconds[name]);
            near(percent, found, value.as_f64().unwrap(), steps.percentile);
        }
        assert_eq!(found.quantiles_seconds.len(), listed.map_or(0, |l| l.len()));
    }
}

/// Every figure of a trial against fio's JSON of the same run.
fn agrees(
    (part, trial): &(Part, Trial),
    json: &str,
    percent_step: f64,
    byte_step: f64,
    steps: &[(OpKind, Steps)],
) {
    let document: Value = serde_json::from_str(json).unwrap();
    let job = &document["jobs"][0];
    let run = trial.imported.as_ref().expect("an import");
    let mixed = pattern_of(part).is_mixed();
    let result = &trial.result.parts[0];
    let (mut operations, mut longest) = (0.0, 0.0f64);
    assert_eq!(result.ops.len(), steps.len());
    for (kind, steps) in steps {
        let name = if *kind == OpKind::READ { "read" } else { "write" };
        let truth = Truth(&job[name]);
        let metric = |measure| Metric { kind: mixed.then_some(*kind), measure };
        let quantity = |measure| result.quantities[&metric(measure)];
        let stats = &result.ops[kind];
        assert_eq!(stats.count as f64, truth.number("total_ios"));
        near("bytes", stats.bytes as f64, truth.number("io_bytes"), byte_step);
        let seconds = truth.number("runtime") / 1e3;
        near("IOPS", quantity(Measure::IOPS), truth.number("iops"), 1e-6);
        let bandwidth = quantity(Measure::THROUGHPUT);
        // fio cuts its own off to whole bytes.
        near("bandwidth", bandwidth, truth.number("bw_bytes"), 1.0 + byte_step / seconds);
        truth.latency(&stats.client_latency, "clat_ns", *steps, true);
        near("mean", quantity(Measure::LATENCY_MEAN), stats.client_latency.mean_seconds, 0.0);
        // A figure exactly where 20 operations lie beyond it (method, section 5); what fio printed
        // is kept in any case.
        let p99 = stats.client_latency.quantiles_seconds["0.99"];
        let figure = result.quantities.get(&metric(Measure::LATENCY_P99));
        assert_eq!(figure.is_some(), stats.count >= 2000, "{} operations", stats.count);
        if let Some(figure) = figure {
            near("p99", *figure, p99, 0.0);
        }
        truth.latency(&run.total_latency[kind], "lat_ns", *steps, false);
        if mixed {
            truth.latency(
                &run.submission_latency[kind],
                "slat_ns",
                Steps { mean: 10.0, ..*steps },
                false,
            );
        }
        operations += truth.number("total_ios");
        longest = longest.max(seconds);
    }
    near("runtime", run.runtime_seconds, longest, 1e-9);
    let truth = Truth(job);
    let cpu: ImportedCpu = run.cpu.unwrap();
    near("user", cpu.user_percent, truth.number("usr_cpu"), percent_step);
    near("system", cpu.system_percent, truth.number("sys_cpu"), percent_step);
    assert_eq!(cpu.context_switches as f64, truth.number("ctx"));
    assert_eq!(cpu.minor_faults as f64, truth.number("minf"));
    // Percent of one job's time, times the time of all jobs.
    let (user, system) = (cpu.user_seconds.unwrap(), cpu.system_seconds.unwrap());
    let reported = truth.number("job_runtime") / 1e3;
    let of_all = if percent_step < 1e-9 { reported } else { f64::from(JOBS) * run.runtime_seconds };
    near("user seconds", user, cpu.user_percent / 100.0 * of_all, 1e-9);
    let per_operation = result.quantities[&Metric::all(Measure::CLIENT_CPU_PER_OP)];
    near("CPU an operation", per_operation, (user + system) / operations, 1e-12);
    for (level, percent) in job["iodepth_level"].as_object().unwrap() {
        near(level, run.depth_shares[level] * 100.0, percent.as_f64().unwrap(), 0.051);
    }
    assert_eq!(run.jobs, Some(JOBS.into()));
}

/// The unit that the text has in brackets after a word, the first time or the second.
fn printed_unit(text: &str, word: &str, nth: usize) -> f64 {
    let place = text.match_indices(word).nth(nth).expect(word).0 + word.len();
    match text[place..].split(')').next().unwrap() {
        "nsec" => 1.0,
        "usec" => 1e3,
        "msec" => 1e6,
        other => panic!("{other}"),
    }
}

#[test]
fn every_figure_of_every_form_is_fios_own() {
    if !plimsoll_testkit::available(Need::Fio) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    for (rw, pattern, more) in RUNS {
        let all = fio(directory.path(), rw, more);
        let Forms { json, text, terse } = apart(&all);
        let kinds: Vec<OpKind> =
            [(OpKind::READ, pattern.reads()), (OpKind::WRITE, pattern.writes())]
                .into_iter()
                .filter_map(|(kind, there)| there.then_some(kind))
                .collect();
        let with = |steps: &dyn Fn(usize) -> Steps| -> Vec<(OpKind, Steps)> {
            kinds.iter().enumerate().map(|(i, kind)| (*kind, steps(i))).collect()
        };
        let exact = Steps { least_and_most: 1e-3, mean: 1e-3, percentile: 1e-3 };
        // All forms together are the JSON's figures, once.
        for content in [&json, &all, &format!("fio: a warning first\n{json}")] {
            let run = imported(content, &[]);
            assert_eq!(pattern_of(&run.0), pattern);
            agrees(&run, &json, 1e-12, 0.0, &with(&|_| exact));
        }
        let printed = |i: usize| {
            // clat, slat and lat may be printed in different units: the coarsest counts.
            let words = [" clat (", "  lat ("];
            let units = words.map(|word| printed_unit(&text, word, i));
            let unit = units.into_iter().fold(0.0, f64::max);
            // Cut off where it is least and most; rounded where it has decimals; percentiles up.
            let percentile = printed_unit(&text, "clat percentiles (", i);
            Steps { least_and_most: unit, mean: 0.0051 * unit, percentile }
        };
        let run = imported(&text, &[]);
        assert_eq!(pattern_of(&run.0), pattern);
        agrees(&run, &json, 0.0051, 0.0, &with(&printed));
        assert_eq!(run.0.workers.get(), JOBS);
        let depth = if pattern.is_mixed() { 4 } else { 1 };
        let found = run.0.arrival.depth();
        assert_eq!(found.get(), depth);

        let micro = Steps { least_and_most: 1e3, mean: 1e-3, percentile: 1e3 };
        let options = ["--jobs", "4", "--pattern", pattern.name()];
        let run = imported(&terse, &options);
        agrees(&run, &json, 1e-6, 1024.0, &with(&|_| micro));
    }
}

/// A server of fio on the loopback, which goes when it is dropped.
struct FioServer(std::process::Child, u16);

impl FioServer {
    fn start() -> FioServer {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let mut fio = Command::new("fio");
        fio.arg(format!("--server=127.0.0.1,{port}")).stdout(Stdio::null()).stderr(Stdio::null());
        let server = FioServer(fio.spawn().expect("fio starts"), port);
        let answers = || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok();
        assert!((0..200).any(|_| answers() || {
            sleep(Duration::from_millis(50));
            false
        }));
        server
    }
}

impl Drop for FioServer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The operations of each run, by target.
fn counts(study: &Study) -> Vec<(String, u64)> {
    let count = |trial: &Trial| {
        let target = study.subjects[usize::from(trial.cell.subject)].label().to_owned();
        (target, trial.result.parts[0].ops.values().map(|stats| stats.count).sum())
    };
    study.trials.iter().map(count).collect()
}

#[test]
fn clients_and_servers_of_fio_count_each_and_once_all_together() {
    if !plimsoll_testkit::available(Need::Fio) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let job = directory.path().join("job");
    let global = format!("[global]\ndirectory={}\n", directory.path().display());
    let jobs = "bs=16k\nsize=1m\nioengine=psync\n[up]\nrw=write\n[more]\nrw=write\nnumjobs=2\n";
    std::fs::write(&job, global + jobs).unwrap();
    let servers = [FioServer::start(), FioServer::start()];
    let fio = |form: &str| {
        let mut fio = Command::new("fio");
        fio.arg(format!("--output-format={form}"));
        for FioServer(_, port) in &servers {
            fio.arg(format!("--client=127.0.0.1,{port}")).arg(&job);
        }
        String::from_utf8(fio.output().expect("fio starts").stdout).unwrap()
    };
    let run = |study: &Study, clients: [String; 2]| {
        // 1 MiB of 16 KiB each: one job, and two of the name 'more', on either client.
        let mut counts = counts(study);
        counts.sort();
        let on = |client: &str| format!("nas on {client}");
        let mut expected = vec![(on("all clients"), 384)];
        for client in clients {
            expected.extend([(on(&client), 64), (on(&client), 128)]);
        }
        expected.sort();
        assert_eq!(counts, expected);
    };
    let json = fio("json");
    run(
        &study_of(&json, &[]),
        [servers[0].1, servers[1].1].map(|port| format!("127.0.0.1:{port}")),
    );
    run(&study_of(&fio("normal"), &[]), [1, 2].map(|n| format!("client {n}")));
}

#[test]
fn what_fio_was_told_to_hold_back_and_what_failed_are_reported() {
    if !plimsoll_testkit::available(Need::Fio) {
        return;
    }
    let plimsoll = Plimsoll::new();
    let directory = plimsoll.db().parent().unwrap().to_owned();
    let file = format!("--filename={}", directory.join("data").display());
    let fio = |name: &str, form: &str, more: &[&str]| {
        let mut fio = Command::new("fio");
        fio.args([&format!("--output-format={form}"), "--bs=4k"]);
        // A name begins a job, next to the jobs of a file.
        if more.iter().any(|option| option.starts_with("--rw=")) {
            fio.arg(format!("--name={name}"));
        }
        let output = fio.args(more).output().expect("fio starts");
        let path = directory.join(format!("{name}-{form}"));
        std::fs::write(&path, output.stdout).unwrap();
        path.display().to_string()
    };
    for form in ["json", "normal"] {
        let held = fio("held", form, &["--rw=randread", "--size=256k", "--rate_iops=50", &file]);
        plimsoll.run(&["import", &held]).expect(0);
        let page = plimsoll.run(&["show"]).expect(0).out;
        let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("is rate-limited by its tool ("), "{form}:\n{page}");
    }
    let mixed = ["--rw=randrw", "--rwmixread=0", "--percentage_random=85", "--size=256k", &file];
    let writes = fio("writes", "json", &mixed);
    plimsoll.run(&["import", &writes]).expect(0);
    let page = plimsoll.run(&["show", "--details"]).expect(0).out;
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("andom write") && words.contains("85% random"), "{page}");
    assert!(!words.contains("andom mixed"), "{page}");
    let full = fio("full", "json", &["--rw=write", "--size=64k", "--filename=/dev/full"]);
    plimsoll.run(&["import", &full]).expect(0);
    let page = plimsoll.run(&["show", "--details"]).expect(0).out;
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("No space left on device"), "{page}");
    // Trims have no pattern here; the other job is imported all the same.
    let jobs = directory.join("jobs");
    std::fs::write(
        &jobs,
        format!("[global]\nsize=64k\n{}\n[a]\nrw=read\n[b]\nstonewall\nrw=trimwrite\n", &file[2..]),
    )
    .unwrap();
    let both = fio("both", "json", &[jobs.to_str().unwrap()]);
    let said = plimsoll.run(&["import", &both]).expect(0);
    assert!(said.out.contains("1 run on 1 target"), "{}", said.out);
    assert!(
        said.err.contains("not imported: ") && said.err.contains("'trimwrite'"),
        "{}",
        said.err
    );
}

const SAMPLE: &str = include_str!("../crates/record/src/import/samples/jonfk2024.txt");

#[test]
fn imports_are_listed_shown_compared_and_go_round() {
    let plimsoll = Plimsoll::new();
    let directory = plimsoll.db().with_file_name("files");
    std::fs::create_dir(&directory).unwrap();
    let write = |name: &str, content: &str| {
        let path = directory.join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let sample = write("fio_output.txt", SAMPLE);
    let said = plimsoll.run(&["import", &sample]).expect(0).out;
    assert!(said.contains("3 runs on 2 targets, fio-3.36"), "{said}");

    let page = plimsoll.run(&["show", "--details"]).expect(0).out;
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "imported from fio-3.36",
        "/mnt/nfs/backups is 33% faster than /mnt/smb/backups (ratio of single runs, no interval)",
        "CPU 0.800% user and 2.96% system of one job's time: 9.02 s of 4 jobs together",
        "rate × response time 3.98, 4 requested in flight",
        "501.7",
    ] {
        let part = if part == "501.7" { "502 k context switches" } else { part };
        assert!(words.contains(part), "{part:?} is not in:\n{page}");
    }
    for word in
        ["25%", "inconclusive", "practically equal", "[", "one block,", "too few for a verdict"]
    {
        assert!(!words.contains(word), "{word:?} needs an interval:\n{page}");
    }
    let list = plimsoll.run(&["list"]).expect(0).out;
    assert!(list.contains("imported from fio-3.36, 3 runs"), "{list}");

    // Export, and import elsewhere: the same.
    let before = plimsoll.run(&["export", "--json"]).expect(0).out;
    let exported = write("study.json", &before);
    let failure = plimsoll.run(&["import", &exported]).expect(2).err;
    assert!(failure.contains("already") && failure.contains("plimsoll show"), "{failure}");
    let other = Plimsoll::new();
    other.run(&["import", &exported]).expect(0);
    assert_eq!(other.run(&["export", "--json"]).expect(0).out, before);
    assert!(other.run(&["export", "--csv"]).expect(0).out.contains("/mnt/smb/backups"));

    // Another import of one target, and one against the other.
    let half = SAMPLE.find("Testing /mnt/smb").unwrap();
    let slower = write("slower.txt", &SAMPLE[..half].replace("60003msec", "66003msec"));
    plimsoll.run(&["import", &slower]).expect(0);
    let ids = plimsoll.run(&["list"]).expect(0).out;
    let ids: Vec<&str> =
        ids.lines().filter(|l| !l.starts_with(' ')).filter_map(|l| l.split(' ').next()).collect();
    let first = plimsoll.latest().id.0;
    let (a, b) = if ids[0] == first { (ids[1], ids[0]) } else { (ids[0], ids[1]) };
    let page = plimsoll.run(&["compare", a, b, "--details"]).expect(0).out;
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("10% faster than"), "{page}");
    assert!(words.contains("single runs") && !words.contains("No verdict"), "{page}");
    assert!(words.contains("client CPU"), "{page}");
}

#[test]
fn what_is_broken_imports_nothing() {
    let plimsoll = Plimsoll::new();
    let directory = plimsoll.db().with_file_name("files");
    std::fs::create_dir(&directory).unwrap();
    let write = |name: &str, content: &[u8]| {
        let path = directory.join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let good = write("good.txt", SAMPLE.as_bytes());
    let cut = &SAMPLE.as_bytes()[..SAMPLE.find("     issued").unwrap()];
    let cut = write("cut.txt", cut);
    let json = write("cut.json", b"{\n \"fio version\" : \"fio-3.33\",\n \"jobs\" : [ { ");
    let binary = write("binary", b"\x7fELF\xff\xfe\0");
    let failure = plimsoll.run(&["import", &good, &cut]).expect(2).err;
    assert!(failure.contains("cut.txt, line 8"), "{failure}");
    let failure = plimsoll.run(&["import", &good, &json]).expect(2).err;
    assert!(failure.contains("cut.json, line 3, column"), "{failure}");
    plimsoll.run(&["import", &good, &binary]).expect(2);
    plimsoll.run(&["import", &good, "/nonexistent/file"]).expect(2);
    plimsoll.run(&["import"]).expect(2);
    let list = plimsoll.run(&["list"]).expect(0).out;
    assert!(list.contains("No studies yet"), "{list}");
}

/// Two runs of a client of iperf3, one of them limited to a rate, and one that found no server.
const IPERF3: &str = r#"warning: Report format (-f) flag ignored with JSON output (-J)
{"start": {"connected": [{"local_host": "192.0.2.5", "remote_host": "192.0.2.7"}], "version": "iperf 3.9", "cookie": "a",
  "connecting_to": {"host": "nas", "port": 5201}, "timestamp": {"timesecs": 1656625195},
  "test_start": {"protocol": "TCP", "num_streams": 1, "blksize": 131072, "omit": 0, "duration": 10, "reverse": 0}},
 "intervals": [{"sum": {"seconds": 1, "bytes": 117000000, "omitted": false}}],
 "end": {"sum_sent": {"seconds": 10, "bytes": 1180000000, "bits_per_second": 944000000, "retransmits": 5},
  "sum_received": {"seconds": 10, "bytes": 1176250000, "bits_per_second": 941000000},
  "cpu_utilization_percent": {"host_total": 99.5, "remote_total": 12.5}}}
{"start": {"connected": [{"local_host": "192.0.2.5", "remote_host": "192.0.2.7"}], "version": "iperf 3.21", "cookie": "b",
  "connecting_to": {"host": "nas", "port": 5201}, "timestamp": {"timesecs": 1656625295},
  "test_start": {"protocol": "TCP", "num_streams": 2, "blksize": 131072, "duration": 1, "reverse": 1, "target_bitrate": 4000000}},
 "intervals": [],
 "end": {"sum_sent": {"seconds": 1, "bytes": 1000000, "bits_per_second": 8000000, "retransmits": 0},
  "sum_received": {"seconds": 1, "bytes": 1000000, "bits_per_second": 8000000}}}
{"start": {"connected": [], "version": "iperf 3.9"}, "intervals": [], "end": {},
 "error": "unable to connect to server: Connection refused"}
"#;

#[test]
fn what_iperf3_measured_is_on_the_screen() {
    let plimsoll = Plimsoll::new();
    let file = plimsoll.db().with_file_name("iperf3.json");
    std::fs::write(&file, IPERF3).unwrap();
    let said = plimsoll.run(&["import", &file.display().to_string()]).expect(0);
    assert!(said.out.contains("2 runs on 1 target, iperf3-3.9, iperf3-3.21"), "{}", said.out);
    for part in ["line 15", "failed before its test began", "Connection refused"] {
        assert!(said.err.contains(part), "{part:?} is not in:\n{}", said.err);
    }
    let page = plimsoll.run(&["show", "--details"]).expect(0).out;
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "192.0.2.5 to 192.0.2.7",
        "941 Mbit/s",
        "5 segments were sent again",
        "CPU of a core: client 99.5%, server 12.5%",
        "rate-limited by its tool (4 Mbit/s for each stream",
    ] {
        assert!(words.contains(part), "{part:?} is not in:\n{page}");
    }
    // Nothing was monitored, and the length of every run is known.
    for part in ["no monitored resource", " 0 s long", "cpu seconds per byte"] {
        assert!(!words.contains(part), "{part:?} is in:\n{page}");
    }
}

#[test]
fn hostile_results_of_network_tools_are_refused_with_a_reason() {
    let plimsoll = Plimsoll::new();
    let file = plimsoll.db().with_file_name("hostile");
    let deep = "[".repeat(1_000_000);
    let gzip = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        Command::new("gzip").args(["--best", "--stdout"]).arg(&file).output().unwrap().stdout
    };
    // 65 MiB of blanks in 64 kB.
    let bomb = gzip(&vec![b' '; 65 << 20]);
    let iperf3 = |start: &str| {
        format!("{{\"start\": {start}, \"intervals\": [], \"end\": {{}}}}").into_bytes()
    };
    let flent = |version: &str| {
        format!(
            "{{\"version\": {version}, \"metadata\": {{}}, \"x_values\": [], \"results\": {{}}}}"
        )
        .into_bytes()
    };
    for (content, part) in [
        (IPERF3.as_bytes()[..IPERF3.find("\"end\"").unwrap()].to_vec(), "ends within a document"),
        (iperf3(&deep), "recursion limit"),
        (iperf3("1e999"), "out of range"),
        (iperf3("\"x\""), "expected 'test_start'"),
        (flent(&deep), "invalid type"),
        (flent("\"4\""), "invalid type"),
        (flent("4"), "do not name the server"),
        (gzip(&flent("1e308")), "invalid type"),
        (bomb, "more than 64 MiB"),
    ] {
        std::fs::write(&file, &content).unwrap();
        let failure = plimsoll.run(&["import", &file.display().to_string()]).expect(2).err;
        assert!(failure.contains(part), "{part:?} is not in:\n{failure}");
        assert!(failure.contains(" next: "), "{failure}");
    }
    assert!(plimsoll.run(&["list"]).expect(0).out.contains("No studies yet"));
}
