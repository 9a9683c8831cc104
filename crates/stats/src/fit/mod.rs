//! Times as sums of costs: `seconds = Σ amount × cost`, no cost below zero, fitted to cells that were
//! measured in several blocks. [`costs`] is the cost model on top of it.
//!
//! - **Weights.** Noise is relative, so residuals are divided by the fitted time, and the fit is repeated
//!   with these weights until they stay (the quasi-likelihood of a constant coefficient of variation;
//!   McCullagh and Nelder 1989, Generalized Linear Models, chapter 8). Weights by the measured times
//!   would favour those that happened to be short.
//! - **Intervals** are from what differs between blocks: the fit is linear in the times, so each block has
//!   costs of its own whose mean is the estimate, and a block's common slowness, or cells that
//!   disturb each other, are in their spread. Without repetitions they are Student's, from the residuals,
//!   and hold only if the model does. A cost that the fit holds at zero has zero as its lower end.
//! - **Lack of fit** is tested against the spread between blocks ([`LackOfFit`]). A model that does not fit
//!   names no cost and predicts nothing.
//! - **What cannot be separated is not named**: with one block size a cost per operation and a cost per
//!   byte are one; then their sum is given ([`Fit::identified`]).

pub mod costs;
mod estimate;
mod lack;
mod normal;
pub mod simulate;

use crate::interval::{mean, sample_sd, student_t};
use estimate::around;
pub use estimate::{Estimate, Prediction, Rule};
pub use lack::{LACK_OF_FIT, LackOfFit};
pub use normal::Combination;
use normal::Normal;

/// What was measured of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// How much of each cost it pays; not negative, and something of one at least.
    pub amounts: Vec<f64>,
    /// Its time in seconds in each block, `None` where there is none. Only blocks in which every cell has
    /// one count.
    pub seconds: Vec<Option<f64>>,
}

/// Whether the model describes what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adequacy {
    /// It is not further off than noise explains.
    Adequate,
    /// It is further off than noise explains.
    Inadequate,
    /// Nothing was repeated, or there are no more cells than costs.
    Unknown,
}

/// What is known of how far the costs may be off.
#[derive(Clone, Debug, PartialEq)]
enum Spread {
    /// Those of each block.
    Blocks(Vec<Vec<f64>>),
    /// Their covariance by the residuals, and its degrees of freedom.
    Residuals { covariance: Vec<Vec<f64>>, degrees: f64 },
    /// Nothing.
    Unknown,
}

/// A fitted model.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    identified: Vec<Combination>,
    values: Vec<f64>,
    spread: Spread,
    /// Standard deviation of a single time, as a share of it.
    noise: Option<f64>,
    measured: Vec<f64>,
    fitted: Vec<f64>,
    lack: Option<LackOfFit>,
    /// For each cost, the most that it can be: no cell's time is less than what that cost alone takes.
    most: Vec<f64>,
}

/// Rounds of weighting; a handful is enough where the model describes the cells.
const ROUNDS: usize = 200;
/// Rounds after which weights that go to and fro, as where it is far off, go half the way only.
const FULL_ROUNDS: usize = 10;

/// Fits the costs. `None` where there is nothing to fit: no cells, no block in which all have a time,
/// amounts of different number, and numbers that are not finite, not positive, or out of range.
pub fn fit(observations: &[Observation]) -> Option<Fit> {
    let rows: Vec<Vec<f64>> = observations.iter().map(|o| o.amounts.clone()).collect();
    let usable = |row: &Vec<f64>| {
        row.len() == rows[0].len()
            && row.iter().all(|amount| amount.is_finite() && *amount >= 0.0)
            && row.iter().any(|amount| *amount > 0.0)
    };
    if rows.is_empty() || !rows.iter().all(usable) {
        return None;
    }
    let blocks = complete_blocks(observations)?;
    let of_cell = |cell: usize| mean(&blocks.iter().map(|b| b[cell]).collect::<Vec<_>>());
    let measured: Vec<f64> = (0..rows.len()).map(of_cell).collect::<Option<_>>()?;

    let weights: Vec<f64> = measured.iter().map(|seconds| 1.0 / seconds).collect();
    let identified = Normal::new(&rows, &weights)?.identified();
    let column = |row: &Vec<f64>| identified.iter().map(|c| row[c[0].0]).collect();
    let columns: Vec<Vec<f64>> = rows.iter().map(column).collect();
    // A sum of costs is not negative, a difference may be.
    let free: Vec<bool> = identified.iter().map(|c| c.iter().any(|(_, by)| *by < 0.0)).collect();
    let (weights, values, passive) = weighted(&columns, &measured, &free)?;
    let normal = Normal::new(&columns, &weights)?;
    let fitted: Vec<f64> = columns.iter().map(|row| dot(row, &values)).collect();
    let relative = |block: &Vec<f64>, of: &[f64]| -> Vec<f64> {
        let residual =
            |((row, seconds), w): ((&Vec<f64>, &f64), &f64)| w * (seconds - dot(row, of));
        columns.iter().zip(block).zip(&weights).map(residual).collect()
    };

    let all = vec![true; values.len()];
    let (spread, noise) = if blocks.len() > 1 {
        let costs = blocks.iter().map(|block| normal.least_squares(block, &all)).collect();
        let of_cell = |cell: usize| {
            let relative = blocks.iter().map(|b| b[cell] * weights[cell]).collect::<Vec<_>>();
            sample_sd(&relative).map(|sd| sd * sd)
        };
        let variances: Vec<f64> = (0..rows.len()).map(of_cell).collect::<Option<_>>()?;
        (Spread::Blocks(costs), Some(mean(&variances)?.sqrt()))
    } else if rows.len() > values.len() {
        let degrees = (rows.len() - values.len()) as f64;
        let variance = relative(&measured, &values).iter().map(|r| r * r).sum::<f64>() / degrees;
        let mut covariance = normal.inverse();
        covariance.iter_mut().flatten().for_each(|entry| *entry *= variance);
        (Spread::Residuals { covariance, degrees }, Some(variance.sqrt()))
    } else {
        (Spread::Unknown, None)
    };
    let residuals: Vec<Vec<f64>> = blocks
        .iter()
        .map(|block| relative(block, &normal.least_squares(block, &passive)))
        .collect();
    let costs = passive.iter().filter(|passive| **passive).count();
    let lack = rows.len().checked_sub(costs).and_then(|free| LackOfFit::test(&residuals, free));
    let at_most = |cost: usize| {
        let alone = rows.iter().zip(&measured).map(|(row, seconds)| seconds / row[cost]);
        alone.fold(f64::INFINITY, f64::min)
    };
    let most = (0..rows[0].len()).map(at_most).collect();
    let sound = values.iter().chain(&fitted).chain(&noise).all(|v| v.is_finite());
    sound.then_some(Fit { identified, values, spread, noise, measured, fitted, lack, most })
}

/// The times of the blocks in which every cell has one. `None` without such a block, and for times that
/// are not finite and positive.
fn complete_blocks(observations: &[Observation]) -> Option<Vec<Vec<f64>>> {
    let count = observations.iter().map(|o| o.seconds.len()).min()?;
    let times = observations.iter().flat_map(|o| &o.seconds).flatten();
    let usable = times.copied().all(|seconds| seconds.is_finite() && seconds > 0.0);
    let block = |number: usize| observations.iter().map(|o| o.seconds[number]).collect();
    let blocks: Vec<Vec<f64>> = (0..count).filter_map(block).collect();
    (usable && !blocks.is_empty()).then_some(blocks)
}

/// The costs by their relative error, with the weights that this led to, and which are not at zero.
fn weighted(
    columns: &[Vec<f64>],
    measured: &[f64],
    free: &[bool],
) -> Option<(Vec<f64>, Vec<f64>, Vec<bool>)> {
    let mut weights: Vec<f64> = measured.iter().map(|seconds| 1.0 / seconds).collect();
    let mut round = 0;
    loop {
        let (values, passive) = Normal::new(columns, &weights)?.non_negative(measured, free);
        // A cell that is missed by far is not given any weight for it.
        let weight = |(row, seconds): (&Vec<f64>, &f64)| {
            1.0 / dot(row, &values).clamp(seconds / 4.0, seconds * 4.0)
        };
        let next: Vec<f64> = columns.iter().zip(measured).map(weight).collect();
        let settled = next.iter().zip(&weights).all(|(a, b)| (a - b).abs() <= 1e-12 * b);
        round += 1;
        if settled || round == ROUNDS {
            return Some((weights, values, passive));
        }
        let halfway = |(now, next): (&f64, &f64)| (now * next).sqrt();
        weights = match round > FULL_ROUNDS {
            true => weights.iter().zip(&next).map(halfway).collect(),
            false => next,
        };
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Fit {
    /// The sums of costs that the design separates; one of a single term is that cost.
    pub fn identified(&self) -> &[Combination] {
        &self.identified
    }

    /// The sum of that number in [`Self::identified`], seconds for one unit of its first cost. `None` where
    /// there is no such sum, and where the model does not fit.
    pub fn combined(&self, number: usize, rule: Rule) -> Option<Estimate> {
        let combination = self.identified.get(number)?;
        let mut unit = vec![0.0; self.values.len()];
        unit[number] = 1.0;
        let least =
            if combination.iter().all(|(_, by)| *by > 0.0) { 0.0 } else { f64::NEG_INFINITY };
        self.estimate(&unit, rule, least)
    }

    /// One cost, seconds. `None` where the design does not separate it from others, and where the model
    /// does not fit.
    pub fn cost(&self, number: usize, rule: Rule) -> Option<Estimate> {
        let alone = |c: &Combination| c.len() == 1 && c[0].0 == number;
        self.combined(self.identified.iter().position(alone)?, rule)
    }

    /// The time of a cell with these amounts. `None` where the model does not fit, where what it would
    /// take was not separated, so that more than a hundredth of the time is open, and for amounts of another
    /// number than those that were fitted, or out of range.
    pub fn predict(&self, amounts: &[f64], rule: Rule) -> Option<Prediction> {
        let usable = amounts.iter().all(|amount| amount.is_finite() && *amount >= 0.0);
        if !usable || amounts.len() != self.most.len() {
            return None;
        }
        let identified: Vec<f64> = self.identified.iter().map(|c| amounts[c[0].0]).collect();
        let mean = self.estimate(&identified, rule, 0.0)?;
        let mut left = amounts.to_vec();
        for (combination, amount) in self.identified.iter().zip(&identified) {
            combination.iter().for_each(|&(cost, by)| left[cost] -= by * amount);
        }
        let rounding = |cost: usize| 1e-9 * amounts[cost];
        let open = left.iter().enumerate().filter(|(cost, left)| left.abs() > rounding(*cost));
        let open: f64 = open.map(|(cost, left)| left.abs() * self.most[cost]).sum();
        if open > normal::EXPLAINED * mean.value {
            return None;
        }
        let single = self.noise.zip(mean.interval).and_then(|(noise, interval)| {
            let degrees = match &self.spread {
                Spread::Blocks(blocks) => blocks.len() as f64 - 1.0,
                Spread::Residuals { degrees, .. } => *degrees,
                Spread::Unknown => return None,
            };
            let own = student_t(rule.confidence(), degrees)? * noise * mean.value;
            around(mean.value, own.hypot(interval.high - mean.value), 0.0)
        });
        Some(Prediction { mean, single })
    }

    /// Whether the model describes the cells.
    pub fn adequacy(&self) -> Adequacy {
        match self.lack {
            None => Adequacy::Unknown,
            Some(lack) if lack.p_value < LACK_OF_FIT => Adequacy::Inadequate,
            Some(_) => Adequacy::Adequate,
        }
    }

    /// The test of lack of fit; `None` where nothing was repeated, or there are no more cells than costs.
    pub fn lack_of_fit(&self) -> Option<LackOfFit> {
        self.lack
    }

    /// For each cell the fitted time over the measured one, less 1: how far the model is off, also where it
    /// does not fit.
    pub fn errors(&self) -> Vec<f64> {
        self.fitted
            .iter()
            .zip(&self.measured)
            .map(|(fitted, seconds)| fitted / seconds - 1.0)
            .collect()
    }

    /// Standard deviation of a single time, as a share of it; `None` where there are neither repetitions
    /// nor more cells than costs.
    pub fn noise(&self) -> Option<f64> {
        self.noise
    }

    /// A sum of what is identified, with the interval of it.
    fn estimate(&self, of: &[f64], rule: Rule, least: f64) -> Option<Estimate> {
        if self.adequacy() == Adequacy::Inadequate {
            return None;
        }
        let value = dot(of, &self.values);
        let half_width = match &self.spread {
            Spread::Blocks(blocks) => {
                let values: Vec<f64> = blocks.iter().map(|block| dot(of, block)).collect();
                rule.interval(&values).map(|interval| interval.high - interval.estimate)
            }
            Spread::Residuals { covariance, degrees } => {
                let variance: f64 =
                    of.iter().zip(covariance).map(|(a, row)| a * dot(row, of)).sum();
                student_t(rule.confidence(), *degrees).map(|t| t * variance.max(0.0).sqrt())
            }
            Spread::Unknown => None,
        };
        let interval = half_width.and_then(|half_width| around(value, half_width, least));
        value.is_finite().then_some(Estimate { value, interval })
    }
}

#[cfg(test)]
mod tests;
