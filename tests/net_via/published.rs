//! Published experiments with routers, repeated.

use super::{ROUTER, alone, lab, net, study};
use crate::support::unwrapped;
use plimsoll_model::{Ended, Measure, Metric, Outcome, StreamJob};

/// A bucket on the router's link to the wan lets 8 Mbit/s through. The study was not told.
#[test]
fn rates_are_routed_up_to_that_of_a_bucket() {
    let Some(beds) = lab() else { return };
    let _alone = alone();
    beds.on("via/router", "tc qdisc replace dev outer root tbf rate 8mbit burst 20kb latency 50ms");
    let words = [
        ROUTER,
        "--design=kofler2011",
        "--figure=3",
        "--up-to=14Mbit/s",
        "--step=2Mbit/s",
        "--time=1s",
        "--repeats=1",
        "--json=-",
    ];
    let whole = study(&net(&beds, &words).expect(0));
    let [trial] = &whole.trials[..] else { panic!("{whole:?}") };
    assert_eq!((&whole.ended, &trial.result.outcome), (&Ended::Done, &Outcome::Complete));
    let mut rates: Vec<f64> = trial.points.iter().map(|point| 8.0 * point.at / 1e6).collect();
    rates.sort_by(f64::total_cmp);
    assert_eq!(rates, [2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0]);
    // The bucket counts 42 bytes of headers with each payload.
    let truth = 1e6 * 1450.0 / 1492.0;
    for point in &trial.points {
        let figure = |measure| point.parts[0].quantities[&Metric::all(measure)];
        // A busy machine may send less than it is to send.
        let offered = figure(StreamJob::OFFERED);
        let (arrived, expected) = (figure(Measure::THROUGHPUT), offered.min(truth));
        assert!((arrived / expected - 1.0).abs() < 0.15, "{arrived} of {expected} at {offered}");
        let loss = figure(StreamJob::LOSS);
        assert!(offered < 1.25 * truth || loss > 0.05, "{loss} at {offered}");
        let load = point.loads.iter().find(|load| load.host == *"lab://via/router");
        assert!(load.is_some_and(|load| !load.cores_busy.is_empty()), "{:?}", point.loads);
    }
    let shown = beds.program.run(&["show"]).expect(0).out;
    assert!(shown.lines().count() <= 24, "{shown}");
    let text = unwrapped(&shown);
    for words in ["the highest rate offered", "R: lab://via/router", "busiest", "1450 B payload"] {
        assert!(text.contains(words), "{words} in\n{shown}");
    }
    let beside = beds.program.run(&["compare", "latest", "--with", "kofler2011"]).expect(0).out;
    for words in ["RSPRO, published", "430 Mbit/s", "without netfilter", "600 Mbit/s"] {
        assert!(beside.contains(words), "{words} in\n{beside}");
    }
    let page = beds.program.home().join("page.html");
    beds.program.run(&["report", "--output", page.to_str().unwrap()]).expect(0);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("rate forwarded by rate offered"));
}
