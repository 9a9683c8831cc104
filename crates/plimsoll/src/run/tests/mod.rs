//! Plan files: what is wrong in one is found before anything is done, with its line and the nearest word.

mod concurrent;
mod hosts;
mod path;
mod planned;
mod slips;
mod steps;

use super::assemble::{self, Assembled};
use super::file::Source;
use super::given::Given;
use super::options::{Word, typed};
use super::outlook;
use super::shipped::SHIPPED;
use crate::arguments::{HostArguments, RuleArguments};
use clap::{Args, Command};
use plimsoll_model::{
    Contrast, FactorLevel, Failure, Length, Parameter, Rule, Steps, SubjectFacts, TargetFacts,
    factor, label,
};
use proptest::prelude::*;

const GOOD: &str = r#"about = "two targets, three jobs, two settings"
watch = ["${server}"]
drop-caches = true

[variable.server]
about = "the server's host"

[variable.scale]
about = "how much"
optional = true

[[target]]
name = "old"
about = "the old one"

[[target]]
name = "new"
same-as = "old"
options = "rsize=4096"

[[job]]
kind = "copy"
name = "up"
dataset = ["pictures"]
only = "up"
method = "rsync"
scale = "${scale}"

[[job]]
kind = "pattern"
name = "small"
pattern = ["random-read", "random-write"]
size = "64MiB"
workers = 2
verify = true

[[job]]
kind = "scan"
directories = 3

[[factor]]
name = "congestion"
setting = "sysctl:net.ipv4.tcp_congestion_control"
host = "${server}"
levels = ["as-found", "bbr", "reno"]

[[factor]]
name = "export"
setting = "export-sync:/srv/a"
host = "${server}"
levels = ["sync", "async"]

[command.turbo]
read = "cat /sys/turbo"
apply = "echo $LEVEL >/sys/turbo"
undo = "echo $FOUND >/sys/turbo"

[rule]
repeats = 5
max-time = "1h"
margin = 10
time = "1s"

[[claim]]
compare = "export"
jobs = ["up"]
at = { congestion = "bbr" }

[[claim]]
compare = "targets"
jobs = ["scan"]
"#;

const GIVEN: &[&str] = &["server=ssh://root@nas"];

fn words(typed_words: &[&str]) -> Vec<Word> {
    let command = RuleArguments::augment_args(Command::new("x").no_binary_name(true));
    typed::<RuleArguments>(&command.get_matches_from(typed_words))
}

fn assembled(
    text: &str,
    given: &[&str],
    targets: &[&str],
    how: &[&str],
) -> Result<Assembled, Failure> {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let source = Source::read(text, "plan.toml", &owned(given))?;
    let (on, hosts, set) = (Vec::new(), Vec::new(), Vec::new());
    let (drop_caches, allow_open) = (false, false);
    let hosts = HostArguments { on, hosts, set, drop_caches, allow_open };
    let (targets, how) = (owned(targets), words(how));
    let reboot = false;
    assemble::plan(&source, &Given { targets: &targets, hosts: &hosts, reboot, how: &how })
}

fn good(how: &[&str]) -> Assembled {
    assembled(GOOD, GIVEN, &["nfs://nas/a"], how).unwrap()
}

#[test]
fn a_plan_says_all_that_the_command_line_does() {
    let Assembled { plan, file, how } = good(&[]);
    assert_eq!((file, how.quick), (None, false));
    assert_eq!(label::labels(&plan), ["old", "new"]);
    let targets: Vec<String> = plan.subjects.iter().map(ToString::to_string).collect();
    assert_eq!(targets, ["nfs://nas/a", "nfs://nas/a?rsize=4096"]);
    assert!(plan.storage.drop_caches);
    assert_eq!(plan.watched[1].host.to_string(), "ssh://root@nas");
    let parts: Vec<_> = plan.workloads.iter().map(|w| w.main().unwrap()).collect();
    let kinds: Vec<_> = parts.iter().map(|part| part.job.kind()).collect();
    assert_eq!(kinds, ["copy-pictures-up-rsync", "random-read", "random-write", "scan"]);
    // Each with its own options, and the defaults of the command line.
    let workers: Vec<_> =
        parts.iter().map(|part| (part.workers.get(), part.depth().get())).collect();
    assert_eq!(workers, [(1, 4), (2, 1), (2, 1), (4, 1)]);
    assert!(parts[1].job.settings().contains(&"content verified".to_owned()));
    assert!(parts[3].job.settings().iter().any(|word| word.contains("3 directories")));
    let lengths: Vec<_> = plan.workloads.iter().map(|workload| workload.length).collect();
    assert_eq!(lengths[0], Length::UntilDone { at_most_seconds: 3600.0 });
    assert_eq!(lengths[1], Length::For { seconds: 1.0, warm_up_seconds: 0.1 });
    let design = &plan.design;
    assert_eq!(design.rule, Rule::Fixed { blocks: 5 });
    assert_eq!((design.cap_seconds, design.margin, design.calibrate), (3600.0, 0.1, false));
    assert_eq!(plan.factors[0].levels[0], FactorLevel::AsFound);
    assert_eq!(factor::settings(&plan.factors), 6);
    // A size is named by one job: nothing is lowered.
    assert!(!plan.storage.adapt_size && !plan.storage.fit_size);
}

#[test]
fn a_job_is_explained_by_other_numbers_in_flight_that_nothing_is_claimed_of() {
    let seed = ["--seed=1"];
    let plain = good(&seed).plan;
    let text = GOOD.replace("verify = true\n", "verify = true\nexplain = true\n");
    let plan = assembled(&text, GIVEN, &["nfs://nas/a"], &seed).unwrap().plan;
    assert_eq!(plan.contrasts, plain.contrasts);
    assert_eq!(plan.workloads[..4], plain.workloads);
    let ladders: Vec<_> =
        plan.workloads[4..].iter().map(|one| one.main().unwrap().job.kind()).collect();
    assert_eq!(ladders, ["random-read", "random-write"]);
    for ladder in &plan.workloads[4..] {
        let over = Parameter::Workers;
        assert_eq!(ladder.steps, Some(Steps::Sweep { over, values: vec![1.0, 2.0, 8.0] }));
    }
}

/// A copy takes as long as it takes, so its steps are whole copies; and nothing is claimed of them either.
#[test]
fn a_copy_is_explained_by_other_numbers_of_workers() {
    let seed = ["--seed=1"];
    let plain = good(&seed).plan;
    let text = GOOD.replace("method = \"rsync\"\n", "method = \"rsync\"\nexplain = true\n");
    let plan = assembled(&text, GIVEN, &["nfs://nas/a"], &seed).unwrap().plan;
    assert_eq!((&plan.contrasts, &plan.workloads[..4]), (&plain.contrasts, &plain.workloads[..]));
    let [ladder] = &plan.workloads[4..] else { panic!("{:?}", plan.workloads) };
    assert_eq!(
        (&ladder.parts, ladder.length),
        (&plain.workloads[0].parts, plain.workloads[0].length)
    );
    let over = Parameter::Workers;
    assert_eq!(ladder.steps, Some(Steps::Sweep { over, values: vec![1.0, 2.0, 4.0] }));
}

/// Scans of directories are warm or cold, whichever the plan says; names of a URL are in no cache here.
#[test]
fn scans_of_mounts_are_warm_or_cold() {
    let scan = |text: &str, target: &str| {
        let plan = assembled(text, GIVEN, &[target], &[]).unwrap().plan;
        let workload = plan.workloads.last().unwrap().clone();
        let whole = matches!(workload.length, Length::UntilDone { .. });
        (workload.main().unwrap().job.title(), whole)
    };
    let same = "same-as = \"old\"\noptions = \"rsize=4096\"";
    let mounts = GOOD.replace(same, "about = \"the new one\"");
    let warm = mounts.replace("drop-caches = true", "");
    let both = |text: &str| {
        let plan = assembled(text, GIVEN, &["/mnt/a", "/mnt/b"], &[]).unwrap().plan;
        let workload = plan.workloads.last().unwrap().clone();
        let whole = matches!(workload.length, Length::UntilDone { .. });
        (workload.main().unwrap().job.title(), whole)
    };
    assert_eq!(scan(GOOD, "nfs://nas/a"), ("scan".to_owned(), false));
    assert_eq!(both(&warm), ("scan, warm cache".to_owned(), false));
    assert_eq!(both(&mounts), ("scan, cold cache".to_owned(), true), "one walk each");
}

#[test]
fn the_page_cache_is_a_key_of_jobs_and_of_directories_alone() {
    let text = GOOD
        .replace("verify = true", "verify = true\ncache = \"page\"")
        .replace("same-as = \"old\"\noptions = \"rsize=4096\"", "about = \"the new one\"");
    let plan = |targets: &[&str]| assembled(&text, GIVEN, targets, &[]).map(|made| made.plan);
    let cache = plan(&["/mnt/a", "nfs://nas/b"]).unwrap().storage.cache;
    assert_eq!(cache, plimsoll_model::PageCache::Page);
    assert!(good(&[]).plan.storage.cache.is_direct());
    let refused = plan(&["nfs://nas/a", "nfs://nas/b"]).unwrap_err();
    assert!(refused.happened.contains("no target is a directory"), "{refused}");
    let other = text.replace("directories = 3", "directories = 3\ncache = \"direct\"");
    let refused = assembled(&other, GIVEN, &["/mnt/a", "/mnt/b"], &[]).err().unwrap();
    assert!(refused.happened.contains("all jobs of a study share"), "{refused}");
}

/// It said "about 2 min" of a study that took 4: the server was slower than is assumed.
#[test]
fn a_time_that_rests_on_assumed_speeds_is_said_to() {
    let takes = outlook::takes(&good(&[]).plan);
    let (_, time) = takes.iter().find(|(name, _)| name == "time").unwrap();
    assert!(time.contains(". Assumed: 110 MB/s and 5 ms for a file"), "{time}");
    assert!(time.contains("; the first block gives a better estimate"), "{time}");
}

#[test]
fn a_server_of_version_4_that_restarts_takes_its_grace_period() {
    let text = GOOD
        .replace("export-sync:/srv/a", "nfsd-max-block-size")
        .replace(r#"["sync", "async"]"#, r#"["16KiB", "32KiB"]"#);
    let told = |text: &str, target: &str, protocol: &str| {
        let facts = TargetFacts { protocol: protocol.into(), ..TargetFacts::default() };
        let plan = assembled(text, GIVEN, &[target], &[]).unwrap().plan;
        outlook::grace_of(&plan, &[SubjectFacts::Storage(facts)])
    };
    // Five repeats of two levels at three settings of the other factor are ten whole plots at least.
    let grace = told(&text, "nfs://nas/a", "NFSv4.2 over TCP").unwrap();
    assert!(grace.starts_with("grace period: at most 15 min more"), "{grace}");
    // It was named where the server turned out to have version 3 alone, and where version 4 is never tried.
    assert_eq!(told(&text, "nfs://nas/a", "NFSv3 over TCP"), None);
    for target in ["nfs://nas/a?vers=3", "nfs://nas/a?proto=udp", "nfs://nas/a?mountport=2049"] {
        assert_eq!(told(&text, target, "NFSv4.2 over TCP"), None, "{target}");
    }
    assert_eq!(told(GOOD, "nfs://nas/a", "NFSv4.2 over TCP"), None);
}

#[test]
fn the_command_line_goes_before_the_plan() {
    let plan = good(&["--repeats=7", "--seed", "9"]).plan;
    assert_eq!(plan.design.rule, Rule::Fixed { blocks: 7 });
    assert_eq!((plan.design.seed, plan.design.margin), (9, 0.1));
    // What is not typed is not given, defaults or not.
    assert_eq!(words(&[]).len(), 0);
    let quick = assembled(GOOD, GIVEN, &["nfs://nas/a"], &["--quick"]).unwrap_err();
    assert!(quick.happened.contains("cannot be used with"), "{quick}");
}

#[test]
fn claims_are_the_family_and_all_else_is_estimated() {
    let plan = good(&[]).plan;
    let (claims, others): (Vec<Contrast>, Vec<Contrast>) =
        plan.contrasts.iter().copied().partition(|c| c.claim);
    let (of_export, of_targets) = claims.split_at(2);
    for (contrast, subject) in of_export.iter().zip([0, 1]) {
        let cells = (contrast.of.cell, contrast.against.cell);
        assert_eq!((cells.0.subject, cells.1.subject), (subject, subject));
        assert_eq!((cells.0.workload, cells.1.workload), (0, 0));
        assert_eq!(factor::levels(&plan.factors, cells.0.setting), [1, 1]);
        assert_eq!(factor::levels(&plan.factors, cells.1.setting), [1, 0]);
    }
    assert_eq!(of_targets.len(), 6, "at each setting");
    for contrast in of_targets {
        let cells = (contrast.of.cell, contrast.against.cell);
        assert_eq!((cells.0.subject, cells.1.subject, cells.0.workload), (1, 0, 3));
        assert_eq!(cells.0.setting, cells.1.setting);
    }
    // Every other against the first, as without claims: 4 jobs of 2 targets and 6 settings.
    assert_eq!(others.len(), 4 * 11 - 1, "but for the targets at the first setting");
    let all = GOOD.split("[[claim]]").next().unwrap();
    let plan = assembled(all, GIVEN, &["nfs://nas/a"], &[]).unwrap().plan;
    assert!(plan.contrasts.len() == 44 && plan.contrasts.iter().all(|contrast| contrast.claim));
}

#[test]
fn jobs_of_one_kind_are_compared_with_the_first() {
    let plan = assembled(SHIPPED[2].1, &[], &["nfs://nas/a"], &[]).unwrap().plan;
    let pairs: Vec<_> =
        plan.contrasts.iter().map(|c| (c.of.cell.workload, c.against.cell.workload)).collect();
    assert_eq!(pairs, [(1, 0), (2, 0), (4, 3), (5, 3)]);
}

/// What is wrong, on which line, and what is proposed.
#[test]
fn slips_are_reported_with_line_and_nearest_word() {
    let slips = [
        // Keys.
        ("about = \"two", "abuot = \"two", "unknown key `abuot`", "`about`"),
        ("watch", "wacth", "unknown key `wacth`", "`watch`"),
        ("drop-caches", "drop_caches", "unknown key `drop_caches`", "`drop-caches`"),
        ("optional", "optinal", "unknown key `optinal`", "`optional`"),
        ("same-as", "same_as", "unknown key `same_as`", "`same-as`"),
        ("only =", "olny =", "unknown key `olny`", "`only`"),
        ("directories =", "direktories =", "unknown key `direktories`", "`directories`"),
        ("levels = [\"sync\"", "level = [\"sync\"", "unknown key `level`", "`levels`"),
        ("max-time", "max_time", "unknown key `max_time`", "`max-time`"),
        ("compare = \"targets\"", "compares = \"targets\"", "unknown key `compares`", "`compare`"),
        (
            "[[claim]]\ncompare = \"export\"",
            "[[clam]]\ncompare = \"export\"",
            "unknown key `clam`",
            "`claim`",
        ),
        // Keys of another job, and of the plan.
        ("directories = 3", "pattern = \"random-read\"", "unknown key `pattern`", "directories"),
        ("verify = true", "json = \"x\"", "unknown key `json`", "block"),
        ("only = \"up\"", "max-time = \"1h\"", "unknown key `max-time`", "dataset"),
        ("undo =", "undoo =", "unknown key `undoo`", "`undo`"),
        (
            "sysctl:net.ipv4.tcp_congestion_control",
            "command:trubo",
            "no [command.trubo]",
            "`turbo`",
        ),
        ("read = \"cat /sys/turbo\"", "read = \"\"", "a command is empty", ""),
        // Words.
        ("kind = \"scan\"", "kind = \"skan\"", "unknown word `skan`", "`scan`"),
        ("only = \"up\"", "only = \"upp\"", "unknown word `upp` for `only`", "`up`"),
        (
            "dataset = [\"pictures\"]",
            "dataset = \"picture\"",
            "unknown word `picture`",
            "`pictures`",
        ),
        ("\"random-read\", ", "\"randm-read\", ", "`randm-read` is not a value of `pattern`", ""),
        ("same-as = \"old\"", "same-as = \"odl\"", "no target above has the name `odl`", "`old`"),
        (
            "compare = \"export\"",
            "compare = \"exprot\"",
            "no factor has the name `exprot`",
            "`export`",
        ),
        ("jobs = [\"scan\"]", "jobs = [\"skan\"]", "no job has the name `skan`", "`scan`"),
        (
            "at = { congestion",
            "at = { congestoin",
            "no factor has the name `congestoin`",
            "`congestion`",
        ),
        ("\"${scale}\"", "\"${scael}\"", "no [variable.scael]", "`scale`"),
        // Types.
        ("verify = true", "verify = \"yes\"", "`verify` must be true or false", ""),
        ("workers = 2", "workers = true", "`workers` must be a string or a number", "workers ="),
        ("workers = 2", "workers = [2, 3]", "`workers` takes one value", "without [ ]"),
        ("workers = 2", "workers = 0", "`0` is not a value of `workers`", ""),
        ("kind = \"scan\"", "kind = 3", "`kind` must be a string", ""),
        ("name = \"old\"", "name = 3", "invalid type", ""),
        ("repeats = 5", "repeats = 0", "`0` is not a value of `repeats`", ""),
        ("margin = 10", "margin = 1000", "`1000` is not a value of `margin`", ""),
        ("time = \"1s\"", "time = \"1x\"", "`1x` is not a value of `time`", ""),
        ("size = \"64MiB\"", "size = \"64 MiBs\"", "is not a value of `size`", ""),
        ("levels = [\"sync\", \"async\"]", "levels = [[1], 2]", "a level must be a string", ""),
        // A setting, a host and a level that are none.
        (
            "sysctl:net.ipv4.tcp_congestion_control",
            "sysctl:../../etc/passwd",
            "not the name of a kernel parameter",
            "",
        ),
        ("export-sync:/srv/a", "exprot-sync:/srv/a", "no setting 'exprot-sync'", "export-sync"),
        (
            "host = \"${server}\"\nlevels = [\"as",
            "host = \"nas\"\nlevels = [\"as",
            "the URL scheme is missing",
            "ssh://nas",
        ),
        ("\"sync\", \"async\"", "\"sync\", \"asink\"", "neither sync nor async", ""),
        // Combinations.
        ("levels = [\"sync\", \"async\"]", "levels = [\"sync\"]", "at least two levels", ""),
        ("repeats = 5", "repeats = 5\nquick = true", "cannot be used with", "Remove one"),
        (
            "same-as = \"old\"",
            "same-as = \"old\"\nurl = \"/x\"",
            "either `url` or `same-as`",
            "Remove one",
        ),
        ("name = \"small\"", "name = \"up\"", "another job has the name `up`", ""),
        ("at = { congestion = \"bbr\" }", "at = { export = \"sync\" }", "the claim compares", ""),
        (
            "at = { congestion = \"bbr\" }",
            "at = { congestion = \"brr\" }",
            "not a level of `congestion`",
            "`bbr`",
        ),
        ("jobs = [\"scan\"]", "jobs = [\"scan\"]\ntargets = [\"old\"]", "nothing to compare", ""),
        (
            "compare = \"targets\"\njobs = [\"scan\"]",
            "compare = \"jobs\"\njobs = [\"scan\", \"up\"]",
            "no figures in common",
            "",
        ),
        (
            "\"${server}\"\nlevels = [\"sync\"",
            "\"${server\"\nlevels = [\"sync\"",
            "is not closed",
            "",
        ),
    ];
    let of_table = ["nothing to compare", "a command is empty"];
    let plan = |text: &str| assembled(text, GIVEN, &["nfs://nas/a"], &[]);
    slips::are_refused_at_their_lines(GOOD, &slips, &of_table, plan);
}

#[test]
fn what_the_command_line_lacks_is_named() {
    let refused = |text: &str, given: &[&str], targets: &[&str]| {
        assembled(text, given, targets, &[]).map(|_| ()).unwrap_err()
    };
    let failure = refused(GOOD, &[], &["/a"]);
    assert!(failure.happened.contains("the server's host"), "{failure}");
    assert!(failure.next.contains("--var server="), "{failure}");
    // All that is missing is named at once; what has a default or is given is not.
    let more = GOOD.replacen(
        "[variable.server]",
        "[variable.client]\nabout = \"the client's host\"\n[variable.server]",
        1,
    );
    let failure = refused(&more, &[], &["/a"]);
    for name in ["`client` is not given: the client's host", "`server` is not given"] {
        assert!(failure.happened.contains(name), "{failure}");
    }
    assert!(failure.next.contains("--var client=… --var server=…"), "{failure}");
    assert!(!failure.to_string().contains("scale"), "{failure}");
    let failure = refused(&more, &["client=local"], &["/a"]);
    assert!(!failure.to_string().contains("client=…"), "{failure}");
    let failure = refused(GOOD, GIVEN, &[]);
    assert!(failure.happened.contains("old (the old one)"), "{failure}");
    let failure = refused(GOOD, GIVEN, &["nfs://nas/a", "nfs://nas/b"]);
    assert_eq!(failure.on, "nfs://nas/b", "{failure}");
    // A directory has no options to be told apart by.
    assert!(refused(GOOD, GIVEN, &["/a"]).happened.contains("a directory has no options"));
    for (word, happened) in [("sever=x", "no such variable"), ("server", "no '='")] {
        let failure = refused(GOOD, &[word], &["nfs://nas/a"]);
        assert!(failure.happened.contains(happened), "{failure}");
    }
    let twice = refused(GOOD, &["server=local", "server=local"], &["nfs://nas/a"]);
    assert!(twice.happened.contains("given twice"), "{twice}");
    let odd = GOOD.replacen("size = \"64MiB\"", "size = \"64MiB\"\nblock = \"3KB\"", 1);
    let failure = refused(&odd, GIVEN, &["nfs://nas/a"]);
    assert!(failure.on.contains(", --block") && failure.happened.contains("512"), "{failure}");
    // A password in a URL is not repeated.
    let failure = refused(GOOD, GIVEN, &["smb://me:secret@nas/a"]);
    assert!(!failure.to_string().contains("secret"), "{failure}");
}

#[test]
fn what_is_optional_is_left_out_and_what_is_given_stands_in_its_place() {
    let scale = |given: &[&str]| {
        let given = [GIVEN, given].concat();
        let plan = assembled(GOOD, &given, &["nfs://nas/a"], &[]).unwrap().plan;
        plan.workloads[0].main().unwrap().job.scale()
    };
    assert_eq!(scale(&[]), Some(1.0));
    assert_eq!(scale(&["scale=0.5"]), Some(0.5));
}

#[test]
fn shipped_plans_make_sense_and_name_their_family() {
    let given: [(&str, &[&str], &[&str], usize); 6] = [
        ("n750", &["server=ssh://root@nas", "export=/srv/films"], &["nfs://nas/films"], 16),
        ("nfs-vs-smb", &[], &["nfs://nas/films", "smb://me@nas/films"], 10),
        ("readers", &[], &["nfs://nas/films"], 4),
        ("signing", &[], &["smb://me@nas/films"], 10),
        ("nconnect", &["mount=/mnt/films"], &[], 16),
        ("encrypted-disk", &[], &["nfs://nas/a", "nfs://nas/b"], 5),
    ];
    assert_eq!(given.map(|(name, ..)| name), SHIPPED.map(|(name, _)| name));
    for ((name, text), (_, words, targets, claims)) in SHIPPED.iter().zip(given) {
        let made = assembled(text, words, targets, &[]);
        let plan = made.unwrap().plan;
        assert_eq!(plan.contrasts.iter().filter(|c| c.claim).count(), claims, "{name}");
        let family = format!("# The family: {claims} claim");
        assert!(text.contains(&family), "{name} does not say: {family}");
    }
}

#[test]
fn the_example_on_the_page_is_a_plan() {
    let page = include_str!("../../../../../docs/run.md");
    let (_, rest) = page.split_once("```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let plan = assembled(text, GIVEN, &["nfs://nas/films"], &[]).unwrap().plan;
    // Four jobs, two of them also with other numbers in flight; at four settings.
    assert_eq!((plan.workloads.len(), factor::settings(&plan.factors)), (6, 4));
    // Two uploads on one target; four jobs at four settings.
    assert_eq!(plan.contrasts.iter().filter(|contrast| contrast.claim).count(), 2 + 16);
}

proptest! {
    #[test]
    fn nothing_panics(at in 0..GOOD.len(), byte in "\\PC{0,3}", gone in 0..20_usize) {
        let mut text = GOOD.to_owned();
        let end = (at + gone).min(text.len());
        if text.is_char_boundary(at) && text.is_char_boundary(end) {
            text.replace_range(at..end, &byte);
        }
        let _ = assembled(&text, GIVEN, &["nfs://nas/a"], &[]);
    }
}
