//! A thread that looks at the feeds and at the store while somebody looks at the page, and draws
//! what is new once for all who do.

use super::{Settings, live, studies};
use crate::feed::Follower;
use plimsoll_record::Store;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::watch;

/// Time from one picture to the next.
const FRAME: Duration = Duration::from_millis(500);
/// Time from one look at whether anybody looks to the next.
const LOOK: Duration = Duration::from_millis(50);

/// The parts of the page that change, as markup.
#[derive(Clone)]
pub(super) struct News {
    /// Runs under way.
    pub runs: watch::Sender<Arc<str>>,
    /// The studies kept.
    pub studies: watch::Sender<Arc<str>>,
}

/// Ends the thread when dropped.
pub(super) struct Watcher(Arc<AtomicBool>);

impl Drop for Watcher {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Starts to watch.
pub(super) fn start(settings: &Settings) -> (News, Watcher) {
    let none = || watch::Sender::new(Arc::from(""));
    let news = News { runs: none(), studies: none() };
    let done = Arc::new(AtomicBool::new(false));
    let watching = Watching {
        follower: Follower::new(&settings.runs),
        settings: settings.clone(),
        news: news.clone(),
        drawn: false,
        stamp: None,
    };
    let (stop, watcher) = (done.clone(), Watcher(done));
    // Without a thread the pages are there, but do not move.
    let _ = std::thread::Builder::new().name("watcher".to_owned()).spawn(move || {
        watching.go_on(&stop);
    });
    (news, watcher)
}

struct Watching {
    settings: Settings,
    follower: Follower,
    news: News,
    drawn: bool,
    /// What the store's file looked like when it was read.
    stamp: Option<Stamp>,
}

/// Length and time of the last change.
type Stamp = (u64, Option<SystemTime>);

impl Watching {
    fn go_on(mut self, stop: &AtomicBool) {
        let mut due = Instant::now();
        while !stop.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
            if self.news.runs.receiver_count() > 0 && Instant::now() >= due {
                self.look();
                due = Instant::now() + FRAME;
            }
        }
    }

    fn look(&mut self) {
        if self.follower.look() || !self.drawn {
            self.drawn = true;
            self.news.runs.send_replace(live::runs(self.follower.runs()).into());
        }
        let stamp = stamp(&self.settings.store);
        if self.stamp != Some(stamp) {
            let store = Store::open_to_read(&self.settings.store);
            let markup = store.and_then(|store| studies::list(&store));
            // A store that is busy is looked at again.
            if markup.is_ok() {
                self.stamp = Some(stamp);
            }
            let markup = markup.unwrap_or_else(|failure| super::pages::of_failure(&failure));
            self.news.studies.send_replace(markup.into());
        }
    }
}

fn stamp(store: &Path) -> Stamp {
    store.metadata().map_or((0, None), |found| (found.len(), found.modified().ok()))
}
