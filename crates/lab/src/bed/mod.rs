//! Test beds: hosts in namespaces or virtual machines, links between them, services on them.

pub mod plan;
#[doc(hidden)]
pub mod services;
#[doc(hidden)]
pub mod vm;
