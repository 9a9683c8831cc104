//! Jobs: an open list, with a file for each. Only the code that runs a job matches on [`Job`]; all
//! other code uses its [`JobFacts`].

mod connect;
mod copy;
mod database;
mod datagrams;
mod dataset;
mod device;
mod facts;
mod file;
mod forwarding;
mod log;
mod measures;
mod operations;
mod path;
mod pattern;
mod playback;
mod request;
mod scan;
mod settable;
mod slides;
mod stability;
mod stream;
mod tcp_stream;

pub use connect::ConnectJob;
pub use copy::{CopyJob, Method, Transfer};
pub use database::DatabaseJob;
pub use datagrams::{DatagramCall, DatagramsJob};
pub use dataset::{DataClass, DataSource, Dataset, GeneratedData};
pub use device::DeviceJob;
pub use facts::{FileWork, Footprint, JobFacts};
pub use file::{FileJob, FileWay};
pub use forwarding::ForwardingJob;
pub use log::LogJob;
pub(crate) use measures::{OF_HOSTS, OF_PATHS, OF_STORAGE};
pub use operations::OperationsJob;
pub use path::Flow;
pub use pattern::{Layout, Pattern, PatternJob};
pub use playback::{Film, Pace, PlaybackJob, Player};
pub use request::RequestJob;
pub use scan::{NamesCached, ScanJob};
pub(crate) use settable::whole;
pub use settable::{CannotSet, Parameter, RateUnit, Settable};
pub use slides::SlidesJob;
pub use stability::Stability;
pub use stream::StreamJob;
pub use tcp_stream::TcpStreamJob;

use serde::{Deserialize, Serialize};
use std::ops::{Deref, DerefMut};

/// The jobs there are: a variant each, named in plans by its name in lower case.
macro_rules! jobs {
    ($($name:ident($job:ty)),* $(,)?) => {
        /// One job with all its settings.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case", tag = "job")]
        pub enum Job {
            $(#[doc = concat!("What [`", stringify!($job), "`] says.")] $name($job),)*
        }

        #[cfg(test)]
        impl Job {
            /// How many there are.
            pub(crate) const KINDS: usize = [$(stringify!($name)),*].len();
        }

        $(impl From<$job> for Job {
            fn from(job: $job) -> Job {
                Job::$name(job)
            }
        })*

        impl Deref for Job {
            type Target = dyn JobFacts;
            fn deref(&self) -> &(dyn JobFacts + 'static) {
                match self {
                    $(Job::$name(job) => job,)*
                }
            }
        }

        impl DerefMut for Job {
            fn deref_mut(&mut self) -> &mut (dyn JobFacts + 'static) {
                match self {
                    $(Job::$name(job) => job,)*
                }
            }
        }
    };
}

jobs! {
    Pattern(PatternJob),
    Scan(ScanJob),
    Log(LogJob),
    Database(DatabaseJob),
    Playback(PlaybackJob),
    Slides(SlidesJob),
    Operations(OperationsJob),
    File(FileJob),
    Copy(CopyJob),
    Stream(StreamJob),
    Device(DeviceJob),
    TcpStream(TcpStreamJob),
    Datagrams(DatagramsJob),
    Request(RequestJob),
    Connect(ConnectJob),
    Forwarding(ForwardingJob),
    Clock(crate::clock_call::ClockJob),
    Trace(crate::kernel_trace::TraceJob),
    Sample(crate::kernel_samples::SampleJob),
}

impl Footprint {
    /// Storage of all jobs together: files for reads once for each dataset, and the largest of the
    /// temporary files.
    pub fn own<'j>(jobs: impl Iterator<Item = &'j Job>) -> Footprint {
        let (mut all, mut seen): (Footprint, Vec<&Dataset>) = Default::default();
        for job in jobs {
            let own = job.footprint();
            if own.shared {
                continue;
            }
            let again = job.dataset().is_some_and(|dataset| seen.contains(&dataset));
            seen.extend(job.dataset());
            all.read = all.read.saturating_add(if again { 0 } else { own.read });
            all.written = all.written.saturating_add(own.written);
            all.transient = all.transient.max(own.transient);
            all.names = all.names.saturating_add(own.names);
        }
        all.written = all.written.saturating_add(all.transient);
        Footprint { transient: 0, ..all }
    }
}
