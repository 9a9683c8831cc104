//! The dashboard: a whole terminal that shows a run while it goes on. What is drawn is a pure
//! function of the run's state (`draw`); the terminal is borrowed and given back by `screen`.

mod charts;
mod draw;
mod load;
mod plan;
mod screen;

use crate::news::{Header, Notice};
use crate::outlet::{Missed, Outlet};
use crate::run::Run;
use plimsoll_model::Failure;
use screen::Screen;
use std::io::{Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Time from one picture to the next.
const FRAME: Duration = Duration::from_millis(200);

/// The dashboard of a run. Dropping it gives the terminal back.
pub(crate) struct Dashboard {
    outlet: Outlet,
}

impl Dashboard {
    /// Takes the terminal over for a run that began at `begun`; gives it back when `stop` is set.
    /// Fails where standard error is no terminal that can be taken over.
    pub(crate) fn open(
        header: &Header,
        begun: Instant,
        stop: &Arc<AtomicBool>,
    ) -> Result<Dashboard, Failure> {
        let screen = Screen::open()?;
        let (run, stop) = (Run::new(header.clone()), stop.clone());
        let outlet = Outlet::start("dashboard", move |news, missed| {
            if show(screen, run, begun, &news, &missed, &stop) {
                // The terminal is the user's again, who wants to know why nothing happens yet.
                let _ = writeln!(
                    stderr().lock(),
                    "stopping: removing the test files; a second Ctrl-C exits at once, without removing them"
                );
            }
            news.iter().for_each(drop);
        });
        Ok(Dashboard { outlet })
    }

    /// Hands over what happened. Never waits.
    pub(crate) fn send(&self, notice: Notice) {
        self.outlet.send(notice);
    }
}

/// Draws until the news end or the run is stopped; says whether it was stopped. The terminal is
/// given back before this returns.
fn show(
    mut screen: Screen,
    mut run: Run,
    begun: Instant,
    news: &Receiver<Notice>,
    missed: &Missed,
    stop: &AtomicBool,
) -> bool {
    let mut due = Instant::now();
    loop {
        match news.recv_timeout(due.saturating_duration_since(Instant::now())) {
            Ok(notice) => run.apply(&notice),
            Err(RecvTimeoutError::Disconnected) => return false,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if Instant::now() < due {
            continue;
        }
        if stop.load(Ordering::Relaxed) {
            return true;
        }
        run.at_seconds = begun.elapsed().as_secs_f64();
        run.missed = missed.count();
        // A terminal that went away takes no picture; the run goes on.
        if screen.draw(|frame| draw::draw(&run, frame)).is_err() {
            return false;
        }
        due = Instant::now() + FRAME;
    }
}
