//! Measurements that run at the same time.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

/// How often a request to stop is passed on.
const LOOK: Duration = Duration::from_millis(100);

/// Report of a measurement.
enum News<T> {
    /// It began another step.
    Step(String),
    /// It ended; the number is that of its job.
    Result(usize, T),
}

/// Measures all jobs at the same time, and returns their results in order. A single job is measured once, as it is.
///
/// Several jobs start together. One that ends early is repeated until each has a result, then all end: so each result is
/// measured while all other jobs run. Results of repetitions are not used. If a job fails, also in a repetition, all
/// end. `measure` gets the request to stop and takes the names of its steps; `is_complete` tells whether a result is
/// that of a whole measurement.
pub(crate) fn together<J: Sync, T: Send>(
    jobs: &[J],
    measure: impl Fn(&J, &AtomicBool, &mut dyn FnMut(&str)) -> T + Sync,
    is_complete: fn(&T) -> bool,
    stop: &AtomicBool,
    say: &mut dyn FnMut(&str),
) -> Vec<T> {
    if let [job] = jobs {
        return vec![measure(job, stop, say)];
    }
    let end = AtomicBool::new(stop.load(Ordering::Relaxed));
    let start = Barrier::new(jobs.len());
    let mut results: Vec<Option<T>> = jobs.iter().map(|_| None).collect();
    let (sender, news) = mpsc::channel();
    thread::scope(|scope| {
        let measured = |(number, job)| {
            let (sender, end, start, measure) = (sender.clone(), &end, &start, &measure);
            scope.spawn(move || {
                start.wait();
                let mut is_first = true;
                loop {
                    let result = measure(job, end, &mut |what| {
                        if is_first {
                            let _ = sender.send(News::Step(what.to_owned()));
                        }
                    });
                    let (complete, ended) = (is_complete(&result), end.load(Ordering::Relaxed));
                    if is_first || !(complete || ended) {
                        let _ = sender.send(News::Result(number, result));
                    }
                    if ended || !complete {
                        break;
                    }
                    is_first = false;
                }
            })
        };
        let threads: Vec<ScopedJoinHandle<'_, ()>> =
            jobs.iter().enumerate().map(measured).collect();
        drop(sender);
        loop {
            let mut has_failed = false;
            match news.recv_timeout(LOOK) {
                Ok(News::Step(what)) => say(&what),
                Ok(News::Result(number, result)) => {
                    has_failed = !is_complete(&result);
                    results[number] = Some(result);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            // No thread ends by itself but one that failed, or that panicked.
            let is_over = has_failed
                || stop.load(Ordering::Relaxed)
                || results.iter().all(Option::is_some)
                || threads.iter().any(ScopedJoinHandle::is_finished);
            if is_over {
                end.store(true, Ordering::Relaxed);
            }
        }
    });
    results.into_iter().flatten().collect()
}
