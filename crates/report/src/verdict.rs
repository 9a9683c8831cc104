//! Verdicts in words. Percentages are always those of the faster one against the slower one.

use crate::figure::ends;
use crate::text::{counted, duration};
use plimsoll_explain::Claim;
use plimsoll_model::units::three_digits;
use plimsoll_stats::interval::Interval;
use plimsoll_stats::verdict::{Lead, Side, Verdict};

/// The names of the two that are compared.
#[derive(Clone, Copy)]
pub(crate) struct Two<'a> {
    pub(crate) a: &'a str,
    pub(crate) b: &'a str,
}

impl<'a> Two<'a> {
    fn faster(self, lead: &Lead) -> &'a str {
        match lead.faster {
            Side::A => self.a,
            Side::B => self.b,
        }
    }

    fn slower(self, lead: &Lead) -> &'a str {
        match lead.faster {
            Side::A => self.b,
            Side::B => self.a,
        }
    }
}

/// How much longer it would take to resolve: blocks of `seconds` each.
#[derive(Clone, Copy)]
pub(crate) struct Longer {
    pub(crate) seconds_per_block: f64,
}

impl Longer {
    /// "about 14 blocks more (3 min) would do".
    pub(crate) fn more(self, blocks: u64) -> String {
        let time = duration(self.seconds_per_block * blocks as f64);
        format!("about {} more ({time}) would resolve it", counted(blocks, "block"))
    }
}

/// "33% faster", "3.1 times as fast".
pub(crate) fn by_how_much(lead: &Lead) -> String {
    if lead.by.estimate >= 1.0 {
        let Interval { low, estimate, high } = lead.by;
        format!("{} times as fast {}", three_digits(1.0 + estimate), ends(1.0 + low, 1.0 + high))
    } else {
        format!("{} faster {}", percent(lead.by.estimate), percents(lead.by))
    }
}

/// "33% faster than old [25%–42%]", "3.10 times as fast as old [2.80–3.40]".
fn than(slower: &str, lead: &Lead) -> String {
    let Interval { low, estimate, high } = lead.by;
    if estimate >= 1.0 {
        let ends = ends(1.0 + low, 1.0 + high);
        format!("{} times as fast as {slower} {ends}", three_digits(1.0 + estimate))
    } else {
        format!("{} faster than {slower} {}", percent(estimate), percents(lead.by))
    }
}

/// "33%".
pub(crate) fn percent(fraction: f64) -> String {
    let percent = 100.0 * fraction;
    let decimals = usize::from(percent.abs() < 9.95 && (percent - percent.round()).abs() >= 0.05);
    format!("{percent:.decimals$}%")
}

pub(crate) fn percents(by: Interval) -> String {
    format!("[{}–{}]", percent(by.low), percent(by.high))
}

/// The verdict as a sentence without its full stop.
pub(crate) fn sentence(claim: &Claim, two: Two<'_>, longer: Option<Longer>) -> String {
    let Some(verdict) = claim.verdict else {
        let blocks = claim.ratio.blocks;
        return format!("{}: no interval, so no verdict", counted(blocks as u64, "block"));
    };
    let lead = verdict.lead();
    let (faster, slower) = (two.faster(&lead), two.slower(&lead));
    match verdict {
        Verdict::Faster(_) => format!("{faster} is {}", than(slower, &lead)),
        Verdict::PerhapsTooLittle(_) => {
            format!("{faster} is {}, perhaps too little to matter", than(slower, &lead))
        }
        Verdict::NoPracticalDifference(_) => {
            format!("no practical difference ({} at most)", percent(largest(&lead)))
        }
        Verdict::NotResolved(_) => {
            let either = format!(
                "not resolved: {faster} may be up to {}, or {slower} up to {}",
                at_most(lead.by.high, " faster"),
                at_most(other_way(&lead), "")
            );
            match (claim.more_blocks, longer) {
                (Some(blocks), Some(longer)) => format!("{either}; {}", longer.more(blocks)),
                _ => either,
            }
        }
    }
}

/// "33%" and what is to follow a percentage, or "3.1 times as fast".
fn at_most(fraction: f64, after_percent: &str) -> String {
    if fraction >= 1.0 {
        format!("{} times as fast", three_digits(1.0 + fraction))
    } else {
        format!("{}{after_percent}", percent(fraction))
    }
}

/// The largest difference that the interval allows, either way.
fn largest(lead: &Lead) -> f64 {
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
            ratio: Ratio { blocks: 6, estimate, interval, zero: (false, false) },
            verdict: interval.and_then(|i| Verdict::on(i, 0.05)),
            sign_flip_p: None,
            more_blocks: Some(14),
        }
    }

    fn said(low: f64, estimate: f64, high: f64) -> String {
        let longer = Some(Longer { seconds_per_block: 11.0 });
        sentence(&claim(low, estimate, high), Two { a: "old", b: "new" }, longer)
    }

    #[test]
    fn the_words_of_each_verdict() {
        assert_eq!(said(1.25, 4.0 / 3.0, 1.42), "new is 33% faster than old [25%–42%]");
        // The same pair the other way round has the same percentage.
        assert_eq!(said(1.0 / 1.42, 0.75, 0.8), "old is 33% faster than new [25%–42%]");
        assert_eq!(said(2.8, 3.1, 3.4), "new is 3.10 times as fast as old [2.80–3.40]");
        assert_eq!(
            said(1.01, 1.04, 1.07),
            "new is 4% faster than old [1%–7%], perhaps too little to matter"
        );
        assert_eq!(said(0.98, 1.0, 1.03), "no practical difference (3% at most)");
        assert_eq!(
            said(0.8, 0.96, 1.15),
            "not resolved: old may be up to 25% faster, or new up to 15%; \
             about 14 blocks more (3 min) would resolve it"
        );
        let none = Claim { verdict: None, ..claim(1.0, 1.0, 1.0) };
        assert_eq!(
            sentence(&none, Two { a: "a", b: "b" }, None),
            "6 blocks: no interval, so no verdict"
        );
    }

    proptest! {
        #[test]
        fn every_interval_has_exactly_one_wording(low in 0.3..2.0f64, width in 0.0..1.5f64) {
            let high = low + width;
            let text = said(low, (low * high).sqrt(), high);
            let wordings = [
                text.starts_with("not resolved"),
                text.starts_with("no practical difference"),
                text.ends_with("too little to matter"),
                (text.contains("% faster than ") || text.contains("times as fast as "))
                    && text.ends_with(']'),
            ];
            prop_assert_eq!(wordings.iter().filter(|w| **w).count(), 1, "{}", text);
            // Whoever is said to be faster is, and nobody where the interval holds 1 in between.
            if wordings[2] || wordings[3] {
                prop_assert_eq!(text.starts_with("new"), low > 1.0, "{}", text);
            }
        }
    }
}
