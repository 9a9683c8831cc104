//! Connection tracking of what a router forwards: left as it is, or off by a table of rules of plimsoll's own.
//!
//! What the host itself receives stays tracked, so that rules which let in the answers of its own connections do. Rules
//! that let forwarded connections through by their state, and address translation, see no connection.

use super::Knob;
use super::own_table::OwnTable;
use plimsoll_model::factor;

/// What stands for it.
pub(super) const KIND: &str = factor::CONNTRACK;

/// `raw` comes before the tracking.
const RULES: &str = "    chain forwarded {
        type filter hook prerouting priority raw; policy accept;
        fib daddr type local accept
        notrack
    }
";

pub(super) fn make(rest: &str) -> Result<Box<dyn Knob>, String> {
    let table = OwnTable {
        kind: KIND,
        table: "plimsoll_untracked",
        absent: "tracked",
        levels: &[("untracked", "notrack")],
        content: |_, _| Ok(RULES.to_owned()),
        expect_free: |_| Ok(()),
    };
    table.make(rest)
}
