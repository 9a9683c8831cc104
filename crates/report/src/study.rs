//! One study in words and figures: what the sections of its report are made from.

pub(crate) mod bottleneck;
pub(crate) mod byte_costs;
pub(crate) mod copies;
pub(crate) mod cpu;
pub(crate) mod disturbances;
pub(crate) mod files;
pub(crate) mod head;
pub(crate) mod hosts;
pub(crate) mod imported;
pub(crate) mod limits;
pub(crate) mod method;
pub(crate) mod mounts;
pub(crate) mod operations;
pub(crate) mod paths;
pub(crate) mod rates;
pub(crate) mod stalls;
pub(crate) mod steps;
pub(crate) mod stored;
pub(crate) mod warnings;
pub(crate) mod workload;
pub(crate) mod writes;

use crate::device;
use crate::measure::{self, Shape};
use crate::names::{self, Names};
use plimsoll_explain::{
    CopyCosts, Findings, FlowsTaken, Forecast, Forwarded, Limits, NamedLimit, NewConnections,
    PartCosts, PathLimits, Playback, Routed, Stalls, Transfers, Writes,
};
use plimsoll_model::{Cell, Contrast, Measure, Study, Workload, factor};

/// A study and what is needed of it on every part of the page.
pub(crate) struct Shown<'a> {
    pub(crate) study: &'a Study,
    pub(crate) findings: Findings,
    pub(crate) names: Names,
    /// What more it would take.
    pub(crate) forecast: Forecast,
    /// What files and bytes cost where they were copied.
    pub(crate) costs: Vec<CopyCosts>,
    /// What operations and bytes cost where blocks of several sizes were moved.
    pub(crate) transfers: Vec<Transfers>,
    /// What limits each workload.
    pub(crate) limits: Vec<Limits>,
    /// What limits each load on a network path.
    pub(crate) path_limits: Vec<PathLimits>,
    /// What routers did while they kept their rates.
    pub(crate) forwarded: Vec<Forwarded>,
    /// Flows that flowtables of routers forwarded.
    pub(crate) flows_taken: Vec<FlowsTaken>,
    /// What arrived of the rates that were offered to routers.
    pub(crate) routed: Vec<Routed>,
    /// What routers did while new connections were opened through them.
    pub(crate) new_connections: Vec<NewConnections>,
    /// Costs of the parts of a router's path.
    pub(crate) part_costs: Vec<PartCosts>,
    /// Bottlenecks that kinds of subject name.
    pub(crate) named_limits: Vec<NamedLimit>,
    /// Films: how many play.
    pub(crate) playback: Vec<Playback>,
    /// Whether writes are sustained.
    pub(crate) writes: Vec<Writes>,
    /// Times in which subjects did not answer.
    pub(crate) stalls: Vec<Stalls>,
}

impl<'a> Shown<'a> {
    pub(crate) fn new(study: &'a Study) -> Shown<'a> {
        let mut findings = plimsoll_explain::findings(study);
        device::keep_comparable(study, &mut findings);
        findings.workloads.retain(|found| !plimsoll_explain::is_ladder(&study.plan, found.number));
        Shown {
            study,
            routed: plimsoll_explain::routed(study, &findings),
            findings,
            names: Names::new(study),
            forecast: Forecast::new(study),
            costs: plimsoll_explain::copy_costs(study),
            transfers: plimsoll_explain::transfers(study),
            limits: plimsoll_explain::limits(study),
            path_limits: plimsoll_explain::path_limits(study),
            forwarded: plimsoll_explain::forwarded(study),
            flows_taken: plimsoll_explain::flows_taken(study),
            new_connections: plimsoll_explain::new_connections(study),
            part_costs: plimsoll_explain::part_costs(study),
            named_limits: plimsoll_explain::named_limits(study),
            playback: plimsoll_explain::playback(study),
            writes: plimsoll_explain::writes(study),
            stalls: plimsoll_explain::stalls(study),
        }
    }

    /// Advice as it holds for the command that measured.
    pub(crate) fn advised(&self, advice: &str) -> Option<String> {
        advised(self.study, advice)
    }

    /// How a measure is shown.
    pub(crate) fn shape(&self, measure: Measure) -> Shape {
        measure::shape(self.study, measure)
    }

    /// What a contrast compares: the baseline, and what is held against it.
    pub(crate) fn two(&self, contrast: &Contrast) -> (String, String) {
        self.names.two(&self.study.plan, contrast)
    }

    /// How many things differ between two cells: the subject, and each factor. A sentence compares two that
    /// differ in one, so that its figure has one cause.
    pub(crate) fn differences(&self, a: Cell, b: Cell) -> usize {
        let levels = |cell: Cell| factor::levels(&self.study.plan.factors, cell.setting);
        let factors = levels(a).into_iter().zip(levels(b)).filter(|(a, b)| a != b).count();
        factors + usize::from(a.subject != b.subject)
    }

    /// The name of what a contrast compares under: the workload, and the figure where it is not the
    /// headline of that.
    pub(crate) fn matter(&self, contrast: &Contrast) -> String {
        let name = self.names.workload(contrast.of.cell.workload);
        match self.figure(contrast) {
            Some(figure) => format!("{name}, {figure}"),
            None => name,
        }
    }

    /// That something counts trials which figures of rows leave out, because others used a host meanwhile; `None` where they
    /// leave out none. `what` in the plural: "Effects".
    pub(crate) fn counts_every_block(&self, what: &str) -> Option<String> {
        let mut cells = self.findings.workloads.iter().flat_map(|found| &found.cells);
        let leaves_out = cells.any(|cell| cell.disturbed.as_ref().is_some_and(|some| some.apart));
        leaves_out.then(|| {
            format!("{what} include trials with other load on a host, the figures do not.")
        })
    }

    /// The figure that a contrast is about, where it is not the headline of its job.
    pub(crate) fn figure(&self, contrast: &Contrast) -> Option<String> {
        let metric = contrast.of.metric;
        let workload = self.study.plan.workload(contrast.of.cell);
        let part = workload.and_then(|w| w.parts.get(usize::from(contrast.of.part)).or(w.main()));
        if part.is_some_and(|part| part.headline() == metric) {
            return None;
        }
        Some(match metric.kind {
            Some(kind) => {
                format!("{} of {}", self.shape(metric.measure).name, names::operations(kind))
            }
            None => self.shape(metric.measure).name,
        })
    }
}

/// Advice as it holds for the command that measured a study; `None` where nothing is left of it.
pub(crate) fn advised(study: &Study, advice: &str) -> Option<String> {
    let command = study.plan.command.split_whitespace().nth(1).unwrap_or_default();
    let advice = plimsoll_model::advice::for_command(advice, command);
    Some(crate::text::printable(&advice)).filter(|advice| !advice.is_empty())
}

/// What is shown as the speed of a workload; of one without parts the bandwidth.
pub(crate) fn speed(workload: &Workload) -> Measure {
    workload.main().map_or(Measure::THROUGHPUT, |part| part.job.speed())
}
