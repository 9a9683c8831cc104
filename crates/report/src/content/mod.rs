//! What a page says of a study, whatever it is written as: the answer first, then verdicts, a part
//! for every workload with its charts, the machines, and how it was measured. The sentences are those
//! of the terminal.

mod answer;
mod machines;
mod over_time;
mod part;
mod quantiles;
mod resources;
mod settings;
mod shape;
mod stepped;
mod study;
mod trend;

pub(crate) use shape::{Content, Figure, Method, Part, Warning};
pub(crate) use trend::trend;
