//! Whether parts of a router's path are independent: what a part costs as the router was found, and what it costs without
//! the parts before it. Four settings that differ by two things show that, two by two.

use crate::gather::Gathered;
use crate::part_costs::{Difference, by_block, lost_share};
use plimsoll_model::{Cell, PathPart, PathParts, PricedPart};
use plimsoll_stats::interval::Interval;
use std::collections::BTreeMap;

/// Share of what all of them cost together beyond which the parts alone do not add up.
const MUCH: f64 = 0.15;

/// What one part and the parts before it cost together, and each alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Interaction {
    /// The part.
    pub part: PathPart,
    /// The parts before it in the chain.
    pub others: Vec<PathPart>,
    /// What the part costs while the others are there, in CPU seconds a packet.
    pub with_others: Difference,
    /// The same without the others.
    pub without_others: Difference,
    /// What all of them cost together.
    pub together: Difference,
    /// The interaction: cost of the part with the others less its cost without them. By as much, the costs of the
    /// part and of the others, each switched off alone, exceed what they cost together.
    pub interaction: Difference,
    /// The verdict.
    pub verdict: InteractionVerdict,
    /// Combinations that were not measured.
    pub predicted: Vec<Predicted>,
}

/// What is claimed of two factors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum InteractionVerdict {
    /// The cost of one depends on the other.
    Depends {
        /// Whether the costs alone differ from the cost together by more than 15%.
        is_much: bool,
    },
    /// The interval holds 0, or what the A/A control differs by.
    NoneShown,
    /// There is no interval.
    TooFewBlocks,
    /// Frames were lost under one of the settings, so that these are not compared.
    Lost {
        /// Share of the frames, of the setting that lost most.
        share: f64,
    },
}

/// CPU time a packet of a combination of parts that was not measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// Parts that are off.
    pub off: Vec<PathPart>,
    /// CPU seconds a packet: those without the others of the parts, less what the part costs there. This is between its
    /// costs with and without all others, in proportion to what the others that are left cost.
    pub seconds: Option<f64>,
    /// Its interval, wherever between these two the cost of the part is: half of the interaction at its largest is on both
    /// sides.
    pub interval: Option<Interval>,
}

/// The interactions under a workload. Those within `limit` are not told from the A/A control; `confidence` is that of
/// each of so many intervals that hold at once.
pub(crate) fn interactions(
    gathered: &Gathered<'_>,
    parts: &PathParts,
    workload: u16,
    limit: f64,
    confidence: impl Fn(usize) -> f64,
) -> Vec<Interaction> {
    let confidence = confidence(parts.alone.len());
    let of_part = |alone: &plimsoll_model::PartAlone| {
        let place = parts.priced.iter().position(|priced| priced.part == alone.part)?;
        let (before, priced) = (&parts.priced[..place], &parts.priced[place]);
        let corners = [parts.whole, alone.setting, priced.with, priced.without];
        let cells = corners.map(|setting| Cell { subject: 0, workload, setting });
        let blocks = Blocks::new(gathered, cells);
        let difference = |of: fn([f64; 4]) -> f64| Difference::new(&blocks.each(of), confidence);
        let interaction =
            difference(|[whole, alone, with, without]| whole - alone - with + without);
        let together = difference(|[whole, _, _, without]| whole - without);
        let verdict = match lost_share(gathered, &cells) {
            Some(share) => InteractionVerdict::Lost { share },
            None => verdict(&interaction, &together, limit),
        };
        let is_known = !matches!(verdict, InteractionVerdict::Lost { .. });
        let predicted =
            before.iter().filter(|_| is_known).enumerate().filter_map(|(number, step)| {
                let setting = step.without;
                // Without all others it was measured.
                if setting == priced.with {
                    return None;
                }
                let off = before[..=number].iter().map(|other| other.part).chain([alone.part]);
                let cell = Cell { subject: 0, workload, setting };
                let others = by_block(gathered, cell);
                predicted(off.collect(), &blocks, &others, &interaction, limit, confidence)
            });
        Some(Interaction {
            part: alone.part,
            others: before.iter().map(|PricedPart { part, .. }| *part).collect(),
            with_others: difference(|[whole, alone, ..]| whole - alone),
            without_others: difference(|[_, _, with, without]| with - without),
            together,
            interaction,
            verdict,
            predicted: predicted.collect(),
        })
    };
    parts.alone.iter().filter_map(of_part).collect()
}

/// CPU seconds a packet under four settings, of the blocks that have all of them.
struct Blocks(BTreeMap<u32, [f64; 4]>);

impl Blocks {
    fn new(gathered: &Gathered<'_>, cells: [Cell; 4]) -> Blocks {
        let all = cells.map(|cell| by_block(gathered, cell));
        let of_block = |block: &u32| {
            let [a, b, c, d] = all.each_ref().map(|own| own.get(block).copied());
            Some((*block, [a?, b?, c?, d?]))
        };
        Blocks(all[0].keys().filter_map(of_block).collect())
    }

    fn each(&self, of: fn([f64; 4]) -> f64) -> Vec<f64> {
        self.0.values().map(|corners| of(*corners)).collect()
    }
}

/// Whether a difference is told from 0 and from the A/A control, and is above both.
fn is_above(difference: &Difference, limit: f64) -> bool {
    difference.interval.is_some_and(|own| own.low > limit)
}

/// The same, and is below both.
fn is_below(difference: &Difference, limit: f64) -> bool {
    difference.interval.is_some_and(|own| own.high < -limit)
}

fn verdict(interaction: &Difference, together: &Difference, limit: f64) -> InteractionVerdict {
    match interaction.interval {
        None => InteractionVerdict::TooFewBlocks,
        Some(interval) if is_above(interaction, limit) || is_below(interaction, limit) => {
            let much = together.seconds.map_or(0.0, |seconds| MUCH * seconds.abs());
            InteractionVerdict::Depends { is_much: interval.estimate.abs() > much }
        }
        Some(_) => InteractionVerdict::NoneShown,
    }
}

/// A combination of which the others were measured with the part, by block.
///
/// The interaction is taken to grow in proportion to what the others cost. That is exact where costs add up, where they
/// multiply, and where each part takes a share of the time that is left. `None` if the others cost more or less than both
/// all of them and none of them, as rules without their flowtable: what the part costs there is not between two figures
/// that were measured.
fn predicted(
    off: Vec<PathPart>,
    blocks: &Blocks,
    others: &BTreeMap<u32, f64>,
    interaction: &Difference,
    limit: f64,
    confidence: f64,
) -> Option<Predicted> {
    let of_block = |(block, [whole, alone, with, without]): (&u32, &[f64; 4])| {
        let own = others.get(block)?;
        let halfway = own - (whole - alone + with - without) / 2.0;
        Some([halfway, own - whole, own - with, whole - with])
    };
    let each: Vec<[f64; 4]> = blocks.0.iter().filter_map(of_block).collect();
    let [halfway, over_all, left, all] = [0_usize, 1, 2, 3].map(|number| {
        let of_blocks: Vec<f64> = each.iter().map(|own| own[number]).collect();
        Difference::new(&of_blocks, confidence)
    });
    let ends = [&over_all, &left];
    let is_outside = |is: fn(&Difference, f64) -> bool| ends.iter().all(|own| is(own, limit));
    if is_outside(is_above) || is_outside(is_below) {
        return None;
    }
    let by = (0.5 - share_left(&left, &all, limit)) * interaction.seconds.unwrap_or(0.0);
    let seconds = halfway.seconds.map(|seconds| seconds + by);
    let interval = halfway.interval.zip(interaction.interval).map(|(own, depends)| {
        let half = depends.low.abs().max(depends.high.abs()) / 2.0;
        Interval { low: own.low - half, estimate: own.estimate + by, high: own.high + half }
    });
    Some(Predicted { off, seconds, interval })
}

/// The share of what all others cost that those left in a combination cost; half if that cost is not told from 0.
fn share_left(left: &Difference, all: &Difference, limit: f64) -> f64 {
    match left.seconds.zip(all.seconds) {
        Some((left, all_seconds)) if is_above(all, limit) || is_below(all, limit) => {
            (left / all_seconds).clamp(0.0, 1.0)
        }
        _ => 0.5,
    }
}
