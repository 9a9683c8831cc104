//! Whether parts of a router's path are independent: what a part costs as the router was found, and what it costs without
//! the parts before it. Four settings that differ by two things show that, two by two.

use crate::gather::Gathered;
use crate::part_costs::{Difference, by_block, lost_share};
use plimsoll_model::{Cell, PathPart, PathParts, PricedPart};
use plimsoll_stats::interval::{Interval, mean, t_interval};
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
    /// CPU seconds a packet: those without the others of the parts, less the mean of what the part costs with and without
    /// all others.
    pub seconds: Option<f64>,
    /// Its interval, and on both sides of that half of the interaction at its largest.
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
                Some(predicted(
                    off.collect(),
                    &blocks,
                    &by_block(gathered, cell),
                    &interaction,
                    confidence,
                ))
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

fn verdict(interaction: &Difference, together: &Difference, limit: f64) -> InteractionVerdict {
    match interaction.interval {
        None => InteractionVerdict::TooFewBlocks,
        Some(interval) if interval.low > limit || interval.high < -limit => {
            let much = together.seconds.map_or(0.0, |seconds| MUCH * seconds.abs());
            InteractionVerdict::Depends { is_much: interval.estimate.abs() > much }
        }
        Some(_) => InteractionVerdict::NoneShown,
    }
}

/// A combination whose others were measured alone, by block.
fn predicted(
    off: Vec<PathPart>,
    blocks: &Blocks,
    others: &BTreeMap<u32, f64>,
    interaction: &Difference,
    confidence: f64,
) -> Predicted {
    let of_block = |(block, [whole, alone, with, without]): (&u32, &[f64; 4])| {
        let cost = (whole - alone + with - without) / 2.0;
        Some(others.get(block)? - cost)
    };
    let each: Vec<f64> = blocks.0.iter().filter_map(of_block).collect();
    let interval = t_interval(&each, confidence).zip(interaction.interval).map(|(own, depends)| {
        let half = depends.low.abs().max(depends.high.abs()) / 2.0;
        Interval { low: own.low - half, high: own.high + half, ..own }
    });
    Predicted { off, seconds: mean(&each), interval }
}
