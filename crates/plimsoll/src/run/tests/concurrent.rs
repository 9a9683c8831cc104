//! Jobs that run at the same time.

use super::{assembled, slips};
use plimsoll_model::{Bound, Length, Measure, Metric, Parameter, Plan, Steps};

const JOBS: &str = r#"about = "one after the other, and at the same time"

[[job]]
kind = "pattern"
name = "reads"
pattern = ["random-read"]

[[job]]
kind = "copy"
name = "backup"
dataset = "pictures"
only = "up"
method = "rsync"
scale = 0.02

[[job]]
kind = "pattern"
name = "both"
pattern = ["random-read"]
WHILE

[rule]
time = "1s"
max-time = "5min"
"#;

fn plan(keys: &str) -> Plan {
    assembled(&JOBS.replace("WHILE", keys), &[], &["nfs://nas/a"], &[]).unwrap().plan
}

/// The kinds of the parts of each workload.
fn kinds(plan: &Plan) -> Vec<Vec<&'static str>> {
    let of_workload = plan.workloads.iter().map(|workload| &workload.parts);
    of_workload.map(|parts| parts.iter().map(|part| part.job.kind()).collect()).collect()
}

const READ: &str = "random-read";
const BACKUP: &str = "copy-pictures-up-rsync";

#[test]
fn a_job_runs_during_another_one_and_alone() {
    for keys in ["while = [\"backup\"]", "while = \"backup\""] {
        let plan = plan(keys);
        assert_eq!(kinds(&plan), [vec![READ], vec![BACKUP], vec![READ, BACKUP]], "{keys}");
        let [reads, backup, both] = &plan.workloads[..] else { panic!("{plan:?}") };
        assert_eq!(both.parts, [reads.parts[0].clone(), backup.parts[0].clone()]);
        assert_eq!(both.length, Length::For { seconds: 1.0, warm_up_seconds: 0.1 });
        assert_eq!(both.steps, None);
    }
}

#[test]
fn each_workload_of_a_job_is_a_part_and_each_gets_the_others() {
    let twice = "while = [\"mixed\", \"backup\"]\n\n[[job]]\nkind = \"pattern\"\nname = \"mixed\"\n\
                 pattern = [\"sequential-read\", \"random-write\"]\nworkers = 2";
    let plan = plan(&twice.replace("while", "explain = false\nwhile"));
    let others = ["sequential-read", "random-write", BACKUP];
    assert_eq!(kinds(&plan)[2], [&[READ][..], &others].concat());
    let workers: Vec<u16> = plan.workloads[2].parts.iter().map(|p| p.workers.get()).collect();
    assert_eq!(workers, [4, 2, 2, 1]);
    let text = JOBS.replace("WHILE", "while = [\"backup\"]");
    let text = text.replace("\"both\"\npattern = [", "\"both\"\npattern = [\"random-write\", ");
    let plan = assembled(&text, &[], &["nfs://nas/a"], &[]).unwrap().plan;
    let each = [vec![READ, BACKUP], vec!["random-write", BACKUP]];
    assert_eq!(kinds(&plan)[2..], each);
}

/// The copy is the first job then, so that it is copied once.
#[test]
fn a_copy_lasts_until_it_is_done_during_other_work() {
    let text = JOBS.replace("WHILE", "").replace("only =", "while = [\"reads\"]\nonly =");
    let plan = assembled(&text, &[], &["nfs://nas/a"], &[]).unwrap().plan;
    assert_eq!(kinds(&plan), [vec![READ], vec![BACKUP, READ], vec![READ]]);
    assert_eq!(plan.workloads[1].length, Length::UntilDone { at_most_seconds: 300.0 });
}

#[test]
fn the_first_job_alone_is_swept() {
    let plan = plan("while = [\"backup\"]\nsweep.workers = [1, 8]");
    let both = &plan.workloads[2];
    let over = Parameter::Workers;
    assert_eq!(both.steps, Some(Steps::Sweep { over, values: vec![1.0, 8.0] }));
    let at = both.at(over, 8.0).unwrap();
    let workers: Vec<u16> = at.parts.iter().map(|part| part.workers.get()).collect();
    assert_eq!(workers, [8, 1]);
}

/// Each pattern of the job that runs at the same time is a part of its own.
#[test]
fn a_search_bounds_figures_of_the_other_jobs() {
    let search = "while = [\"backup\", \"mixed\"]\n\
                  [job.search]\nworkers = [1, 8]\nlatency-max = \"1s\"\n\
                  while.mixed = { latency-p99 = \"10ms\", iops = 100 }\n\n\
                  [[job]]\nkind = \"pattern\"\nname = \"mixed\"\n\
                  pattern = [\"sequential-read\", \"random-write\"]";
    let plan = plan(search);
    let Some(Steps::Search { accept, .. }) = &plan.workloads[2].steps else { panic!("{plan:?}") };
    let longest = Bound::at_most(Metric::all(Measure::LATENCY_MAX), 1.0);
    let p99 = Bound::at_most(Metric::all(Measure::LATENCY_P99), 10e-3);
    let iops = Bound::at_least(Metric::all(Measure::IOPS), 100.0);
    assert_eq!(*accept, [longest, p99.on(2), p99.on(3), iops.on(2), iops.on(3)]);
    assert_eq!(plan.workloads[2].parts.len(), 4);
    plan.workloads[2].expect_steps().unwrap();
    let text = JOBS.replace("WHILE", &search.replace("while.mixed", "while.mix"));
    let failure = assembled(&text, &[], &["nfs://nas/a"], &[]).unwrap_err();
    assert!(failure.happened.contains("`mix` does not run at the same time"), "{failure}");
    assert!(failure.next.contains("`mixed`"), "{failure}");
}

#[test]
fn the_example_on_the_page_searches_a_backup_that_leaves_the_reads_fast() {
    let page = include_str!("../../../../../docs/run.md");
    let (_, rest) = page.split_once("name = \"fastest backup\"").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let text = format!(
        "about = \"the page\"\n[[job]]\nkind = \"pattern\"\nname = \"reads\"\n\
         pattern = [\"random-read\"]\n[[job]]\nkind = \"pattern\"\n{text}"
    );
    let plan = assembled(&text, &[], &["nfs://nas/a"], &[]).unwrap().plan;
    let Some(Steps::Search { accept, .. }) = &plan.workloads[1].steps else { panic!("{plan:?}") };
    assert_eq!(*accept, [Bound::at_most(Metric::all(Measure::LATENCY_P99), 10e-3).on(1)]);
}

#[test]
fn the_loss_by_other_work_is_claimed() {
    let claim =
        "while = [\"backup\"]\n\n[[claim]]\ncompare = \"jobs\"\njobs = [\"reads\", \"both\"]";
    let plan = plan(claim);
    let [claim] = &plan.contrasts[..] else { panic!("{:?}", plan.contrasts) };
    let [of, against] = [claim.of, claim.against];
    assert_eq!((of.cell.workload, of.part), (2, 0));
    assert_eq!((against.cell.workload, against.part, claim.claim), (0, 0, true));
}

#[test]
fn the_example_on_the_page_compares_reads_with_and_without_a_backup() {
    let page = include_str!("../../../../../docs/run.md");
    let (_, rest) = page.split_once("### Jobs at the same time").unwrap();
    let (_, rest) = rest.split_once("```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    let text = format!("about = \"the page\"\n{text}");
    let plan = assembled(&text, &[], &["nfs://nas/a"], &[]).unwrap().plan;
    let parts: Vec<usize> = plan.workloads.iter().map(|workload| workload.parts.len()).collect();
    assert_eq!(parts, [1, 1, 2]);
    assert_eq!(plan.contrasts.iter().filter(|contrast| contrast.claim).count(), 1);
}

/// Another job behind the one with `while`.
fn with_job(name: &str, keys: &str) -> String {
    format!("while = [\"{name}\"]\n\n[[job]]\nname = \"{name}\"\n{keys}")
}

fn refused(text: &str, target: &str, happened: &str, next: &str) {
    let failure = slips::refused(assembled(text, &[], &[target], &[]), happened, next);
    let line = 1 + text[..text.find("while").unwrap()].matches('\n').count();
    assert_eq!(failure.on, format!("plan.toml:{line}"), "{failure}");
}

#[test]
fn what_cannot_run_at_the_same_time_is_refused_where_it_is_named() {
    let pattern = "kind = \"pattern\"\npattern = [\"random-read\"]\n";
    let copy = "kind = \"copy\"\ndataset = \"pictures\"\nscale = 0.02\n";
    for (keys, happened, next) in [
        ("while = []".to_owned(), "the list of `while` is empty", "while = [\"backup\"]"),
        ("while = 3".to_owned(), "`while` must be a list of names", ""),
        ("while = [3]".to_owned(), "a name must be a string", ""),
        ("while = [\"bakcup\"]".to_owned(), "no job has the name `bakcup`", "`backup`"),
        ("while = [\"both\"]".to_owned(), "`both` is this job itself", "`workers`"),
        ("while = [\"reads\", \"reads\"]".to_owned(), "names the job `reads` twice", "once"),
        (
            "while = [\"reads\"]\nexplain = true".to_owned(),
            "`explain` finds the bottleneck of one job",
            "without `while`",
        ),
        (
            with_job("other", &format!("{pattern}sweep.workers = [1, 2]")),
            "the job `other` has a sweep or a search",
            "without them",
        ),
        (
            with_job("other", &format!("{pattern}while = [\"backup\"]")),
            "the job `other` has a `while` of its own",
            "each job here",
        ),
        (
            with_job("other", "kind = \"copy\"\nscale = 0.02"),
            "would run at the same time, and at most 8 can",
            "fewer",
        ),
        (
            with_job("other", &format!("{copy}only = \"up\"\nmethod = \"rsync\"\nvia = \"rsync\"")),
            "`other` cannot run during another job: the program rsync copies once",
            "not repeated",
        ),
        (
            with_job("other", &format!("{copy}only = [\"update\", \"down\"]\nmethod = \"rsync\"")),
            "one of them replaces the files",
            "another job",
        ),
        (
            with_job(
                "other",
                "kind = \"pattern\"\npattern = [\"sequential-write\", \"random-write\"]\nverify = true",
            ),
            "sequential write and random write cannot run at the same time: both write",
            "another job",
        ),
    ] {
        refused(&JOBS.replace("WHILE", &keys), "nfs://nas/a", happened, next);
    }
    let text = JOBS.replace("WHILE", "while = [\"backup\"]");
    let hosts = format!("on = [\"ssh://a\", \"ssh://b\"]\n{text}");
    refused(&hosts, "nfs://nas/a", "several hosts run the load", "one host");
    let text = JOBS.replace("WHILE", &with_job("other", "kind = \"scan\""));
    let cold = format!("drop-caches = true\n{text}");
    refused(&cold, "/mnt/a", "only the first walk has a cold cache", "not repeated");
    // A share of a URL has no such cache.
    assembled(&cold, &[], &["nfs://nas/a"], &[]).unwrap();
}
