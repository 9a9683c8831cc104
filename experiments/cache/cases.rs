//! What is drawn: where the bytes are, how they are reached, and how much is read.

use plimsoll_stats::order::generator;
use rand_pcg::rand_core::Rng;

/// One measurement.
#[derive(Debug)]
pub struct Case {
    pub number: u64,
    pub place: Place,
    /// What is read, in MiB.
    pub size: u64,
}

/// Where the bytes are. Places of the same lab come one after the other.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A directory of this machine.
    Local(Local),
    /// Servers in a namespace, whose disk is memory.
    Namespace { way: Way, rate: Option<&'static str> },
    /// Servers in a virtual machine with memory to spare.
    Large { way: Way, delay: Option<&'static str> },
    /// The same with less memory than is read, and a disk of some latency.
    Small {
        way: Way,
        delay: Option<&'static str>,
        latency: Option<&'static str>,
        rate: Option<&'static str>,
    },
}

/// What a directory is made on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Local {
    Tmpfs,
    Ramfs,
    OverlayOnTmpfs,
    /// ext4 on a loop device that reads its file through the page cache.
    Loop,
    /// ext4 with data=journal, which takes O_DIRECT and does not honour it, on a loop device that does.
    DataJournal,
    OverlayOnLoop,
}

/// How a client reaches a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    Nfs,
    Smb,
    SmbUnsigned,
    /// A directory on the disk of this machine, behind Samba in a namespace.
    SmbOnDisk,
    NfsMount,
    SmbMount,
    /// A directory of the client itself, which is a virtual machine: tmpfs.
    OwnTmpfs,
    /// The same: ext4 with data=journal on its disk.
    OwnDataJournal,
}

use Local::*;
use Way::*;

const OF_CLIENTS: [Local; 7] =
    [Tmpfs, Loop, DataJournal, Ramfs, OverlayOnTmpfs, OverlayOnLoop, Loop];
const IN_NAMESPACES: [Way; 4] = [Nfs, SmbOnDisk, Smb, SmbUnsigned];
const IN_MACHINES: [Way; 4] = [Nfs, NfsMount, Smb, SmbMount];

/// The cases of a seed: the disk, the server's memory and the client's in turn.
pub fn drawn(seed: u64, count: u64) -> Vec<Case> {
    (0..count).map(|number| one(seed, number)).collect()
}

fn one(seed: u64, number: u64) -> Case {
    let mut draw = generator(seed, &format!("cache case {number}"));
    let mut below = |n: usize| (draw.next_u64() % n as u64) as usize;
    let turn = (number / 3) as usize;
    let (place, size) = match number % 3 {
        0 => {
            let place = Place::Small {
                way: IN_MACHINES[turn % 4],
                delay: [None, None, None, Some("2ms"), Some("10ms")][below(5)],
                latency: [None, Some("1ms"), Some("4ms"), Some("7ms"), Some("10ms")][below(5)],
                rate: [None, None, Some("20MB/s"), Some("60MB/s")][below(4)],
            };
            // 1.2 to 3 times the server's memory.
            (place, [308, 512, 512, 768][below(4)])
        }
        1 if turn.is_multiple_of(2) => {
            let rate = [None, Some("1Gbit/s"), Some("100Mbit/s"), Some("20Mbit/s")][below(4)];
            (Place::Namespace { way: IN_NAMESPACES[turn / 2 % 4], rate }, [32, 64][below(2)])
        }
        1 => {
            let delay = [None, None, Some("1ms"), Some("5ms"), Some("20ms")][below(5)];
            (Place::Large { way: IN_MACHINES[turn / 2 % 4], delay }, [32, 64, 128][below(3)])
        }
        _ if turn % 4 == 3 => {
            let way = [OwnTmpfs, OwnDataJournal][turn / 4 % 2];
            (Place::Large { way, delay: None }, [32, 64][below(2)])
        }
        _ => (Place::Local(OF_CLIENTS[turn % 7]), [32, 64, 128, 256][below(4)]),
    };
    Case { number, place, size }
}

#[test]
fn forty_cases_are_of_all_kinds() {
    let cases = drawn(super::SEED, super::CASES);
    let count = |of: &dyn Fn(&Place) -> bool| cases.iter().filter(|case| of(&case.place)).count();
    let disks = count(&|place| matches!(place, Place::Small { .. }));
    let of_the_client = count(&|place| {
        matches!(place, Place::Local(_) | Place::Large { way: OwnTmpfs | OwnDataJournal, .. })
    });
    assert_eq!([disks, of_the_client, cases.len()], [14, 13, 40]);
    for way in IN_MACHINES {
        let on_disk = |place: &Place| matches!(place, Place::Small { way: of, .. } if *of == way);
        let in_memory = |place: &Place| matches!(place, Place::Large { way: of, .. } if *of == way);
        assert!(count(&on_disk) >= 3 && count(&in_memory) >= 1, "{way:?}");
    }
    cases.iter().for_each(|case| println!("{case:?}"));
}
