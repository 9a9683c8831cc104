//! Every kind of chart: settled small cases, and what must hold for any data.

use plimsoll_report::chart::{
    Areas, Axis, BANDWIDTH, Bar, Bars, COUNT, Chart, Curve, Dot, Flame, Frame, Group, Groups, Heat,
    Layer, Line, Lines, Point, Quantiles, RATE, Ratios, SECONDS, SHARE, Stair, Staircase, TIME,
    alone,
};
use proptest::prelude::*;

fn bars(values: &[(f64, f64)]) -> Bars {
    let bar = |(i, (value, width)): (usize, &(f64, f64))| Bar {
        label: format!("target <{i}>"),
        series: i,
        value: *value,
        interval: Some((value - width, value + width)),
    };
    Bars {
        title: "Sequential read: bandwidth".into(),
        description: "Bars & lines.".into(),
        axis: Axis::new("bandwidth", BANDWIDTH),
        reaches: 0.0,
        bars: values.iter().enumerate().map(bar).collect(),
    }
}

fn ratios(values: &[(f64, f64)]) -> Ratios {
    let dot = |(i, (ratio, factor)): (usize, &(f64, f64))| Dot {
        label: format!("pattern {i}"),
        verdict: "b is faster".into(),
        series: 1,
        ratio: *ratio,
        interval: Some((ratio / factor, ratio * factor)),
    };
    Ratios {
        title: "Ratios".into(),
        description: "Dots.".into(),
        axis: "bandwidth, b to a".into(),
        margin: 0.05,
        dots: values.iter().enumerate().map(dot).collect(),
    }
}

fn lines(values: &[(f64, f64)]) -> Lines {
    let point = |(x, y): &(f64, f64)| Point { x: *x, y: *y, band: Some((0.9 * y, 1.1 * y)) };
    let points: Vec<Point> = values.iter().map(point).collect();
    let line =
        |series: usize, label: &str| Line { label: label.into(), series, points: points.clone() };
    Lines {
        title: "Over time".into(),
        description: "Lines.".into(),
        x: Axis::new("time", SECONDS),
        y: Axis::new("operations per second", RATE),
        lines: vec![line(0, "nas"), line(1, "data")],
        phases: vec![(1.5, "nas: slower".into())],
        names: Vec::new(),
    }
}

fn areas(values: &[(f64, f64)]) -> Areas {
    let layer = |style: usize, label: &str, pick: fn(&(f64, f64)) -> f64| Layer {
        label: label.into(),
        style,
        values: values.iter().map(pick).collect(),
    };
    Areas {
        title: "CPU".into(),
        description: "Layers.".into(),
        x: Axis::new("trial", COUNT),
        y: Axis::new("share", SHARE),
        whole: Some(1.0),
        edges: (0..=values.len()).map(|i| i as f64).collect(),
        layers: vec![layer(0, "user", |v| v.0), layer(2, "system", |v| v.1)],
        phases: Vec::new(),
    }
}

fn quantiles(values: &[(f64, f64)]) -> Quantiles {
    let curve =
        |series: usize| Curve { label: format!("curve {series}"), series, points: values.to_vec() };
    Quantiles {
        title: "Latency".into(),
        description: "Curves.".into(),
        y: Axis::new("latency", TIME),
        curves: vec![curve(0), curve(1)],
    }
}

fn heat(values: &[(f64, f64)]) -> Heat {
    let row = |pick: fn(&(f64, f64)) -> f64| values.iter().map(|v| Some(pick(v))).collect();
    Heat {
        title: "Cores".into(),
        description: "Cells.".into(),
        x: "trial".into(),
        columns: (0..values.len()).map(|i| i.to_string()).collect(),
        y: "core".into(),
        rows: vec![("0".into(), row(|v| v.0)), ("1".into(), row(|v| v.1))],
        value: "busy".into(),
        kind: SHARE,
        darkest: 1.0,
    }
}

fn staircase(values: &[(f64, f64)]) -> Staircase {
    let stair = |(i, (offered, carried)): (usize, &(f64, f64))| Stair {
        offered: *offered,
        carried: *carried,
        passed: i < 3,
    };
    Staircase {
        title: "Routing".into(),
        description: "Steps.".into(),
        x: Axis::new("offered", RATE),
        y: Axis::new("forwarded", RATE),
        stairs: values.iter().enumerate().map(stair).collect(),
        knee: values.get(2).map(|v| (v.0, "loss begins".into())),
    }
}

/// Each value below the one before, up to four deep; some are deeper than that.
fn flame(values: &[(f64, f64)]) -> Flame {
    let frame = |(i, (value, _)): (usize, &(f64, f64))| Frame {
        depth: if i % 7 == 6 { 1000 } else { i % 4 },
        name: format!("function_{i}<"),
        part: (i % 3 > 0).then_some(i % 11),
        value: *value,
    };
    Flame {
        title: "One sendto".into(),
        description: "Boxes.".into(),
        axis: Axis::new("time", TIME),
        parts: ["UDP", "IP", "driver"].map(String::from).to_vec(),
        frames: values.iter().enumerate().map(frame).collect(),
    }
}

/// Each value in a group of its own, by turns in two units.
fn groups(values: &[(f64, f64)]) -> Groups {
    let group = |(number, (value, width)): (usize, &(f64, f64))| Group {
        label: format!("work {number}"),
        kind: if number % 2 == 0 { RATE } else { BANDWIDTH },
        unit: if number % 2 == 0 { "files/s".into() } else { String::new() },
        bars: vec![Bar {
            label: "up, as rsync".into(),
            series: 0,
            value: *value,
            interval: Some((value - width, value + width)),
        }],
    };
    Groups {
        title: "Speed".into(),
        description: "Groups.".into(),
        groups: values.iter().enumerate().map(group).collect(),
    }
}

/// Widths of the bars of a picture, in their order.
fn bar_widths(svg: &str) -> Vec<f64> {
    let document = roxmltree::Document::parse(svg).unwrap();
    let bars = document.descendants().filter(|node| {
        node.attribute("class").is_some_and(|class| class.split(' ').any(|word| word == "bar"))
    });
    bars.map(|bar| bar.attribute("width").unwrap().parse().unwrap()).collect()
}

/// In one picture a longer bar is never a smaller figure of the same unit.
#[test]
fn bars_of_one_unit_share_a_scale() {
    let chart = groups(&[(792.0, 9.0), (5e6, 1e5), (3606.0, 40.0), (5e7, 1e6)]);
    let [few, slow, many, fast] = bar_widths(&chart.svg())[..] else { panic!("four bars") };
    assert!((many / few - 3606.0 / 792.0).abs() < 0.05, "{few} {many}");
    assert!((fast / slow - 10.0).abs() < 0.1, "{slow} {fast}");
}

/// One interval that reaches far does not shorten all bars to nothing.
#[test]
fn a_wide_interval_leaves_the_bars_their_length() {
    let chart = groups(&[(792.0, 9.0), (5e6, 1e5), (3606.0, 900_000.0)]);
    let [few, _, many] = bar_widths(&chart.svg())[..] else { panic!("three bars") };
    assert!(many > 100.0 && (many / few - 3606.0 / 792.0).abs() < 0.05, "{few} {many}");
}

/// So do charts that stand one below the other.
#[test]
fn charts_of_bars_reach_as_far_as_they_are_told() {
    let width = |reaches| {
        let chart = Bars { reaches, ..bars(&[(792.0, 9.0)]) };
        bar_widths(&chart.svg())[0]
    };
    let times = width(0.0) / width(3606.0);
    assert!((4.0..5.0).contains(&times), "3606 is 4.5 times 801: {times}");
}

fn all(values: &[(f64, f64)]) -> Vec<Box<dyn Chart>> {
    vec![
        Box::new(bars(values)),
        Box::new(groups(values)),
        Box::new(ratios(values)),
        Box::new(lines(values)),
        Box::new(areas(values)),
        Box::new(quantiles(values)),
        Box::new(heat(values)),
        Box::new(staircase(values)),
        Box::new(flame(values)),
    ]
}

/// A call is as wide as its time, within its caller, and its own time is the rest.
#[test]
fn calls_stand_below_their_callers() {
    let frame = |depth, name: &str, value| Frame { depth, name: name.into(), part: Some(0), value };
    let frames = vec![
        frame(0, "sendto", 100e-6),
        frame(1, "udp_sendmsg", 75e-6),
        frame(2, "ip_send_skb", 25e-6),
        frame(1, "fput", 50e-6),
    ];
    let chart = Flame { frames, ..flame(&[]) };
    let [all, udp, ip, fput] = bar_widths(&chart.svg())[..] else { panic!("four boxes") };
    assert!((udp / all - 0.75).abs() < 0.01 && (ip / all - 0.25).abs() < 0.01, "{all} {udp} {ip}");
    assert!((fput / all - 0.25).abs() < 0.01, "no wider than the rest of its caller: {fput}");
    let own: Vec<String> = chart.table().rows.iter().map(|row| row[4].clone()).collect();
    assert_eq!(own, ["0", "50", "25", "25"]);
    assert_eq!(chart.table().header[3], "all, µs");
}

/// A tag a line, so that a difference can be read.
fn readable(svg: &str) -> String {
    svg.replace("><", ">\n<")
}

#[test]
fn settled_cases() {
    let cases: [(&str, Box<dyn Chart>); 8] = [
        ("bars", Box::new(bars(&[(112e6, 2e6), (149e6, 9e6)]))),
        ("ratios", Box::new(ratios(&[(1.33, 1.05), (0.99, 1.02), (3.1, 1.2)]))),
        ("lines", Box::new(lines(&[(0.5, 7000.0), (1.5, 7400.0), (2.5, f64::NAN), (3.5, 3000.0)]))),
        ("areas", Box::new(areas(&[(0.2, 0.3), (0.25, 0.4), (0.1, 0.6)]))),
        (
            "quantiles",
            Box::new(quantiles(&[(0.0, 90e-6), (0.5, 120e-6), (0.9, 300e-6), (0.99, 2e-3)])),
        ),
        ("heat", Box::new(heat(&[(0.1, 0.9), (0.5, 0.4)]))),
        ("staircase", Box::new(staircase(&[(1e5, 1e5), (2e5, 2e5), (3e5, 3e5), (4e5, 2.5e5)]))),
        (
            "flame",
            Box::new(flame(&[(8e-6, 0.0), (5e-6, 0.0), (4e-6, 0.0), (1e-6, 0.0), (2e-6, 0.0)])),
        ),
    ];
    for (name, chart) in cases {
        let table = chart.table();
        let rows: Vec<String> = table.rows.iter().map(|row| row.join(" | ")).collect();
        let text = format!(
            "{}\n\n{}\n{}",
            readable(&chart.svg()),
            table.header.join(" | "),
            rows.join("\n")
        );
        insta::assert_snapshot!(name, text);
    }
}

#[test]
fn a_file_of_its_own_brings_its_colours() {
    let file = alone(&bars(&[(1.0, 0.1)]).svg());
    let document = roxmltree::Document::parse(&file).unwrap();
    let style = document.descendants().find(|n| n.has_tag_name("style")).unwrap();
    assert!(style.text().unwrap().contains("--s0:"));
    assert_eq!(document.root_element().tag_name().namespace(), Some("http://www.w3.org/2000/svg"));
}

#[test]
fn many_points_stay_a_small_picture() {
    let many: Vec<(f64, f64)> = (0..500_000).map(|i| (f64::from(i), f64::from(i % 97))).collect();
    for chart in all(&many[..500]).iter().chain(&[Box::new(lines(&many)) as Box<dyn Chart>]) {
        // Rows and dots stand for a thing each, and none is left out.
        let each = matches!(chart.title(), "Sequential read: bandwidth" | "Ratios");
        let size = chart.svg().len();
        assert!(each || size < 200_000, "{}: {size}", chart.title());
    }
}

/// Numbers of all kinds, with a liking for the odd ones.
fn number() -> impl Strategy<Value = f64> {
    let odd = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        1e300,
        5e-324,
        0.1 + 0.2,
    ];
    prop_oneof![any::<f64>(), prop::sample::select(odd.to_vec()), 0.0..1.0f64, -1e6..1e9f64]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_data_make_a_sound_picture(values in prop::collection::vec((number(), number()), 0..20)) {
        for chart in all(&values) {
            let svg = chart.svg();
            let document = roxmltree::Document::parse(&svg).unwrap();
            for attribute in document.descendants().flat_map(|n| n.attributes().collect::<Vec<_>>()) {
                if !["x", "y", "width", "height", "d", "viewBox"].contains(&attribute.name()) {
                    continue;
                }
                let apart = attribute.value().replace('-', " -");
                let numbers = apart.split(|c: char| !(c.is_ascii_digit() || "-.".contains(c)));
                for number in numbers.filter(|n| !n.is_empty()) {
                    let value: f64 = number.parse().unwrap_or_else(|_| panic!("{number} in {svg}"));
                    prop_assert!(value.abs() <= 1e6, "{} {}", attribute.name(), value);
                }
            }
            let table = chart.table();
            for row in &table.rows {
                prop_assert_eq!(row.len(), table.header.len());
            }
        }
    }

    #[test]
    fn texts_do_not_touch(values in prop::collection::vec((1.0..1e9f64, 1.0..1e9f64), 1..20)) {
        for chart in all(&values) {
            let svg = chart.svg();
            let document = roxmltree::Document::parse(&svg).unwrap();
            let width: f64 = document.root_element().attribute("viewBox").unwrap().split(' ').nth(2).unwrap().parse().unwrap();
            for text in document.descendants().filter(|n| n.has_tag_name("text")) {
                let x: f64 = text.attribute("x").unwrap().parse().unwrap();
                prop_assert!((0.0..=width).contains(&x), "{} at {x}", text.text().unwrap_or(""));
            }
        }
    }
}
