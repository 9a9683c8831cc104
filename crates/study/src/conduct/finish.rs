//! The end of a study: settings and subjects are left as they were found, and why it ended is kept.

use super::Conductor;
use plimsoll_model::{Cause, Ended, Failure, Flag, Study, Switch};

impl Conductor<'_> {
    /// Cleans up and says why it ended.
    pub(super) fn finish(mut self, outcome: Result<(), Failure>) -> Result<Study, Failure> {
        let restarts = self.study.plan.factors.iter().any(|f| f.switch == Switch::Restart);
        let released = restarts && self.runner.release().is_ok();
        // What restarts a server is put back before the run's directories are removed.
        let mut left = self.settings.restore();
        if released {
            // Where that fails, removing them does, and says so.
            let _ = self.runner.reopen();
        }
        left.extend(self.runner.close());
        let known = self.before.as_ref().map_or(0, |before| before.trials.len());
        let measured = !self.study.subjects.is_empty() && self.study.trials.len() > known;
        match outcome {
            Err(mut failure) if !measured => {
                // The store has the study already, and is to say why nothing came of it.
                if self.is_kept {
                    self.study.ended = match failure.cause {
                        Cause::Interrupted => Ended::Interrupted,
                        _ => Ended::Failed { failure: failure.clone() },
                    };
                    self.study.flags.extend(left.iter().cloned());
                    // The first failure is worth more than the store's.
                    let _ = self.store.update(&self.study);
                }
                failure.next = next_step(&failure, &left);
                return Err(failure);
            }
            Err(failure) if failure.cause == Cause::Interrupted => {
                self.study.ended = Ended::Interrupted;
            }
            Err(failure) => self.study.ended = Ended::Failed { failure },
            Ok(()) => {}
        }
        self.study.flags.extend(left);
        let whole = self.held.take_back(&mut self.study, self.store);
        if let Err(failure) = whole.and_then(|()| self.store.update(&self.study)) {
            // The figures are worth more than the store: they are handed back all the same.
            self.study.ended = Ended::Failed { failure };
        }
        Ok(self.study)
    }
}

/// What to do after a failure before the first trial. It alone can name what was left behind.
fn next_step(failure: &Failure, left: &[Flag]) -> String {
    let again = match (failure.cause, left.is_empty()) {
        (Cause::Interrupted, true) => "Run the command again; no file of this run remains.",
        (Cause::Interrupted, false) => "Run the command again.",
        _ => "",
    };
    let own = if failure.next.is_empty() { again.to_owned() } else { failure.next.clone() };
    let left = left.iter().map(|flag| format!("{}. {}", flag.message(), flag.advice()));
    let all: Vec<String> = std::iter::once(own).chain(left).filter(|s| !s.is_empty()).collect();
    all.join(" ")
}
