//! Disturbed figures: other work on the host affected them.

use super::measured::{STEADY, UNDISTURBED};
use super::{Device, LatencyFigure, MOST_ENTRIES, Measured, Part};
use crate::Flag;
use serde::{Deserialize, Serialize};

/// A figure of a host that something else disturbed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DisturbedFigure {
    /// Name of the figure: "AES-128-GCM".
    pub figure: String,
    /// Measuring program: "openssl".
    pub by: String,
    /// CPU time divided by elapsed time, per core in use; if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_share: Option<f64>,
    /// Slowest repetition divided by the fastest, 0 to 1; if there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest_share: Option<f64>,
    /// Of the latency of a cache: the place behind it that was faster, which cannot be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slower_than: Option<String>,
}

impl Device {
    /// Disturbed figures of a part; for the CPU also of each core.
    pub fn disturbed(&self, part: Part) -> Option<Flag> {
        let mut all: Vec<Measured> =
            self.measured().into_iter().filter(|figure| figure.part == part).collect();
        if part == Part::Cpu {
            all.extend(self.cpu.iter().flat_map(|cpu| cpu.other_cores()));
        }
        let of = u32::try_from(all.len()).unwrap_or(u32::MAX);
        let slower: Vec<(String, String)> =
            if part == Part::Memory { self.slower_caches() } else { Vec::new() };
        let figures: Vec<DisturbedFigure> = all
            .into_iter()
            .filter_map(|figure| {
                let slower = slower.iter().find(|(name, _)| *name == figure.figure);
                (figure.is_disturbed() || slower.is_some()).then(|| DisturbedFigure {
                    figure: figure.figure,
                    by: figure.by.to_owned(),
                    cpu_share: figure.cpu_share,
                    slowest_share: figure.slowest_share,
                    slower_than: slower.map(|(_, place)| place.clone()),
                })
            })
            .take(MOST_ENTRIES)
            .collect();
        (!figures.is_empty()).then_some(Flag::FiguresDisturbed { figures, of })
    }

    /// Latencies of caches, by name, that are above the latency of a place behind them.
    fn slower_caches(&self) -> Vec<(String, String)> {
        let latencies = self.memory.iter().flat_map(|memory| &memory.latencies);
        // Memory is behind all caches.
        let behind = |latency: &LatencyFigure| latency.cache_level_number.unwrap_or(u64::MAX);
        let slower = |cache: &LatencyFigure| {
            let own = cache.latency_ps?;
            let further = latencies.clone().filter(|other| behind(other) > behind(cache));
            let faster = further.filter(|other| other.latency_ps.is_some_and(|ps| ps < own));
            let faster = faster.max_by_key(|other| behind(other))?;
            let name = super::measured::latency_name(cache.cache_level_number);
            Some((name, super::measured::place(faster.cache_level_number)))
        };
        latencies.clone().filter_map(slower).collect()
    }
}

/// How much figures were disturbed, the worst of them: "as little as 45% of a core (AES-128-GCM)".
pub fn disturbance<'a>(
    figures: impl IntoIterator<Item = &'a DisturbedFigure, IntoIter: Clone>,
) -> String {
    let figures = figures.into_iter();
    // A figure may be disturbed in one respect alone: the others say nothing.
    let least = |of: fn(&DisturbedFigure) -> Option<f64>, below: f64| {
        let known = figures.clone().filter_map(|figure| Some((of(figure)?, &figure.figure)));
        known.filter(|(share, _)| *share < below).min_by(|a, b| a.0.total_cmp(&b.0))
    };
    let mut how = Vec::new();
    if let Some((share, figure)) = least(|figure| figure.cpu_share, UNDISTURBED) {
        how.push(format!("as little as {} of a core ({figure})", percent(share)));
    }
    if let Some((share, figure)) = least(|figure| figure.slowest_share, STEADY) {
        how.push(format!("repetitions as low as {} of the fastest ({figure})", percent(share)));
    }
    let slower = figures.clone().find_map(|figure| Some((figure, figure.slower_than.as_ref()?)));
    if let Some((figure, place)) = slower {
        how.push(format!("{} is above that of {place}", figure.figure));
    }
    how.join("; ")
}

/// "45%", "8.5%".
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let decimals = usize::from(percent.abs() < 9.95 && (percent - percent.round()).abs() >= 0.05);
    format!("{percent:.decimals$}%")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{MemoryFigures, StreamFigure};

    fn latency(level: Option<u64>, ns: u64) -> LatencyFigure {
        LatencyFigure {
            cache_level_number: level,
            latency_ps: Some(ns * 1000),
            ..LatencyFigure::default()
        }
    }

    fn disturbed(latencies: Vec<LatencyFigure>) -> Option<Flag> {
        let memory = MemoryFigures {
            streams: vec![StreamFigure::default()],
            latencies,
            ..MemoryFigures::default()
        };
        Device { memory: Some(memory), ..Device::default() }.disturbed(Part::Memory)
    }

    #[test]
    fn a_cache_that_is_slower_than_memory_is_flagged() {
        let usual = vec![latency(Some(1), 1), latency(Some(2), 4), latency(None, 90)];
        assert_eq!(disturbed(usual), None);
        let odd = vec![latency(Some(1), 1), latency(Some(2), 120), latency(None, 90)];
        let Some(Flag::FiguresDisturbed { figures, of: 3 }) = disturbed(odd) else { panic!() };
        let [figure] = &figures[..] else { panic!("{figures:?}") };
        assert_eq!(figure.figure, "latency, level 2 cache");
        assert_eq!(disturbance(&figures), "latency, level 2 cache is above that of memory");
        // Of two caches the one that is nearer cannot be the slower.
        let odd = vec![latency(Some(1), 9), latency(Some(2), 4), latency(None, 90)];
        let Some(Flag::FiguresDisturbed { figures, .. }) = disturbed(odd) else { panic!() };
        assert_eq!(disturbance(&figures), "latency, level 1 cache is above that of level 2 cache");
    }

    #[test]
    fn what_did_not_disturb_a_figure_is_not_named() {
        let figure = |cpu_share, slowest_share| DisturbedFigure {
            figure: "AES".to_owned(),
            by: "openssl".to_owned(),
            cpu_share,
            slowest_share,
            slower_than: None,
        };
        let said = |cpu, slowest| disturbance(&[figure(cpu, slowest)]);
        assert_eq!(said(Some(0.998), Some(0.6)), "repetitions as low as 60% of the fastest (AES)");
        assert_eq!(said(Some(0.45), Some(0.99)), "as little as 45% of a core (AES)");
        assert_eq!(said(Some(0.96), None), "");
    }
}
