//! Whether the operations in flight fit rates and response times (Little 1961: L = λ·W).

/// Difference above which a trial is suspect, as a fraction of the larger number.
pub const TOLERANCE: f64 = 0.05;

/// What completed of one kind of operation during a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Completed {
    /// Operations per second.
    pub per_second: f64,
    /// Their mean response time in seconds.
    pub mean_seconds: f64,
}

/// The two sides of Little's law over one trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InFlight {
    /// Time-integrated number of operations in flight.
    pub integrated: f64,
    /// Σ X·R over all kinds of operation.
    pub by_littles_law: f64,
    /// Difference as a fraction of the larger one, 0 to 1.
    pub apart: f64,
}

impl InFlight {
    /// Compares the time-integrated number in flight with Σ X·R over all kinds, flushes included.
    /// `None` where a number is negative or not finite.
    pub fn compare(integrated: f64, kinds: &[Completed]) -> Option<Self> {
        let usable = |x: f64| x.is_finite() && x >= 0.0;
        if !kinds.iter().all(|k| usable(k.per_second) && usable(k.mean_seconds)) {
            return None;
        }
        let by_littles_law: f64 = kinds.iter().map(|k| k.per_second * k.mean_seconds).sum();
        let larger = integrated.max(by_littles_law);
        let apart = if larger > 0.0 { (integrated - by_littles_law).abs() / larger } else { 0.0 };
        (usable(integrated) && usable(by_littles_law)).then_some(InFlight {
            integrated,
            by_littles_law,
            apart,
        })
    }

    /// Whether the trial is suspect: more than 5% apart, unless arrivals were `paced` or the
    /// client's own overhead (`client_overhead`, as a fraction of the response time) is above 5%:
    /// then the two need not agree.
    pub fn is_suspect(&self, paced: bool, client_overhead: f64) -> bool {
        self.apart > TOLERANCE && !paced && client_overhead <= TOLERANCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reads_and_writes(integrated: f64) -> InFlight {
        // 1000/s · 3 ms + 100/s · 10 ms = 4 in flight.
        let kinds = [
            Completed { per_second: 1000.0, mean_seconds: 0.003 },
            Completed { per_second: 100.0, mean_seconds: 0.010 },
        ];
        InFlight::compare(integrated, &kinds).unwrap()
    }

    #[test]
    fn five_percent_either_way() {
        assert!((reads_and_writes(4.0).by_littles_law - 4.0).abs() < 1e-12);
        for (integrated, suspect) in
            [(4.0, false), (4.2, false), (3.81, false), (4.25, true), (3.75, true), (0.0, true)]
        {
            assert_eq!(
                reads_and_writes(integrated).is_suspect(false, 0.0),
                suspect,
                "{integrated}"
            );
        }
    }

    #[test]
    fn exempt_where_they_need_not_agree() {
        assert!(!reads_and_writes(5.0).is_suspect(true, 0.0));
        assert!(!reads_and_writes(5.0).is_suspect(false, 0.06));
        assert!(reads_and_writes(5.0).is_suspect(false, 0.05));
    }

    #[test]
    fn nothing_at_all_agrees_and_nonsense_is_refused() {
        assert!(!InFlight::compare(0.0, &[]).unwrap().is_suspect(false, 0.0));
        for bad in [f64::NAN, -1.0, f64::INFINITY] {
            assert_eq!(InFlight::compare(bad, &[]), None);
            let kind = Completed { per_second: bad, mean_seconds: 0.0 };
            assert_eq!(InFlight::compare(1.0, &[kind]), None);
        }
        let huge = Completed { per_second: f64::MAX, mean_seconds: f64::MAX };
        assert_eq!(InFlight::compare(1.0, &[huge]), None);
    }
}
