//! How large a page is and how long it takes to make: sizes and times are printed, nothing is
//! asserted. With `PLIMSOLL_PAGES=DIR` the pages are kept there, to be looked at.

#[path = "../tests/support/mod.rs"]
mod support;

use plimsoll_model::Study;
use plimsoll_report::Document;
use std::time::{Duration, Instant};
use support::{TWO, measured};

fn main() {
    let names: Vec<String> = (0..200).map(|i| format!("nfs://nas{i}.example.org/volume")).collect();
    let many: Vec<&str> = names.iter().map(String::as_str).collect();
    let later = |days: u64| {
        let mut study = measured(&TWO, 6);
        study.id.0 = format!("5eed{days:04}");
        study.started_unix_seconds += days * 86_400;
        study
    };
    let cases: [(&str, Vec<Study>); 5] = [
        ("check of two targets", vec![measured(&TWO, 6)]),
        ("one target", vec![measured(&TWO[..1], 6)]),
        ("1000 trials", vec![measured(&TWO, 100)]),
        ("200 targets", vec![measured(&many, 2)]),
        ("trend of 5 studies", (0..5).map(later).collect()),
    ];
    println!("{:<22} {:>10} {:>12} {:>8}", "page of", "size", "median time", "charts");
    for (name, studies) in cases {
        let mut times = Vec::new();
        let mut page = String::new();
        for _ in 0..5 {
            let begun = Instant::now();
            page = Document::of_studies(&studies).html();
            times.push(begun.elapsed());
        }
        times.sort();
        let median: Duration = times[times.len() / 2];
        let size = format!("{:.0} kB", page.len() as f64 / 1e3);
        let charts = page.matches("<svg").count();
        println!("{name:<22} {size:>10} {:>9.1} ms {charts:>8}", median.as_secs_f64() * 1e3);
        if let Some(folder) = std::env::var_os("PLIMSOLL_PAGES") {
            let file =
                std::path::Path::new(&folder).join(format!("{}.html", name.replace(' ', "-")));
            if let Err(e) = std::fs::write(&file, page) {
                eprintln!("could not keep {}: {e}", file.display());
            }
        }
    }
}
