//! A question on its way.

use crate::proc_files::Sample;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

/// Counters that were asked for.
#[derive(Debug)]
pub struct PendingSample {
    answer: Answer,
    coming: Option<Receiver<Sample>>,
}

/// Where a question stands.
#[derive(Debug, Default)]
pub enum Answer {
    /// Not answered yet.
    #[default]
    Coming,
    /// Here it is.
    Here(Box<Sample>),
    /// It will not come.
    Never,
}

impl PendingSample {
    /// A question that is answered already, or never.
    pub fn answered(sample: Option<Sample>) -> PendingSample {
        let answer = sample.map_or(Answer::Never, |sample| Answer::Here(Box::new(sample)));
        PendingSample { answer, coming: None }
    }

    /// A question, and where its answer goes. Dropping that says that it never comes.
    pub fn open() -> (SyncSender<Sample>, PendingSample) {
        let (answer, coming) = sync_channel(1);
        (answer, PendingSample { answer: Answer::Coming, coming: Some(coming) })
    }

    /// The counters, waiting for them for so long at most; `None` where they have not come, or
    /// never will.
    pub fn sample(&mut self, patience: Duration) -> Option<&Sample> {
        if let (Answer::Coming, Some(coming)) = (&self.answer, &self.coming) {
            let came = match patience.is_zero() {
                true => coming.try_recv().map_err(|e| e == TryRecvError::Disconnected),
                false => {
                    coming.recv_timeout(patience).map_err(|e| e == RecvTimeoutError::Disconnected)
                }
            };
            match came {
                Ok(sample) => self.answer = Answer::Here(Box::new(sample)),
                Err(true) => self.answer = Answer::Never,
                Err(false) => {}
            }
        }
        match &self.answer {
            Answer::Here(sample) => Some(sample),
            _ => None,
        }
    }

    /// Whether nothing more is to be waited for.
    pub fn is_settled(&mut self) -> bool {
        self.sample(Duration::ZERO);
        !matches!(self.answer, Answer::Coming)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn an_answer_comes_or_never_does() {
        let sample = Sample { load_average: Some(0.5), ..Sample::default() };
        let (answer, mut asked) = PendingSample::open();
        assert!(asked.sample(Duration::ZERO).is_none() && !asked.is_settled());
        assert!(asked.sample(Duration::from_millis(1)).is_none() && !asked.is_settled());
        answer.send(sample.clone()).unwrap();
        assert_eq!(asked.sample(LONG), Some(&sample));
        assert_eq!(asked.sample(Duration::ZERO), Some(&sample), "it stays");
        let (answer, mut asked) = PendingSample::open();
        drop(answer);
        assert!(asked.sample(LONG).is_none() && asked.is_settled());
        assert!(PendingSample::answered(None).is_settled());
    }
}
