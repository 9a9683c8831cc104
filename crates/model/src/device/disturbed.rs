//! Figures that tell as much of what ran beside them as of the host.

use super::{Device, MOST_ENTRIES, Measured, Part};
use crate::Flag;
use serde::{Deserialize, Serialize};

/// A figure of a host that something else disturbed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DisturbedFigure {
    /// What was measured: "AES-128-GCM".
    pub figure: String,
    /// What measured it: "openssl".
    pub by: String,
    /// CPU time by elapsed time, of each core that it ran on; where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_share: Option<f64>,
    /// The slowest repetition by the fastest, 0 to 1; where there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest_share: Option<f64>,
}

impl Device {
    /// The figures of a part that were disturbed; of the processor, those of every core too.
    pub fn disturbed(&self, part: Part) -> Option<Flag> {
        let mut all: Vec<Measured> =
            self.measured().into_iter().filter(|figure| figure.part == part).collect();
        if part == Part::Cpu {
            all.extend(self.cpu.iter().flat_map(|cpu| cpu.other_cores()));
        }
        let of = u32::try_from(all.len()).unwrap_or(u32::MAX);
        let disturbed = all.into_iter().filter(Measured::is_disturbed);
        let figures: Vec<DisturbedFigure> = disturbed
            .map(|figure| DisturbedFigure {
                figure: figure.figure,
                by: figure.by.to_owned(),
                cpu_share: figure.cpu_share,
                slowest_share: figure.slowest_share,
            })
            .take(MOST_ENTRIES)
            .collect();
        (!figures.is_empty()).then_some(Flag::FiguresDisturbed { figures, of })
    }
}

/// How much figures were disturbed, the worst of them: "as little as 45% of a core (AES-128-GCM)".
pub fn disturbance<'a>(
    figures: impl IntoIterator<Item = &'a DisturbedFigure, IntoIter: Clone>,
) -> String {
    let figures = figures.into_iter();
    let least = |of: fn(&DisturbedFigure) -> Option<f64>| {
        let known = figures.clone().filter_map(|figure| Some((of(figure)?, &figure.figure)));
        known.filter(|(share, _)| *share < 1.0).min_by(|a, b| a.0.total_cmp(&b.0))
    };
    let mut how = Vec::new();
    if let Some((share, figure)) = least(|figure| figure.cpu_share) {
        how.push(format!("as little as {} of a core ({figure})", percent(share)));
    }
    if let Some((share, figure)) = least(|figure| figure.slowest_share) {
        how.push(format!("repetitions as low as {} of the fastest ({figure})", percent(share)));
    }
    how.join("; ")
}

/// "45%", "8.5%".
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    let decimals = usize::from(percent.abs() < 9.95 && (percent - percent.round()).abs() >= 0.05);
    format!("{percent:.decimals$}%")
}
