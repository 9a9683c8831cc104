//! Studies of many settings: a column for each, what each level bought, and the verdicts that there are.

mod support;

use plimsoll_model::*;
use plimsoll_report::{Document, Style};
use support::plain::{add, empty};

const SCREEN: Style = Style { width: 80, colour: false };

/// Two factors of two levels, four patterns; the second level of what restarts is twice as fast where it
/// reads, the one of the export where it writes, and both do nothing else.
fn study(targets: &[&str], blocks: u32) -> Study {
    let patterns = [
        Pattern::SequentialRead,
        Pattern::SequentialWrite,
        Pattern::RandomRead,
        Pattern::RandomWrite,
    ];
    let mut study = empty(targets, &patterns);
    let factor = |name: &str, levels: [&str; 2], switch| Factor {
        name: name.into(),
        host: HostName::Local,
        levels: levels.map(|value| FactorLevel::Set { value: value.into() }).into(),
        switch,
    };
    study.plan.factors = vec![
        factor("nfsd-max-block-size", ["16384", "32768"], Switch::Restart),
        factor("export-sync:/srv/films", ["sync", "async"], Switch::Live),
    ];
    study.plan.contrasts = Contrast::against_first(&study.plan);
    study.plan.design.rule = Rule::Fixed { blocks };
    for block in 0..blocks {
        for setting in 0..4 {
            let levels = factor::levels(&study.plan.factors, setting);
            for target in 0..targets.len() {
                for pattern in patterns {
                    let bought = [pattern.reads(), pattern.writes()];
                    let gain = |n: usize| if bought[n] && levels[n] == 1 { 2.0 } else { 1.0 };
                    // The same for all of a block, and a little of its own.
                    let noise = 1.0 + 0.1 * f64::from(block % 3) + 1e-4 * f64::from(block * 7 % 5);
                    let own = 1.0 + 1e-3 * f64::from((block + u32::from(setting)) % 2);
                    add(&mut study, block, target, pattern, 5e7 * gain(0) * gain(1) * noise * own);
                    study.trials.last_mut().unwrap().cell.setting = setting;
                }
            }
        }
    }
    study
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn each_setting_is_a_column_and_what_it_bought_stands_below() {
    let screen = Document::of_study(&study(&["nfs://nas/a"], 8)).screen(&SCREEN);
    insta::assert_snapshot!(screen);
    let screen = words(&screen);
    for said in [
        "A nfsd-max-block-size=16384, export-sync:/srv/films=sync",
        "work A B C D",
        "sequential read 54.3 MB/s 109 MB/s 54.3 MB/s 109 MB/s",
        "effect of 32768/16384 async/sync",
        "sequential read 2.00x [2.00–2.00] 1.00x",
        "random write 1.00x",
        "B is faster than A at sequential read and random read.",
        "C is faster than A at sequential write and random write.",
    ] {
        assert!(screen.contains(said), "'{said}' is missing in: {screen}");
    }
}

/// Effects count every block, the figures above them do not.
#[test]
fn effects_say_that_they_count_trials_that_the_figures_leave_out() {
    let mut study = study(&["nfs://nas/a"], 8);
    let text = |study: &Study| words(&Document::of_study(study).text(&SCREEN));
    let said = "Effects include trials with other load on a host, the figures do not.";
    assert!(!text(&study).contains(said), "{}", text(&study));
    study.trials[0].result.flags.push(Flag::OtherLoad {
        host: HostName::Local,
        resource: HostResource::Cpu,
        per_second: 1.0,
    });
    assert!(text(&study).contains(said), "{}", text(&study));
}

/// Two blocks give no verdict, and show what they showed; sentences compare settings that differ in one
/// factor, and every cell has an interval or what the plots were.
#[test]
fn what_few_blocks_showed_is_said() {
    let mut study = study(&["nfs://nas/a"], 2);
    // Where it is written, the export's second level is 14.5 and 9.9 times as fast.
    for trial in &mut study.trials {
        let is_async = factor::levels(&study.plan.factors, trial.cell.setting)[1] == 1;
        let writes = [1, 3].contains(&trial.cell.workload);
        let times = [14.5, 9.9][trial.block.unwrap() as usize] / 2.0;
        for value in trial.result.parts[0].quantities.values_mut().filter(|_| is_async && writes) {
            *value *= times;
        }
    }
    let document = Document::of_study(&study);
    let screen = words(&document.screen(&SCREEN));
    for said in [
        "At sequential write C was 9.",
        " to 14.5 times as fast as A, in 2 of 2 blocks",
        " have no verdict after 2 blocks.",
        "x, 2 blocks",
    ] {
        assert!(screen.contains(said), "'{said}' is missing in: {screen}");
    }
    assert!(!screen.contains("either may be faster"), "{screen}");
    assert!(!screen.contains("Nothing could be decided"), "{screen}");
    assert!(!screen.contains("Inconclusive"), "{screen}");
    // D differs from A in both factors.
    assert!(!screen.contains("D was 9.") && !screen.contains("D is faster"), "{screen}");
    let text = words(&document.text(&SCREEN));
    assert!(text.contains("in 2 of 2 blocks; 2 blocks give no verdict"), "{text}");
    assert!(!text.contains("either may be faster"), "{text}");
    assert!(!text.contains("bandwidth inconclusive"), "{text}");
}

/// Each subject has a table, and what is not resolved is counted.
#[test]
fn subjects_have_a_table_each_and_open_claims_are_counted() {
    let mut study = study(&["nfs://nas/a", "nfs://nas/b"], 8);
    for trial in &mut study.trials {
        let read = trial.cell.workload == 0 && trial.cell.setting == 1;
        let block = trial.block.unwrap();
        for value in trial.result.parts[0].quantities.values_mut().filter(|_| read) {
            *value *= [0.2, 5.0][(block % 2) as usize];
        }
    }
    let text = Document::of_study(&study).text(&Style { width: 100, colour: false });
    let text = words(&text);
    for said in [
        "work, nas A B C D",
        "work, nas (2) A B C D",
        "2 of 28 claims are inconclusive.",
        "sequential read, nas (2) 2.00x",
        "nas (2), A against nas, A: They are practically equal",
    ] {
        assert!(text.contains(said), "'{said}' is missing in: {}", &text[..3000]);
    }
    assert!(text.contains("nas, C is faster than nas, A at"), "nas, C");
}

/// Two settings of one factor stand beside each other, and there is no second table.
#[test]
fn two_settings_stand_beside_each_other() {
    let mut study = study(&["nfs://nas/a"], 8);
    study.plan.factors.truncate(1);
    study.trials.retain(|trial| trial.cell.setting < 2);
    study.plan.contrasts = Contrast::against_first(&study.plan);
    let screen = Document::of_study(&study).screen(&SCREEN);
    assert!(!screen.contains("effect of"), "{screen}");
    let row = "sequential read 54.3 MB/s 109 MB/s B faster: ≥ 99% not monitored (1)";
    assert!(words(&screen).contains(row), "{screen}");
}

/// Different work on one subject has a row each, below what it is compared with.
#[test]
fn jobs_that_are_compared_have_rows() {
    let mut study = empty(
        &["nfs://nas/a"],
        &[Pattern::SequentialRead, Pattern::SequentialWrite, Pattern::RandomRead],
    );
    study.plan.design.rule = Rule::Fixed { blocks: 8 };
    let measurand = |workload| {
        let cell = Cell { workload, ..Cell::default() };
        Measurand { cell, part: 0, metric: Metric::all(Measure::THROUGHPUT) }
    };
    study.plan.contrasts = vec![Contrast { of: measurand(1), against: measurand(0), claim: true }];
    for block in 0..8 {
        let noise = 1.0 + 1e-3 * f64::from(block % 2);
        add(&mut study, block, 0, Pattern::SequentialRead, 5e7);
        add(&mut study, block, 0, Pattern::SequentialWrite, 7e7 * noise);
        add(&mut study, block, 0, Pattern::RandomRead, 1e7);
    }
    let screen = words(&Document::of_study(&study).screen(&SCREEN));
    for said in [
        "sequential read 50.0 MB/s (baseline) not monitored (1) server memory sequential write 70.0 MB/s faster: ≥ 40%",
        "random read 2441 IOPS –",
    ] {
        assert!(screen.contains(said), "'{said}' is missing in: {screen}");
    }
}

/// A study that was broken off goes on, and one at its cap does where its number of blocks was fixed.
#[test]
fn what_lacks_blocks_can_go_on() {
    let mut study = study(&["nfs://nas/a"], 8);
    let go_on = |study: &Study| {
        Document::of_study(study)
            .screen(&SCREEN)
            .contains("Measure the remaining blocks: plimsoll check --continue 5eed0001")
    };
    for (ended, expected) in
        [(Ended::Done, false), (Ended::CapReached, true), (Ended::Interrupted, true)]
    {
        study.ended = ended;
        assert_eq!(go_on(&study), expected, "{:?}", study.ended);
    }
}

#[test]
fn what_a_plan_is_going_to_do_is_said_before() {
    let plan = study(&["nfs://nas/a", "nfs://nas/b"], 8).plan;
    let takes = vec![("time".to_owned(), "about 3 min".to_owned())];
    let text = Document::of_plan(&plan, "the plan", &["now 1 MiB".to_owned()], takes).text(&SCREEN);
    for said in [
        "the plan",
        "/a nfs://nas/a",
        "- random write: block size 4 KiB",
        "nfsd-max-block-size on this machine: 16384 and 32768; changed once for each value in a block, \
         because it restarts something; now 1 MiB",
        "- export-sync:/srv/films on this machine: sync and async; changed from trial to trial",
        "28 claims with a joint confidence of 95%, margin 5%, by Student's t over 8 blocks.",
        "No other comparisons.",
        "/b, nfsd-max-block-size=16384, export-sync:/srv/films=sync against /a,",
        "time about 3 min",
    ] {
        assert!(words(&text).contains(said), "'{said}' is missing in:\n{text}");
    }
}
