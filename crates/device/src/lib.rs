//! Hosts as subjects of a study: what a host is, and what its processor, memory, cryptography and disk
//! do; its clocks and its kernel ([`kernel_trace`]).
//!
//! The probe measures; where none runs on a host, its shell reports what it is, and programs that it
//! has measure what they can. Whatever comes from there is bounded before it is believed
//! ([`Odd`]), and every part that fails leaves the others alone.
//!
//! [`HostRunner`] measures the jobs of a study, one at a time or several at the same time; what a part is
//! measured with is in `bench`.
#![forbid(unsafe_code)]

mod arm;
mod bench;
mod clean;
mod clock_call;
mod clocks;
mod concurrent;
mod coremark;
mod cpu;
mod crypto;
mod cryptsetup;
mod disk;
mod exports;
#[doc(hidden)]
pub mod fuzzing;
mod host;
mod inventory;
pub mod kernel_trace;
mod known_host;
mod links;
mod memory;
mod openssl;
mod parts;
mod processor;
mod router;
mod runner;
mod shell;
mod tool;
mod verbs;
mod wireless;

pub use clean::Odd;
pub use host::{DeviceRequest, Host, HostRequest};
pub use links::interface;
pub use router::router;
pub use runner::HostRunner;
pub use verbs::Verbs;
pub use wireless::wireless;
