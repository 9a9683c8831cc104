//! Growth of the one-way delay: the share of the packets that a queue takes.

use crate::interval::student_t;

/// Fastest growth of a queue that is no loss, in seconds per second: clocks and small queues differ by less.
const LEAST: f64 = 0.0025;
/// Good segments in a row that have a slope.
const SHORTEST_RUN: usize = 3;
/// Two-sided confidence whose lower end leaves 5% below it.
const CONFIDENCE: f64 = 0.9;

/// Growth of the delay in seconds per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slope {
    /// By least squares within runs of consecutive segments.
    pub estimate: f64,
    /// Lower 95% bound.
    pub low: f64,
}

impl Slope {
    /// The growth if it counts as loss where so much loss is allowed, else 0.
    pub fn above(self, goal: f64) -> f64 {
        if self.low > goal.max(LEAST) { self.estimate } else { 0.0 }
    }
}

/// The slope of delays, one for each segment; `None` marks segments that do not count, and ends a run. `None` without
/// enough of them.
pub(super) fn slope(delays: &[Option<f64>], segment_seconds: f64) -> Option<Slope> {
    let runs: Vec<&[Option<f64>]> =
        delays.split(Option::is_none).filter(|run| run.len() >= SHORTEST_RUN).collect();
    let (mut across, mut along, mut values) = (0.0, 0.0, 0);
    let each = |run: &[Option<f64>]| -> Vec<(f64, f64)> {
        let points = run.iter().flatten().enumerate();
        let points: Vec<(f64, f64)> =
            points.map(|(at, delay)| (at as f64 * segment_seconds, *delay)).collect();
        let count = points.len() as f64;
        let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
        points.iter().map(|point| (point.0 - x / count, point.1 - y / count)).collect()
    };
    let runs: Vec<Vec<(f64, f64)>> = runs.into_iter().map(each).collect();
    for (x, y) in runs.iter().flatten() {
        across += x * y;
        along += x * x;
        values += 1;
    }
    let freedom = values as f64 - runs.len() as f64 - 1.0;
    if along <= 0.0 || freedom < 1.0 {
        return None;
    }
    let estimate = across / along;
    let rest: f64 = runs.iter().flatten().map(|(x, y)| (y - estimate * x).powi(2)).sum();
    let error = (rest / freedom / along).sqrt();
    let low = estimate - student_t(CONFIDENCE, freedom)? * error;
    low.is_finite().then_some(Slope { estimate, low })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growing(count: usize, per_second: f64, noise: f64) -> Vec<Option<f64>> {
        let sign = |at: usize| if at.is_multiple_of(2) { 1.0 } else { -1.0 };
        (0..count).map(|at| Some(0.005 + per_second * 0.1 * at as f64 + noise * sign(at))).collect()
    }

    #[test]
    fn a_queue_that_grows_is_found_and_noise_is_none() {
        let found = slope(&growing(10, 0.01, 0.0), 0.1).unwrap();
        assert!((found.estimate - 0.01).abs() < 1e-9 && found.above(0.0) > 0.009, "{found:?}");
        assert_eq!(found.above(0.02), 0.0, "that much may be lost");
        // Jitter of 6 ms hides a growth of 1%.
        assert_eq!(slope(&growing(10, 0.01, 0.006), 0.1).unwrap().above(0.0), 0.0);
        // 100 ppm of skew are no queue.
        assert_eq!(slope(&growing(100, 1e-4, 0.0), 0.1).unwrap().above(0.0), 0.0);
    }

    #[test]
    fn each_run_has_its_own_level() {
        let mut delays = growing(5, 0.01, 0.0);
        delays.push(None);
        delays.extend(growing(5, 0.01, 0.0).iter().map(|delay| delay.map(|d| d - 0.02)));
        assert!((slope(&delays, 0.1).unwrap().estimate - 0.01).abs() < 1e-9);
        assert_eq!(slope(&[Some(1.0), None, Some(2.0), None, Some(3.0)], 0.1), None);
        assert_eq!(slope(&[], 0.1), None);
    }
}
