//! Rules of nftables.

use super::script;
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::Reach;

/// Loads a ruleset, and makes sure that it is there: a measurement that believed in rules which
/// were never loaded would be worth nothing.
pub(crate) fn rules(rules: &str, reach: &dyn Reach) -> Result<(), Failure> {
    let tried = "load the rules";
    let listed = script(reach, tried, "nft -f -\nnft list ruleset", rules.as_bytes())?;
    let asked = rules.lines().any(|line| line.trim_start().starts_with("table"));
    if asked && listed.trim().is_empty() {
        let happened = "nft accepted the rules, but lists none";
        return Err(Failure::new(Cause::Trial, tried).on(reach.name()).happened(happened));
    }
    Ok(())
}
