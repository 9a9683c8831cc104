use super::*;
use crate::interval::t_interval;
use crate::sequential;
use proptest::prelude::*;

const RULE: Rule = Rule::Fixed(0.95);

fn observation(amounts: &[f64], seconds: &[f64]) -> Observation {
    Observation { amounts: amounts.to_vec(), seconds: seconds.iter().copied().map(Some).collect() }
}

fn near(value: f64, truth: f64) -> bool {
    (value - truth).abs() <= 1e-9 * truth.abs().max(1e-3)
}

/// Two cells, each of one cost: the fit is the mean of each, its interval Student's.
#[test]
fn separate_costs_are_means_with_students_interval() {
    let (first, second) = ([1.0, 2.0, 3.0], [10.0, 10.0, 13.0]);
    let fit = fit(&[observation(&[1.0, 0.0], &first), observation(&[0.0, 2.0], &second)]).unwrap();
    let cost = fit.cost(0, RULE).unwrap();
    let direct = t_interval(&first, 0.95).unwrap();
    assert!(near(cost.value, 2.0));
    let interval = cost.interval.unwrap();
    // The lower end, −0.48, is cut off.
    assert!(interval.low == 0.0 && near(interval.high, direct.high), "{cost:?} {direct:?}");
    let cost = fit.cost(1, RULE).unwrap();
    let direct = t_interval(&second.map(|s| s / 2.0), 0.95).unwrap();
    let interval = cost.interval.unwrap();
    assert!(near(interval.low, direct.low) && near(interval.high, direct.high));
    assert_eq!((fit.lack_of_fit(), fit.adequacy()), (None, Adequacy::Unknown));
    assert_eq!(fit.combined(2, RULE), None);
    // Relative spreads 1/2 and √3/11: their mean square.
    assert!(near(fit.noise().unwrap(), ((0.25 + 3.0 / 121.0) / 2.0f64).sqrt()));
}

/// Looked at after every block, an interval is wider, and that of the sequence of the blocks' costs.
#[test]
fn studies_that_end_by_what_they_find_have_their_own_interval() {
    let seconds = [9.0, 10.0, 11.0, 10.0, 9.5, 10.5, 10.0];
    let fit = fit(&[observation(&[2.0], &seconds)]).unwrap();
    let interval = |rule| fit.cost(0, rule).unwrap().interval.unwrap();
    let (fixed, sequential) = (interval(RULE), interval(Rule::Sequential(0.95)));
    assert!(sequential.high > fixed.high, "{fixed:?} {sequential:?}");
    let direct = sequential::interval(&seconds.map(|s| s / 2.0), 0.95).unwrap();
    assert!(near(sequential.low, direct.low) && near(sequential.high, direct.high));
}

/// A cost of 2 for each of 1 and 3, measured as 2 and 6·e: residuals are weighted by what is fitted.
#[test]
fn errors_are_relative_to_the_fit() {
    let fit = fit(&[observation(&[1.0], &[2.0]), observation(&[3.0], &[9.0])]).unwrap();
    // Σ (yᵢ/(xᵢ p) − 1) = 0 has p = mean of yᵢ/xᵢ = (2 + 3)/2.
    let cost = fit.cost(0, RULE).unwrap();
    assert!(near(cost.value, 2.5), "{cost:?}");
    assert!(near(fit.errors()[0], 0.25) && near(fit.errors()[1], 7.5 / 9.0 - 1.0));
    // Relative residuals −0.2 and 0.2, one degree of freedom: variance 0.08 over 2 of the mean.
    assert!(near(fit.noise().unwrap(), 0.08f64.sqrt()));
    let t = student_t(0.95, 1.0).unwrap();
    let interval = cost.interval.unwrap();
    assert!((interval.high - 2.5 * (1.0 + t * 0.2)).abs() < 1e-6, "{interval:?}");
    assert_eq!(fit.adequacy(), Adequacy::Unknown, "no measurement was repeated");
    let prediction = fit.predict(&[2.0], RULE).unwrap();
    assert!(near(prediction.mean.value, 5.0));
    let single = prediction.single.unwrap().high;
    assert!((single - 5.0 * (1.0 + t * (0.04f64 + 0.08).sqrt())).abs() < 1e-6, "{prediction:?}");
}

/// Weights of a model that is far off go to and fro, from one cell's advantage to another's, unless they are
/// held back. Where they settle, relative residuals add up to nothing.
#[test]
fn weights_settle_also_where_the_model_is_far_off() {
    let cells =
        [(5.5, 9.0, 2.1), (8.5, 0.1, 12.5), (3.2, 7.7, 1.4), (0.1, 8.1, 4.3), (8.0, 9.1, 2.7)];
    let observed = |(a, b, seconds): (f64, f64, f64)| observation(&[a, b], &[2.0 * seconds]);
    let fit = fit(&cells.map(observed)).unwrap();
    let sum: f64 = fit.errors().iter().map(|error| 1.0 / (1.0 + error) - 1.0).sum();
    assert!(sum.abs() < 1e-9, "{sum}: {:?}", fit.errors());
    assert!(fit.errors().iter().any(|error| error.abs() > 0.5), "{:?}", fit.errors());
}

/// What all cells of a block have in common says nothing about the model, but something about costs.
#[test]
fn a_slow_block_is_in_the_interval_and_no_lack_of_fit() {
    let blocks = [1.0, 1.5, 0.8, 1.2, 0.7];
    let cell =
        |a: f64, b: f64| observation(&[a, b], &blocks.map(|slow| slow * (a * 3.0 + b * 0.5)));
    let fit = fit(&[cell(1.0, 0.0), cell(1.0, 4.0), cell(2.0, 30.0), cell(0.0, 9.0)]).unwrap();
    assert_eq!(fit.adequacy(), Adequacy::Adequate);
    assert!(fit.errors().iter().all(|error| error.abs() < 1e-9), "{:?}", fit.errors());
    let direct = t_interval(&blocks.map(|slow| slow * 3.0), 0.95).unwrap();
    let cost = fit.cost(0, RULE).unwrap().interval.unwrap();
    assert!(near(cost.low, direct.low) && near(cost.high, direct.high), "{cost:?} {direct:?}");
}

/// Times that grow with the root of the size are no line: nothing is named or predicted.
#[test]
fn a_model_that_does_not_fit_names_nothing() {
    let cell = |size: f64| {
        let noise = [0.0, 0.01, -0.01, 0.005, -0.005, 0.0].map(|n| (size * 7.0).sin() * n + 1.0);
        observation(&[1.0, size], &noise.map(|n| size.sqrt() * n))
    };
    let fit = fit(&[1.0, 4.0, 16.0, 64.0, 256.0].map(cell)).unwrap();
    let lack = fit.lack_of_fit().unwrap();
    assert!(lack.f > 100.0 && lack.p_value < LACK_OF_FIT, "{lack:?}");
    assert_eq!(fit.adequacy(), Adequacy::Inadequate);
    assert_eq!((fit.cost(0, RULE), fit.combined(1, RULE)), (None, None));
    assert_eq!(fit.predict(&[1.0, 16.0], RULE), None);
    assert!(fit.errors().iter().any(|error| error.abs() > 0.1), "{:?}", fit.errors());
    // That costs cannot be below zero is part of the model: a line that falls does not fit either.
    let falling = |size: f64, seconds: f64| {
        observation(&[1.0, size], &[1.0, 1.01, 0.99, 1.0].map(|n| seconds * n))
    };
    let fit = super::fit(&[falling(1.0, 9.0), falling(2.0, 8.0), falling(3.0, 7.0)]).unwrap();
    assert_eq!(fit.adequacy(), Adequacy::Inadequate);
}

#[test]
fn a_cost_at_zero_has_an_upper_end() {
    let noise = [1.01, 0.98, 1.0, 1.02, 0.99];
    let cell = |size: f64, off: f64| observation(&[1.0, size], &noise.map(|n| (size + off) * n));
    // A little below a line through zero, within the noise.
    let scatter = [0.98, 1.03, 0.99, 1.0, 1.0];
    let mut cells = vec![cell(1.0, -0.02), cell(10.0, 0.0), cell(100.0, 1.0)];
    for (number, cell) in cells.iter_mut().enumerate() {
        let own = scatter.iter().cycle().skip(2 * number);
        cell.seconds.iter_mut().flatten().zip(own).for_each(|(seconds, n)| *seconds *= n);
    }
    let fit = fit(&cells).unwrap();
    let cost = fit.cost(0, RULE).unwrap();
    let interval = cost.interval.unwrap();
    assert!(cost.value == 0.0 && interval.low == 0.0 && interval.high > 0.0, "{cost:?}");
    assert_eq!(cost.reciprocal(), None);
    let rate = fit.cost(1, RULE).unwrap().reciprocal().unwrap();
    assert!(rate.interval.unwrap().contains(1.0), "{rate:?}");
}

/// A study may end in the middle of a block, and trials fail.
#[test]
fn only_complete_blocks_count() {
    let mut first = observation(&[1.0], &[2.0, 50.0, 4.0, 70.0]);
    let second = observation(&[2.0], &[4.0, 8.0, 8.0]);
    first.seconds[1] = None;
    let found = fit(&[first.clone(), second.clone()]).unwrap();
    let both = fit(&[observation(&[1.0], &[2.0, 4.0]), observation(&[2.0], &[4.0, 8.0])]).unwrap();
    assert_eq!(found, both);
    let never = Observation { seconds: vec![None; 4], ..first };
    assert_eq!(fit(&[never, second]), None);
}

#[test]
fn as_many_cells_as_costs_have_no_interval_without_repetitions() {
    let fit = fit(&[observation(&[1.0, 1.0], &[3.0]), observation(&[1.0, 2.0], &[5.0])]).unwrap();
    assert_eq!(fit.cost(1, RULE).map(|c| (near(c.value, 2.0), c.interval)), Some((true, None)));
    assert_eq!((fit.noise(), fit.lack_of_fit()), (None, None));
    let prediction = fit.predict(&[0.0, 1.0], RULE).unwrap();
    assert!(near(prediction.mean.value, 2.0) && prediction.single.is_none());
    assert_eq!(fit.predict(&[1.0], RULE), None);
    assert_eq!(fit.predict(&[1.0, f64::NAN], RULE), None);
    assert_eq!(fit.predict(&[1.0, -1.0], RULE), None);
}

/// With fewer cells than costs, sums of them are known and times of the same work.
#[test]
fn fewer_cells_than_costs() {
    let fit = fit(&[observation(&[1.0, 3.0, 0.0], &[6.0, 6.3])]).unwrap();
    assert_eq!(fit.identified().len(), 1);
    assert_eq!(fit.cost(0, RULE), None);
    assert!(near(fit.combined(0, RULE).unwrap().value, 6.15));
    assert!(near(fit.predict(&[2.0, 6.0, 0.0], RULE).unwrap().mean.value, 12.3));
    assert_eq!(fit.predict(&[1.0, 2.0, 0.0], RULE), None);
    let noisy = super::fit(&[observation(&[1.0, 3.0], &[1.0, 12.0])]).unwrap();
    assert_eq!(noisy.combined(0, RULE).unwrap().interval.unwrap().low, 0.0, "a sum of costs");
    // No cell paid the third cost, so nothing bounds it.
    assert_eq!(fit.predict(&[1.0, 3.0, 1.0], RULE), None);
}

/// The third amount is the first less half the second: what is known of the second cost is a difference,
/// which may be below zero.
#[test]
fn differences_may_be_negative() {
    let amounts = [[1.0, 1.0, 0.5], [2.0, 1.0, 1.5], [3.0, 2.0, 2.0], [2.0, 3.0, 0.5]];
    let cell = |x: [f64; 3]| observation(&x, &[1.0, 1.1, 0.9].map(|n| (x[0] + 2.0 * x[2]) * n));
    let fit = fit(&amounts.map(cell)).unwrap();
    assert!(fit.errors().iter().all(|error| error.abs() < 1e-9), "{:?}", fit.errors());
    let values = [0, 1].map(|number| fit.combined(number, RULE).unwrap());
    assert!(near(values[0].value, 3.0) && near(values[1].value, -1.0), "{values:?}");
    assert!(values[1].interval.unwrap().high < 0.0, "{values:?}");
}

/// Of files of many sizes in one block size an operation is nearly half a file and its part of a byte. So
/// little is left that noise of a hundredth would decide it. What is separate stays so.
#[test]
fn what_noise_would_decide_is_not_separated() {
    let cells = [(1, 928_670_754_u64), (11, 39_644_095), (52, 2_919_623), (900, 30_000)].map(
        |(files, size)| {
            let blocks = size.div_ceil(16_384) as f64;
            let files = f64::from(files);
            let (operations, bytes) = (files * blocks, files * size as f64);
            let own = if size == 30_000 { 0.37 } else { 1.41 };
            let seconds = 3e-3 * files + 1e-7 * bytes + 1e-4 * operations + own;
            observation(&[files, bytes, operations, own], &[seconds])
        },
    );
    let fit = fit(&cells).unwrap();
    assert_eq!(fit.identified().len(), 3);
    assert_eq!(fit.identified()[1].iter().map(|term| term.0).collect::<Vec<_>>(), [1, 2]);
    assert!((fit.identified()[1][1].1 * 16_384.0 - 1.0).abs() < 0.01);
    assert_eq!(fit.identified()[2], [(3, 1.0)]);
    for cell in &cells {
        let predicted = fit.predict(&cell.amounts, RULE).unwrap().mean.value;
        assert!((predicted / cell.seconds[0].unwrap() - 1.0).abs() < 0.01, "{predicted}");
    }
}

#[test]
fn nothing_is_invented() {
    assert_eq!(fit(&[]), None);
    assert_eq!(fit(&[observation(&[], &[1.0])]), None);
    assert_eq!(fit(&[observation(&[1.0], &[])]), None);
    assert_eq!(fit(&[observation(&[0.0], &[1.0])]), None);
    assert_eq!(fit(&[observation(&[1.0], &[1.0]), observation(&[1.0, 2.0], &[1.0])]), None);
    for wrong in [f64::NAN, f64::INFINITY, -1.0] {
        assert_eq!(fit(&[observation(&[1.0, wrong], &[1.0])]), None);
        assert_eq!(fit(&[observation(&[1.0], &[1.0, wrong])]), None);
    }
    assert_eq!(fit(&[observation(&[1.0], &[0.0])]), None);
    let sound = fit(&[observation(&[1.0], &[1.0, 1.1]), observation(&[2.0], &[2.0, 2.1])]).unwrap();
    for confidence in [0.0, 1.0, f64::NAN] {
        assert_eq!(sound.cost(0, Rule::Fixed(confidence)).unwrap().interval, None);
    }
}

proptest! {
    /// Numbers from anywhere: no panic, and nothing that is not finite.
    #[test]
    fn any_input_gives_an_answer_or_none(
        cells in prop::collection::vec(
            (prop::collection::vec(any::<f64>(), 1..4),
             prop::collection::vec(prop::option::of(any::<f64>()), 0..4)), 0..5),
        amounts in prop::collection::vec(any::<f64>(), 0..4),
    ) {
        let whole = |v: &f64| v.abs();
        for absolute in [false, true] {
            let cells: Vec<Observation> = cells
                .iter()
                .map(|(amounts, seconds)| Observation {
                    amounts: amounts.iter().map(|a| if absolute { whole(a) } else { *a }).collect(),
                    seconds: seconds.iter().map(|s| s.as_ref().map(whole)).collect(),
                })
                .collect();
            let Some(fit) = fit(&cells) else { continue };
            for number in 0..fit.identified().len() {
                if let Some(cost) = fit.combined(number, RULE) {
                    prop_assert!(cost.value.is_finite());
                    prop_assert!(cost.interval.is_none_or(|i| i.is_finite()));
                }
            }
            let _ = fit.predict(&amounts, RULE);
        }
    }

    /// Amounts and times in other units give the same costs in those, and the order of cells does not
    /// matter.
    #[test]
    fn units_and_order_do_not_matter(
        cells in prop::collection::vec((0.1..10.0f64, 0.1..10.0f64, 0.7..1.4f64), 4..10),
        scales in (1e-6..1e6f64, 1e-6..1e6f64, 1e-3..1e3f64),
    ) {
        let (a, b, time) = scales;
        let observations = |a: f64, b: f64, time: f64| {
            let cell = |(x, y, noise): &(f64, f64, f64)| {
                observation(&[x * a, y * b], &[(x + 0.3 * y) * noise * time])
            };
            cells.iter().map(cell).collect::<Vec<_>>()
        };
        let plain = fit(&observations(1.0, 1.0, 1.0)).unwrap();
        let mut turned = observations(a, b, time);
        turned.reverse();
        let other = fit(&turned).unwrap();
        prop_assume!(plain.identified().len() == 2);
        for (number, scale) in [(0, a), (1, b)] {
            let here = plain.cost(number, RULE).unwrap().value;
            let there = other.cost(number, RULE).unwrap().value * scale / time;
            prop_assert!((here - there).abs() < 1e-6 * (1.0 + here), "{here} {there}");
        }
        let sum: f64 = plain.errors().iter().map(|error| 1.0 / (1.0 + error) - 1.0).sum();
        prop_assert!(sum.abs() < 1e-6, "relative residuals add up to nothing: {sum}");
    }
}
