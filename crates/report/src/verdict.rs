//! Verdicts in words. Percentages are always those of the faster one against the slower one.

use crate::compared::Compared;
use crate::figure::ends;
use crate::text::{counted, duration};
use plimsoll_explain::{BlockRatios, Claim, Forecast};
use plimsoll_model::units::three_digits;
use plimsoll_stats::interval::Interval;
use plimsoll_stats::verdict::{Lead, Side, Verdict};

/// The names of the two that are compared, and by what.
#[derive(Clone, Copy)]
pub(crate) struct Two<'a> {
    pub(crate) a: &'a str,
    pub(crate) b: &'a str,
    pub(crate) by: Compared,
}

impl<'a> Two<'a> {
    fn ahead(self, lead: &Lead) -> &'a str {
        match lead.faster {
            Side::A => self.a,
            Side::B => self.b,
        }
    }

    fn behind(self, lead: &Lead) -> &'a str {
        match lead.faster {
            Side::A => self.b,
            Side::B => self.a,
        }
    }
}

/// What a verdict on a ratio B/A is about: who is ahead, and by how much. Of a time the one that has
/// less of it is; by how much is the same.
pub(crate) fn lead(verdict: &Verdict, by: Compared) -> Lead {
    let lead = verdict.lead();
    match (by, lead.faster) {
        (Compared::Rate | Compared::Amount, _) => lead,
        (Compared::Time, Side::A) => Lead { faster: Side::B, ..lead },
        (Compared::Time, Side::B) => Lead { faster: Side::A, ..lead },
    }
}

/// How much longer it would take to decide: blocks of `seconds` each.
#[derive(Clone, Copy)]
pub(crate) struct Longer {
    pub(crate) seconds_per_block: f64,
}

impl Longer {
    /// "about 14 more blocks (3 min) would decide it".
    pub(crate) fn more(self, blocks: u64) -> String {
        let seconds = self.seconds_per_block * blocks as f64;
        if !Forecast::is_within_a_day(seconds) {
            return "a day of measuring would not decide it".to_owned();
        }
        let time = duration(seconds);
        format!("about {} ({time}) would decide it", counted(blocks, "more block"))
    }
}

/// "33% faster than old [25%–42%]", "3.10 times as fast as old [2.80–3.40]".
fn than(slower: &str, lead: &Lead, by: Compared) -> String {
    let Interval { low, estimate, high } = lead.by;
    if estimate >= 1.0 {
        let ends = ends(1.0 + low, 1.0 + high);
        let times = three_digits(1.0 + estimate);
        format!("{times} times {} as {slower} {ends}", by.as_much())
    } else {
        format!("{} {} than {slower} {}", percent(estimate), by.more(), percents(lead.by))
    }
}

/// "33%".
pub(crate) fn percent(fraction: f64) -> String {
    let percent = 100.0 * fraction;
    // What is shown as nothing has no sign.
    let percent = if percent.abs() < 0.05 { 0.0 } else { percent };
    let decimals = usize::from(percent.abs() < 9.95 && (percent - percent.round()).abs() >= 0.05);
    format!("{percent:.decimals$}%")
}

pub(crate) fn percents(by: Interval) -> String {
    format!("[{}–{}]", percent(by.low), percent(by.high))
}

/// An interval that reaches further than a factor of 10 says nothing in figures.
const WIDE: f64 = 9.0;

/// The range of the blocks of a claim that has no verdict, or whose interval says nothing: "new was 9.90
/// to 14.5 times as fast as old, in 2 of 2 blocks; 2 blocks give no verdict". `None` where there is a verdict, or an
/// interval that says something.
pub(crate) fn showed(claim: &Claim, two: Two<'_>) -> Option<String> {
    let (ahead, behind, seen) = seen_ahead(claim, two)?;
    let (times, much) = (times_of(&seen, " to "), two.by.as_much());
    let (above, all) = (seen.above, seen.values);
    let blocks = counted(all as u64, "block");
    let most = if above == all { String::new() } else { format!("{} ", two.by.more()) };
    let give = if all == 1 { "gives" } else { "give" };
    Some(format!(
        "{ahead} was {times} times {much} as {behind}, {most}in {above} of {blocks}; {blocks} {give} no verdict"
    ))
}

/// Who is ahead in more blocks, who is behind, and the ratios of the first to the second.
fn seen_ahead<'a>(claim: &Claim, two: Two<'a>) -> Option<(&'a str, &'a str, BlockRatios)> {
    if !says_nothing(claim, two.by) {
        return None;
    }
    let seen = claim.ratio.seen?;
    // Of a time less is faster.
    let seen = if two.by == Compared::Time { seen.reversed() } else { seen };
    Some(match 2 * seen.above >= seen.values {
        true => (two.b, two.a, seen),
        false => (two.a, two.b, seen.reversed()),
    })
}

/// Who is ahead by the margin at least in each of several blocks, where a claim has no verdict that says anything.
pub(crate) fn ahead_in_each<'a>(claim: &Claim, two: Two<'a>, margin: f64) -> Option<&'a str> {
    let (ahead, _, seen) = seen_ahead(claim, two)?;
    let agree = seen.values > 1 && seen.above == seen.values && seen.low >= 1.0 + margin;
    agree.then_some(ahead)
}

/// Why no claim has a verdict that decides, without a full stop; what is `compared`: "targets".
pub(crate) fn nothing_decided(claims: &[&Claim], compared: &str) -> String {
    let blocks = claims.iter().map(|claim| claim.ratio.blocks).max();
    let why = match (blocks, claims.iter().all(|claim| claim.verdict.is_none())) {
        (None, _) => "no figure is in both".to_owned(),
        (Some(most), true) => format!("{} gave no verdict", counted(most as u64, "block")),
        (Some(_), false) => format!("the figures vary more than the {compared} differ"),
    };
    format!("Nothing could be decided: {why}")
}

/// Whether a claim has no verdict, or one from an interval that says nothing.
pub(crate) fn says_nothing(claim: &Claim, by: Compared) -> bool {
    claim.verdict.is_none_or(|verdict| {
        matches!(verdict, Verdict::NotResolved(_)) && is_wide(&lead(&verdict, by))
    })
}

/// "9.90 to 14.5"; one figure where both are shown alike.
pub(crate) fn times_of(seen: &BlockRatios, to: &str) -> String {
    let (low, high) = (three_digits(seen.low), three_digits(seen.high));
    if low == high { low } else { format!("{low}{to}{high}") }
}

/// The verdict as a sentence without its full stop.
pub(crate) fn sentence(claim: &Claim, two: Two<'_>, longer: Option<Longer>) -> String {
    if let Some(showed) = showed(claim, two) {
        return match (claim.more_blocks, longer) {
            (Some(blocks), Some(longer)) => format!("{showed}; {}", longer.more(blocks)),
            _ => showed,
        };
    }
    let Some(verdict) = claim.verdict else {
        let blocks = counted(claim.ratio.blocks as u64, "block");
        return match claim.ratio.interval {
            None => format!("{blocks}: no interval, so no verdict"),
            Some(_) if claim.is_bound => {
                format!("{blocks}: a rate is only a bound (see the warnings), so no verdict")
            }
            Some(_) => format!("{blocks}: too few for a verdict on what was restarted"),
        };
    };
    let lead = lead(&verdict, two.by);
    let (faster, slower) = (two.ahead(&lead), two.behind(&lead));
    match verdict {
        Verdict::Faster(_) => format!("{faster} is {}", than(slower, &lead, two.by)),
        Verdict::PerhapsTooLittle(_) => {
            format!("{faster} is {}, perhaps too little to matter", than(slower, &lead, two.by))
        }
        Verdict::NoPracticalDifference(_) => {
            format!("practically equal ({} at most)", percent(largest(&lead)))
        }
        Verdict::NotResolved(_) => {
            let either = format!(
                "inconclusive: {faster} may be up to {}, or {slower} up to {}",
                at_most(lead.by.high, two.by, true),
                at_most(other_way(&lead), two.by, false)
            );
            let either = match is_wide(&lead) {
                true => "inconclusive: either may be faster by a factor of 10".to_owned(),
                false => either,
            };
            match (claim.more_blocks, longer) {
                (Some(blocks), Some(longer)) => format!("{either}; {}", longer.more(blocks)),
                _ => either,
            }
        }
    }
}

/// How the verdicts of a column are written, so that they can be compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Column {
    /// As factors ("≥ 4.7x"), else in percent ("≥ 27%").
    factors: bool,
    /// Largest practically irrelevant difference, as a fraction.
    margin: f64,
}

impl Column {
    /// For these claims: as factors if any is faster by twice or more.
    pub(crate) fn new<'a>(
        claims: impl IntoIterator<Item = (&'a Claim, Compared)>,
        margin: f64,
    ) -> Column {
        let twice = |(claim, by): (&Claim, Compared)| {
            let verdict = claim.verdict.filter(|verdict| verdict.faster().is_some());
            verdict.is_some_and(|verdict| lead(&verdict, by).by.low >= 1.0)
        };
        Column { factors: claims.into_iter().any(twice), margin }
    }

    /// A lower bound, never rounded up: "27%", "4.7x".
    pub(crate) fn at_least(self, fraction: f64) -> String {
        let down = |value: f64, digits: i32| {
            let unit = 10f64.powi(digits);
            format!("{:.*}", digits as usize, (value * unit + 1e-9).floor() / unit)
        };
        match (self.factors, 1.0 + fraction, 100.0 * fraction) {
            (true, times, _) if times < 2.0 => format!("{}x", down(times, 2)),
            (true, times, _) if times < 10.0 => format!("{}x", down(times, 1)),
            (true, times, _) => format!("{}x", down(times, 0)),
            (false, _, few) if few < 10.0 => format!("{}%", down(few, 1).trim_end_matches(".0")),
            (false, _, percent) => format!("{}%", down(percent, 0)),
        }
    }
}

/// The verdict in a column: "nfs faster: ≥ 27%", "practically equal", "nfs faster, < 5%", "inconclusive".
pub(crate) fn brief(claim: &Claim, two: Two<'_>, column: Column) -> String {
    if let Some((ahead, _, seen)) = seen_ahead(claim, two) {
        let (times, above, all) = (times_of(&seen, "–"), seen.above, seen.values);
        // What one block shows is no verdict.
        if all == 1 {
            return format!("{ahead} {times}x?").trim_start().to_owned();
        }
        return format!("inconclusive:\n{ahead} {times}x in {above} of {all}");
    }
    let Some(verdict) = claim.verdict else {
        return format!("{}: too few", counted(claim.ratio.blocks as u64, "block"));
    };
    let lead = lead(&verdict, two.by);
    let (faster, more) = (two.ahead(&lead), two.by.more());
    match verdict {
        Verdict::Faster(_) | Verdict::PerhapsTooLittle(_) => {
            format!("{faster} {more}: ≥ {}", column.at_least(lead.by.low)).trim_start().to_owned()
        }
        Verdict::NoPracticalDifference(_) if lead.by.low > 0.0 => {
            format!("{faster} {more}, < {}", column.at_least(column.margin)).trim_start().to_owned()
        }
        Verdict::NoPracticalDifference(_) => "practically equal".to_owned(),
        Verdict::NotResolved(_) => "inconclusive".to_owned(),
    }
}

fn is_wide(lead: &Lead) -> bool {
    lead.by.high >= WIDE || other_way(lead) >= WIDE
}

/// "33%", or "33% faster" as a whole, or "3.1 times as fast".
fn at_most(fraction: f64, by: Compared, whole: bool) -> String {
    match fraction {
        many if many >= 1.0 => format!("{} times {}", three_digits(1.0 + many), by.as_much()),
        few if whole => format!("{} {}", percent(few), by.more()),
        few => percent(few),
    }
}

/// The largest difference that the interval allows, either way.
pub(crate) fn largest(lead: &Lead) -> f64 {
    lead.by.high.max(other_way(lead))
}

/// How much faster the other one may be, where the interval allows it: 0 where it does not.
fn other_way(lead: &Lead) -> f64 {
    (1.0 / (1.0 + lead.by.low) - 1.0).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_explain::Ratio;
    use proptest::prelude::*;

    fn claim(low: f64, estimate: f64, high: f64) -> Claim {
        let interval = Some(Interval { low, estimate, high });
        Claim {
            ratio: Ratio { blocks: 6, estimate, interval, zero: (false, false), seen: None },
            verdict: interval.and_then(|i| Verdict::on(i, 0.05)),
            is_bound: false,
            sign_flip_p: None,
            correlation: None,
            far: 0,
            more_blocks: Some(14),
        }
    }

    fn words(low: f64, estimate: f64, high: f64) -> String {
        by(Compared::Rate, low, estimate, high)
    }

    fn by(by: Compared, low: f64, estimate: f64, high: f64) -> String {
        let longer = Some(Longer { seconds_per_block: 11.0 });
        sentence(&claim(low, estimate, high), Two { a: "old", b: "new", by }, longer)
    }

    #[test]
    fn a_share_that_is_shown_as_nothing_has_no_sign() {
        let shown = [-0.0004, -0.0, 0.0004, -0.0006, -0.02, 0.104, 1.0].map(percent);
        assert_eq!(shown, ["0%", "0%", "0%", "-0.1%", "-2%", "10%", "100%"]);
    }

    #[test]
    fn the_words_of_each_verdict() {
        assert_eq!(words(1.25, 4.0 / 3.0, 1.42), "new is 33% faster than old [25%–42%]");
        // The same pair the other way round has the same percentage.
        assert_eq!(words(1.0 / 1.42, 0.75, 0.8), "old is 33% faster than new [25%–42%]");
        assert_eq!(words(2.8, 3.1, 3.4), "new is 3.10 times as fast as old [2.80–3.40]");
        assert_eq!(
            words(1.01, 1.04, 1.07),
            "new is 4% faster than old [1%–7%], perhaps too little to matter"
        );
        assert_eq!(words(0.98, 1.0, 1.03), "practically equal (3% at most)");
        assert_eq!(
            words(0.8, 0.96, 1.15),
            "inconclusive: old may be up to 25% faster, or new up to 15%; \
             about 14 more blocks (3 min) would decide it"
        );
        assert_eq!(
            words(0.01, 0.5, 3.0),
            "inconclusive: either may be faster by a factor of 10; \
             about 14 more blocks (3 min) would decide it"
        );
        let mut none = Claim { verdict: None, ..claim(1.0, 1.0, 1.0) };
        let two = Two { a: "a", b: "b", by: Compared::Rate };
        let few = "6 blocks: too few for a verdict on what was restarted";
        assert_eq!(sentence(&none, two, None), few);
        none.ratio.interval = None;
        assert_eq!(sentence(&none, two, None), "6 blocks: no interval, so no verdict");
    }

    #[test]
    fn the_words_of_each_verdict_in_a_column() {
        let words = |by, low, estimate, high| {
            let claim = claim(low, estimate, high);
            let column = Column::new([(&claim, by)], 0.05);
            brief(&claim, Two { a: "old", b: "new", by }, column)
        };
        let rate = |low, estimate, high| words(Compared::Rate, low, estimate, high);
        assert_eq!(rate(1.25, 4.0 / 3.0, 1.42), "new faster: ≥ 25%");
        // Of the faster one, whichever it is.
        assert_eq!(rate(1.0 / 1.42, 0.75, 0.8), "old faster: ≥ 25%");
        // A lower bound is never rounded up.
        assert_eq!(rate(1.279, 1.4, 1.5), "new faster: ≥ 27%");
        assert_eq!(rate(4.79, 5.0, 5.2), "new faster: ≥ 4.7x");
        assert_eq!(rate(14.9, 31.0, 340.0), "new faster: ≥ 14x");
        assert_eq!(rate(1.01, 1.04, 1.07), "new faster: ≥ 1%");
        assert_eq!(rate(1.01, 1.02, 1.03), "new faster, < 5%");
        assert_eq!(rate(0.99, 1.0, 1.012), "practically equal");
        assert_eq!(rate(0.8, 0.96, 1.15), "inconclusive");
        assert_eq!(words(Compared::Time, 1.25, 4.0 / 3.0, 1.42), "old faster: ≥ 25%");
        let none = Claim { verdict: None, ..claim(1.0, 1.0, 1.0) };
        let two = Two { a: "old", b: "new", by: Compared::Rate };
        let column = Column::new([], 0.05);
        assert_eq!(brief(&none, two, column), "6 blocks: too few");
    }

    /// Percentages and factors never stand in one column.
    #[test]
    fn a_column_has_one_unit() {
        let claims = [claim(4.7, 5.0, 5.2), claim(1.27, 1.3, 1.4), claim(1.01, 1.02, 1.03)];
        let column = Column::new(claims.iter().map(|claim| (claim, Compared::Rate)), 0.05);
        let two = Two { a: "old", b: "new", by: Compared::Rate };
        let words = claims.map(|claim| brief(&claim, two, column));
        assert_eq!(words, ["new faster: ≥ 4.7x", "new faster: ≥ 1.27x", "new faster, < 1.05x"]);
    }

    /// Too few blocks for a verdict still show what each block showed.
    #[test]
    fn blocks_without_a_verdict_are_shown() {
        let whole_and_brief = |logs: &[f64], by| {
            let above = logs.iter().filter(|ratio| **ratio > 1.0).count();
            let low = logs.iter().copied().fold(f64::INFINITY, f64::min);
            let high = logs.iter().copied().fold(0.0, f64::max);
            let mut claim = claim(0.01, 1.0, 100.0);
            claim.more_blocks = None;
            claim.ratio.seen = Some(BlockRatios { values: logs.len(), above, low, high });
            let two = Two { a: "sync", b: "async", by };
            let column = Column::new([], 0.05);
            let wide = (sentence(&claim, two, None), brief(&claim, two, column));
            claim.verdict = None;
            let words = (sentence(&claim, two, None), brief(&claim, two, column));
            assert_eq!(words, wide, "{logs:?}");
            // An interval that says something has its own words.
            claim.verdict = Verdict::on(Interval { low: 0.8, estimate: 1.0, high: 1.2 }, 0.05);
            assert!(sentence(&claim, two, None).starts_with("inconclusive"));
            wide
        };
        let (whole, brief) = whole_and_brief(&[14.5, 9.9], Compared::Rate);
        assert_eq!(
            whole,
            "async was 9.90 to 14.5 times as fast as sync, in 2 of 2 blocks; 2 blocks give no verdict"
        );
        assert_eq!(brief, "inconclusive:\nasync 9.90–14.5x in 2 of 2");
        let (whole, brief) = whole_and_brief(&[1.0 / 14.5, 1.0 / 9.9], Compared::Time);
        assert_eq!(
            whole,
            "async was 9.90 to 14.5 times as fast as sync, in 2 of 2 blocks; 2 blocks give no verdict"
        );
        assert_eq!(brief, "inconclusive:\nasync 9.90–14.5x in 2 of 2");
        let (whole, brief) = whole_and_brief(&[0.5, 0.4, 1.25], Compared::Rate);
        assert_eq!(
            whole,
            "sync was 0.800 to 2.50 times as fast as async, faster in 2 of 3 blocks; 3 blocks give no verdict"
        );
        assert_eq!(brief, "inconclusive:\nsync 0.800–2.50x in 2 of 3");
    }

    #[test]
    fn less_time_is_faster_and_more_of_anything_else_is_higher() {
        let time = |low, estimate, high| by(Compared::Time, low, estimate, high);
        assert_eq!(time(1.25, 4.0 / 3.0, 1.42), "old is 33% faster than new [25%–42%]");
        assert_eq!(time(2.8, 3.1, 3.4), "old is 3.10 times as fast as new [2.80–3.40]");
        assert!(time(0.8, 0.96, 1.15).starts_with("inconclusive: new may be up to 25% faster"));
        let loss = |low, estimate, high| by(Compared::Amount, low, estimate, high);
        assert_eq!(loss(1.25, 4.0 / 3.0, 1.42), "new is 33% higher than old [25%–42%]");
        assert_eq!(
            loss(1.0 / 3.4, 1.0 / 3.1, 1.0 / 2.8),
            "old is 3.10 times as high as new [2.80–3.40]"
        );
    }

    proptest! {
        #[test]
        fn every_interval_has_exactly_one_wording(low in 0.3..2.0f64, width in 0.0..1.5f64) {
            let high = low + width;
            let text = words(low, (low * high).sqrt(), high);
            let wordings = [
                text.starts_with("inconclusive"),
                text.starts_with("practically equal"),
                text.ends_with("too little to matter"),
                (text.contains("% faster than ") || text.contains("times as fast as "))
                    && text.ends_with(']'),
            ];
            prop_assert_eq!(wordings.iter().filter(|w| **w).count(), 1, "{}", text);
            // Whoever is reported as faster is, and nobody where the interval holds 1 in between.
            if wordings[2] || wordings[3] {
                prop_assert_eq!(text.starts_with("new"), low > 1.0, "{}", text);
            }
        }
    }
}
