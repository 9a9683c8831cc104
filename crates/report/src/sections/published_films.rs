//! Films beside those that Puskas streamed: where the time of the server's processor goes while they play.

use crate::columns::Columns;
use crate::document::{Layout, Section};
use crate::study::Shown;
use crate::text::counted;
use crate::verdict::percent;
use plimsoll_explain::HostFindings;
use plimsoll_model::CpuTimes;
use plimsoll_published::puskas2017::{Load, loads};
use plimsoll_references::tables;

/// The row of the source.
const OPERATION: &str = "multimedia streaming";

/// One class out of all.
type Class = fn(&CpuTimes) -> f64;

/// The classes that are busy, by the names that the source has here.
const BUSY: [(&str, Class); 5] = [
    ("user", |cpu| cpu.user),
    ("nice", |cpu| cpu.nice),
    ("system", |cpu| cpu.system),
    ("irq", |cpu| cpu.irq),
    ("softirq", |cpu| cpu.softirq),
];

/// Empty where no film played at its rate from a monitored server.
pub(crate) fn section(shown: &Shown<'_>) -> Section {
    let mut section = Section::details("published-films", "Films compared with a published router");
    let published = loads(tables()).into_iter().find(|load| load.name.starts_with(OPERATION));
    let own = own(shown);
    let Some(published) = published.filter(|_| !own.is_empty()) else { return section };
    section.table(columns(&published, &own).table(), Layout::Figures);
    section.text(
        "Share of the time of all cores, by class. Published: Z. Puskas, \"Router NFS performance benchmark\", 2017: \
         multimedia streaming from a TP-Link N750 with a USB disk, export option sync, by top. Its films have 12.5 \
         Mbit/s.",
    );
    section
}

/// What servers did while the largest number of films that plays, or one film, played at its rate.
fn own<'a>(shown: &'a Shown<'_>) -> Vec<(String, &'a CpuTimes)> {
    let mut own = Vec::new();
    for of in &shown.playback {
        let most = of.alone.most_or_one();
        let Some(row) = of.alone.played.iter().find(|row| row.streams == most) else { continue };
        let is_server = |host: &&HostFindings| {
            let mut servers = shown.study.plan.far_ends(usize::from(of.subject));
            servers.any(|one| one.host == host.host)
        };
        let films = counted(u64::from(most), "film");
        let heading = format!("{}\n{films} of {}", shown.names.setup(row.cell), of.film.rate());
        for host in shown.findings.hosts.iter().filter(is_server) {
            let work = host.work.iter().find(|work| work.cell == row.cell);
            own.extend(work.map(|work| (heading.clone(), &work.shares)));
        }
    }
    own
}

fn columns(published: &Load, own: &[(String, &CpuTimes)]) -> Columns {
    let mut columns = Columns::with_headings(["N750\nsync"]);
    columns.columns.extend(own.iter().map(|(heading, _)| (heading.clone(), Vec::new())));
    let mut add = |name: &str, published: f64, of: Class| {
        let own = own.iter().map(|(_, cpu)| percent(of(cpu)));
        columns.row(name, std::iter::once(percent(published / 100.0)).chain(own));
    };
    for (name, of) in BUSY {
        let known = published.classes.iter().find(|(class, _)| *class == name);
        add(name, known.map_or(0.0, |(_, percent)| *percent), of);
    }
    add("waiting for I/O", published.waiting, |cpu| cpu.iowait);
    add("idle", published.idle, |cpu| cpu.idle);
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_stands_beside_the_published_router_class_by_class() {
        let all = loads(tables());
        let published = all.iter().find(|load| load.name.starts_with(OPERATION)).unwrap();
        let nas =
            CpuTimes { system: 0.2, softirq: 0.05, iowait: 0.1, idle: 0.65, ..CpuTimes::default() };
        let table = columns(published, &[("nas\n5 films".to_owned(), &nas)]).table();
        assert_eq!(table.header, ["", "N750\nsync", "nas\n5 films"]);
        for row in [
            ["user", "0%", "0%"],
            ["system", "7%", "20%"],
            ["softirq", "2%", "5%"],
            ["waiting for I/O", "5%", "10%"],
            ["idle", "83%", "65%"],
        ] {
            assert!(table.rows.iter().any(|own| *own == row), "{row:?} in {:?}", table.rows);
        }
    }
}
