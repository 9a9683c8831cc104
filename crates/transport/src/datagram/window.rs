//! How many calls may await their answers: a server whose receive buffer is full drops datagrams, and
//! whatever is sent again fills it further (V. Jacobson, "Congestion Avoidance and Control").

/// Calls that may be sent before the first answer has come.
const FIRST: f64 = 4.0;

/// A congestion window, in calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    size: f64,
    /// Below it the window grows by one with each answer, above by one with each round trip.
    threshold: f64,
    most: f64,
    /// When it was halved.
    halved: u64,
}

impl Window {
    pub fn new(most: u16) -> Self {
        let most = f64::from(most);
        Window { size: FIRST.min(most), threshold: most, most, halved: 0 }
    }

    /// Whether another call may be sent while so many are not answered.
    pub fn allows(&self, awaiting: usize) -> bool {
        (awaiting as f64) < self.size.floor()
    }

    /// An answer came while so many awaited theirs, it included. Only a window that is used grows.
    pub fn answered(&mut self, awaiting: usize) {
        if awaiting as f64 + 1.0 >= self.size {
            let growth = if self.size < self.threshold { 1.0 } else { 1.0 / self.size };
            self.size = (self.size + growth).min(self.most);
        }
    }

    /// An answer to what was sent at `sent` has not come: halved, once for all that were lost together.
    pub fn lost(&mut self, sent: u64, now: u64) {
        if sent >= self.halved {
            self.halved = now;
            self.size = (self.size / 2.0).max(1.0);
            self.threshold = self.size;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_grows_while_it_is_used_and_halves_once_for_a_loss() {
        let mut window = Window::new(32);
        assert!(window.allows(3) && !window.allows(4));
        window.answered(1);
        assert!(!window.allows(4), "it was not used");
        (4..32).for_each(|n| window.answered(n));
        assert!(window.allows(31) && !window.allows(32));
        window.answered(32);
        assert!(!window.allows(32), "never above the depth");
        window.lost(5, 10);
        window.lost(6, 11);
        assert!(window.allows(15) && !window.allows(16), "those lost together");
        (0..15).for_each(|_| window.answered(16));
        assert!(!window.allows(16), "by one with a round trip");
        (0..2).for_each(|_| window.answered(17));
        assert!(window.allows(16));
        (0..20).for_each(|n| window.lost(20 + n, 20 + n));
        assert!(window.allows(0) && !window.allows(1), "one call is always allowed");
    }
}
