//! Samples of a host's counters by the probe, each when it is asked for.

use super::frame::FrameKind;
use super::message::{FileKind, Message, RawSample, SampledFile};
use super::request::Request;
use super::session::Session;
use crate::Reach;
use crate::clock::{Clocks, Moment, RoundTrip};
use crate::deploy::PATIENCE;
use plimsoll_model::{Failure, Nanos};
use serde_json::Value;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Questions to relate the clocks.
const CLOCK_QUESTIONS: u64 = 8;
/// Most samples that were asked for and not yet taken. A host that answers so late is lost.
const MOST_WAITING: usize = 64;
/// Most files of a sample.
const MOST_FILES: usize = 256;
/// The longest that a probe samples, as its protocol has it.
const LONGEST: Duration = Duration::from_secs(30 * 86400);

/// A probe that takes a sample whenever it is asked.
///
/// Samples come in the order of the questions. Between questions the probe sleeps.
pub struct Sampler {
    session: Session,
    facts: SamplerFacts,
    clocks: Clocks,
    /// When those were asked for that have not come yet.
    asked: VecDeque<Instant>,
    /// Those that have come and were not taken yet.
    ready: VecDeque<Sample>,
}

/// What is needed to read the texts of the samples.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SamplerFacts {
    /// Unit of the times in /proc/stat: ticks a second.
    pub ticks_per_second: u64,
    /// Size of a page in bytes.
    pub page_bytes: u64,
    /// The kernel's release.
    pub kernel_release: String,
    /// The files, in the order of [`SampledFile::index`]: what each is, and its path.
    pub files: Vec<(Option<FileKind>, String)>,
}

/// A sample of a host's counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// When it was taken, on this machine's clock: the middle of the reading.
    pub moment: Moment,
    /// The host's own clock (CLOCK_MONOTONIC) before the first file was read.
    pub begin: Nanos,
    /// The same after the last one.
    pub end: Nanos,
    /// User and system time of the probe so far.
    pub probe_cpu: Duration,
    /// The files that could be read this time.
    pub files: Vec<SampledFile>,
}

impl Sample {
    /// The middle of the reading on the host's own clock.
    pub fn at(&self) -> Nanos {
        self.begin + (self.end - self.begin) / 2
    }
}

impl Sampler {
    /// Starts a probe that samples when asked, and relates its clock to this machine's.
    pub(super) fn start(reach: &dyn Reach, program: &str) -> Result<Sampler, Failure> {
        let request = Request::new("sample").set("interval_ms", 0).within(LONGEST);
        let mut session = Session::start(reach, program, &request)?;
        let facts = loop {
            match session.receive(Instant::now() + PATIENCE)? {
                Some(Message::Section(value)) => break SamplerFacts::read(&value),
                Some(_) => {}
                None => return Err(session.silent(PATIENCE)),
            }
        };
        let (asked, ready) = (VecDeque::new(), VecDeque::new());
        let mut sampler = Sampler { session, facts, clocks: Clocks::default(), asked, ready };
        sampler.relate_clocks()?;
        Ok(sampler)
    }

    /// What is needed to read the texts.
    pub fn facts(&self) -> &SamplerFacts {
        &self.facts
    }

    /// Asks for a sample now and does not wait for it. Ask before the begin of what is measured
    /// and after its end, and meanwhile as often as its course is wanted.
    pub fn ask(&mut self) -> Result<(), Failure> {
        // What has come is taken in, so that it never stands in the way of what is to come.
        self.take_in(Instant::now())?;
        if self.asked.len() + self.ready.len() >= MOST_WAITING {
            return Err(self.session.silent(self.asked.front().map_or(PATIENCE, Instant::elapsed)));
        }
        self.asked.push_back(Instant::now());
        self.session.send(FrameKind::Sample, b"")
    }

    /// The oldest sample that was asked for and not yet taken; `None` if it has not come before
    /// `until`, or if none was asked for.
    pub fn sample(&mut self, until: Instant) -> Result<Option<Sample>, Failure> {
        while self.ready.is_empty() && !self.asked.is_empty() && self.take_in(until)? {}
        Ok(self.ready.pop_front())
    }

    /// Samples that were asked for and not yet taken.
    pub fn waiting(&self) -> usize {
        self.asked.len() + self.ready.len()
    }

    /// Relates the probe's clock to this machine's anew. Worth its eight round trips before each
    /// longer stretch of measuring, when the host and the way to it are idle.
    pub fn relate_clocks(&mut self) -> Result<(), Failure> {
        for question in 0..CLOCK_QUESTIONS {
            let sent = Instant::now();
            self.session.send(FrameKind::Clock, &question.to_be_bytes())?;
            loop {
                match self.session.receive(sent + PATIENCE)? {
                    Some(Message::Clock(token, at)) if token == question.to_be_bytes() => {
                        let received = Instant::now();
                        self.clocks.learn(RoundTrip { sent, received, begin: at, end: at });
                        break;
                    }
                    Some(message) => self.keep(message)?,
                    None => return Err(self.session.silent(PATIENCE)),
                }
            }
        }
        Ok(())
    }

    /// Takes in one message. False: none came before `until`.
    fn take_in(&mut self, until: Instant) -> Result<bool, Failure> {
        let Some(message) = self.session.receive(until)? else { return Ok(false) };
        self.keep(message)?;
        Ok(true)
    }

    fn keep(&mut self, message: Message) -> Result<(), Failure> {
        match message {
            Message::Sample(raw) => {
                let Some(sent) = self.asked.pop_front() else {
                    return Err(self.session.nonsense("it sends samples that were not requested"));
                };
                let sample = self.placed_in_time(sent, raw);
                self.ready.push_back(sample);
                Ok(())
            }
            Message::Done(_) => Err(self.session.nonsense("it ended without a request")),
            Message::Clock(..) | Message::Section(_) | Message::Failed(_) => Ok(()),
        }
    }

    fn placed_in_time(&mut self, sent: Instant, raw: RawSample) -> Sample {
        let RawSample { begin, end, probe_cpu, files } = raw;
        let trip = RoundTrip { sent, received: Instant::now(), begin, end };
        self.clocks.learn(trip);
        Sample { moment: self.clocks.within(trip), begin, end, probe_cpu, files }
    }
}

impl SamplerFacts {
    fn read(value: &Value) -> SamplerFacts {
        let number = |key: &str| value.get(key).and_then(Value::as_u64).unwrap_or(0);
        let files = value.get("files").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let file = |file: &Value| {
            let kind =
                file.get("section_number").and_then(Value::as_u64).and_then(FileKind::from_number);
            let name = file.get("name").and_then(Value::as_str).unwrap_or_default();
            (kind, name.to_owned())
        };
        SamplerFacts {
            // Absurd numbers would make absurd times: what every Linux for these machines has.
            ticks_per_second: match number("clock_ticks_per_second") {
                ticks @ 1..=1_000_000 => ticks,
                _ => 100,
            },
            page_bytes: number("page_size_bytes"),
            kernel_release: value
                .get("kernel_release")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
            files: files.iter().take(MOST_FILES).map(file).collect(),
        }
    }
}
