//! How fast QEMU lets a disk be.

/// What a disk reads and writes together at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskLimit {
    /// In bytes per second.
    pub rate: u64,
    /// More, in bytes per second, for so many seconds after a rest.
    pub burst: Option<(u64, u16)>,
}

impl DiskLimit {
    /// QEMU's limits on bytes, by the ends of their names (docs/throttle.txt in its sources).
    pub(super) fn fields(&self) -> Vec<(&'static str, u64)> {
        let mut fields = vec![("", self.rate)];
        if let Some((burst, seconds)) = self.burst {
            // Its bucket holds `length` seconds of the burst, and what goes at the rate leaves it
            // meanwhile. In 1 s of it, nothing would limit the burst.
            let share = burst.saturating_sub(self.rate) as f64 / burst as f64;
            let length = (f64::from(seconds) * share).round().max(2.0);
            fields.extend([("-max", burst), ("-max-length", length as u64)]);
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_as_long_as_it_should_be() {
        let fields = |burst| DiskLimit { rate: 10_000_000, burst }.fields();
        assert_eq!(fields(None), [("", 10_000_000)]);
        // The bucket holds 30 MB/s × 14 s, and fills by the 20 MB/s that are left: in 21 s.
        let max = ("-max", 30_000_000);
        let burst = |seconds| fields(Some((30_000_000, seconds)));
        assert_eq!(burst(21), [("", 10_000_000), max, ("-max-length", 14)]);
        assert_eq!(burst(1)[2], ("-max-length", 2), "in one second QEMU limits no burst");
    }
}
