//! The report's page in a browser: nothing is fetched, nothing complains, nothing overlaps, and it
//! can be read in light, in dark, at phone width, by keyboard and without a script.

#[path = "../crates/report/tests/support/mod.rs"]
mod studies;
mod support;

use plimsoll_model::Pattern;
use plimsoll_testkit::{Need, available, thorough};
use serde_json::Value;
use std::path::PathBuf;
use studies::{TWO, measured, plain};
use support::Plimsoll;
use support::browser::Browser;

const LOOKS: &str = include_str!("support/looks.js");

/// Charts on the page of a check of two targets: the ratios of all; of each pattern throughput,
/// ratio, latency, rate and operations in flight over time, CPU of each target; CPU and cores.
const CHARTS: usize = 2 + 5 * 6 + 1 + 2;

/// The page that the program makes of a study.
fn page_of(program: &Plimsoll, study: &plimsoll_model::Study) -> PathBuf {
    plimsoll_record::Store::open(program.db())
        .unwrap()
        .import(std::slice::from_ref(study))
        .unwrap();
    let page = program.home().join(format!("{}.html", study.id));
    program.run(&["report", &study.id.0, "--output", page.to_str().unwrap()]).expect(0);
    page
}

fn nothing(browser: &mut Browser, what: &str) {
    let wrong = browser.evaluate(&format!("{LOOKS}; {what}()"));
    assert_eq!(wrong, Value::Array(Vec::new()), "{what}");
}

#[test]
fn the_page_of_a_check() {
    if !available(Need::Chromium) {
        return;
    }
    let program = Plimsoll::new();
    let page = page_of(&program, &measured(&TWO, 6));
    let mut browser = Browser::start();
    // The first and the last alone have both schemes and both widths.
    let step = thorough::one_in(3, "schemes and widths");
    let looks = [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)];
    for (scheme, width) in looks.into_iter().step_by(step) {
        browser.prefer(scheme);
        browser.resize(width, 900);
        browser.open_file(&page);
        assert_eq!(browser.complaints(), Vec::<String>::new(), "{scheme} {width}");
        assert_eq!(browser.requests().len(), 1, "the page alone: {:?}", browser.requests());
        assert_eq!(browser.evaluate("document.querySelectorAll('svg.chart').length"), CHARTS);
        nothing(&mut browser, "tooWide");
        // The answer without what is folded: at most a third of the 14,000 pixels it once had.
        let height = browser.evaluate("document.documentElement.scrollHeight").as_f64().unwrap();
        assert!(height < 14_000.0 / 3.0, "{scheme} {width}: {height} px");
        // What is folded away has to be readable, too.
        browser.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })");
        nothing(&mut browser, "touchingTexts");
        nothing(&mut browser, "faintTexts");
        nothing(&mut browser, "tooWide");
    }
}

#[test]
fn values_are_told_to_pointer_and_keyboard() {
    if !available(Need::Chromium) {
        return;
    }
    let program = Plimsoll::new();
    let page = page_of(&program, &measured(&TWO, 6));
    let mut browser = Browser::start();
    browser.resize(1280, 900);
    browser.open_file(&page);
    browser.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })");
    let middle = |id: &str| {
        format!(
            "(() => {{ const marks = [...document.querySelectorAll('#{id} .v path')]; \
             const mark = marks[Math.floor(marks.length / 2)]; mark.scrollIntoView({{ block: 'center' }}); \
             const box = mark.getBoundingClientRect(); \
             return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        )
    };
    let shown = "(() => { const tip = document.getElementById('tip'); \
                 return getComputedStyle(tip).visibility === 'visible' ? tip.textContent : ''; })()";
    for (id, expected) in [
        ("sequential-read-throughput", "/srv/data\n149 MB/s ["),
        ("sequential-read-latency", "/srv/data: "),
        ("sequential-read-over-time", "s\nnas: 1"),
        ("random-mixed-cpu-1-1", "system: "),
        ("cpu-cores", "core 1: "),
    ] {
        let place = browser.evaluate(&middle(id));
        browser.point(place[0].as_f64().unwrap(), place[1].as_f64().unwrap());
        let tip = browser.evaluate(shown);
        assert!(tip.as_str().unwrap().contains(expected), "{id}: {tip}");
        let inside = browser.evaluate(
            "(() => { const box = document.getElementById('tip').getBoundingClientRect(); \
             return box.left >= 0 && box.right <= innerWidth && box.top >= 0; })()",
        );
        assert_eq!(inside, true, "{id}: the tip is in the window");
    }
    browser.point(1.0, 1.0);
    assert_eq!(browser.evaluate(shown), "", "it goes with the pointer");

    browser.evaluate("document.querySelector('#sequential-read-latency svg').focus()");
    browser.press("ArrowRight");
    assert!(browser.evaluate(shown).as_str().unwrap().starts_with("0%\nnas: "));
    browser.press("ArrowRight");
    assert!(browser.evaluate(shown).as_str().unwrap().starts_with("20%\nnas: "));
    browser.press("Escape");
    assert_eq!(browser.evaluate(shown), "");
    // The first stop of the keyboard leads past everything.
    browser.open_file(&page);
    browser.press("Tab");
    let first = browser.evaluate("document.activeElement.getAttribute('href')");
    assert_eq!(first, "#answer");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn the_page_without_a_script() {
    if !available(Need::Chromium) {
        return;
    }
    let program = Plimsoll::new();
    let page = page_of(&program, &measured(&TWO, 6));
    let mut browser = Browser::start();
    browser.scripts(false);
    browser.resize(390, 900);
    browser.open_file(&page);
    assert_eq!(browser.evaluate("document.querySelectorAll('svg.chart').length"), CHARTS);
    assert_eq!(browser.evaluate("document.getElementById('tip')"), Value::Null);
    // The browser's own way to tell the values, and the tables.
    let titles = browser.evaluate("document.querySelectorAll('.v title').length");
    assert!(titles.as_u64().unwrap() > 300, "{titles}");
    assert_eq!(browser.evaluate("document.querySelectorAll('.behind table').length"), CHARTS);
    nothing(&mut browser, "tooWide");
}

#[test]
fn odd_pages() {
    if !available(Need::Chromium) {
        return;
    }
    let program = Plimsoll::new();
    let mut browser = Browser::start();
    let long = "nfs://a-host-with-a-very-long-name.example.org/and/a/path/that/goes/on/and/on";
    let mut hostile =
        measured(&[long, "/日本語/と/とても長い名前のディレクトリ", "/srv/<b>bold</b>"], 2);
    hostile.id.0 = "5eed0002".into();
    let mut one = plain::empty(&TWO[..1], &[Pattern::RandomRead]);
    one.id.0 = "5eed0003".into();
    plain::add(&mut one, 0, 0, Pattern::RandomRead, 30e6);
    studies::enrich(&mut one, 0.1);
    let mut failed = measured(&TWO, 1);
    failed.id.0 = "5eed0004".into();
    failed.trials.iter_mut().for_each(plain::fail);
    let mut many = measured(&[TWO[0]; 12], 2);
    many.id.0 = "5eed0005".into();
    for study in [hostile, one, failed, many] {
        let page = page_of(&program, &study);
        for width in [390, 1280] {
            browser.resize(width, 900);
            browser.open_file(&page);
            assert_eq!(browser.complaints(), Vec::<String>::new());
            assert_eq!(browser.requests().len(), 1);
            nothing(&mut browser, "tooWide");
            nothing(&mut browser, "touchingTexts");
            nothing(&mut browser, "faintTexts");
        }
    }
}
