//! What a report is made of: a file a section. The answer comes first.

mod answer;
mod by_size;
mod changed;
mod clients;
mod common;
mod compare;
mod costs;
mod cpu;
mod gains;
mod gate;
mod history;
mod hosts;
mod kernel_names;
mod kernel_published;
mod kernel_samples;
mod kernel_trace;
mod knee;
mod limits;
mod operations;
mod over_time;
mod part_interactions;
mod planned;
mod predictions;
mod published_copies;
mod published_films;
mod quantiles;
mod resources;
mod routed;
mod settings;
mod stepped;
mod study;
mod transfers;
mod trend;
mod whole_files;

mod workload;

pub use answer::rates_compared;
pub(crate) use answer::{more, repeated};
pub(crate) use by_size::published_sizes;
pub(crate) use gains::published_gains;
pub(crate) use gate::in_words as gate_row;
pub use history::bottlenecks as history_bottlenecks;
pub(crate) use published_copies::section as compared_copies;
pub(crate) use published_films::section as compared_films;
pub(crate) use routed::published_rates;
