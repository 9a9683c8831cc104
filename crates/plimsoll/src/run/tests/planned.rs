//! Plans of subjects of any kind.

use super::words;
use crate::arguments::HostArguments;
use crate::run::file::Source;
use crate::run::given::Given;
use crate::run::subjects::Subjects;
use crate::run::{assemble, hosts, path};
use plimsoll_model::{Failure, Plan};

/// The plan of a file, with hosts and options of the command line.
pub(super) fn planned(text: &str, hosts: &[&str], how: &[&str]) -> Result<Plan, Failure> {
    planned_with(text, hosts, how, |arguments| arguments)
}

/// The same with options about hosts.
pub(super) fn planned_with(
    text: &str,
    hosts: &[&str],
    how: &[&str],
    changed: impl FnOnce(HostArguments) -> HostArguments,
) -> Result<Plan, Failure> {
    let source = Source::read(text, "plan.toml", &[])?;
    let (on, watched, set) = (Vec::new(), Vec::new(), Vec::new());
    let (drop_caches, allow_open) = (false, false);
    let arguments = HostArguments { on, hosts: watched, set, drop_caches, allow_open };
    let arguments = changed(arguments);
    let targets: Vec<String> = hosts.iter().map(|host| (*host).to_owned()).collect();
    let how = words(how);
    let given = Given { targets: &targets, hosts: &arguments, reboot: false, how: &how };
    match Subjects::of_file(&source)? {
        Subjects::Storage => assemble::plan(&source, &given).map(|made| made.plan),
        Subjects::Path => path::plan(&source, &given).map(|made| made.plan),
        Subjects::Hosts => hosts::plan(&source, &given).map(|made| made.plan),
    }
}
