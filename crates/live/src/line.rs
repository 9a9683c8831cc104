//! The progress line on standard error: what is done, at what rate, how long it still takes. Where
//! standard error is no terminal, a line of its own from time to time: a log is to show that the
//! run goes on.

use crate::describe;
use crate::text::{duration, rate};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use plimsoll_model::{Count, Event, Length, Plan, Rule, Window, Workload, printable, units};
use plimsoll_study::Progress;
use std::io::{IsTerminal, Write, stderr};
use std::time::{Duration, Instant};

/// Lets a line pass where so long none did.
#[derive(Debug)]
pub struct Paced {
    last: Instant,
}

impl Paced {
    /// Time from one line to the next.
    pub const EVERY: Duration = Duration::from_secs(30);

    /// The first line is due that long after `now`.
    pub fn from(now: Instant) -> Paced {
        Paced { last: now }
    }

    /// Lets the next line pass.
    fn hurry(&mut self, now: Instant) {
        self.last = now.checked_sub(Paced::EVERY).unwrap_or(self.last);
    }

    /// Whether a line is due; if so, this is it.
    pub fn is_due(&mut self, now: Instant) -> bool {
        let due = now.saturating_duration_since(self.last) >= Paced::EVERY;
        if due {
            self.last = now;
        }
        due
    }
}

/// The progress line. Dropping it clears the line.
pub(crate) struct Line {
    bar: ProgressBar,
    /// Of standard error that is no terminal.
    paced: Option<Paced>,
    plan: Plan,
    doing: String,
    /// The first block of this run, and whether another one has begun: from then on the time left is measured.
    first_block: Option<u32>,
    is_past_first: bool,
    left: String,
    /// Seconds since the trial's first operation at the end of the last window.
    last_at: f64,
}

/// What is about to happen and how long it takes.
pub(crate) fn announcement(plan: &Plan) -> String {
    let cells = plan.cells();
    let blocks = plan.first_blocks();
    let mut lengths = cells.iter().filter_map(|cell| plan.workload(*cell)).map(Workload::seconds);
    let at_least = match plan.design.rule {
        Rule::Sequential { .. } => "at least ",
        Rule::Fixed { .. } => "",
    };
    let longest = plan.longest_trial_seconds();
    let until_done = |workload: &Workload| matches!(workload.length, Length::UntilDone { .. });
    let length = match plan.design.calibrate {
        _ if plan.workloads.iter().any(until_done) => String::new(),
        // A short run of each workload finds them.
        true => format!(" of at least {}", units::seconds(longest)),
        false if lengths.any(|seconds| seconds < longest) => {
            format!(" of up to {}", units::seconds(longest))
        }
        false => format!(" of {}", units::seconds(longest)),
    };
    let settings = match plan.settings().len() {
        1 => String::new(),
        many => format!(" under {many} settings"),
    };
    format!(
        "{} on {}{settings}, {at_least}{} of {}{length}: {}. Seed {}.",
        counted(plan.workloads.len(), "workload"),
        counted(plan.subjects.len(), "subject"),
        counted(blocks as usize, "block"),
        counted(cells.len(), "trial"),
        time(plan),
        plan.design.seed
    )
}

/// Seconds of creating files from which on they are named.
const LONG_PREPARING_SECONDS: f64 = 60.0;

/// How long a study takes, in words: what is known of it before anything was measured. Where that is no more than
/// the latest end, the time that is left shows from the first trial on.
fn time(plan: &Plan) -> String {
    let estimate = plimsoll_study::estimate(plan);
    let cap = duration(plan.design.cap_seconds);
    let measuring = match plan.design.quick {
        true => format!("at most {cap} after the files are created"),
        false => format!("at most {cap}"),
    };
    let creating = estimate.preparing_seconds - plan.design.baseline_seconds;
    if creating > LONG_PREPARING_SECONDS && !plan.storage.adapt_size {
        let seconds = duration(estimate.seconds);
        return format!("about {seconds}, including {} to create the files", duration(creating));
    }
    // What ends by itself, such as a part of a device, mostly ends earlier than it may.
    let ends_early =
        plan.workloads.iter().any(|workload| matches!(workload.length, Length::UntilDone { .. }));
    match estimate.is_known {
        true if ends_early => format!("at most {}", duration(estimate.seconds)),
        true => format!("about {}", duration(estimate.seconds)),
        false => measuring,
    }
}

/// "1 trial", "10 trials".
fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

impl Line {
    /// Progress for `plan`.
    pub(crate) fn new(plan: &Plan) -> Self {
        let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr_with_hz(8));
        // A template that does not parse is a bug that the tests see; the default serves meanwhile.
        if let Ok(style) = ProgressStyle::with_template("{bar:20} {pos}/{len} {wide_msg}") {
            bar.set_style(style);
        }
        let paced = (!stderr().is_terminal()).then(|| Paced::from(Instant::now()));
        Line {
            bar,
            paced,
            plan: plan.clone(),
            doing: String::new(),
            first_block: None,
            is_past_first: false,
            left: String::new(),
            last_at: 0.0,
        }
    }

    /// The one way out of here.
    fn say(&mut self, text: &str) {
        let text = printable(text);
        if self.paced.as_mut().is_some_and(|paced| paced.is_due(Instant::now())) {
            let _ = writeln!(stderr().lock(), "{}", self.alone(&text));
        }
        self.bar.set_message(text);
    }

    /// With the time left, once it is known.
    fn with_left(&self, text: &str) -> String {
        if self.left.is_empty() { text.to_owned() } else { format!("{}, {text}", self.left) }
    }

    /// The line where it stands alone.
    fn alone(&self, text: &str) -> String {
        match self.bar.length() {
            Some(planned) if !self.left.is_empty() => {
                format!("trial {} of {planned}: {text}", self.bar.position() + 1)
            }
            _ => text.to_owned(),
        }
    }

    /// Shows what the study says.
    pub(crate) fn show(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Baseline { seconds } => {
                self.say(&format!("measuring the idle machine for {seconds:.0} s"));
            }
            Progress::Reboot { host } => self.say(&format!("rebooting {host}")),
            Progress::Setting { factor, level } => {
                self.say(&format!("setting {} to {level} on {}", factor.name, factor.host));
            }
            Progress::Preparing { subject } => {
                self.doing = format!("preparing {}", describe::subject(&self.plan, subject));
                self.last_at = 0.0;
                self.say(&self.doing.clone());
            }
            Progress::Trial { number, block, cell, workload, planned, seconds_left } => {
                let first = *self.first_block.get_or_insert(block);
                if block != first && !std::mem::replace(&mut self.is_past_first, true) {
                    self.paced.iter_mut().for_each(|paced| paced.hurry(Instant::now()));
                }
                self.bar.set_length(u64::from(planned));
                self.bar.set_position(u64::from(number));
                self.doing = format!(
                    "{} on {}",
                    describe::work(workload),
                    describe::setup(&self.plan, cell)
                );
                self.left = format!("{} left", duration(seconds_left));
                self.last_at = 0.0;
                self.say(&format!("{}, {}", self.left, self.doing));
            }
            Progress::Left { seconds } => self.left = format!("{} left", duration(seconds)),
            Progress::Event(Event::Window { at_seconds, parts }) => {
                let seconds = at_seconds - self.last_at;
                self.last_at = *at_seconds;
                if seconds > 0.0 {
                    let Count { operations, bytes } = Window::sum(parts).total();
                    let rate = rate(bytes as f64 / seconds, operations as f64 / seconds);
                    self.say(&self.with_left(&format!("{rate}, {}", self.doing)));
                }
            }
            Progress::Event(Event::Phase { phase, .. }) => {
                self.say(&self.with_left(&format!("{phase}, {}", self.doing)));
            }
            Progress::Event(Event::Step { what }) => {
                let doing = format!("{what}, {}", self.doing);
                self.say(&self.with_left(&doing));
                // Before the first trial nothing else says what the rates are of.
                if self.left.is_empty() {
                    self.doing = doing;
                }
            }
            // The same again: laying out may take minutes.
            Progress::Event(Event::Progress { .. }) => self.say(&self.bar.message()),
            _ => {}
        }
        self.bar.tick();
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::support;
    use plimsoll_model::{
        Cell, Design, DeviceJob, DirectoryTarget, Factor, FactorLevel, HostName, HostSubject, Job,
        Part, Switch, Target, device,
    };
    use std::num::NonZeroU16;

    #[test]
    fn without_a_terminal_a_line_every_thirty_seconds() {
        let begun = Instant::now();
        let mut paced = Paced::from(begun);
        let due: Vec<u64> = (0..1000)
            .map(|tenths| tenths * 100)
            .filter(|ms| paced.is_due(begun + Duration::from_millis(*ms)))
            .collect();
        assert_eq!(due, [30_000, 60_000, 90_000]);
        let (mut paced, later) = (Paced::from(begun), begun + Duration::from_secs(60));
        assert!(paced.is_due(later) && !paced.is_due(later));
        paced.hurry(later);
        assert!(paced.is_due(later), "the first time left that was measured is not kept back");
    }

    #[test]
    fn a_line_that_stands_alone_says_how_far_it_is_and_steers_nothing() {
        let mut line = Line::new(&support::header().plan);
        let path = "/srv/\u{1b}[2J\u{202e}\nx".into();
        line.plan.subjects[0] = Target::Directory(DirectoryTarget { path }).into();
        line.show(Progress::Preparing { subject: 0 });
        let shown = line.bar.message();
        assert_eq!(shown, "preparing /srv/\\u{1b}[2J\\u{202e}\\u{a}x");
        assert_eq!(line.alone(&shown), shown);
        let workload = support::header().plan.workloads[0].clone();
        line.show(Progress::Trial {
            number: 11,
            block: 1,
            cell: Cell::default(),
            workload: &workload,
            planned: 60,
            seconds_left: 200.0,
        });
        let alone = line.alone(&line.bar.message());
        assert!(alone.starts_with("trial 12 of 60: 3 min left, "), "{alone}");
    }

    #[test]
    fn parts_of_a_device_take_at_most_so_long() {
        let job = Job::Device(DeviceJob { part: device::Part::Cpu, quick: false });
        let part = Part::closed(job, NonZeroU16::MIN, NonZeroU16::MIN);
        let workload = Workload::new(part, Length::UntilDone { at_most_seconds: 40.0 });
        let design = Design {
            rule: Rule::Fixed { blocks: 1 },
            calibrate: false,
            baseline_seconds: 0.0,
            ..Design::default()
        };
        let host = HostSubject { host: HostName::Local }.into();
        assert_eq!(time(&Plan::new(vec![host], vec![workload], design)), "at most 40 s");
    }

    #[test]
    fn what_is_about_to_happen_and_which_setting_is_made() {
        let mut plan = support::header().plan;
        assert_eq!(
            announcement(&plan),
            "5 workloads on 2 subjects, at least 6 blocks of 10 trials of 5.00 s: at most 10 min. Seed 1."
        );
        let factor = Factor {
            name: "sysctl:net.ipv4.tcp_sack".into(),
            host: "ssh://nas".parse().unwrap(),
            levels: vec![FactorLevel::AsFound, FactorLevel::Set { value: "0".into() }],
            switch: Switch::Live,
        };
        plan.factors = vec![factor.clone()];
        assert!(announcement(&plan).contains(" under 2 settings, at least 6 blocks of 20 trials"));
        let mut line = Line::new(&plan);
        line.show(Progress::Setting { factor: &factor, level: &factor.levels[1] });
        assert_eq!(line.bar.message(), "setting sysctl:net.ipv4.tcp_sack to 0 on ssh://nas");
        let cell = Cell { setting: 1, ..Cell::default() };
        let workload = plan.workloads[0].clone();
        let (number, block, planned, seconds_left) = (0, 0, 20, 100.0);
        let workload = &workload;
        line.show(Progress::Trial { number, block, cell, workload, planned, seconds_left });
        let shown = line.bar.message();
        assert!(shown.ends_with("sequential-read on nfs, tcp_sack=0"));
    }
}
