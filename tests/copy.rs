//! `plimsoll copy` of files that are generated, end to end on real servers.

mod support;

use plimsoll_explain::copy_costs;
use plimsoll_live::Run;
use plimsoll_live::feed::Follower;
use plimsoll_model::{
    Amount, CopyJob, DataClass, Ended, Flag, Job, Measure, Metric, Rule, Scaled, Study, Transfer,
    Trial,
};
use plimsoll_testkit::servers::samba::PASSWORD;
use plimsoll_testkit::servers::{
    Export, Ganesha, GaneshaConfig, ImpacketServer, Samba, SambaConfig, SambaShare, Sshd,
    SshdConfig,
};
use plimsoll_testkit::{Need, enter_or_skip, thorough};
use support::sound::assert_complete;
use support::trial::{part, result};
use support::{Plimsoll, ended, full, has_copy, listing, run_directories, signal, wait_until};

fn copy<'a>(study: &'a Study, trial: &Trial) -> &'a CopyJob {
    match &part(study.plan.workload(trial.cell).unwrap()).job {
        Job::Copy(job) => job,
        other => panic!("{other:?}"),
    }
}

/// Every trial did all of its files, and says how many and how fast.
#[track_caller]
fn assert_whole(study: &Study) {
    assert_complete(study);
    for trial in &study.trials {
        let (job, quantities) = (copy(study, trial), &result(trial).quantities);
        let figure = |measure| quantities[&Metric::all(measure)];
        let near = |is: f64, should: u64| (is / should as f64 - 1.0).abs() < 1e-6;
        let elapsed = figure(Measure::ELAPSED);
        let update = job.transfer == Transfer::Update;
        let files = if update { job.changed_files() } else { job.dataset.files };
        assert!(near(figure(Measure::FILES) * elapsed, files), "{trial:?}");
        let bytes = figure(Measure::THROUGHPUT) * elapsed;
        assert!(update || near(bytes, job.dataset.bytes.0), "{trial:?}");
        let generates = job.transfer != Transfer::Down || job.verify;
        let ceiling = quantities.get(&Metric::all(CopyJob::CLIENT_CEILING));
        assert_eq!(ceiling.is_some(), generates, "{trial:?}");
    }
}

/// How long these amounts take, and no others: what the trials say of them, or that it is not known.
#[track_caller]
fn assert_says(shown: &str, study: &Study, amounts: &[Amount]) {
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(shown.matches(" GB of ").count(), amounts.len(), "{shown}");
    let costs = copy_costs(study);
    assert_eq!(costs.len(), 8, "two targets, ways and methods: {costs:?}");
    for amount in amounts {
        let after = words.split(&format!("{amount}: up ")).nth(1).expect("in words");
        let sentence = &after[..after.find(". ").unwrap()];
        let (up, down) = sentence.split_once("; down ").expect("both ways");
        for costs in &costs {
            let way = if costs.way().0 == "up" { up } else { down };
            let name =
                format!("{} {}", ["nfs", "smb"][usize::from(costs.cell.subject)], costs.way().1);
            assert_eq!(way.matches(&name).count(), 1, "{sentence}");
            let before = way.split(&name).next().unwrap();
            let time = before[..before.rfind('(').unwrap()].rsplit("), ").next().unwrap();
            assert_eq!(time == "unknown ", costs.seconds(amount).is_none(), "{name}: {sentence}");
        }
    }
}

const SHORT: [&str; 4] = ["--repeats=2", "--baseline=0s", "--seed=7", "--quiet"];

#[test]
fn a_home_goes_to_nfs_and_smb_and_comes_back_byte_by_byte() {
    let stage = enter_or_skip!(Need::Samba, Need::Ganesha);
    let nfs = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let folder = nfs.directory("films").unwrap();
    std::fs::write(folder.join("holiday.txt"), "not plimsoll's").unwrap();
    let smb = Samba::start(&stage, SambaConfig::one(SambaShare::existing("backups", folder)));
    let (smb, before) = (smb.unwrap(), listing(folder));
    let program = Plimsoll::new().with("PLIMSOLL_PASSWORD", PASSWORD);
    let (nfs_url, smb_url) = (nfs.url("films"), smb.url("backups"));
    let words = ["copy", &nfs_url, &smb_url, "--scale=0.002", "--verify", "--for=200GB:photos"];
    let shown = program.run(&[&words[..], &SHORT].concat()).expect(0).out;
    let study = program.latest();
    assert_eq!(study.trials.len(), 2 * 18 * 2);
    assert_whole(&study);
    let mut titles = Vec::new();
    for workload in &study.plan.workloads {
        let job = &part(workload).job;
        titles.push(job.title());
        assert_eq!(job.scale(), Some(0.002), "what was named stays");
    }
    // One file of a hundred is a file of the source tree alone.
    let ways =
        ["movies up", "movies down", "music up", "music down", "pictures up", "pictures down"];
    let source = ["source tree up", "source tree update", "source tree down"];
    let methods = |way: &&str| [format!("{way}, as rsync"), format!("{way}, pipelined")];
    let rows: Vec<String> = ways.iter().chain(&source).flat_map(methods).collect();
    assert_eq!(titles, rows);
    // A row for each way, a figure in it for each target and method.
    let figures = |way: &str| {
        let row = shown.lines().find(|line| line.starts_with(way));
        let row = row.unwrap_or_else(|| panic!("{way} in\n{shown}"));
        row.matches("B/s").count() + row.matches(" files/s").count() + row.matches(" ms ").count()
    };
    for way in ways.iter().chain(&source) {
        assert_eq!(figures(&format!("{way}  ")), 4, "{way} in\n{shown}");
    }
    assert!(shown.contains("\nBottleneck"), "below the table:\n{shown}");
    let asked: Amount = "200GB:photos".parse().unwrap();
    assert_eq!(study.plan.amounts, [asked]);
    assert_says(&shown, &study, &[asked]);
    // Of other files later, in files of another size.
    let more: Amount = "120GB:2MB".parse().unwrap();
    let shown = program.run(&["show", "--for=120GB:2MB", "--for=200GB:photos"]).expect(0).out;
    assert_says(&shown, &study, &[asked, more]);
    let page = program.run(&["report", "--for=120GB:2MB", "--format=markdown", "--output=-"]);
    assert_says(&page.expect(0).out, &study, &[asked, more]);
    assert_eq!(program.latest(), study, "only shown, not kept");
    let home = study.plan.workloads.iter().map(|workload| part(workload).job.footprint());
    let bytes: u64 = home.map(|need| need.transient).sum();
    let (up, update) = (1_857_342 + 872_170 + 303_641 + 1_295_556, 1_295_556 / 112);
    assert_eq!(bytes, 2 * (up + update), "{:?}", study.plan.workloads);
    let details = program.run(&["show", "--details"]).expect(0).out;
    for words in ["112 files in 7 directories", "cale 0.002", "lient ceiling", "content verified"] {
        assert!(details.contains(words), "{words} in\n{details}");
    }
    assert_eq!(listing(folder), before, "the folder is as it was");
}

#[test]
fn some_datasets_of_other_sizes_beside_the_users_own_files() {
    let there = tempfile::tempdir().unwrap();
    let (target, program) = (there.path().to_str().unwrap(), Plimsoll::new());
    let own = program.home().join("own");
    std::fs::create_dir(&own).unwrap();
    std::fs::write(own.join("letter"), "dear all").unwrap();
    let data = format!("--data={}", own.display());
    let kinds = |words: &[&str]| {
        program.run(&[&["copy", target], words, &SHORT].concat()).expect(0);
        let study = program.latest();
        assert_whole(&study);
        assert_eq!(listing(there.path()), vec![]);
        let all = study.plan.workloads.iter().map(|workload| part(workload).job.kind());
        (all.collect::<Vec<_>>(), study)
    };
    let words = ["--dataset=pictures,music", "--scale=0.001", &data, "--only=up"];
    let (found, study) = kinds(&words);
    let rsync = ["copy-music-up-rsync", "copy-pictures-up-rsync", "copy-up-rsync"];
    let pipelined = ["copy-music-up", "copy-pictures-up", "copy-up"];
    let both = |at: usize| [rsync[at], pipelined[at]];
    assert_eq!(found, [both(0), both(1), both(2)].concat());
    // With one target, the methods are compared.
    let compared = study.plan.contrasts.iter().map(|contrast| {
        assert!(contrast.claim && contrast.of.metric == Metric::all(Measure::THROUGHPUT));
        (contrast.against.cell.workload, contrast.of.cell.workload)
    });
    assert_eq!(compared.collect::<Vec<_>>(), [(0, 1), (2, 3), (4, 5)]);
    let words = ["--dataset=pictures", "--count=30", "--mean=10KiB", "--only=down,update"];
    let words = [&words[..], &["--method=pipelined", "--files=8"]].concat();
    let (found, study) = kinds(&words);
    assert_eq!(found, ["copy-pictures-update", "copy-pictures-down"]);
    assert!(study.plan.workloads.iter().all(|workload| part(workload).depth().get() == 8));
    assert_eq!(study.plan.contrasts, [], "there is nothing to compare");
    let dataset = &copy(&study, &study.trials[0]).dataset;
    assert_eq!((dataset.files, dataset.bytes.0), (30, 30 * 10_240));
    assert!(study.flags.iter().all(|flag| !matches!(flag, Flag::Scaled { .. })));
}

/// impacket has a status of its own for a name that is not there, which an upload as rsync does it asks for first: it
/// failed by that.
#[test]
fn an_upload_as_rsync_does_it_ends_well_on_impacket() {
    let stage = enter_or_skip!(Need::Impacket);
    let server = ImpacketServer::start(&stage, "DATA", 20_447).unwrap();
    let program = Plimsoll::new().with("PLIMSOLL_PASSWORD", ImpacketServer::PASSWORD);
    let url = server.url();
    let words = ["copy", &url, "--dataset=pictures,source", "--scale=0.001", "--only=up"];
    program.run(&[&words[..], &["--method=rsync"], &SHORT].concat()).expect(0);
    let study = program.latest();
    assert_eq!(study.trials.len(), 2 * 2);
    assert_whole(&study);
    assert_eq!(listing(&server.directory()), vec![]);
}

/// Rsync itself beside the ways that follow it, on what is mounted; elsewhere it is a mistake of usage.
#[test]
fn by_rsync_itself_where_the_target_is_mounted() {
    let stage = enter_or_skip!(Need::Rsync, Need::Ganesha);
    let there = tempfile::tempdir().unwrap();
    let (target, program) = (there.path().to_str().unwrap(), Plimsoll::new());
    let local = program.home().join("local");
    std::fs::create_dir(&local).unwrap();
    let program = program.with("TMPDIR", local.to_str().unwrap());
    let words = ["--dataset=pictures,source", "--scale=0.002", "--via=rsync", "--method=rsync"];
    program.run(&[&["copy", target], &words[..], &SHORT].concat()).expect(0);
    let study = program.latest();
    assert_whole(&study);
    let kinds = study.plan.workloads.iter().map(|workload| part(workload).job.kind());
    assert_eq!(kinds.filter(|kind| kind.ends_with("-by-rsync")).count(), 5);
    assert_eq!((listing(there.path()), listing(&local)), (vec![], vec![]));
    let several = [&["copy", target, "--workers=2"], &words[..], &SHORT].concat();
    assert!(program.run(&several).expect(2).err.contains("one rsync"));
    let small = stage.tmpfs("/run/small", 1 << 20).unwrap();
    let full = Plimsoll::new().with("TMPDIR", small.path().to_str().unwrap());
    let words_of_more = ["copy", target, "--dataset=pictures", "--scale=0.1", "--via=rsync"];
    let refused = full.run(&[&words_of_more[..], &SHORT].concat()).expect(6);
    assert!(refused.err.contains("TMPDIR"), "{}", refused.err);
    assert_eq!((listing(there.path()), listing(small.path())), (vec![], vec![]));
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let url = server.url("films");
    let refused = program.run(&[&["copy", &url], &words[..], &SHORT].concat()).expect(2);
    assert!(refused.err.contains("not mounted on this machine"), "{}", refused.err);
}

/// Nobody names a scale: as much is copied as there is time for, and all that is said.
#[test]
fn what_would_take_too_long_is_scaled() {
    if !thorough::has_time(15) {
        return;
    }
    let there = tempfile::tempdir().unwrap();
    let (target, program) = (there.path().to_str().unwrap(), Plimsoll::new());
    // With less time and other work on this machine both datasets get the least scale.
    let words =
        ["copy", target, "--dataset=source,pictures", "--max-time=15s", "--baseline=0s", "--quiet"];
    program.run(&words).expect(0);
    let study = program.latest();
    assert_whole(&study);
    let scaled = study.flags.iter().find_map(|flag| match flag {
        Flag::Scaled { wanted, used, most, why: Scaled::Time { .. } } => {
            Some((*wanted, *used, most.unwrap_or(*used)))
        }
        _ => None,
    });
    let (wanted, used, most) = scaled.unwrap_or_else(|| panic!("{:?}", study.flags));
    assert!(wanted == 1.0 && used < 1.0, "{used}");
    // What is compared ends by the margin, not when a level is roughly known.
    let Rule::Sequential { half_width, .. } = study.plan.design.rule else { panic!() };
    assert!(half_width < 0.05, "{half_width}");
    // 56206 files of source leave the photos a scale of their own.
    let scale = |workload: &plimsoll_model::Workload| part(workload).job.scale().unwrap();
    let scales: std::collections::BTreeMap<&str, f64> = study
        .plan
        .workloads
        .iter()
        .map(|workload| (part(workload).job.file_work().unwrap().files_of, scale(workload)))
        .collect();
    assert_eq!(scales.values().copied().reduce(f64::min), Some(used), "{scales:?}");
    assert_eq!(scales.values().copied().reduce(f64::max), Some(most), "{scales:?}");
    assert!(most > used, "{scales:?}");
    let shown = program.run(&["show", "--details"]).expect(0).out;
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(&format!("copied at scales from {used} to {most}")), "{shown}");
    assert_eq!(listing(there.path()), vec![]);
}

/// It ended after 5 to 30 s of its minute, with "differences below 312288% are not resolved".
#[test]
fn a_quick_look_at_copies_uses_its_time() {
    let there = tempfile::tempdir().unwrap();
    let (target, program) = (there.path().to_str().unwrap(), Plimsoll::new());
    let words = ["copy", target, "--quick", "--dataset=pictures", "--only=up"];
    program.run(&[&words[..], &["--max-time=8s", "--seed=7", "--quiet"]].concat()).expect(0);
    let study = program.latest();
    assert_whole(&study);
    let last = study.trials.last().unwrap();
    let end = last.started_seconds + result(last).quantities[&Metric::all(Measure::ELAPSED)];
    // A block that would end after the time is not begun.
    let is_used = end >= 0.85 * 8.0 || study.ended == Ended::CapReached;
    assert!(is_used, "{end} s: {:?}, {} trials", study.ended, study.trials.len());
    assert_eq!(listing(there.path()), vec![]);
}

#[test]
fn what_there_is_no_space_for_is_scaled_or_refused_with_what_fits() {
    let stage = enter_or_skip!();
    let small = stage.tmpfs("/run/small", 24 << 20).unwrap();
    let (target, program) = (small.path().to_str().unwrap(), Plimsoll::new());
    let words = ["copy", target, "--dataset=pictures,music"];
    program.run(&[&words[..], &SHORT].concat()).expect(0);
    let study = program.latest();
    assert_whole(&study);
    let space = study.flags.iter().find_map(|flag| match flag {
        Flag::Scaled { used, why: Scaled::Space { target, .. }, .. } => Some((*used, target)),
        _ => None,
    });
    let (used, tightest) = space.unwrap_or_else(|| panic!("{:?}", study.flags));
    assert!(tightest == target && used < 0.1, "{used} on {tightest}");
    let refused = program.run(&[&words[..], &["--scale=0.5"], &SHORT].concat()).expect(6).err;
    let fits = refused.split("give --scale ").nth(1).expect("what would fit is named");
    let fits = format!("--scale={}", fits.split(' ').next().unwrap());
    assert_eq!(listing(small.path()), vec![], "nothing was begun");
    program.run(&[&words[..], &[&*fits], &SHORT].concat()).expect(0);
    assert_eq!(listing(small.path()), vec![]);
}

/// Nothing was measured before, so that the time left of its one copy follows from what is done of it.
#[test]
fn a_source_tree_knows_how_long_it_takes_and_leaves_nothing_when_interrupted() {
    let stage = enter_or_skip!(Need::Ganesha);
    let server = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("films"))).unwrap();
    let (folder, url) = (server.directory("films").unwrap(), server.url("films"));
    let program = Plimsoll::new();
    let words = ["copy", &url, "--dataset=source", "--scale=1", "--only=up", "--method=rsync"];
    let more = ["--repeats=1", "--max-time=100h", "--baseline=0s", "--quiet"];
    let child = program.start(&[&words[..], &more].concat());
    wait_until("files are copied", || run_directories(folder).iter().any(|run| has_copy(run)));
    let mut feeds = Follower::new(&program.home().join("plimsoll"));
    wait_until("the time left is less than there is", || {
        feeds.look();
        feeds.runs().filter_map(Run::seconds_left).any(|seconds| seconds < 180_000.0)
    });
    signal(&child, "-INT");
    ended(child).expect(130);
    assert_eq!(listing(folder), vec![]);
}

#[test]
fn a_share_that_may_only_be_read_is_refused_and_a_full_one_ends_the_study() {
    let stage = enter_or_skip!(Need::Ganesha);
    let config = GaneshaConfig::new([
        Export::directory("frozen").read_only(),
        Export::directory("small").size(full::SMALL),
    ]);
    let server = Ganesha::start(&stage, config).unwrap();
    let program = Plimsoll::new();
    let frozen = server.url_with_ports("frozen");
    program.run(&[&["copy", &frozen, "--dataset=source"], &SHORT[..]].concat()).expect(5);
    let url = server.url_with_ports("small");
    let small = server.directory("small").unwrap();
    let files = ["--dataset=source", "--count=400", "--mean=40KiB"];
    full::assert_copy_ends(&program, &url, small, &files);
}

#[test]
fn datasets_are_generated_on_the_host_that_copies() {
    let stage = enter_or_skip!(Need::Sshd, Need::SshClient);
    let sshd = Sshd::start(&stage, SshdConfig::default()).unwrap();
    let program = Plimsoll::new()
        .with("PLIMSOLL_SSH_CONFIG", sshd.configuration().to_str().unwrap())
        .with_runner();
    let there = tempfile::tempdir().unwrap();
    let (target, host) = (there.path().to_str().unwrap(), sshd.url());
    let words = ["copy", target, "--on", &host];
    let more = ["--dataset=movies,source", "--scale=0.001", "--verify"];
    program.run(&[&words[..], &more, &SHORT].concat()).expect(0);
    let study = program.latest();
    assert_whole(&study);
    assert!(study.plan.is_remote());
    assert_eq!(listing(there.path()), vec![]);
    let refused = program.run(&[&words[..], &["--data=/etc"]].concat()).expect(2).err;
    assert!(refused.contains("--dataset"), "what can be done there: {refused}");
}

#[test]
fn what_cannot_be_copied_is_a_mistake_of_usage() {
    let there = tempfile::tempdir().unwrap();
    let target = there.path().to_str().unwrap();
    let program = Plimsoll::new();
    let cases: [(&[&str], &str); 12] = [
        (&["--dataset=musik"], "'music'"),
        (&["--dataset=sources"], "'source'"),
        (&["--scale=0"], "0.02"),
        (&["--scale=-1"], "0.02"),
        (&["--scale=1e9"], "0.02"),
        (&["--scale=nan"], "0.02"),
        (&["--count=0", "--dataset=music"], "--count"),
        (&["--count=5"], "--dataset pictures"),
        (&["--mean=10", "--dataset=music"], "4KiB"),
        (&["--count=99999999999", "--dataset=source"], "4000000"),
        (&["--mean=99999999TiB", "--dataset=movies"], "--mean"),
        (&["--data=/etc", "--scale=0.5"], "--dataset"),
    ];
    for (words, named) in cases {
        let refused = program.run(&[&["copy", target], words].concat()).expect(2).err;
        assert!(refused.contains(named), "{words:?}: {named} in\n{refused}");
    }
    assert_eq!(listing(there.path()), vec![], "nothing was begun");
    for amount in ["200GB", "200GB:", ":photos", "0:photos", "200GB:0", "200GB:letters", "1GB:20TB"]
    {
        let asked = format!("--for={amount}");
        for words in [&["copy", target, &asked][..], &["show", &asked], &["report", &asked]] {
            let refused = program.run(words).expect(2).err;
            assert!(refused.contains("200GB:photos"), "{words:?}: {refused}");
        }
    }
    assert_eq!(listing(there.path()), vec![], "nothing was begun");
    let device = "crates/record/tests/golden/device-nas.json";
    let device = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(device);
    program.run(&["import", device.to_str().unwrap()]).expect(0);
    for command in ["show", "report"] {
        let refused = program.run(&[command, "--for=200GB:photos"]).expect(2).err;
        assert!(refused.contains("plimsoll copy"), "{refused}");
    }
    let classes = DataClass::ALL.map(|class| class.title().replace(" tree", ""));
    let help = program.run(&["copy", "--help"]).expect(0).out;
    assert!(classes.iter().all(|class| help.contains(&**class)), "{help}");
}
