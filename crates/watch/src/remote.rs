//! A host that is asked on a thread of its own, because its answers take time.

use super::{Ask, PendingSample, Watch};
use crate::proc_files::{GroupCounters, Hardware, Sample};
use plimsoll_model::{Failure, HostFacts, HostName, LabFacts};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Something that gives a host's counters when asked, and waits for them in a bounded time.
pub trait Source: Send {
    /// The counters now.
    fn sample(&mut self, what: Ask) -> Result<Sample, Failure>;
}

/// A source, and what the host is, as it said when it was opened.
pub struct Opened {
    /// Where samples come from.
    pub source: Box<dyn Source>,
    /// What the host is.
    pub facts: HostFacts,
    /// Its real devices.
    pub hardware: Hardware,
    /// How often it may be asked.
    pub interval: Duration,
}

/// Opens the source, at first and whenever it was lost.
pub type Open = Box<dyn FnMut() -> Result<Opened, Failure> + Send>;

/// Questions that wait at most; further ones are not asked.
const MOST_WAITING: usize = 8;

/// A host watched through a [`Source`].
pub struct Remote {
    open: Open,
    facts: HostFacts,
    lab: Option<LabFacts>,
    held_in: Vec<PathBuf>,
    hardware: Hardware,
    interval: Duration,
    questions: Sender<Question>,
    state: Arc<Mutex<WatchState>>,
}

#[derive(Default)]
struct WatchState {
    waiting: usize,
    /// Directories of a control group of this machine that the host runs in.
    held_in: Vec<PathBuf>,
    lost: Option<Failure>,
}

struct Question {
    what: Ask,
    answer: SyncSender<Sample>,
}

impl Remote {
    /// Opens the source.
    pub fn start(mut open: Open) -> Result<Remote, Failure> {
        let Opened { source, facts, hardware, interval } = open()?;
        let (questions, state) = serve(source, &facts.name)?;
        let (lab, held_in) = (None, Vec::new());
        Ok(Remote { open, facts, lab, held_in, hardware, interval, questions, state })
    }

    /// The same, of a lab that is set like this.
    pub fn in_lab(self, lab: LabFacts) -> Remote {
        Remote { lab: Some(lab), ..self }
    }

    /// The same, of a machine that runs on this one in the control group of these directories: its own kernel
    /// knows nothing of that. Without any it is as it was.
    pub fn held_in(self, group: Vec<PathBuf>) -> Remote {
        self.lock().held_in.clone_from(&group);
        Remote { held_in: group, ..self }
    }

    fn lock(&self) -> MutexGuard<'_, WatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch for Remote {
    fn facts(&self) -> HostFacts {
        HostFacts { lab: self.lab.clone(), ..self.facts.clone() }
    }

    fn hardware(&self) -> &Hardware {
        &self.hardware
    }

    fn ask(&mut self, what: Ask) -> PendingSample {
        let mut state = self.lock();
        if state.lost.is_some() || state.waiting >= MOST_WAITING {
            return PendingSample::answered(None);
        }
        state.waiting += 1;
        drop(state);
        let (answer, asked) = PendingSample::open();
        // Nobody there to answer drops the question, which settles it.
        let _ = self.questions.send(Question { what, answer });
        asked
    }

    fn interval(&self) -> Duration {
        self.interval
    }

    fn lost(&self) -> Option<Failure> {
        self.lock().lost.clone()
    }

    fn again(&mut self) -> Result<(), Failure> {
        if self.lost().is_none() {
            return Ok(());
        }
        let Opened { source, facts, hardware, interval } = (self.open)()?;
        (self.questions, self.state) = serve(source, &self.facts.name)?;
        self.lock().held_in.clone_from(&self.held_in);
        (self.facts, self.hardware, self.interval) = (facts, hardware, interval);
        Ok(())
    }
}

/// Starts the thread that asks. It ends when nobody asks any more, or when the host is lost.
fn serve(
    source: Box<dyn Source>,
    name: &HostName,
) -> Result<(Sender<Question>, Arc<Mutex<WatchState>>), Failure> {
    let (questions, asked) = channel();
    let state = Arc::new(Mutex::new(WatchState::default()));
    let shared = state.clone();
    std::thread::Builder::new()
        .name("watch".to_owned())
        .spawn(move || answer(source, &asked, &shared))
        .map_err(|e| {
            let next = "Free memory, or raise the limit of processes.";
            Failure::new(plimsoll_model::Cause::Trial, "start monitoring")
                .on(name)
                .happened(e)
                .next(next)
        })?;
    Ok((questions, state))
}

fn answer(mut source: Box<dyn Source>, asked: &Receiver<Question>, state: &Mutex<WatchState>) {
    for Question { what, answer } in asked {
        let sample = source.sample(what);
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting = state.waiting.saturating_sub(1);
        match sample {
            // Whoever asked may have given up.
            Ok(mut sample) => {
                if let Some(group) = GroupCounters::read(&state.held_in) {
                    sample.control_group = Some(group);
                }
                drop(answer.try_send(sample));
            }
            // Reported before the question is dropped: who then finds no answer finds the reason.
            Err(failure) => {
                state.lost = Some(failure);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Cause;

    const LONG: Duration = Duration::from_secs(60);

    /// Answers so many questions, then fails.
    struct Tired(u32);
    impl Source for Tired {
        fn sample(&mut self, _: Ask) -> Result<Sample, Failure> {
            let failure = || Failure::new(Cause::Unreachable, "watch").on("it").happened("gone");
            self.0 = self.0.checked_sub(1).ok_or_else(failure)?;
            Ok(Sample { load_average: Some(self.0.into()), ..Sample::default() })
        }
    }

    fn remote(answers: u32) -> Remote {
        let open = move || {
            let facts = HostFacts::default();
            Ok(Opened {
                source: Box::new(Tired(answers)),
                facts,
                hardware: Hardware::default(),
                interval: Duration::from_secs(1),
            })
        };
        Remote::start(Box::new(open)).unwrap()
    }

    #[test]
    fn questions_are_answered_in_their_order() {
        let mut remote = remote(3);
        let mut asked: Vec<PendingSample> = (0..3).map(|_| remote.ask(Ask::Counters)).collect();
        let answers: Vec<_> =
            asked.iter_mut().map(|a| a.sample(LONG).unwrap().load_average.unwrap()).collect();
        assert_eq!(answers, [2.0, 1.0, 0.0]);
        assert_eq!(remote.lost(), None);
    }

    /// "lab status" knew of a fifth of a core, and what the machine had of it was not read while it ran.
    #[test]
    fn what_a_machine_has_of_its_share_is_read_outside_of_it() {
        let group = tempfile::tempdir().unwrap();
        let stat =
            "usage_usec 1500000\nuser_usec 0\nsystem_usec 0\nnr_periods 40\nnr_throttled 38\n";
        for (name, text) in [("cpu.max", "1000 5000\n"), ("cpu.stat", stat)] {
            std::fs::write(group.path().join(name), text).unwrap();
        }
        let mut plain = remote(1);
        assert_eq!(plain.ask(Ask::Counters).sample(LONG).unwrap().control_group, None);
        let mut held = remote(2).held_in(vec![group.path().to_owned()]);
        let read = held.ask(Ask::Counters).sample(LONG).unwrap().control_group.unwrap();
        assert_eq!((read.quota_cores(), read.cpu_seconds), (Some(0.2), Some(1.5)));
        assert_eq!((read.periods, read.throttled), (Some(40), Some(38)));
        let nowhere = vec![group.path().join("gone")];
        let mut gone = remote(1).held_in(nowhere);
        assert_eq!(gone.ask(Ask::Counters).sample(LONG).unwrap().control_group, None);
    }

    #[test]
    fn a_lost_host_is_reported_and_may_come_back() {
        let mut remote = remote(1);
        let mut asked: Vec<PendingSample> = (0..3).map(|_| remote.ask(Ask::Counters)).collect();
        let answers: Vec<bool> = asked.iter_mut().map(|a| a.sample(LONG).is_some()).collect();
        assert_eq!(answers, [true, false, false]);
        assert_eq!(remote.lost().unwrap().happened, "gone");
        assert!(remote.ask(Ask::Counters).is_settled());
        remote.again().unwrap();
        assert!(remote.lost().is_none());
        assert!(remote.ask(Ask::Counters).sample(LONG).is_some());
    }
}
