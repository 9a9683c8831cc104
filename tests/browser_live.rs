//! The live page in a browser: values move while a real run goes on, its study appears when it is
//! over, two studies can be ticked and compared, and nothing complains or overflows.

mod support;

use plimsoll_testkit::{Need, available};
use serde_json::Value;
use support::browser::Browser;
use support::served::Served;
use support::{Plimsoll, ended, signal, wait_until};

const LOOKS: &str = include_str!("support/looks.js");

const CHECK: [&str; 4] = ["--size=16MiB", "--pattern=random-read", "--baseline=0s", "--quiet"];

/// What the page says of the run now: the figures in bold.
const FIGURES: &str = "document.querySelector('#runs strong')?.textContent ?? ''";

/// By its name: the browser of the tests resolves no other.
fn address(served: &Served) -> String {
    format!("http://localhost:{}/{}/", served.port, served.token)
}

#[test]
fn a_run_moves_and_its_study_appears() {
    if !available(Need::Chromium) {
        return;
    }
    let (program, plain) = (Plimsoll::new(), tempfile::tempdir().unwrap());
    let directory = plain.path().to_str().unwrap();
    let served = Served::start(&program);
    let mut browser = Browser::start();
    browser.resize(390, 900);
    browser.open(&address(&served));
    let text = |browser: &mut Browser, id: &str| {
        let text = browser.evaluate(&format!("document.getElementById('{id}').textContent"));
        text.as_str().unwrap_or_default().to_owned()
    };
    assert!(text(&mut browser, "studies").contains("No studies yet"));
    // Without end: it is ended below when all was seen.
    let more = ["--time=1s", "--repeats=10000"];
    let run = program.start(&[&["check", directory], &CHECK[..], &more[..]].concat());
    let mut figures = Vec::new();
    wait_until("the figures move", || {
        let now = browser.evaluate(FIGURES).as_str().unwrap_or_default().to_owned();
        if !now.is_empty() && !figures.contains(&now) {
            figures.push(now);
        }
        figures.len() >= 3
    });
    wait_until("the charts are there", || {
        browser.evaluate("document.querySelectorAll('#runs svg.chart').length") == 3
    });
    for what in ["tooWide", "faintTexts"] {
        let wrong = browser.evaluate(&format!("{LOOKS}; {what}()"));
        assert_eq!(wrong, Value::Array(Vec::new()), "{what}");
    }
    signal(&run, "-INT");
    ended(run).expect(130);
    let id = program.latest().id.0;
    wait_until("the study is listed", || text(&mut browser, "studies").contains(&id));
    wait_until("nothing is under way", || {
        text(&mut browser, "runs").contains("No study is running")
    });
    assert_eq!(browser.complaints(), Vec::<String>::new());
    let own = address(&served);
    assert!(browser.requests().iter().all(|url| url.starts_with(&own)), "{:?}", browser.requests());
}

#[test]
fn two_that_are_ticked_are_compared() {
    if !available(Need::Chromium) {
        return;
    }
    let (program, plain) = (Plimsoll::new(), tempfile::tempdir().unwrap());
    let directory = plain.path().to_str().unwrap();
    for _ in 0..3 {
        let more = ["--time=200ms", "--repeats=2"];
        program.run(&[&["check", directory], &CHECK[..], &more[..]].concat()).expect(0);
    }
    let served = Served::start(&program);
    let mut browser = Browser::start();
    browser.open(&address(&served));
    let tick = "document.querySelectorAll('#studies input')";
    let disabled = "document.querySelector('#studies button').disabled";
    for (boxes, expected) in [(0, true), (1, true), (2, false), (3, true)] {
        if boxes > 0 {
            browser.evaluate(&format!("{tick}[{}].click()", boxes - 1));
        }
        assert_eq!(browser.evaluate(disabled), expected, "{boxes} ticked");
    }
    browser.evaluate(&format!("{tick}[0].click()"));
    browser.evaluate("document.querySelector('#studies button').click()");
    wait_until("the comparison is shown", || {
        let shown = browser.evaluate("document.querySelector('#answer')?.textContent ?? ''");
        shown.as_str().is_some_and(|text| text.contains("random read"))
    });
    // Without scripts the page is there, too.
    browser.scripts(false);
    browser.open(&address(&served));
    browser.scripts(true);
    assert_eq!(browser.evaluate(&format!("{tick}.length")), 3);
}
