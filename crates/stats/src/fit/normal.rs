//! The normal equations of a weighted fit of a few parameters: which of them the design separates, and
//! their least-squares values, none below zero.
//!
//! Written out here because it is short: the crates that solve such problems do so for large ones, and
//! say nothing of parameters that cannot be separated.

/// A column of which all but this share is explained by the others has no parameter of its own: noise of
/// as much would change it by its whole contribution.
pub(super) const EXPLAINED: f64 = 0.01;

/// Parameter numbers with coefficients: a sum that the design determines. The first has coefficient 1.
pub type Combination = Vec<(usize, f64)>;

/// Rows times weights as XᵀX, with columns scaled to length 1.
pub(super) struct Normal<'a> {
    rows: &'a [Vec<f64>],
    weights: &'a [f64],
    /// Length of each weighted column.
    scale: Vec<f64>,
    gram: Vec<Vec<f64>>,
}

impl<'a> Normal<'a> {
    /// Of rows of equal length. `None` where a number is out of range.
    pub(super) fn new(rows: &'a [Vec<f64>], weights: &'a [f64]) -> Option<Self> {
        let size = rows.first()?.len();
        let product = |i: usize, j: usize| -> f64 {
            rows.iter().zip(weights).map(|(row, w)| (row[i] * w) * (row[j] * w)).sum()
        };
        let scale: Vec<f64> = (0..size).map(|i| product(i, i).sqrt()).collect();
        let entry = |i: usize, j: usize| match scale[i] * scale[j] {
            0.0 => 0.0,
            lengths => product(i, j) / lengths,
        };
        let gram: Vec<Vec<f64>> =
            (0..size).map(|i| (0..size).map(|j| entry(i, j)).collect()).collect();
        let finite = gram.iter().flatten().chain(&scale).all(|v| v.is_finite());
        finite.then_some(Normal { rows, weights, scale, gram })
    }

    /// The sums of parameters that the design determines, one for each column that is not explained by
    /// those before it: the reduced row echelon form of the design, its rounding cut off.
    pub(super) fn identified(&self) -> Vec<Combination> {
        let mut swept = self.gram.clone();
        let size = self.scale.len();
        let pivots: Vec<usize> = (0..size)
            .filter(|&column| {
                let separate = swept[column][column] > EXPLAINED * EXPLAINED;
                if separate {
                    sweep(&mut swept, column);
                }
                separate
            })
            .collect();
        let others: Vec<usize> = (0..size).filter(|column| !pivots.contains(column)).collect();
        let combination = |pivot: usize| {
            let coefficient = |&other: &usize| {
                let scaled = swept[pivot][other];
                (scaled.abs() > EXPLAINED)
                    .then(|| (other, scaled * self.scale[other] / self.scale[pivot]))
            };
            std::iter::once((pivot, 1.0)).chain(others.iter().filter_map(coefficient)).collect()
        };
        pivots.iter().map(|&pivot| combination(pivot)).collect()
    }

    /// Least squares of the parameters in `passive`; the others are 0.
    pub(super) fn least_squares(&self, values: &[f64], passive: &[bool]) -> Vec<f64> {
        self.unscaled(self.solved(&self.right(values), passive))
    }

    /// Least squares without values below zero but for those that are `free` (Lawson and Hanson 1974,
    /// Solving Least Squares Problems, chapter 23), and which of them are not at the bound.
    pub(super) fn non_negative(&self, values: &[f64], free: &[bool]) -> (Vec<f64>, Vec<bool>) {
        let right = self.right(values);
        let size = right.len();
        let mut passive = free.to_vec();
        let mut now = self.solved(&right, &passive);
        let least = 1e-12 * right.iter().fold(0.0, |most: f64, r| most.max(r.abs()));
        // Each round lowers the sum of squares, so that no passive set comes twice; the bound is for
        // rounding alone.
        for _ in 0..10 * size {
            let downhill = |i: usize| {
                right[i] - self.gram[i].iter().zip(&now).map(|(g, v)| g * v).sum::<f64>()
            };
            let steepest = (0..size)
                .filter(|&i| !passive[i] && downhill(i) > least)
                .max_by(|&i, &j| downhill(i).total_cmp(&downhill(j)));
            let Some(entering) = steepest else { break };
            passive[entering] = true;
            loop {
                let next = self.solved(&right, &passive);
                let bound = |i: &usize| passive[*i] && !free[*i] && next[*i] <= 0.0;
                let step = |i: usize| now[i] / (now[i] - next[i]);
                let blocking = (0..size).filter(bound).min_by(|&i, &j| step(i).total_cmp(&step(j)));
                let Some(blocking) = blocking else {
                    now = next;
                    break;
                };
                let part = if now[blocking] > 0.0 { step(blocking) } else { 0.0 };
                for (now, next) in now.iter_mut().zip(&next) {
                    *now += part * (next - *now);
                }
                (now[blocking], passive[blocking]) = (0.0, false);
            }
        }
        (self.unscaled(now), passive)
    }

    /// The inverse of XᵀX, in the units of the parameters. Only where all of them are separated.
    pub(super) fn inverse(&self) -> Vec<Vec<f64>> {
        let mut inverse = self.gram.clone();
        (0..self.scale.len()).for_each(|column| sweep(&mut inverse, column));
        for (row, a) in inverse.iter_mut().zip(&self.scale) {
            row.iter_mut().zip(&self.scale).for_each(|(entry, b)| *entry /= a * b);
        }
        inverse
    }

    /// Xᵀy.
    fn right(&self, values: &[f64]) -> Vec<f64> {
        let product = |(column, scale): (usize, &f64)| {
            let rows = self.rows.iter().zip(self.weights).zip(values);
            let sum: f64 = rows.map(|((row, w), value)| (row[column] * w) * (value * w)).sum();
            if *scale > 0.0 { sum / scale } else { 0.0 }
        };
        self.scale.iter().enumerate().map(product).collect()
    }

    fn solved(&self, right: &[f64], passive: &[bool]) -> Vec<f64> {
        let mut inverse = self.gram.clone();
        let chosen: Vec<usize> = (0..right.len()).filter(|&i| passive[i]).collect();
        chosen.iter().for_each(|&column| sweep(&mut inverse, column));
        let value = |i: usize| chosen.iter().map(|&j| inverse[i][j] * right[j]).sum();
        (0..right.len()).map(|i| if passive[i] { value(i) } else { 0.0 }).collect()
    }

    fn unscaled(&self, values: Vec<f64>) -> Vec<f64> {
        let length = |scale: &f64| if *scale > 0.0 { *scale } else { 1.0 };
        values.iter().zip(&self.scale).map(|(value, scale)| value / length(scale)).collect()
    }
}

/// Sweeps a symmetric matrix on one column (Goodnight 1979, The American Statistician 33, 149–158):
/// swept on a set of columns it holds the inverse of their part, and beside it the regression of every
/// other column on them.
fn sweep(matrix: &mut [Vec<f64>], column: usize) {
    let diagonal = matrix[column][column];
    let pivot: Vec<f64> = matrix[column].iter().map(|entry| entry / diagonal).collect();
    for (index, row) in matrix.iter_mut().enumerate() {
        if index != column {
            let by = row[column];
            row.iter_mut().zip(&pivot).for_each(|(entry, p)| *entry -= by * p);
            row[column] = -by / diagonal;
        }
    }
    matrix[column] = pivot;
    matrix[column][column] = 1.0 / diagonal;
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(a: &[f64], b: &[f64]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + b.abs()))
    }

    /// The line through (1, 1), (2, 2), (3, 2): slope 1/2, intercept 2/3; and (XᵀX)⁻¹ of it.
    #[test]
    fn a_line_by_hand() {
        let rows = [vec![1.0, 1.0], vec![1.0, 2.0], vec![1.0, 3.0]];
        let normal = Normal::new(&rows, &[1.0; 3]).unwrap();
        let line = normal.least_squares(&[1.0, 2.0, 2.0], &[true, true]);
        assert!(near(&line, &[2.0 / 3.0, 0.5]), "{line:?}");
        let inverse = normal.inverse();
        assert!(near(&inverse[0], &[14.0 / 6.0, -1.0]) && near(&inverse[1], &[-1.0, 0.5]));
        // A weight of 2 counts a row four times: the line through (1, 1), (2, 2) and four times (3, 2).
        let weighted = Normal::new(&rows, &[1.0, 1.0, 2.0]).unwrap();
        let line = weighted.least_squares(&[1.0, 2.0, 2.0], &[true, true]);
        assert!(near(&line, &[16.0 / 21.0, 3.0 / 7.0]), "{line:?}");
    }

    /// The line of (1, 0), (2, 2), (3, 4) has the intercept −2: at the bound its slope is 16/14.
    #[test]
    fn nothing_is_below_zero_unless_it_may_be() {
        let rows = [vec![1.0, 1.0], vec![1.0, 2.0], vec![1.0, 3.0]];
        let normal = Normal::new(&rows, &[1.0; 3]).unwrap();
        let (bounded, passive) = normal.non_negative(&[0.0, 2.0, 4.0], &[false, false]);
        assert!(near(&bounded, &[0.0, 16.0 / 14.0]) && passive == [false, true], "{bounded:?}");
        let (free, _) = normal.non_negative(&[0.0, 2.0, 4.0], &[true, false]);
        assert!(near(&free, &[-2.0, 2.0]), "{free:?}");
    }

    #[test]
    fn sums_that_cannot_be_separated_are_found() {
        // The third column is twice the first and half the second; the fourth is empty.
        let rows: Vec<Vec<f64>> = [(1.0, 2.0), (3.0, 1.0), (2.0, 2.0)]
            .map(|(a, b)| vec![a, b, 2.0 * a + 0.5 * b, 0.0])
            .to_vec();
        let normal = Normal::new(&rows, &[1.0; 3]).unwrap();
        let found = normal.identified();
        assert_eq!(found.len(), 2, "{found:?}");
        for (combination, (pivot, coefficient)) in found.iter().zip([(0, 2.0), (1, 0.5)]) {
            assert_eq!((combination[0], combination[1].0), ((pivot, 1.0), 2), "{found:?}");
            assert!((combination[1].1 - coefficient).abs() < 1e-9, "{found:?}");
        }
    }

    proptest! {
        /// The conditions of Kuhn and Tucker, which only the solution meets: no value below zero,
        /// no slope that leads down from zero, no slope at all elsewhere.
        #[test]
        fn the_solution_is_the_least(
            rows in prop::collection::vec(prop::collection::vec(0.0..1.0f64, 5), 6..20),
            values in prop::collection::vec(-1.0..2.0f64, 20),
            free in prop::collection::vec(any::<bool>(), 5),
        ) {
            let weights = vec![1.0; rows.len()];
            let normal = Normal::new(&rows, &weights).unwrap();
            prop_assume!(normal.identified().len() == 5);
            let (solution, passive) = normal.non_negative(&values[..rows.len()], &free);
            let residual = |row: &Vec<f64>, value: &f64| {
                value - row.iter().zip(&solution).map(|(x, p)| x * p).sum::<f64>()
            };
            for i in 0..5 {
                let slope: f64 = rows.iter().zip(&values).map(|(r, v)| r[i] * residual(r, v)).sum();
                prop_assert!(free[i] || solution[i] >= 0.0, "{solution:?}");
                prop_assert!(slope < 1e-7 && (!passive[i] || slope > -1e-7), "{i}: {slope}");
            }
        }

        /// What is identified is determined: whatever parameters make the same values, it is the same.
        #[test]
        fn what_is_identified_is_the_same_in_every_solution(
            rows in prop::collection::vec(prop::collection::vec(1.0..2.0f64, 3), 8),
            mix in prop::collection::vec(-1.0..1.0f64, 3), along in -3.0..3.0f64,
        ) {
            // A fourth column made of the three: (mix, −1) changes no value.
            let row = |r: &Vec<f64>| {
                let last = r.iter().zip(&mix).map(|(x, m)| x * m).sum();
                r.iter().copied().chain([last]).collect::<Vec<f64>>()
            };
            let rows: Vec<Vec<f64>> = rows.iter().map(row).collect();
            let weights = [1.0; 8];
            let normal = Normal::new(&rows, &weights).unwrap();
            let found = normal.identified();
            prop_assume!(found.len() == 3);
            for combination in found {
                let change = |&(p, c): &(usize, f64)| c * along * mix.get(p).unwrap_or(&-1.0);
                let change: f64 = combination.iter().map(change).sum();
                // What was cut off is a hundredth of a column's length at most.
                prop_assert!(change.abs() < 0.05 * along.abs().max(0.1), "{combination:?}");
            }
        }
    }
}
