//! What a router did at each rate that was offered to it: its CPU by class and core, and what its queues dropped.

use super::Shown;
use crate::chart::Table;
use crate::figure::RATE;
use crate::verdict::percent;
use plimsoll_explain::{AtRate, Forwarded};

/// Cores of which each is listed.
const MOST_CORES: usize = 8;
/// What the columns are.
pub(crate) const LEGEND: &str = "R at each offered rate. CPU: share of one core. Drops, marks and packets that a queueing \
     discipline held back: share of the frames that were sent.";

/// A column of shares.
struct Column {
    heading: &'static str,
    of: fn(&AtRate) -> f64,
    /// Whether it is left out where it is 0 at all rates.
    is_optional: bool,
}

const fn column(heading: &'static str, of: fn(&AtRate) -> f64) -> Column {
    Column { heading, of, is_optional: false }
}

const fn optional(heading: &'static str, of: fn(&AtRate) -> f64) -> Column {
    Column { heading, of, is_optional: true }
}

static COLUMNS: [Column; 9] = [
    column("user", |at| at.cpu.user + at.cpu.nice),
    column("system", |at| at.cpu.system),
    column("irq", |at| at.cpu.irq),
    column("softirq", |at| at.cpu.softirq),
    optional("steal", |at| at.cpu.steal),
    optional("softnet\ndrops", |at| at.softnet_dropped),
    optional("queue\ndrops", |at| at.queue_dropped),
    optional("held\nback", |at| at.held_back),
    optional("marked", |at| at.marked),
];

/// Tables of the routers of a workload, each with the name of its setup.
pub(crate) fn tables(shown: &Shown<'_>, workload: u16) -> Vec<(String, Table)> {
    let own = |router: &&Forwarded| router.cell.workload == workload && !router.rates.is_empty();
    let named = |router: &Forwarded| (shown.names.setup(router.cell), table(&router.rates));
    shown.forwarded.iter().filter(own).map(named).collect()
}

fn table(rates: &[AtRate]) -> Table {
    let says =
        |column: &&Column| !column.is_optional || rates.iter().any(|at| (column.of)(at) > 0.0);
    let columns: Vec<&Column> = COLUMNS.iter().filter(says).collect();
    let has_connections =
        rates.iter().any(|at| at.conntrack.is_some_and(|table| table.entries > 0));
    let mut header = ["offered/s", "received/s", "lost", "cores of R"].map(str::to_owned).to_vec();
    header.extend(columns.iter().map(|column| column.heading.to_owned()));
    header.extend(has_connections.then(|| "connec-\ntions".to_owned()));
    let mut table = Table::new(header);
    for at in rates {
        let mut row = vec![RATE.value(at.offered), RATE.value(at.received), percent(at.loss())];
        row.push(cores(&at.cores));
        row.extend(columns.iter().map(|column| percent((column.of)(at))));
        if has_connections {
            let entries = at.conntrack.map(|table| RATE.value(table.entries as f64));
            row.push(entries.unwrap_or_default());
        }
        table.rows.push(row);
    }
    table
}

/// "34%, 2%"; of many cores the busiest: "busiest of 16: 34%".
fn cores(busy: &[f64]) -> String {
    let whole = |share: &f64| format!("{:.0}%", 100.0 * share);
    match busy.len() {
        0 => String::new(),
        few if few <= MOST_CORES => busy.iter().map(whole).collect::<Vec<_>>().join(", "),
        many => {
            let busiest = busy.iter().copied().fold(0.0, f64::max);
            format!("busiest of {many}: {}", whole(&busiest))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::CpuTimes;

    #[test]
    fn columns_that_say_nothing_are_left_out() {
        let at = |offered: f64, dropped: f64| AtRate {
            offered,
            received: offered * (1.0 - dropped),
            cpu: CpuTimes { softirq: 0.5, ..CpuTimes::default() },
            cores: vec![0.6, 0.02],
            softnet_dropped: 0.0,
            queue_dropped: dropped,
            held_back: 0.0,
            marked: 0.0,
            conntrack: None,
        };
        let found = table(&[at(10_000.0, 0.0), at(20_000.0, 0.25)]);
        let expected = [
            "offered/s",
            "received/s",
            "lost",
            "cores of R",
            "user",
            "system",
            "irq",
            "softirq",
            "queue\ndrops",
        ];
        assert_eq!(found.header, expected);
        let expected = ["20.0 k", "15.0 k", "25%", "60%, 2%", "0%", "0%", "0%", "50%", "25%"];
        assert_eq!(found.rows[1], expected);
        assert_eq!(cores(&[0.1; 16]), "busiest of 16: 10%");
    }
}
