//! The hosts of a study, watched while its trials run. Nothing here waits while a load runs.

use plimsoll_model::{Clock, Flag, HostFacts, HostLoad, HostName, MountAccount};
use plimsoll_reach::mounts;
use plimsoll_watch::proc_files::Hardware;
use plimsoll_watch::{Account, Ask, Idle, PendingSample, Watch};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

/// How often [`Hosts::look`] is called: CPU times have steps of 10 ms.
pub(crate) const LOOK: Duration = Duration::from_millis(500);
/// Longer than any host takes until it has answered or is lost.
const SETTLED: Duration = Duration::from_secs(60);
/// Longest wait for disks to come to rest, and how often they are looked at: here, and on a host
/// where each look costs it a process.
const REST: Duration = Duration::from_secs(2);
const REST_LOOK: Duration = Duration::from_millis(20);
const REST_LOOK_THERE: Duration = Duration::from_millis(200);

/// The hosts of a study.
pub(crate) struct Hosts {
    pub(crate) watched: Vec<Watched>,
}

/// A host, and what was seen of it since the last begin.
pub(crate) struct Watched {
    pub(crate) name: HostName,
    pub(crate) watch: Box<dyn Watch>,
    /// How busy it is by itself, once that is known.
    pub(crate) idle: Option<Idle>,
    account: Account,
    /// Questions whose answers have not been taken in, the oldest first.
    asked: VecDeque<(Moment, PendingSample)>,
    /// Looks since it was last asked.
    looks: u32,
    ended: bool,
    /// The directory under the load, where its mount is looked at, and what was counted of that at
    /// the load's begin and end.
    directory: Option<String>,
    mounts: Vec<MountAccount>,
    /// Whether the load goes through it, as its router.
    forwards: bool,
    /// Whether the load has its begin and its end.
    whole: bool,
    loss: Loss,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    /// The begin or the end of the load.
    End,
    Between,
}

/// What was done about a host that does not answer any more.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Loss {
    None,
    Reported,
    GivenUp,
}

impl Watched {
    fn new(watch: Box<dyn Watch>) -> Watched {
        let name = watch.facts().name;
        Watched {
            account: Account::new(&name, Hardware::default(), None),
            name,
            watch,
            idle: None,
            asked: VecDeque::new(),
            looks: 0,
            ended: true,
            directory: None,
            mounts: Vec::new(),
            forwards: false,
            whole: false,
            loss: Loss::None,
        }
    }

    pub(crate) fn begin(&mut self) {
        self.clear();
        self.ask_at_an_end(Ask::Forwarding);
        (self.ended, self.whole) = (false, true);
    }

    pub(crate) fn end(&mut self) {
        if !self.ended {
            self.ask_at_an_end(Ask::Forwarded);
            self.ended = true;
        }
    }

    /// A router is asked differently at both ends.
    fn ask_at_an_end(&mut self, of_router: Ask) {
        let what = match (&self.directory, self.forwards) {
            (Some(_), _) => Ask::Mounts,
            (None, true) => of_router,
            (None, false) => Ask::Counters,
        };
        self.asked.push_back((Moment::End, self.watch.ask(what)));
    }

    fn look(&mut self) -> Option<HostLoad> {
        self.looks += 1;
        if !self.ended && LOOK * self.looks >= self.watch.interval() {
            self.looks = 0;
            self.asked.push_back((Moment::Between, self.watch.ask(Ask::Counters)));
        }
        self.take_in(Duration::ZERO)
    }

    /// Takes in what was answered, waiting so long for each answer; returns the last load.
    fn take_in(&mut self, patience: Duration) -> Option<HostLoad> {
        let mut last = None;
        while let Some((moment, asked)) = self.asked.front_mut() {
            if patience.is_zero() && !asked.is_settled() {
                break;
            }
            match asked.sample(patience) {
                Some(sample) => {
                    last = self.account.add(sample);
                    let mounts = sample.mounts.as_ref().zip(self.directory.as_deref());
                    let account = mounts.and_then(|(texts, of)| mounts::account(texts, of));
                    self.mounts.extend(account);
                }
                None => self.whole &= *moment == Moment::Between,
            }
            self.asked.pop_front();
        }
        last
    }

    /// Forgets what was seen.
    fn clear(&mut self) {
        self.account = Account::new(&self.name, self.watch.hardware().clone(), self.idle);
        self.asked.clear();
        self.mounts.clear();
        (self.looks, self.ended, self.whole) = (0, true, false);
    }

    /// The load between begin and end; waits for the end's answer.
    pub(crate) fn load(&mut self) -> Option<HostLoad> {
        self.take_in(SETTLED);
        self.account.load().filter(|_| self.whole)
    }

    /// What its kernel's client counted of the mount between begin and end.
    fn mount(&self) -> Option<MountAccount> {
        let [began, ended] = &self.mounts[..] else { return None };
        mounts::between(began, ended)
    }

    /// What is odd about the load, and whether the host is lost, which is reported once.
    fn flags(&mut self) -> Vec<Flag> {
        let mut flags = self.account.flags();
        if let (Some(lost), Loss::None) = (self.watch.lost(), self.loss) {
            self.loss = Loss::Reported;
            flags.push(Flag::HostLost { host: self.name.clone(), reason: lost.happened });
        }
        flags
    }

    /// A lost host gets one chance to come back.
    fn again(&mut self) {
        if self.loss == Loss::Reported {
            self.loss = match self.watch.again() {
                Ok(()) => Loss::None,
                Err(_) => Loss::GivenUp,
            };
        }
    }

    /// Whether none of its disks has an operation in flight; `None` where that cannot be seen.
    fn disks_at_rest(&mut self) -> Option<bool> {
        let mut asked = self.watch.ask(Ask::Counters);
        let disks = &asked.sample(SETTLED)?.disks;
        let names = || disks.iter().map(|disk| disk.name.as_str());
        let hardware = self.watch.hardware();
        let mut real = disks.iter().filter(|disk| hardware.is_disk(&disk.name, names()));
        Some(real.all(|disk| disk.in_flight == 0))
    }
}

impl Hosts {
    /// Hosts to be watched, this machine first; none in simulations.
    pub(crate) fn new(watches: Vec<Box<dyn Watch>>) -> Self {
        Hosts { watched: watches.into_iter().map(Watched::new).collect() }
    }

    /// What each host is.
    pub(crate) fn facts(&self) -> Vec<HostFacts> {
        self.watched.iter().map(|host| host.watch.facts()).collect()
    }

    /// Waits until the disks of every host are at rest where that can be seen, but not for long:
    /// somebody else may be using them.
    pub(crate) fn rest(&mut self, clock: &dyn Clock) {
        let end = clock.now() + REST;
        let far = self.watched.iter().any(|host| host.watch.interval() > LOOK);
        let pause = if far { REST_LOOK_THERE } else { REST_LOOK };
        let busy = |host: &mut Watched| host.disks_at_rest() == Some(false);
        while self.watched.iter_mut().any(busy) && clock.now() < end {
            clock.sleep_until(clock.now() + pause);
        }
    }

    /// A trial begins, perhaps on a directory of the first host, or through a router; what comes before its load is
    /// not counted.
    pub(crate) fn clear(&mut self, directory: Option<PathBuf>, router: Option<&HostName>) {
        for host in &mut self.watched {
            host.clear();
            host.forwards = router == Some(&host.name);
        }
        if let Some(client) = self.watched.first_mut() {
            client.directory = directory.and_then(|path| path.into_os_string().into_string().ok());
        }
    }

    /// The load begins.
    pub(crate) fn begin(&mut self) {
        self.watched.iter_mut().for_each(Watched::begin);
    }

    /// The load ended; later calls before the next [`Hosts::begin`] change nothing.
    pub(crate) fn end(&mut self) {
        self.watched.iter_mut().for_each(Watched::end);
    }

    /// What the kernel's client counted between the last begin and end, once [`Hosts::loads`] has
    /// been reported.
    pub(crate) fn mount(&self) -> Option<MountAccount> {
        self.watched.iter().find_map(Watched::mount)
    }

    /// The load of every host since the last look or begin, as far as they have answered, for those
    /// who look on. To be called every [`LOOK`].
    pub(crate) fn look(&mut self) -> Vec<HostLoad> {
        self.watched.iter_mut().filter_map(Watched::look).collect()
    }

    /// The load of every host between the last begin and end.
    pub(crate) fn loads(&mut self) -> Vec<HostLoad> {
        self.watched.iter_mut().filter_map(Watched::load).collect()
    }

    /// What is odd about those loads.
    pub(crate) fn flags(&mut self) -> Vec<Flag> {
        self.watched.iter_mut().flat_map(Watched::flags).collect()
    }

    /// Hosts were rebooted: who lost them thereby reaches them anew, and that is not reported.
    pub(crate) fn rebooted(&mut self) {
        for host in &mut self.watched {
            let answers = host.watch.ask(Ask::Counters).sample(SETTLED).is_some();
            if !answers && host.watch.again().is_ok() {
                host.loss = Loss::None;
            }
        }
    }

    /// Lost hosts get one chance to come back.
    pub(crate) fn again(&mut self) {
        self.watched.iter_mut().for_each(Watched::again);
    }
}
