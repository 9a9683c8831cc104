//! Arguments of published experiments on a path.

use clap::{Args, ValueEnum};
use plimsoll_lab::plan::Rate;

const DESIGN_LONG_HELP: &str = "Repeat a published experiment. kofler2011 measures how much a home router sends \
and routes, five times 20 s with each size or rate: TCP by block size (figure 1), UDP by payload (figure 2), UDP routed from A to B \
by rate (figure 3, with --via), and UDP by payload with the rules of A and without them (figure 4). In figures 1, 2 and 4, \
A is the router. 'plimsoll references show kofler2011_network' has the published figures";

#[derive(Args)]
#[command(next_help_heading = "Published experiments")]
pub struct DesignArguments {
    /// Repeat a published experiment
    #[arg(
        long,
        value_enum,
        long_help = DESIGN_LONG_HELP,
        requires = "figure",
        conflicts_with_all = ["jobs", "blocks", "streams", "rate", "loss", "call", "socket_buffer", "nagle",
            "congestion", "quick", "frames", "direction", "flows", "connections", "direct", "confirming", "latency",
            "parts"]
    )]
    pub design: Option<DesignChoice>,
    /// Figure of the design that is repeated
    #[arg(long, value_enum, requires = "design")]
    pub figure: Option<FigureChoice>,
    /// Highest rate of figure 3, in payload [default: 100Mbit/s]
    #[arg(long, value_name = "RATE", requires = "design")]
    pub up_to: Option<Rate>,
    /// Step of the rates of figure 3 [default: 5Mbit/s]
    #[arg(long, value_name = "RATE", requires = "design")]
    pub step: Option<Rate>,
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
    /// UDP routed by rate
    #[value(name = "3")]
    RoutedByRate,
    /// UDP by payload with rules and without
    #[value(name = "4")]
    UdpWithoutRules,
}
