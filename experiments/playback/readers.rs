//! Readers that are independent of plimsoll: they read films at their rate, in machines from a mount by the kernel
//! (`players/paced.sh`), and in namespaces, whose kernel may have no client, by libnfs (`players/paced.py`).

use super::beds::{Place, Up};
use serde::{Deserialize, Serialize};

const BY_KERNEL: &str = include_str!("../players/paced.sh");
const BY_LIBNFS: &str = include_str!("../players/paced.py");
const CLIENT: &str = "films/client";
const SERVER: &str = "films/server";
/// Where the client has mounted the server's directory.
const AT: &str = "/mnt/films";
/// Seconds that they read, seconds of film in their buffer, and seconds of film before the first frame. With 5% less than
/// it needs, a reader that begins with one second stalls after 20.
const SECONDS: f64 = 40.0;
const BUFFER_SECONDS: f64 = 2.0;
const START_SECONDS: f64 = 1.0;
/// Bytes of a request in namespaces, as the capacity was measured with: it decides how much CPU time a byte takes. In
/// machines, which are emulated, small ones make the processor of the client the bottleneck. The buffer has room for two.
const REQUEST: f64 = 131_072.0;
const REQUEST_IN_MACHINES: f64 = 1_048_576.0;

/// What so many readers at once have shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Readers {
    /// Stalls of each.
    pub stalls: Vec<u64>,
    /// Longest stall, in seconds.
    pub longest: f64,
}

/// Readers of N films at once, and then of N + 1.
pub fn both(up: &Up, films: u16, rate: f64) -> [Readers; 2] {
    [films, films + 1].map(|films| read(up, films, rate))
}

fn read(up: &Up, films: u16, rate: f64) -> Readers {
    // Each has a name of its own, so that no client knows an earlier file by it.
    let film = format!("film-{rate:.0}-{films}-$n");
    let (script, program, request) = match up.place {
        Place::Machines => (BY_KERNEL, format!("sh /run/paced {AT}/{film}"), REQUEST_IN_MACHINES),
        Place::Namespaces => {
            (BY_LIBNFS, format!("python3 /run/paced server /srv/data {film}"), REQUEST)
        }
    };
    let length = (rate * (SECONDS + BUFFER_SECONDS) + 2.0 * request) as u64;
    // A disk is read where there are blocks; memory has no room for so many films, and needs none for their zeros.
    let make = match up.place {
        Place::Machines => format!("head -c {length} /dev/zero >{film}; sync"),
        Place::Namespaces => format!("truncate -s {length} {film}"),
    };
    let drop_caches = match up.place {
        Place::Machines => "echo 3 >/proc/sys/vm/drop_caches",
        // The cache there is that of this machine: new files are in none.
        Place::Namespaces => "true",
    };
    let all = format!("$(seq 1 {films})");
    up.beds.on(
        SERVER,
        &format!(
            "cd /srv/data || exit 1; rm -f film-*; for n in {all}; do {make}; done; {drop_caches}"
        ),
    );
    let buffer = (BUFFER_SECONDS * rate).max(2.0 * request);
    let start = (START_SECONDS * rate).min(buffer - request);
    let said = up.beds.on(
        CLIENT,
        &format!(
            "cat >/run/paced <<'.'\n{script}\n.\n{drop_caches}\n\
             for n in {all}; do\n\
             {program} {rate:.0} {buffer:.0} {start:.0} {SECONDS:.0} {request:.0} &\n\
             done; wait"
        ),
    );
    up.beds.on(SERVER, "rm -f /srv/data/film-*");
    of_readers(&said, films)
}

fn of_readers(said: &str, films: u16) -> Readers {
    let mut readers = Readers { stalls: Vec::new(), longest: 0.0 };
    for line in said.lines() {
        if let ["stalls", stalls, "longest", longest, "first", first] =
            line.split(' ').collect::<Vec<_>>()[..]
        {
            assert_ne!(first, "-1", "no first frame: {said}");
            readers.stalls.extend(stalls.parse::<u64>());
            let centiseconds: f64 = longest.parse().unwrap_or(f64::NAN);
            readers.longest = readers.longest.max(centiseconds / 100.0);
        }
    }
    assert_eq!(readers.stalls.len(), usize::from(films), "{said}");
    readers
}

impl Readers {
    /// Whether none has stalled.
    pub fn is_clean(&self) -> bool {
        self.stalls.iter().all(|stalls| *stalls == 0)
    }
}
