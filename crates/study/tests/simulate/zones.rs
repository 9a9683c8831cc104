//! Two directories of one share on a disk whose outer tracks are twice as fast as its inner ones: there
//! is no difference between them but where their files happen to lie.

use super::{MARGIN, Parts, SERVICE, conducted, number_of_studies, setting};
use plimsoll_load::{FileId, MockShare, Op, Reply, VirtualClock};
use plimsoll_model::{Nanos, Pattern};
use plimsoll_stats::order::{generator, sub_seed};
use plimsoll_stats::proportion::share;
use plimsoll_stats::synthetic::{ar1, standard_normal};
use plimsoll_stats::verdict::Verdict;
use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;
use std::collections::HashMap;
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Files that the disk has space for, one after the other from the outside.
const PLACES: f64 = 64.0;
/// How much slower the innermost place is: as with disks of 3.5 inches.
const INNER: f64 = 2.0;

/// Where a disk puts new files.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Allocation {
    /// After the last one, whosever it is; one in five goes a way further, where there is a gap.
    Next,
    /// Each directory has a half of the disk to itself: then there is a difference.
    Halves,
}

/// One disk under both directories. A file gets its place when it is first written.
struct Disk {
    allocation: Allocation,
    places: HashMap<(usize, FileId), f64>,
    next: f64,
    random: Pcg64,
}

impl Disk {
    /// How many times as long an operation takes where this file lies.
    fn slowness(&mut self, directory: usize, op: &Op) -> f64 {
        let Some(file) = op.file() else { return 1.0 };
        if let Some(place) = self.places.get(&(directory, file)) {
            return 1.0 / (1.0 - place / PLACES * (1.0 - 1.0 / INNER));
        }
        let mut uniform = || self.random.next_u64() as f64 / u64::MAX as f64;
        let gap = if uniform() < 0.2 { PLACES / 10.0 * uniform() } else { 0.0 };
        self.next = (self.next + 1.0 + gap) % PLACES;
        let place = match self.allocation {
            Allocation::Next => self.next,
            Allocation::Halves => (self.next + directory as f64 * PLACES) / 2.0,
        };
        self.places.insert((directory, file), place);
        self.slowness(directory, op)
    }
}

/// The verdicts of one study of two directories, a read and a write each.
fn verdicts(seed: u64, allocation: Allocation) -> Vec<Verdict> {
    let clock = Arc::new(VirtualClock::new());
    let random = generator(seed, "places");
    let disk = Disk { allocation, places: HashMap::new(), next: 0.0, random };
    let disk = Arc::new(Mutex::new(disk));
    let slow = Arc::new(ar1(4000, 0.8, &mut generator(seed, "slow")));
    let share = |directory: usize| {
        let (disk, slow) = (disk.clone(), slow.clone());
        let random = Mutex::new(generator(seed, &format!("directory {directory}")));
        let script = move |op: &Op, at: Nanos| {
            let second = (at.0 / 1_000_000_000) as usize;
            let noise = standard_normal(&mut random.lock().expect("no panic") as &mut Pcg64);
            let log = 0.02 * slow[second.min(slow.len() - 1)] + 0.1 * noise;
            let times = disk.lock().expect("no panic").slowness(directory, op) * log.exp();
            Reply::After(Duration::from_secs_f64(SERVICE * times))
        };
        Arc::new(MockShare::new(clock.clone(), NonZeroU16::MIN, script)) as Parts
    };
    let patterns = [Pattern::SequentialRead, Pattern::SequentialWrite];
    let shares = vec![share(0), share(1)];
    let (_, claims) = conducted(seed, clock, shares, patterns);
    claims.iter().filter_map(|claim| claim.verdict).collect()
}

/// Studies, those with a false "faster", and those in which all is found to be the same.
fn count(studies: u32, allocation: Allocation) -> (u32, u32, u32) {
    let seed = setting("PLIMSOLL_SEED", 2026);
    let verdicts_of_study = |i: u32| verdicts(sub_seed(seed, &format!("zones {i}")), allocation);
    let all: Vec<Vec<Verdict>> = (0..studies).map(verdicts_of_study).collect();
    let faster = |v: &&Vec<Verdict>| v.iter().any(|v| matches!(v, Verdict::Faster(_)));
    let same = |v: &&Vec<Verdict>| {
        v.len() == 2 && v.iter().all(|v| matches!(v, Verdict::NoPracticalDifference(_)))
    };
    let (faster, same) = (all.iter().filter(faster).count(), all.iter().filter(same).count());
    println!(
        "two directories, {allocation:?}, margin {:.0}%: seed {seed}, {studies} studies: \"faster\" in \
         {faster} {:?}, no practical difference in {same} {:?}",
        100.0 * MARGIN,
        share(faster as u32, studies, 0.95).map(|s| (s.low, s.high)),
        share(same as u32, studies, 0.95).map(|s| (s.low, s.high)),
    );
    (studies, faster as u32, same as u32)
}

#[test]
fn where_files_happen_to_lie_makes_no_directory_faster() {
    let studies = number_of_studies(4, 12).min(100) as u32;
    let (of, faster, same) = count(studies, Allocation::Next);
    let bounds = |count| share(count, of, 0.998).expect("a share");
    assert!(bounds(faster).low <= 0.1, "{faster} of {of} are \"faster\"");
    assert!(bounds(same).high >= 0.8, "{same} of {of} are the same");
}

/// What would be the case without it: that the model has something to be found.
#[test]
fn a_directory_on_the_outer_half_of_a_disk_is_faster() {
    let studies = (number_of_studies(4, 12).min(100) / 4) as u32;
    let (of, faster, _) = count(studies, Allocation::Halves);
    assert_eq!(faster, of, "of these there is a difference");
}
