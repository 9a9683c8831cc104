//! Runs under way as markup: words, the plan with what is done, and charts by the report's own
//! drawing.

use crate::describe;
use crate::run::{HostNow, LoadNow, Point, Run};
use plimsoll_model::{Cell, OpKind};
use plimsoll_report::chart::{
    Areas, Axis, BANDWIDTH, Chart, Escaped, Layer, Line, Lines, RATE, SECONDS, SHARE, TIME,
};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Seconds that the charts reach back.
const REACH: f64 = 120.0;
/// Subjects of which the plan is shown.
const SUBJECTS: usize = 12;
/// Kinds of operation that have a line.
const KINDS: usize = 8;

/// All runs under way.
pub(crate) fn runs<'a>(runs: impl Iterator<Item = &'a Run>) -> String {
    let markup: String = runs.map(run).collect();
    if markup.is_empty() {
        return "<p>No study is running. <code>plimsoll check</code> starts one.</p>".to_owned();
    }
    markup
}

fn run(run: &Run) -> String {
    let id = plimsoll_model::printable(&run.header.study.0);
    let (done, planned) = run.trials();
    let mut markup = String::new();
    // Writing to a String does not fail.
    let _ = write!(
        markup,
        "<article><h3>Study <a href=\"{id}\">{id}</a></h3>\
         <p><progress max=\"{planned}\" value=\"{done}\" aria-label=\"Trials done\"></progress> {}; {}</p>\
         <p>{} <strong>{}</strong></p>",
        Escaped(&describe::place(run)),
        Escaped(&describe::time(run)),
        Escaped(&describe::doing(run, 200)),
        Escaped(&describe::figures(run)),
        id = Escaped(&id),
    );
    markup.push_str("<div class=\"charts\">");
    if run.points.iter().any(|p| !p.is_gap()) {
        markup.push_str(&figure(&throughput(run)));
        markup.push_str(&figure(&latency(run)));
    }
    for chart in run.hosts.iter().filter_map(|host| cpu(run, host)) {
        markup.push_str(&figure(&chart));
    }
    markup.push_str("</div>");
    plan(&mut markup, run);
    markup.push_str("</article>");
    markup
}

fn figure(chart: &dyn Chart) -> String {
    format!("<figure><figcaption>{}</figcaption>{}</figure>", Escaped(chart.title()), chart.svg())
}

fn along() -> Axis {
    Axis::new("time before now", SECONDS)
}

fn lines(title: &str, y: Axis, lines: Vec<Line>) -> Lines {
    Lines {
        title: title.to_owned(),
        description: "The last two minutes, in windows of 0.1 s.".to_owned(),
        x: along(),
        y,
        lines,
        phases: Vec::new(),
        names: Vec::new(),
    }
}

fn line(label: &str, series: usize, run: &Run, value: impl Fn(&Point) -> f64) -> Line {
    let point = |p: &Point| plimsoll_report::chart::Point {
        x: p.at_seconds - run.at_seconds,
        y: value(p),
        band: None,
    };
    let recent = run.points.iter().filter(|p| p.at_seconds >= run.at_seconds - REACH);
    Line { label: label.to_owned(), series, points: recent.map(point).collect() }
}

/// A line for each kind of operation that moves bytes; for each there is where none does.
fn throughput(run: &Run) -> Lines {
    let from = run.at_seconds - REACH;
    let bytes = run.moves_bytes(from);
    let recent = run.points.iter().filter(|p| p.at_seconds >= from).flat_map(Point::kinds);
    let drawn = recent.filter(|(_, count)| !bytes || count.bytes > 0).map(|(kind, _)| kind);
    let kinds: BTreeSet<OpKind> = drawn.collect();
    let of_kind = |(series, kind): (usize, &OpKind)| {
        let label = kind.name().replace('_', " ");
        line(&label, series, run, |p| match bytes {
            true => p.bytes_per_second(Some(*kind)),
            false => p.operations_per_second(Some(*kind)),
        })
    };
    let drawn: Vec<Line> = kinds.iter().take(KINDS).enumerate().map(of_kind).collect();
    match bytes {
        true => lines("Throughput", Axis::new("throughput", BANDWIDTH), drawn),
        false => lines("Operations", Axis::new("operations per second", RATE), drawn),
    }
}

fn latency(run: &Run) -> Lines {
    let mean = line("mean latency", 2, run, |p| p.latency_seconds.unwrap_or(f64::NAN));
    lines("Latency", Axis::new("mean latency", TIME), vec![mean])
}

/// CPU of a host by class; `None` before two loads are known.
fn cpu(run: &Run, host: &HostNow) -> Option<Areas> {
    let recent = || host.loads.iter().filter(|l| l.at_seconds >= run.at_seconds - REACH);
    let edges: Vec<f64> = recent().map(|l| l.at_seconds - run.at_seconds).collect();
    // A load is of the time before it: the first of them only begins the next.
    // The styles are those of the report for the same classes.
    let layer = |label: &str, style: usize, share: fn(&LoadNow) -> f64| Layer {
        label: label.to_owned(),
        style,
        values: recent().skip(1).map(share).collect(),
    };
    (edges.len() > 1).then(|| Areas {
        title: format!("CPU of {}", plimsoll_model::printable(&host.name.to_string())),
        description: "Share of all cores, by kind of work.".to_owned(),
        x: along(),
        y: Axis::new("CPU", SHARE),
        whole: Some(1.0),
        edges,
        layers: vec![
            layer("user", 0, |l| l.shares.user + l.shares.nice),
            layer("kernel", 1, |l| l.shares.system),
            layer("interrupts", 4, |l| l.shares.irq),
            layer("soft interrupts", 2, |l| l.shares.softirq),
            layer("stolen", 6, |l| l.shares.steal),
        ],
        phases: Vec::new(),
    })
}

fn plan(markup: &mut String, run: &Run) {
    let plan = &run.header.plan;
    let now = run.trial.as_ref().filter(|t| !t.ended).map(|t| t.cell);
    let setups = plan.settings().into_iter().flat_map(|setting| {
        (0..).zip(&plan.subjects).map(move |(subject, _)| Cell { subject, workload: 0, setting })
    });
    let setups: Vec<Cell> = setups.collect();
    let _ = write!(
        markup,
        "<div class=\"wide\"><table><caption>{} and number of trials done</caption>\
         <thead><tr><td></td>",
        capital(describe::figures_of_plan(run))
    );
    for cell in setups.iter().take(SUBJECTS) {
        let name = describe::setup(plan, *cell);
        let _ = write!(markup, "<th scope=\"col\">{}</th>", Escaped(&name));
    }
    if setups.len() > SUBJECTS {
        let _ = write!(markup, "<td>{} more</td>", setups.len() - SUBJECTS);
    }
    markup.push_str("</tr></thead><tbody>");
    for (number, workload) in (0..).zip(&plan.workloads) {
        let name = describe::work(workload);
        let _ = write!(markup, "<tr><th scope=\"row\">{}</th>", Escaped(&name));
        for cell in setups.iter().take(SUBJECTS).map(|cell| Cell { workload: number, ..*cell }) {
            let class = if now == Some(cell) { " class=\"now\"" } else { "" };
            let _ = write!(markup, "<td{class}>{}</td>", Escaped(&describe::done(run, cell)));
        }
        markup.push_str("</tr>");
    }
    markup.push_str("</tbody></table></div>");
}

/// With a capital first letter.
fn capital(text: &str) -> String {
    let (first, rest) = text.split_at(text.len().min(1));
    first.to_uppercase() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::{header, loads, subject, trial, window};

    #[test]
    fn a_run_has_charts_and_a_plan() {
        let mut run = Run::new(header());
        assert!(!runs([&run].into_iter()).contains("<svg"), "nothing to draw yet");
        for tenth in 0..30 {
            if tenth % 10 == 0 {
                run.apply(&trial(tenth / 10));
                run.apply(&loads(f64::from(tenth) / 10.0));
            }
            run.apply(&window(f64::from(tenth) / 10.0));
        }
        let markup = runs([&run].into_iter());
        assert_eq!(markup.matches("<svg").count(), 3);
        assert!(markup.contains("trial 3 of 60") && markup.contains("class=\"now\""), "{markup}");
        assert!(markup.len() < 100_000, "{}", markup.len());
    }

    #[test]
    fn names_are_text() {
        let mut header = header();
        let steering = "\u{1b}[2J\u{9b}\u{202e}\u{2028}\r\n";
        header.plan.subjects = vec![subject(&format!("/mnt/<script>alert(1)</script>{steering}"))];
        header.study.0 = format!("\"><img src=x>{steering}");
        let markup = runs([&Run::new(header)].into_iter());
        assert!(!markup.contains("<script>") && !markup.contains("<img"), "{markup}");
        assert_eq!(plimsoll_model::printable(&markup), markup);
    }

    #[test]
    fn nothing_under_way_is_reported() {
        assert!(runs([].into_iter()).contains("No study is running"));
    }
}
