//! Published experiments on a network path, repeated with their own design.

use super::arguments::NetArguments;
use super::design_arguments::FigureChoice;
use super::workloads::{length, part};
use plimsoll_lab::plan::Rate;
use plimsoll_model::factor::RULESET;
use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Cause, DatagramsJob, Design, Failure, Flow, Job, Parameter, Rule, Steps, TcpStreamJob, Workload,
};
use plimsoll_net::MOST_PACKETS_PER_SECOND;

/// Blocks of kofler2011, seconds of a trial, and the time limit of a study.
const BLOCKS: u32 = 5;
const SECONDS: f64 = 20.0;
const CAP_SECONDS: f64 = 3600.0;
/// Time of a study by that of its trials: hosts are asked between them.
const TIME_OF_STUDY: f64 = 1.5;
/// Bytes of a block in figure 1. The text has those of 1, 8 and 128 KiB "and larger".
const TCP_BLOCKS: [u64; 9] =
    [1 << 10, 2 << 10, 4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10];
/// Bytes of a payload in figures 2 and 4, up to a packet of Ethernet. The text has 400 and 1450.
const UDP_PAYLOADS: [u64; 8] = [100, 200, 400, 600, 800, 1000, 1200, 1450];
/// Payload of figure 3, which its text does not name: that of figure 2 near the MTU.
const ROUTED_PAYLOAD: Bytes = Bytes(1450);
/// Step of the rates of figure 3, and the highest one: the text has the step, and a slow router at 70 Mbit/s.
const STEP: Rate = Rate(5_000_000);
const UP_TO: Rate = Rate(100_000_000);
/// Most rates of a study.
const MOST_STEPS: u64 = 400;
/// Levels of the rules in figure 4.
const WITH_AND_WITHOUT_RULES: &str = "as-found,none";

/// The loads of the figure that the user wants repeated, if any.
///
/// # Errors
/// [`Cause::Usage`] for options that the figure has no use for, and for rates that cannot be.
pub(super) fn workloads(arguments: &NetArguments) -> Result<Option<Vec<Workload>>, Failure> {
    let Some(figure) = arguments.design.figure else { return Ok(None) };
    expect_used(arguments, figure)?;
    let udp = |payload| DatagramsJob { payload, ..DatagramsJob::new(Flow::Out) };
    let (jobs, steps): (Vec<Job>, Option<Steps>) = match figure {
        FigureChoice::TcpByBlock => {
            let job = |block| TcpStreamJob { block: Bytes(block), ..TcpStreamJob::new(Flow::Out) };
            (TCP_BLOCKS.map(job).map(Job::from).into(), None)
        }
        FigureChoice::UdpByPayload | FigureChoice::UdpWithoutRules => {
            (UDP_PAYLOADS.map(Bytes).map(udp).map(Job::from).into(), None)
        }
        FigureChoice::RoutedByRate => {
            let payload = arguments.payloads.first().copied().unwrap_or(ROUTED_PAYLOAD);
            (vec![udp(payload).into()], Some(rates(arguments, payload)?))
        }
    };
    let seconds = arguments.time.map_or(SECONDS, |time| time.as_secs_f64());
    let workload =
        |job| Workload { steps: steps.clone(), ..Workload::new(part(job), length(seconds)) };
    Ok(Some(jobs.into_iter().map(workload).collect()))
}

/// The rates of figure 3.
fn rates(arguments: &NetArguments, payload: Bytes) -> Result<Steps, Failure> {
    let Rate(step) = arguments.design.step.unwrap_or(STEP);
    let Rate(most) = arguments.design.up_to.unwrap_or(UP_TO);
    let count = most.checked_div(step).unwrap_or_default();
    let packets = most as f64 / 8.0 / payload.0.max(1) as f64;
    let happened = match count {
        0 | 1 => "there are fewer than two steps up to the highest rate".to_owned(),
        2..=MOST_STEPS if packets <= f64::from(MOST_PACKETS_PER_SECOND) => {
            let values = (1..=count).map(|number| (number * step) as f64 / 8.0).collect();
            return Ok(Steps::Sweep { over: Parameter::Rate, values });
        }
        2..=MOST_STEPS => {
            format!("the highest rate is above {MOST_PACKETS_PER_SECOND} datagrams a second")
        }
        more => format!("there are {more} steps up to the highest rate, and {MOST_STEPS} at most"),
    };
    let next = "Give rates such as --up-to 100Mbit/s --step 5Mbit/s.";
    Err(refused("--up-to and --step", &happened, next))
}

fn refused(on: &str, happened: &str, next: &str) -> Failure {
    Failure::new(Cause::Usage, "repeat the experiment").on(on).happened(happened).next(next)
}

/// Refuses options that a figure has no use for, and figure 3 without its router.
fn expect_used(arguments: &NetArguments, figure: FigureChoice) -> Result<(), Failure> {
    let design = &arguments.design;
    let has_router = arguments.via.via.is_some();
    if figure == FigureChoice::RoutedByRate {
        if !has_router {
            let happened = "its datagrams go through a router, but --via is missing";
            let next = "Name the router between A and B: --via ssh://root@router.";
            return Err(refused("--figure 3", happened, next));
        }
        if arguments.payloads.len() > 1 {
            let next = "Give one, such as --payloads 1450.";
            return Err(refused("--payloads", "figure 3 has one payload", next));
        }
        return Ok(());
    }
    if has_router {
        let happened = "in this figure, the router itself sends";
        let next = "Name the router as A and leave --via out, or choose --figure 3.";
        return Err(refused("--via", happened, next));
    }
    let of_rates = [
        ("--payloads", !arguments.payloads.is_empty()),
        ("--up-to", design.up_to.is_some()),
        ("--step", design.step.is_some()),
    ];
    if let Some((option, _)) = of_rates.into_iter().find(|(_, is_given)| *is_given) {
        let next = format!("Leave {option} out, or choose --figure 3.");
        return Err(refused(option, "it is for figure 3", &next));
    }
    if figure == FigureChoice::UdpWithoutRules && !arguments.set.is_empty() {
        let happened = "figure 4 compares a setting of its own, the rules of A";
        return Err(refused("--set", happened, "Leave --set out, or choose --figure 2."));
    }
    Ok(())
}

/// The settings that are compared: those of the user, or that of the figure.
pub(super) fn settings(arguments: &NetArguments) -> Vec<String> {
    match arguments.design.figure {
        Some(FigureChoice::UdpWithoutRules) => vec![format!("{RULESET}={WITH_AND_WITHOUT_RULES}")],
        _ => arguments.set.clone(),
    }
}

/// Its design: as many blocks as were published, in the time that they need.
pub(super) fn design(
    arguments: &NetArguments,
    workloads: &[Workload],
    baseline_seconds: f64,
) -> Design {
    let study = &arguments.study;
    let blocks = study.repeats.unwrap_or(BLOCKS);
    let trials: f64 = workloads.iter().map(Workload::trial_seconds).sum();
    // Each setting has at least two values.
    let settings = f64::from(1_u32 << settings(arguments).len().min(8));
    let needed = TIME_OF_STUDY * f64::from(blocks) * settings * trials;
    let design = study.design(CAP_SECONDS.max(needed), baseline_seconds);
    Design { rule: Rule::Fixed { blocks }, ..design }
}

#[cfg(test)]
mod tests {
    use super::super::tests::planned;
    use super::*;
    use plimsoll_model::FactorLevel;

    const ROUTED: [&str; 4] = ["ssh://nas", "--design=kofler2011", "--figure=3", "--via=ssh://r"];

    #[test]
    fn a_figure_is_repeated_within_an_hour() {
        for (figure, kind, sizes, settings) in
            [("1", "tcp-out", 9, 1_u32), ("2", "udp-out", 8, 1), ("4", "udp-out", 8, 2)]
        {
            let words = ["ssh://nas", "--design=kofler2011", "--figure", figure];
            let plan = planned(&words).unwrap();
            assert_eq!(
                (plan.workloads.len(), &plan.design.rule),
                (sizes, &Rule::Fixed { blocks: 5 })
            );
            assert!(plan.workloads.iter().all(|w| w.main().unwrap().job.kind() == kind));
            // As fast as the sender can, without a search.
            assert!(plan.workloads.iter().all(|workload| workload.steps.is_none()));
            let seconds: f64 = plan.workloads.iter().map(Workload::seconds).sum();
            assert_eq!(seconds, 20.0 * sizes as f64);
            assert!(5.0 * seconds * f64::from(settings) < plan.design.cap_seconds, "{seconds} s");
            assert_eq!(plimsoll_model::factor::settings(&plan.factors), settings as usize);
        }
        let words = ["ssh://nas", "--design=kofler2011", "--figure=1", "--time=1s", "--repeats=2"];
        let plan = planned(&words).unwrap();
        assert_eq!(
            (plan.workloads[0].seconds(), plan.design.rule),
            (1.0, Rule::Fixed { blocks: 2 })
        );
    }

    /// Rates and payload of the only workload.
    fn staircase(more: &[&str]) -> (Vec<f64>, Bytes) {
        let plan = planned(&[&ROUTED[..], more].concat()).unwrap();
        let [workload] = &plan.workloads[..] else { panic!("{plan:?}") };
        let Some(Steps::Sweep { over: Parameter::Rate, values }) = &workload.steps else {
            panic!("{workload:?}")
        };
        let Job::Datagrams(job) = &workload.parts[0].job else { panic!("{workload:?}") };
        assert_eq!((job.flow, job.streams, job.rate), (Flow::Out, 1, None));
        workload.expect_steps().unwrap();
        (values.iter().map(|bytes| 8.0 * bytes / 1e6).collect(), job.payload)
    }

    #[test]
    fn a_router_is_offered_rates_in_steps() {
        let (rates, payload) = staircase(&[]);
        assert_eq!((rates.len(), rates[0], rates[19], payload), (20, 5.0, 100.0, Bytes(1450)));
        let (rates, payload) = staircase(&["--up-to=7Mbit/s", "--step=2Mbit/s", "--payloads=400"]);
        assert_eq!((rates, payload), (vec![2.0, 4.0, 6.0], Bytes(400)));
        let plan = planned(&ROUTED).unwrap();
        assert_eq!(plan.design.rule, Rule::Fixed { blocks: 5 });
        let seconds = 5.0 * plan.workloads[0].trial_seconds();
        assert_eq!(seconds, 2000.0);
        assert!(seconds < plan.design.cap_seconds);
        // Many rates, and settings, have the time that they need.
        let words = ["--up-to=600Mbit/s", "--set=ssh://r/nft-ruleset=as-found,none"];
        let plan = planned(&[&ROUTED[..], &words].concat()).unwrap();
        assert!(plan.design.cap_seconds > 2.0 * 5.0 * plan.workloads[0].trial_seconds());
        let routers = plan.router(0).map(ToString::to_string);
        assert_eq!(routers.as_deref(), Some("ssh://r"));
    }

    #[test]
    fn the_rules_of_the_router_are_taken_off_in_figure_4() {
        let words = ["ssh://nas", "--design=kofler2011", "--figure=4"];
        let plan = planned(&words).unwrap();
        let [factor] = &plan.factors[..] else { panic!("{:?}", plan.factors) };
        let none = FactorLevel::Set { value: "none".into() };
        assert_eq!(factor.name, RULESET);
        assert_eq!(factor.levels, [FactorLevel::AsFound, none]);
        assert_eq!(factor.host, plan.subjects[0].path().unwrap().from.host, "A is the router");
        assert_eq!(plan.contrasts.len(), 8);
    }

    #[test]
    fn figures_refuse_what_they_have_no_use_for() {
        let figure = |number: &str, more: &[&str]| {
            let figure = format!("--figure={number}");
            let words = ["ssh://nas", "--design=kofler2011", &figure];
            planned(&[&words[..], more].concat())
        };
        for (number, more, on, next) in [
            ("1", &["--via=ssh://r"][..], "--via", "as A"),
            ("3", &[], "--figure 3", "--via ssh://root@router"),
            ("4", &["--via=ssh://r"], "--via", "--figure 3"),
            ("2", &["--payloads=400"], "--payloads", "--figure 3"),
            ("2", &["--up-to=50Mbit/s"], "--up-to", "--figure 3"),
            ("4", &["--step=1Mbit/s"], "--step", "--figure 3"),
            ("4", &["--set=nft-ruleset=as-found,none"], "--set", "--figure 2"),
            ("3", &["--via=ssh://r", "--payloads=400,1450"], "--payloads", "one"),
            ("3", &["--via=ssh://r", "--up-to=4Mbit/s"], "--up-to", "--step"),
            ("3", &["--via=ssh://r", "--step=0Mbit/s"], "--step", "--up-to"),
            ("3", &["--via=ssh://r", "--step=1kbit/s"], "--step", "--up-to"),
        ] {
            let failure = figure(number, more).unwrap_err();
            assert_eq!(failure.cause, Cause::Usage, "{failure}");
            assert!(failure.on.contains(on) && failure.next.contains(next), "{failure}");
        }
        let words = ["--via=ssh://r", "--payloads=16", "--up-to=400Gbit/s", "--step=1Gbit/s"];
        let failure = figure("3", &words).unwrap_err();
        assert!(failure.happened.contains("datagrams a second"), "{failure}");
        let failure = planned(&["ssh://nas", "--via=ssh://r", "--payloads=400"]).unwrap_err();
        assert!(failure.next.contains("--frames"), "{failure}");
    }
}
