//! `plimsoll report`: what it writes, where, and what it does not touch.

#[path = "../crates/report/tests/support/mod.rs"]
mod studies;
mod support;

use plimsoll_record::{Store, StudyStore};
use studies::{TWO, measured};
use support::{Plimsoll, frozen, listing};

fn store_of(studies: &[plimsoll_model::Study]) -> Plimsoll {
    let program = Plimsoll::new();
    Store::open(program.db()).unwrap().import(studies).unwrap();
    program
}

fn two_studies() -> [plimsoll_model::Study; 2] {
    let (first, mut second) = (measured(&TWO, 3), measured(&TWO, 3));
    second.id.0 = "5eed0002".into();
    second.started_unix_seconds += 86_400;
    [first, second]
}

#[test]
fn a_page_of_its_own_name_that_is_not_replaced_unasked() {
    let program = store_of(&two_studies());
    let here = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let output = program.command(arguments).current_dir(here.path()).output().unwrap();
        support::Ran::from(output)
    };
    let said = run(&["report", "5eed0001"]).expect(0);
    assert!(said.err.contains("wrote plimsoll-5eed0001.html") && said.out.is_empty());
    let page = here.path().join("plimsoll-5eed0001.html");
    std::fs::write(&page, "mine").unwrap();
    let refused = run(&["report", "5eed0001"]).expect(2);
    assert!(refused.err.contains("the file exists") && refused.err.contains("--force"));
    assert_eq!(std::fs::read_to_string(&page).unwrap(), "mine");
    run(&["report", "5eed0001", "--force"]).expect(0);
    let text = std::fs::read_to_string(&page).unwrap();
    assert!(text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>"));
    // An unknown study leaves no file behind.
    run(&["report", "77777777", "-o", "other.html"]).expect(2);
    assert_eq!(listing(here.path()).len(), 1);
    let unwritable = run(&["report", "latest", "-o", "no/such/directory/page.html"]).expect(2);
    assert!(unwritable.err.contains("no/such/directory/page.html"));
}

#[test]
fn every_format_and_charts_as_files() {
    let program = store_of(&two_studies());
    let charts = program.home().join("charts");
    let charts = charts.to_str().unwrap();
    let markdown = program.run(&["report", "--format", "markdown", "-o", "-", "--svg", charts]);
    let markdown = markdown.expect(0).out;
    assert!(markdown.starts_with("# nas and /srv/data compared"), "{markdown}");
    let files = listing(charts.as_ref());
    assert_eq!(files.len(), 35);
    for (file, _) in &files {
        let name = file.file_name().unwrap().to_str().unwrap();
        assert!(markdown.contains(&format!("/{name}>)")), "{name} is linked");
        assert!(std::fs::read_to_string(file).unwrap().starts_with("<svg xmlns="));
    }
    let again = program.run(&["report", "-o", "-", "--svg", charts]).expect(2);
    assert!(again.err.contains("the file exists") && again.out.is_empty());
    assert_eq!(listing(charts.as_ref()), files, "nothing is replaced, nothing is lost");

    let csv = program.run(&["report", "5eed0001", "5eed0002", "--format=csv", "-o-"]).expect(0).out;
    assert_eq!(csv.lines().filter(|line| line.starts_with("study,")).count(), 1);
    assert_eq!(csv.lines().count(), 1 + 60);
    let one = program.run(&["report", "5eed0001", "--format=json", "-o-"]).expect(0).out;
    assert_eq!(one, program.run(&["export", "5eed0001", "--json"]).expect(0).out);
    program.run(&["report", "5eed0001", "5eed0002", "--format=json", "-o-"]).expect(2);
}

#[test]
fn several_studies_are_a_trend_and_one_named_twice_is_one() {
    let program = store_of(&two_studies());
    let trend = program.run(&["report", "5eed0002", "5eed0001", "-o", "-"]).expect(0).out;
    assert!(trend.contains("<h1>2 studies in order"));
    let once = program.run(&["report", "latest", "5eed0002", "-o", "-"]).expect(0).out;
    assert!(once.contains("<h1>nas and"));
}

#[test]
fn redaction_reaches_every_format() {
    let program = store_of(&two_studies());
    for format in ["html", "markdown", "csv", "json"] {
        let format = format!("--format={format}");
        let text = program.run(&["report", "5eed0001", &format, "--redact", "-o-"]).expect(0).out;
        assert!(text.contains("host-1"), "{format}");
        for secret in ["volume1", "nfs://nas", "srv"] {
            assert!(!text.contains(secret), "{format}: {secret}");
        }
    }
}

#[test]
fn a_store_that_is_being_written() {
    let [first, mut open] = two_studies();
    open.ended = plimsoll_model::Ended::Open;
    let trials = std::mem::take(&mut open.trials);
    let program = store_of(&[first]);
    let store = Store::open(program.db()).unwrap();
    store.begin(&open).unwrap();
    for (i, trial) in trials.iter().enumerate() {
        store.add_trial(&open.id, trial).unwrap();
        if i % 10 == 0 {
            let page = program.run(&["report", "5eed0002", "-o", "-"]).expect(0).out;
            assert!(page.contains("The study is still running, or was killed"));
        }
    }
}

#[test]
fn a_check_ends_with_its_page() {
    let program = Plimsoll::new();
    let target = tempfile::tempdir().unwrap();
    let page = program.home().join("page.html");
    let page = page.to_str().unwrap();
    let short =
        ["--size=4MiB", "--repeats=1", "--time=200ms", "--pattern=random-read", "--baseline=0s"];
    let check = |report: &str, more: &[&str]| {
        let mut words =
            vec!["check", target.path().to_str().unwrap(), "--quiet", "--report", report];
        words.extend(short);
        words.extend(more);
        program.run(&words)
    };
    let said = check(page, &[]).expect(0);
    assert!(said.out.contains("More: plimsoll show ") && said.err.contains("wrote "), "{said:?}");
    assert!(std::fs::read_to_string(page).unwrap().ends_with("</html>"));
    // A page that is there is refused before anything is measured.
    let refused = check(page, &[]).expect(2);
    assert!(refused.err.contains("the file exists") && refused.err.contains("--force"));
    std::fs::write(page, "mine").unwrap();
    assert_eq!(
        program.run(&["report", "-o", page]).expect(2).err,
        refused.err,
        "report does alike"
    );
    assert_eq!(std::fs::read_to_string(page).unwrap(), "mine");
    assert_eq!(program.run(&["list"]).expect(0).out.matches("random-read").count(), 1);
    check(page, &["--force"]).expect(0);
    assert!(std::fs::read_to_string(page).unwrap().ends_with("</html>"));
}

/// Terminal, Markdown, list and comparisons of studies of an earlier version.
#[test]
fn frozen_studies_are_listed_shown_compared_and_reported() {
    let studies = frozen::MEASURED.map(frozen::study);
    let program = store_of(&studies);
    let listed = program.run(&["list"]).expect(0).out;
    for study in &studies {
        let id = &*study.id.0;
        assert!(listed.contains(id), "{id} in\n{listed}");
        let shown = program.run(&["show", id, "--details"]).expect(0).out;
        let markdown =
            program.run(&["report", id, "--format=markdown", "--output=-"]).expect(0).out;
        for label in study.subjects.iter().map(|facts| facts.label()) {
            assert!(shown.contains(label), "{label} in\n{shown}");
            assert!(markdown.contains(label), "{label} in\n{markdown}");
        }
    }
    let id = |name| frozen::study(name).id.0;
    for (a, b) in
        [("watched", "failed"), ("import-json", "import-text-runs"), ("device-local", "device-ssh")]
    {
        let compared = program.run(&["compare", &id(a), &id(b), "--details"]).expect(0).out;
        assert!(compared.contains(&id(a)) && compared.contains(&id(b)), "{compared}");
    }
}

#[test]
fn an_export_of_a_newer_version_is_refused_and_nothing_of_it_is_kept() {
    let program = Plimsoll::new();
    for name in ["single", "device-ssh"] {
        let today = plimsoll_record::to_json(&frozen::study(name)).unwrap();
        let newer = today.replacen("\"plimsoll/1\"", "\"plimsoll/99\"", 1);
        assert_ne!(newer, today);
        let file = program.home().join("newer.json");
        std::fs::write(&file, newer).unwrap();
        let refused = program.run(&["import", file.to_str().unwrap()]).expect(2);
        for word in ["plimsoll/99", "newer.json", "next:", "made by a newer version"] {
            assert!(refused.err.contains(word), "{word}: {}", refused.err);
        }
        assert!(program.run(&["list"]).expect(0).out.contains("No studies yet"));
    }
}

#[test]
fn a_store_that_is_not_there_is_named() {
    let program = Plimsoll::new();
    let file = program.home().join("no/such.db");
    let said = program.run(&["list", "--db", file.to_str().unwrap()]).expect(0).out;
    let expected = format!("No studies yet: {} does not exist.\n", file.display());
    assert!(said.starts_with(&expected), "{said}");
}

/// A study of thousands of trials is exported with one of them in memory at a time.
#[test]
fn the_memory_that_an_export_takes_does_not_grow_with_the_study() {
    use nix::fcntl::{FcntlArg, fcntl};
    use std::io::Read;
    const REST: usize = 32 << 10;
    let study = measured(&TWO, 3);
    let cycled = |count: usize, id: &str| {
        let trials = study.trials.iter().cycle().zip(0..).take(count);
        let trials =
            trials.map(|(trial, number)| plimsoll_model::Trial { number, ..trial.clone() });
        let id = plimsoll_model::StudyId(id.to_owned());
        plimsoll_model::Study { id, trials: trials.collect(), ..study.clone() }
    };
    let studies = [cycled(20, "5eed0001"), cycled(1200, "5eed0002")];
    let sizes = studies.each_ref().map(|study| plimsoll_record::to_json(study).unwrap().len());
    assert!(sizes[1] > 4 << 20, "{sizes:?}");
    let program = store_of(&studies);
    let peaks = [0, 1].map(|number| {
        let (id, size) = (&studies[number].id.0, sizes[number]);
        // The pipe holds a page, less than the rest: it has nearly done its work, and has not ended.
        let (mut out, pipe) = std::io::pipe().unwrap();
        fcntl(&pipe, FcntlArg::F_SETPIPE_SZ(4096)).unwrap();
        let mut command = program.command(&["export", "--json", id]);
        let child = command.stdout(pipe).stderr(std::process::Stdio::piped()).spawn().unwrap();
        drop(command);
        let mut text = vec![0; size.saturating_sub(REST)];
        out.read_exact(&mut text).unwrap();
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let mut rest = Vec::new();
        out.read_to_end(&mut rest).unwrap();
        assert_eq!(text.len() + rest.len(), size);
        support::ended(child).expect(0);
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<usize>().ok());
        kib.unwrap_or_else(|| panic!("{status}")) << 10
    });
    let grown = peaks[1].saturating_sub(peaks[0]);
    assert!(grown < sizes[1] / 2, "{peaks:?} bytes at most for {sizes:?}");
}
