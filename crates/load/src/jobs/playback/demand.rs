//! Bytes that a film needs up to each of its seconds.

use plimsoll_model::Film;

/// Bytes of a film by its time. The part that is played is repeated when it is over.
#[derive(Clone, Debug)]
pub(super) struct Demand {
    /// Bytes up to each second of the part; two values at least, rising.
    needed: Vec<f64>,
}

impl Demand {
    pub(super) fn new(film: &Film) -> Demand {
        let mut needed = vec![0.0];
        let mut sum = 0.0;
        for bytes in &film.second_bytes {
            // A second without bytes would have no begin and no end in bytes.
            sum += (*bytes).max(1) as f64;
            needed.push(sum);
        }
        if needed.len() == 1 {
            needed.push(film.mean_rate.max(1.0));
        }
        Demand { needed }
    }

    fn whole(&self) -> (f64, f64) {
        ((self.needed.len() - 1) as f64, self.needed.last().copied().unwrap_or(1.0))
    }

    /// Time in seconds at which so many bytes are needed.
    pub(super) fn seconds(&self, bytes: f64) -> f64 {
        let (length, all) = self.whole();
        let rounds = (bytes / all).floor();
        let within = bytes - rounds * all;
        let after = self.needed.partition_point(|needed| *needed <= within);
        let second = after.clamp(1, self.needed.len() - 1) - 1;
        let (from, to) = (self.needed[second], self.needed[second + 1]);
        rounds * length + second as f64 + (within - from) / (to - from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_is_repeated_when_it_is_over() {
        let film = Film { second_bytes: vec![100, 300, 0], ..Film::constant("x", 0.0) };
        let demand = Demand::new(&film);
        for (bytes, seconds) in
            [(0.0, 0.0), (50.0, 0.5), (250.0, 1.5), (400.0, 2.0), (401.0, 3.0), (426.0, 3.25)]
        {
            assert_eq!(demand.seconds(bytes), seconds);
        }
        assert_eq!(Demand::new(&Film::constant("x", 1000.0)).seconds(2500.0), 2.5);
    }
}
