//! Closed networks: n operations in flight at resources that each serve one at a time, with a delay in
//! which they are at none, such as a round trip or think time.
//!
//! A resource's *demand* is the seconds of its service that one operation takes. Demands that do not depend
//! on load are an assumption: interrupts coalesce and disks reorder, so a prediction from these models is
//! to be compared with a measurement at another n before it is believed.

/// Throughput and response of a closed network.
#[derive(Clone, Debug, PartialEq)]
pub struct Closed {
    /// Operations per second.
    pub per_second: f64,
    /// Mean seconds of an operation at the resources, the delay not included.
    pub response: f64,
    /// Mean number of operations at each resource, being served or waiting.
    pub at: Vec<f64>,
}

/// Demands and delay that a network can have: not negative, and something of all.
fn usable(n: u16, demands: &[f64], delay: f64) -> bool {
    let valid = |seconds: &f64| seconds.is_finite() && *seconds >= 0.0;
    let total = demands.iter().sum::<f64>() + delay;
    n > 0 && demands.iter().all(valid) && valid(&delay) && total.is_finite() && total > 0.0
}

fn largest(demands: &[f64]) -> f64 {
    demands.iter().copied().fold(0.0, f64::max)
}

/// Most operations per second with `n` in flight: min(n/(R + Z), 1/largest demand), with R the sum of the
/// demands and Z the delay (Denning and Buzen 1978, Computing Surveys 10, 225–261). `None` for none in
/// flight, and for demands or a delay that are negative, not finite, or all zero.
pub fn bound(n: u16, demands: &[f64], delay: f64) -> Option<f64> {
    if !usable(n, demands, delay) {
        return None;
    }
    let alone = f64::from(n) / (demands.iter().sum::<f64>() + delay);
    // Without demands nothing but the delay bounds it.
    let bound = alone.min(1.0 / largest(demands));
    bound.is_finite().then_some(bound)
}

/// Bounds on what a closed network carries.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// Operations per second at least.
    pub low: f64,
    /// Operations per second at most.
    pub high: f64,
}

/// Bounds on the operations per second with `n` in flight, where service takes as irregular a time as mean value
/// analysis assumes (balanced job bounds: Zahorjan, Sevcik, Eager and Galler 1982, Communications of the ACM 25,
/// 134–141; with a delay as in Lazowska, Zahorjan, Graham and Sevcik 1984, Quantitative System Performance, 5.4).
/// Without a delay they are n/(R + (n − 1)·D_max) and min(1/D_max, n/(R + (n − 1)·R/K)), with R the sum of the
/// demands, D_max the largest and K the number of those that are not 0. `None` as for [`bound`].
pub fn balanced(n: u16, demands: &[f64], delay: f64) -> Option<Bounds> {
    let most = bound(n, demands, delay)?;
    let all: f64 = demands.iter().sum();
    if all <= 0.0 {
        return Some(Bounds { low: most, high: most });
    }
    let count = f64::from(n);
    let resources = demands.iter().filter(|demand| **demand > 0.0).count() as f64;
    let others = count - 1.0;
    let queues = others * largest(demands) / (1.0 + delay / (count * all));
    let even = others * all / resources / (1.0 + delay / all);
    let low = count / (all + delay + queues);
    let high = (count / (all + delay + even)).min(most);
    // With one resource both are the same but for rounding.
    (low.is_finite() && high.is_finite()).then(|| Bounds { low: low.min(high), high })
}

/// Exact mean value analysis (Reiser and Lavenberg 1980, Journal of the ACM 27, 313–322): each operation
/// is issued as soon as one ends, and service times are exponential, which makes queues longer than regular
/// ones are. `None` as for [`bound`].
pub fn mva(n: u16, demands: &[f64], delay: f64) -> Option<Closed> {
    if !usable(n, demands, delay) {
        return None;
    }
    let mut closed = Closed { per_second: 0.0, response: 0.0, at: vec![0.0; demands.len()] };
    for n in 1..=n {
        // One that arrives finds what there is with one fewer in flight.
        let waits = demands.iter().zip(&closed.at).map(|(demand, at)| demand * (1.0 + at));
        let waits: Vec<f64> = waits.collect();
        closed.response = waits.iter().sum();
        closed.per_second = f64::from(n) / (closed.response + delay);
        closed.at = waits.iter().map(|wait| wait * closed.per_second).collect();
    }
    closed.per_second.is_finite().then_some(closed)
}

/// Operations per second where `n` are issued together, and the next n when all of them have ended: the
/// first takes the delay and every demand, the others follow it at the pace of the slowest resource. Such
/// rounds leave that resource idle for a while each, which an open pipeline would not. `None` as for
/// [`bound`].
pub fn rounds(n: u16, demands: &[f64], delay: f64) -> Option<f64> {
    if !usable(n, demands, delay) {
        return None;
    }
    let first = demands.iter().sum::<f64>() + delay;
    let per_second = f64::from(n) / (first + f64::from(n - 1) * largest(demands));
    per_second.is_finite().then_some(per_second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs()
    }

    /// A server and a delay is the machine repairman: the server is idle with probability
    /// 1/Σ n!/(n − k)! (D/Z)ᵏ (Kleinrock 1975, Queueing Systems 1, 3.8).
    #[test]
    fn one_resource_and_a_delay() {
        let (demand, delay) = (0.8, 0.25);
        for n in 1..=20_u16 {
            let mut term = 1.0;
            let mut sum = 1.0;
            for k in 0..n {
                term *= f64::from(n - k) * demand / delay;
                sum += term;
            }
            let closed = mva(n, &[demand], delay).unwrap();
            assert!(near(closed.per_second, (1.0 - 1.0 / sum) / demand), "{n}: {closed:?}");
        }
    }

    /// Two resources without delay, demands a and b: of n + 1 states with weights aᵏbⁿ⁻ᵏ those without any
    /// at the first are one.
    #[test]
    fn two_resources_by_their_states() {
        let (a, b) = (0.3_f64, 0.5_f64);
        for n in 1..12_u16 {
            let weights = |k: u16| a.powi(k.into()) * b.powi((n - k).into());
            let all: f64 = (0..=n).map(weights).sum();
            let busy = 1.0 - weights(0) / all;
            let at: f64 = (0..=n).map(|k| f64::from(k) * weights(k)).sum::<f64>() / all;
            let closed = mva(n, &[a, b], 0.0).unwrap();
            assert!(near(closed.per_second, busy / a) && near(closed.at[0], at), "{closed:?}");
        }
    }

    #[test]
    fn by_hand() {
        // Alone: 1/(0.3 + 0.1 + 0.6). Together the three follow each other by 0.3.
        assert!(near(mva(1, &[0.3, 0.1], 0.6).unwrap().per_second, 1.0));
        assert!(near(rounds(3, &[0.3, 0.1], 0.6).unwrap(), 3.0 / 1.6));
        assert!(near(bound(2, &[0.3, 0.1], 0.6).unwrap(), 2.0));
        assert!(near(bound(9, &[0.3, 0.1], 0.6).unwrap(), 1.0 / 0.3));
        // Three in flight: 3/(0.4 + 2·0.3); and 3/(0.4 + 2·0.4/2) = 3.75 is more than 1/0.3. Two: 2/0.7 and 2/0.6.
        let bounds = balanced(3, &[0.3, 0.1], 0.0).unwrap();
        assert!(near(bounds.low, 3.0) && near(bounds.high, 1.0 / 0.3), "{bounds:?}");
        let bounds = balanced(2, &[0.3, 0.1], 0.0).unwrap();
        assert!(near(bounds.low, 2.0 / 0.7) && near(bounds.high, 2.0 / 0.6), "{bounds:?}");
        // One alone has no queue: both are 1/R.
        let alone = balanced(1, &[0.3, 0.1], 0.6).unwrap();
        assert!(near(alone.low, 1.0) && near(alone.high, 1.0), "{alone:?}");
        // Nothing but a delay: nobody waits.
        assert_eq!(balanced(8, &[], 2.0), Some(Bounds { low: 4.0, high: 4.0 }));
        for per_second in [bound(8, &[], 2.0), rounds(8, &[0.0], 2.0)] {
            assert_eq!(per_second, Some(4.0));
        }
        assert_eq!(
            mva(8, &[], 2.0).unwrap(),
            Closed { per_second: 4.0, response: 0.0, at: vec![] }
        );
    }

    #[test]
    fn nothing_is_invented() {
        let wrong: [(u16, &[f64], f64); 8] = [
            (0, &[1.0], 1.0),
            (1, &[], 0.0),
            (1, &[0.0], 0.0),
            (1, &[-1.0, 2.0], 1.0),
            (1, &[1.0], -0.5),
            (1, &[f64::NAN], 1.0),
            (1, &[1.0], f64::INFINITY),
            (2, &[f64::MAX, f64::MAX], 1.0),
        ];
        for (n, demands, delay) in wrong {
            assert_eq!(mva(n, demands, delay), None, "{n} {demands:?} {delay}");
            assert_eq!(rounds(n, demands, delay), None, "{n} {demands:?} {delay}");
            assert_eq!(bound(n, demands, delay), None, "{n} {demands:?} {delay}");
            assert_eq!(balanced(n, demands, delay), None, "{n} {demands:?} {delay}");
        }
        assert_eq!(bound(1, &[f64::MIN_POSITIVE / 1e10], 0.0), None);
    }

    proptest! {
        /// m equal resources without delay: n/(D (n + m − 1)).
        #[test]
        fn balanced_networks(m in 1..9_u16, n in 1..200_u16, demand in 1e-6..1e3f64) {
            let demands = vec![demand; m.into()];
            let closed = mva(n, &demands, 0.0).unwrap();
            let expected = f64::from(n) / (demand * f64::from(n + m - 1));
            prop_assert!(near(closed.per_second, expected));
            prop_assert!(closed.at.iter().all(|at| near(*at, f64::from(n) / f64::from(m))));
        }

        /// Little's law, utilisation at most 1, more in flight is never slower, nothing exceeds
        /// the bound, and one in flight is the same under every model.
        #[test]
        fn laws_hold(
            demands in prop::collection::vec(0.0..1.0f64, 1..6), delay in 0.01..3.0f64,
            n in 1..60_u16,
        ) {
            let closed = mva(n, &demands, delay).unwrap();
            let in_flight = closed.per_second * (closed.response + delay);
            prop_assert!(near(in_flight, n.into()));
            let waiting: f64 = closed.at.iter().sum();
            prop_assert!((waiting - closed.per_second * closed.response).abs() < 1e-9 * in_flight);
            let more = mva(n + 1, &demands, delay).unwrap().per_second;
            prop_assert!(more >= closed.per_second * (1.0 - 1e-12));
            let most = bound(n, &demands, delay).unwrap() * (1.0 + 1e-12);
            let in_rounds = rounds(n, &demands, delay).unwrap();
            prop_assert!(closed.per_second <= most && in_rounds <= most);
            let bounds = balanced(n, &demands, delay).unwrap();
            prop_assert!(bounds.low <= closed.per_second * (1.0 + 1e-9), "{bounds:?} {closed:?}");
            prop_assert!(closed.per_second <= bounds.high * (1.0 + 1e-9), "{bounds:?} {closed:?}");
            if n == 1 {
                prop_assert!(near(in_rounds, closed.per_second) && near(most, in_rounds));
            }
        }

        #[test]
        fn any_input_gives_an_answer_or_none(
            n in any::<u16>(), demands in prop::collection::vec(any::<f64>(), 0..4),
            delay in any::<f64>(),
        ) {
            let absolute: Vec<f64> = demands.iter().map(|d| d.abs()).collect();
            for (demands, delay) in [(demands, delay), (absolute, delay.abs())] {
                for per_second in [
                    mva(n, &demands, delay).map(|closed| closed.per_second),
                    rounds(n, &demands, delay),
                    bound(n, &demands, delay),
                    balanced(n, &demands, delay).map(|bounds| bounds.low),
                    balanced(n, &demands, delay).map(|bounds| bounds.high),
                ] {
                    prop_assert!(per_second.is_none_or(|x| x.is_finite() && x >= 0.0));
                }
            }
        }
    }
}
