//! Reaching a host: running commands there, talking with them, copying a file there.
//!
//! What is asked of the other side is a POSIX shell (BusyBox ash will do); nothing is installed.
//!
//! On top of that, programs are deployed on a host for as long as they run ([`deploy`]), such as the
//! [`probe`].
#![forbid(unsafe_code)]

mod caches;
pub mod clock;
mod commands;
mod complaint;
mod connection;
pub mod deploy;
#[doc(hidden)]
pub mod fuzzing;
mod local;
pub mod mounts;
pub mod names;
pub mod open_directory;
pub mod printed;
pub mod private_dir;
pub mod probe;
mod process;
mod put;
mod shell;
mod socket;
mod ssh;

pub use caches::drop_caches;
pub use commands::{Channel, MOST_ERRORS, MOST_OUTPUT, Output, Reach};
pub use complaint::is_unresolved;
pub use local::{Local, Through};
pub use put::put;
pub use shell::quote;
pub use ssh::{CONFIGURATION_VARIABLE, Configured, Settings, Ssh};

use plimsoll_model::{Cause, Failure, HostName};
use std::sync::Arc;

/// How hosts are reached. The second argument: whether somebody may be asked on the terminal now.
pub type Opener = fn(&HostName, bool) -> Result<Arc<dyn Reach>, Failure>;

/// Reaches this machine or a host over ssh, which logs in, with the settings that the environment
/// gives. Hosts of test beds are reached by those who make them.
pub fn open(host: &HostName, may_ask: bool) -> Result<Arc<dyn Reach>, Failure> {
    match host {
        HostName::Local => Ok(Arc::new(Local)),
        HostName::Ssh { .. } => {
            let settings = Settings::from_environment();
            let settings = Settings { may_ask: settings.may_ask && may_ask, ..settings };
            Ok(Arc::new(Ssh::connect(host, &settings)?))
        }
        HostName::Lab { .. } => {
            let happened = "hosts of labs cannot be reached from here";
            Err(Failure::new(Cause::Usage, "reach a host").on(host).happened(happened))
        }
        HostName::Iperf3 { .. } => {
            let happened = "commands cannot be run on an iperf3 server";
            let next = "Name a host by ssh://, or measure the network to the server: plimsoll net.";
            Err(Failure::new(Cause::Usage, "reach a host").on(host).happened(happened).next(next))
        }
    }
}
