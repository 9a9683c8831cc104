//! Runs under way as markup: words, the plan with what is done, and charts by the report's own
//! drawing.

use crate::run::{HostNow, LoadNow, Point, Run};
use crate::words;
use plimsoll_report::chart::{
    Areas, Axis, BANDWIDTH, Chart, Escaped, Layer, Line, Lines, SECONDS, SHARE, TIME,
};
use std::fmt::Write;

/// Seconds that the charts reach back.
const REACH: f64 = 120.0;
/// Targets of which the plan is shown.
const TARGETS: usize = 12;

/// All runs under way.
pub(crate) fn runs<'a>(runs: impl Iterator<Item = &'a Run>) -> String {
    let markup: String = runs.map(run).collect();
    if markup.is_empty() {
        return "<p>No run under way; <code>plimsoll check</code> starts one.</p>".to_owned();
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
        Escaped(&words::place(run)),
        Escaped(&words::time(run)),
        Escaped(&words::doing(run, 200)),
        Escaped(&words::figures(run)),
        id = Escaped(&id),
    );
    markup.push_str("<div class=\"charts\">");
    if run.points.iter().any(|p| p.ops_per_second.is_finite()) {
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
    Axis::new("time until now", SECONDS)
}

fn lines(title: &str, y: Axis, lines: Vec<Line>) -> Lines {
    Lines {
        title: title.to_owned(),
        description: "The last two minutes, in windows of a tenth of a second.".to_owned(),
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

fn throughput(run: &Run) -> Lines {
    let both = vec![
        line("read", 0, run, |p| p.read_bytes_per_second),
        line("written", 1, run, |p| p.write_bytes_per_second),
    ];
    lines("Throughput", Axis::new("throughput", BANDWIDTH), both)
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
        title: format!("CPU of {}", plimsoll_model::printable(&host.name)),
        description: "Share of all cores, by what they did.".to_owned(),
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
    let targets = run.header.plan.targets.len();
    let shown = targets.min(TARGETS);
    let now = run.trial.as_ref().filter(|t| !t.ended);
    let current = now.and_then(|t| Some((t.target, run.place(&t.workload)?)));
    markup.push_str(
        "<div class=\"wide\"><table><caption>Mean throughput and number of trials done</caption>\
         <thead><tr><td></td>",
    );
    for target in 0..shown {
        let name = words::target(run, target);
        let _ = write!(markup, "<th scope=\"col\">{}</th>", Escaped(&name));
    }
    if targets > shown {
        let _ = write!(markup, "<td>{} more</td>", targets - shown);
    }
    markup.push_str("</tr></thead><tbody>");
    for (workload, cells) in run.header.plan.workloads.iter().enumerate() {
        let _ = write!(markup, "<tr><th scope=\"row\">{}</th>", cells.pattern);
        for target in 0..shown {
            let now = current == Some((target, workload));
            let class = if now { " class=\"now\"" } else { "" };
            let cell = words::done(&run.cells[target][workload]);
            let _ = write!(markup, "<td{class}>{}</td>", Escaped(&cell));
        }
        markup.push_str("</tr>");
    }
    markup.push_str("</tbody></table></div>");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support::{header, loads, trial, window};

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
        let target = format!("/mnt/<script>alert(1)</script>{steering}");
        header.plan.targets = vec![target.parse().unwrap()];
        header.study.0 = format!("\"><img src=x>{steering}");
        let markup = runs([&Run::new(header)].into_iter());
        assert!(!markup.contains("<script>") && !markup.contains("<img"), "{markup}");
        assert_eq!(plimsoll_model::printable(&markup), markup);
    }

    #[test]
    fn nothing_under_way_is_said() {
        assert!(runs([].into_iter()).contains("No run under way"));
    }
}
