//! The models of `stats` on tables that others published: what they explain, how far they are off.

use plimsoll_report::published::{Row, table};
use plimsoll_stats::closed::{mva, rounds};
use plimsoll_stats::fit::costs::{Cell, Costs, Groups, Kind, Work, fit};
use plimsoll_stats::fit::{Adequacy, Rule};
use plimsoll_stats::little::{Completed, InFlight};

const RULE: Rule = Rule::Fixed(0.95);

fn rows(name: &str) -> Vec<Row> {
    table(name).unwrap().rows()
}

fn number(row: &Row, column: &str) -> f64 {
    row.number(column).unwrap_or_else(|| panic!("{column} of {row:?}"))
}

fn is(row: &Row, column: &str, text: &str) -> bool {
    row.text(column) == Some(text)
}

fn near(value: f64, published: f64, apart: f64) -> bool {
    (value / published - 1.0).abs() < apart
}

fn transfer(row: &Row) -> Cell {
    plimsoll_report::published::transfer(row).unwrap_or_else(|| panic!("{row:?}"))
}

/// Over the rate, the bytes give the whole seconds and a half, to half a second: what rsync sends beside them
/// counts too.
#[test]
fn the_times_of_puskas2017_are_those_of_its_rates() {
    let rows = rows("puskas2017_transfer");
    assert_eq!(rows.len(), 32);
    for row in rows {
        let bytes = number(&row, "file_count") * number(&row, "mean_file_size_B");
        let seconds = bytes / number(&row, "rate_B_per_s");
        let apart = seconds - number(&row, "elapsed_s") - 0.5;
        assert!(apart.abs() < 0.5, "{seconds} {row:?}");
    }
}

#[test]
fn seven_costs_explain_every_time_of_puskas2017_within_6_percent() {
    let rows = rows("puskas2017_transfer");
    let costs = fit(&rows.iter().map(transfer).collect::<Vec<_>>()).unwrap();
    let found = costs.identified(RULE);
    assert_eq!(found.len(), 7);
    for (kind, group, seconds, apart) in [
        (Kind::File, 0, 27.6e-3, 0.01),
        (Kind::File, 1, 12.9e-3, 0.01),
        (Kind::Operation, 0, 1.08e-3, 0.01),
        (Kind::Byte, 0, 1.0 / 10.0e6, 0.01),
        (Kind::File, 2, 2.6e-3, 0.01),
        (Kind::Operation, 1, 0.15e-3, 0.06),
        (Kind::Byte, 1, 1.0 / 7.7e6, 0.01),
    ] {
        let cost = costs.cost(kind, group, RULE).unwrap();
        println!("{kind:?} {group}: {:.4e} s {:?}", cost.value, cost.interval);
        assert!(near(cost.value, seconds, apart), "{kind:?} {group}: {cost:?}");
        let interval = cost.interval.expect("there are more cells than costs");
        assert!(interval.contains(cost.value) && interval.low < interval.high);
    }
    let largest = largest(&costs, &rows, |_| true);
    println!(
        "largest error {:.2}%, noise {:.2}%",
        100.0 * largest,
        100.0 * costs.fit().noise().unwrap()
    );
    assert!(largest < 0.06);
    assert!(costs.fit().errors().iter().all(|error| error.abs() < 0.06));
    assert_eq!(costs.fit().adequacy(), Adequacy::Unknown, "nothing was repeated");
    // Asynchronous exports make a file cheaper, and by more than the intervals are wide.
    let per_file = |group| costs.cost(Kind::File, group, RULE).unwrap().interval.unwrap();
    assert!(per_file(1).high < per_file(0).low);
}

/// The largest error of the predicted times of some rows.
fn largest(costs: &Costs, rows: &[Row], of: impl Fn(&Row) -> bool) -> f64 {
    let error = |row: &Row| {
        let Cell { work, groups, seconds } = transfer(row);
        let predicted = costs.predict(work, groups, RULE).unwrap().mean.value;
        (predicted / seconds[0].unwrap() - 1.0).abs()
    };
    rows.iter().filter(|row| of(row)).map(error).fold(0.0, f64::max)
}

#[test]
fn pictures_and_music_of_puskas2017_are_predicted_from_the_rest_within_9_percent() {
    let rows = rows("puskas2017_transfer");
    let left_out = |row: &Row| is(row, "dataset", "Pictures") || is(row, "dataset", "Music");
    let known: Vec<Cell> = rows.iter().filter(|row| !left_out(row)).map(transfer).collect();
    assert_eq!(known.len(), 16);
    let largest = largest(&fit(&known).unwrap(), &rows, left_out);
    println!("largest error {:.2}%", 100.0 * largest);
    assert!(largest < 0.09);
}

/// With the rows of one block size alone an operation is half a file and its part of a byte; times of
/// that size can be predicted, others cannot.
#[test]
fn one_block_size_of_puskas2017_does_not_separate_operations() {
    let rows = rows("puskas2017_transfer");
    let (known, others): (Vec<&Row>, Vec<&Row>) =
        rows.iter().partition(|row| is(row, "block_size_B", "16384"));
    let costs = fit(&known.iter().copied().map(transfer).collect::<Vec<_>>()).unwrap();
    for group in 0..2 {
        assert_eq!(costs.cost(Kind::Operation, group, RULE), None);
        assert_eq!(costs.cost(Kind::Byte, group, RULE), None);
    }
    let sums = costs.identified(RULE);
    let per_byte: Vec<_> = sums.iter().filter(|(sum, _)| sum[0].0.0 == Kind::Byte).collect();
    assert_eq!(per_byte.len(), 2);
    for (sum, _) in per_byte {
        assert_eq!((sum.len(), sum[1].0.0), (2, Kind::Operation));
        assert!(near(sum[1].1, 1.0 / 16_384.0, 0.01), "{sum:?}");
    }
    let known: Vec<Row> = known.into_iter().cloned().collect();
    let off = largest(&costs, &known, |_| true);
    assert!(off < 0.06, "{off}");
    for row in others {
        let Cell { work, groups, .. } = transfer(row);
        // A source file is one block of either size.
        let same = is(row, "dataset", "linux-4.9");
        assert_eq!(costs.predict(work, groups, RULE).is_some(), same, "{row:?}");
    }
}

/// One reader gives the costs; the rates of two and three lie between those of rounds, in which its code
/// reads, and of an open pipeline.
#[test]
fn one_reader_of_rtems2012_predicts_two_and_three_within_7_percent() {
    let rows = rows("rtems2012_nfsread");
    let (one, more): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|row| is(row, "readers", "1"));
    let bytes = 10e6;
    let cell = |row: &&Row| {
        let (seconds, buffer) = (number(row, "seconds"), number(row, "buffer_B"));
        assert!(near(bytes / seconds / 1e6, number(row, "rate_MB_per_s"), 0.005), "{row:?}");
        Cell {
            work: Work { files: 0.0, operations: (bytes / buffer).ceil(), bytes },
            groups: Groups::default(),
            seconds: vec![Some(seconds)],
        }
    };
    let costs = fit(&one.iter().map(cell).collect::<Vec<_>>()).unwrap();
    let operation = costs.cost(Kind::Operation, 0, RULE).unwrap();
    let byte = costs.cost(Kind::Byte, 0, RULE).unwrap();
    assert!(near(operation.value, 0.252e-3, 0.01), "{operation:?}");
    assert!(near(byte.reciprocal().unwrap().value, 9.97e6, 0.01), "{byte:?}");
    assert_eq!((operation.interval, byte.interval), (None, None), "two times, two costs");
    assert_eq!(more.len(), 2);
    for (row, published) in more.into_iter().zip([(8.65, 9.62), (9.05, 9.93)]) {
        let (n, block) = (number(row, "readers") as u16, number(row, "buffer_B"));
        let measured = number(row, "rate_MB_per_s");
        let rate = |per_second: f64| per_second * block / 1e6;
        let in_rounds = rate(rounds(n, &[byte.value * block], operation.value).unwrap());
        let open = rate(mva(n, &[byte.value * block], operation.value).unwrap().per_second);
        println!(
            "{n} readers: rounds {in_rounds:.2}, measured {measured}, pipeline {open:.2} MB/s"
        );
        assert!(near(in_rounds, measured, 0.07), "{in_rounds}");
        assert!(near(in_rounds, published.0, 0.002) && near(open, published.1, 0.002));
        assert!(in_rounds < measured && measured < open);
    }
}

/// A call and its bytes are no model of what the TLWR sends: two costs miss the times of three block sizes by
/// more than a tenth, and their intervals say that nothing is known of either.
#[test]
fn two_costs_do_not_describe_the_tlwr_of_kofler2011() {
    let rows = rows("kofler2011_network");
    let cell = |row: &Row| {
        let bytes = number(row, "block_or_payload_B");
        Cell {
            work: Work { files: 1.0, operations: 0.0, bytes },
            groups: Groups::default(),
            seconds: vec![Some(bytes * 8.0 / (number(row, "rate_Mbit_per_s") * 1e6))],
        }
    };
    let tlwr = rows.iter().filter(|r| is(r, "platform", "TLWR") && is(r, "scenario", "tcp_out"));
    let costs = fit(&tlwr.map(cell).collect::<Vec<_>>()).unwrap();
    let errors = costs.fit().errors();
    println!("errors {errors:.3?}, noise {:?}", costs.fit().noise());
    for kind in [Kind::File, Kind::Byte] {
        let cost = costs.cost(kind, 0, RULE).unwrap();
        println!("{kind:?} {cost:?}");
        assert_eq!(cost.interval.unwrap().low, 0.0, "{cost:?}");
    }
    assert_eq!(errors.len(), 3);
    assert!(errors.iter().any(|error| error.abs() > 0.1), "{errors:?}");
}

/// Four jobs in a closed loop: operations per second times their latency is four in every row that has all
/// of its operations, so no job idled; it says nothing about what limits them. Sequential rows fill
/// the link, but for headers.
#[test]
fn rows_of_jonfk2024_are_closed_loops_of_four() {
    let rows = rows("jonfk2024_fio");
    assert_eq!(rows.len(), 10);
    for row in rows {
        let operations = Completed {
            per_second: number(&row, "iops"),
            mean_seconds: number(&row, "mean_latency_us") / 1e6,
        };
        let in_flight = InFlight::compare(4.0, &[operations]).unwrap();
        if is(&row, "pattern", "mixed_randrw") {
            // Reads are left out of these rows.
            assert!(near(in_flight.by_littles_law, 2.0, 0.1), "{in_flight:?}");
        } else {
            assert!(!in_flight.is_suspect(false, 0.0), "{in_flight:?} {row:?}");
        }
        if row.text("pattern").unwrap().starts_with("sequential") {
            let of_link = number(&row, "bandwidth_MiB_per_s") * 1_048_576.0 * 8.0 / 1e9;
            // 1448 bytes of each 1538 on the wire.
            assert!((0.9..1448.0 / 1538.0).contains(&of_link), "{of_link} {row:?}");
        }
    }
}
