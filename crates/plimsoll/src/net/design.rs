//! Published experiments on a network path, repeated with their own design.

use super::arguments::NetArguments;
use super::workloads::{length, part};
use crate::arguments::ProbeArguments;
use clap::{Args, ValueEnum};
use plimsoll_model::units::Bytes;
use plimsoll_model::{DatagramsJob, Design, Flow, Job, Rule, TcpStreamJob, Workload};

/// Blocks of kofler2011, seconds of a trial, and the time limit of a study.
const BLOCKS: u32 = 5;
const SECONDS: f64 = 20.0;
const CAP_SECONDS: f64 = 3600.0;
/// Bytes of a block in figure 1. The text has those of 1, 8 and 128 KiB "and larger".
const TCP_BLOCKS: [u64; 9] =
    [1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10];
/// Bytes of a payload in figure 2, up to a packet of Ethernet. The text has 400 and 1450.
const UDP_PAYLOADS: [u64; 8] = [100, 200, 400, 600, 800, 1000, 1200, 1450];

const DESIGN_LONG_HELP: &str = "Repeat a published experiment. kofler2011 is what a home router sends, \
five times 20 s with each size: TCP by block size (figure 1) and UDP by payload (figure 2). A is the router. \
'plimsoll references show kofler2011_network' has the published figures";

#[derive(Args)]
#[command(next_help_heading = "Published experiments")]
pub struct DesignArguments {
    /// Repeat a published experiment
    #[arg(
        long,
        value_enum,
        long_help = DESIGN_LONG_HELP,
        requires = "figure",
        conflicts_with_all = ["jobs", "blocks", "payloads", "streams", "rate", "loss", "call", "socket_buffer",
            "nagle", "congestion", "via", "quick"]
    )]
    pub design: Option<DesignChoice>,
    /// Figure of the design that is repeated
    #[arg(long, value_enum, requires = "design")]
    pub figure: Option<FigureChoice>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DesignChoice {
    Kofler2011,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FigureChoice {
    /// TCP by block size
    #[value(name = "1")]
    TcpByBlock,
    /// UDP by payload
    #[value(name = "2")]
    UdpByPayload,
}

/// The loads of the figure that the user wants repeated, if any.
pub(super) fn workloads(arguments: &NetArguments) -> Option<Vec<Workload>> {
    let jobs: Vec<Job> = match arguments.design.figure? {
        FigureChoice::TcpByBlock => {
            let job = |block| TcpStreamJob { block: Bytes(block), ..TcpStreamJob::new(Flow::Out) };
            TCP_BLOCKS.map(job).map(Job::from).into()
        }
        FigureChoice::UdpByPayload => {
            let job = |size| DatagramsJob { payload: Bytes(size), ..DatagramsJob::new(Flow::Out) };
            UDP_PAYLOADS.map(job).map(Job::from).into()
        }
    };
    let seconds = arguments.time.map_or(SECONDS, |time| time.as_secs_f64());
    Some(jobs.into_iter().map(|job| Workload::new(part(job), length(seconds))).collect())
}

/// Its design: as many blocks as were published, in the time that they need.
pub(super) fn design(arguments: &ProbeArguments, baseline_seconds: f64) -> Design {
    let design = arguments.design(CAP_SECONDS, baseline_seconds);
    match arguments.repeats {
        None => Design { rule: Rule::Fixed { blocks: BLOCKS }, ..design },
        Some(_) => design,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::planned;
    use super::*;

    #[test]
    fn a_figure_is_repeated_within_an_hour() {
        for (figure, kind, sizes) in [("1", "tcp-out", 9), ("2", "udp-out", 8)] {
            let words = ["ssh://nas", "--design=kofler2011", "--figure", figure];
            let plan = planned(&words).unwrap();
            assert_eq!(
                (plan.workloads.len(), &plan.design.rule),
                (sizes, &Rule::Fixed { blocks: 5 })
            );
            assert!(plan.workloads.iter().all(|w| w.main().unwrap().job.kind() == kind));
            // As fast as the sender can, without a search.
            assert!(plan.workloads.iter().all(|workload| workload.steps.is_none()));
            let seconds: f64 = plan.workloads.iter().map(Workload::seconds).sum();
            assert_eq!(seconds, 20.0 * sizes as f64);
            assert!(5.0 * seconds < plan.design.cap_seconds, "{seconds} s");
        }
        let words = ["ssh://nas", "--design=kofler2011", "--figure=1", "--time=1s", "--repeats=2"];
        let plan = planned(&words).unwrap();
        assert_eq!(
            (plan.workloads[0].seconds(), plan.design.rule),
            (1.0, Rule::Fixed { blocks: 2 })
        );
    }
}
