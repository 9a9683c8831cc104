//! Everybody who looks on at a run of this process.

use crate::dashboard::Dashboard;
use crate::feed::{Feed, runtime_directory};
use crate::line::Line;
use crate::news::{Header, News, Notice};
use plimsoll_model::{Failure, Plan, printable, printable_lines};
use plimsoll_study::Progress;
use std::io::{Write, stderr};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// What the user wants to see on the terminal while the run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// Nothing.
    Nothing,
    /// A line of progress.
    Line,
    /// The dashboard; the line where there is no terminal for it.
    Dashboard,
}

/// The observers of one run. None of them makes the run wait. Dropping them gives the terminal
/// back and removes the feed.
pub struct Observers {
    line: Option<Line>,
    dashboard: Option<Dashboard>,
    feed: Option<Feed>,
    plan: Plan,
    begun: Instant,
}

impl Observers {
    /// Begins to look on. Says on standard error what is going to happen, unless nothing is to be
    /// shown there. The dashboard leaves the terminal when `stop` is set.
    pub fn begin(show: Show, header: &Header, stop: &Arc<AtomicBool>) -> Observers {
        let begun = Instant::now();
        let say = |text: &str| {
            if show != Show::Nothing {
                let _ = writeln!(stderr().lock(), "{}", printable_lines(text));
            }
        };
        let without = |what: &str, failure: &Failure| {
            let Failure { on, happened, next, .. } = failure;
            say(&printable(&format!("{what}: {on}: {happened}. {next}")));
        };
        let feed = runtime_directory().and_then(|directory| Feed::open(&directory, header));
        let feed = feed.map_err(|why| without("the run is not shown by plimsoll serve", &why)).ok();
        let dashboard = (show == Show::Dashboard).then(|| Dashboard::open(header, begun, stop));
        let dashboard = match dashboard {
            Some(Err(why)) => {
                without("no dashboard", &why);
                None
            }
            Some(Ok(dashboard)) => Some(dashboard),
            None => None,
        };
        let line = (show != Show::Nothing && dashboard.is_none()).then(|| {
            say(&crate::line::announcement(&header.plan));
            Line::new(&header.plan)
        });
        Observers { line, dashboard, feed, plan: header.plan.clone(), begun }
    }

    /// Shows and publishes what the study says.
    pub fn show(&mut self, progress: Progress<'_>) {
        if let Some(line) = &mut self.line {
            line.show(progress);
        }
        if self.feed.is_none() && self.dashboard.is_none() {
            return;
        }
        let news = News::new(progress, &self.plan);
        let notice = Notice { at_seconds: self.begun.elapsed().as_secs_f64(), news };
        if let Some(feed) = &self.feed {
            feed.send(&notice);
        }
        if let Some(dashboard) = &self.dashboard {
            dashboard.send(notice);
        }
    }
}
