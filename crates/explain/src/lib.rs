//! What a study says: figures with their intervals, ratios between subjects and settings and verdicts
//! on them, computed from recorded values alone, so that an old study can be read again at any time.
//! The stop rule and the reports use the same computation.
//!
//! Only complete trials count, each as one value per metric. Figures leave out those during which others used a host
//! (`set_apart`). Ratios are taken within a block and averaged on the log scale; a block counts for a pair where both of
//! its trials are complete, disturbed or not.
#![forbid(unsafe_code)]

mod across;
mod byte_costs;
mod changes;
mod clients;
mod costs;
mod effects;
mod findings;
mod flows_taken;
mod forwarding;
mod gates;
mod gather;
mod history;
mod hosts;
mod interactions;
mod interfaces;
mod level;
mod limits;
mod merge;
mod needed;
mod pair;
mod part_costs;
mod playback;
mod round_trip;
mod routed;
mod scan;
mod set_apart;
mod slots;
mod stalls;
mod stored;
mod subjects;
pub mod thresholds;
mod transfers;
pub mod whatif;
mod whole_files;
mod work;
mod writes;

pub use across::{Across, Counterpart, Unequal, across};
pub use byte_costs::{ByteCosts, Checksum, Protected, byte_costs};
pub use changes::{Change, changes};
pub use clients::{BothClients, Call, Side, both_clients};
pub use costs::{CLOSE, CopyCosts, CostModel, DatasetTime, FARTHEST, Prediction, copy_costs};
pub use effects::{Effect, effects};
pub use findings::{
    CellFindings, Disturbed, Findings, Levels, WorkloadFindings, arithmetic_level, findings,
    seconds_per_trial,
};
pub use flows_taken::{FlowsTaken, flows_taken};
pub use forwarding::{
    AtRate, ConnectionLimit, Forwarded, NewConnections, QueueSeen, RateLimit, RouterCpu, forwarded,
    new_connections,
};
pub use gates::{
    FEWEST_BASELINES, GateOutcome, GateResult, GateRow, can_be_baseline, conditions_without_work,
    gate, other_work,
};
pub use history::{History, MOST_SEARCHED, Moment, Series, history};
pub use hosts::{HostFindings, HostWork, LinkUse};
pub use interactions::{Interaction, InteractionVerdict, Predicted};
pub use interfaces::{SlowerInterface, slower_interfaces};
pub use level::{Level, Scale};
pub use limits::{
    Condition, IdealGoodput, Ladder, Limit, Limits, LinkLayer, NamedLimit, NominalRate,
    PathBottleneck, PathCosts, PathEnd, PathLimits, PathResource, PathUse, QuotaHost, Resource,
    Role, Rung, StreamCosts, Unseen, Use, is_ladder, limits, named_limits, path_costs, path_limits,
};
pub use merge::compares_quantiles;
pub use needed::{Forecast, Unresolved, blocks_needed, unresolved};
pub use pair::{BlockRatios, Claim, Pair, Ratio};
pub use part_costs::{Difference, PartCost, PartCosts, PartVerdict, part_costs};
pub use playback::{During, Films, Pauses, Playback, Played, Seeks, Uncapped, playback};
pub use round_trip::RoundTrip;
pub use routed::{OfferedRate, Routed, routed};
pub use scan::{NAMES, Scan, scans};
pub use slots::{Slots, slots};
pub use stalls::{Stalls, stalls};
pub use stored::{reads_from, server_memory};
pub use subjects::{Place, Recognised, recognise};
pub use transfers::{ENOUGH, Enough, Flight, Flights, SizeTime, Transfers, transfers};
pub use whole_files::{WholeFile, WholeFiles, whole_files};
pub use work::apart;
pub use writes::{Writes, writes};
