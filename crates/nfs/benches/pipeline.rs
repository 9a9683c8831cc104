//! What the client itself costs: pipelines of each version against servers without storage, on loopback,
//! in turn with loops by hand that do the least there is to do (see [`bare`]). Prints the medians of
//! operations per second and of this thread's CPU time per operation and gigabyte, the CPU time as a ratio to
//! version 3's of the same round, and version 3's to that of the loop.

#[path = "../../../benches/support/bare.rs"]
mod bare;

use bare::Calls;

use nix::time::{ClockId, clock_gettime};
use plimsoll_nfs::Version;
use plimsoll_nfs::nfs3::{self, Nfs3, ReadArguments, Stability, WriteArguments};
use plimsoll_nfs::nfs4::{self, Client, Identity, Minor, Nfs4, StateId};
use plimsoll_nfs::rpc::{AuthSys, Credential};
use plimsoll_testkit::responder::Costs;
use plimsoll_testkit::responder::null::{self, Table};
use plimsoll_transport::{
    Completion, Exchange, Pipeline, PipelineOptions, Protocol, Socket, SourcePort, SystemClock,
};
use std::io::{IoSlice, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroU16;
use std::time::{Duration, Instant};

const ROUNDS: usize = 9;
const LIMIT: Duration = Duration::from_secs(5);

/// Payloads up to this many bytes are copied behind their calls, to go out with others.
const COPIED: usize = 16 * 1024;

/// What is done again and again.
#[derive(Clone, Copy)]
struct Work {
    name: &'static str,
    write: bool,
    block: u32,
    depth: u16,
    count: u64,
    /// The least there is to do, and how much more CPU time the client may take.
    least: Least,
    goal: f64,
}

/// What a loop by hand does.
#[derive(Clone, Copy)]
enum Least {
    /// It sends and receives bytes.
    Bytes,
    /// It looks at each reply as well, and takes the time before each call and after its reply.
    Replies,
}

impl Least {
    fn name(self) -> &'static str {
        match self {
            Least::Bytes => "bytes alone",
            Least::Replies => "a loop by hand",
        }
    }
}

const fn work(name: &'static str, write: bool, block: u32, depth: u16, count: u64) -> Work {
    let (least, goal) = if block > 1 << 16 { (Least::Bytes, 1.3) } else { (Least::Replies, 1.2) };
    Work { name, write, block, depth, count, least, goal }
}

const WORK: [Work; 5] = [
    work("read 4 KiB depth 1", false, 4096, 1, 30_000),
    work("read 4 KiB depth 32", false, 4096, 32, 200_000),
    work("write 4 KiB depth 32", true, 4096, 32, 100_000),
    work("read 1 MiB depth 4", false, 1 << 20, 4, 2_000),
    work("write 1 MiB depth 4", true, 1 << 20, 4, 2_000),
];

/// One run: seconds, and those of this thread's CPU.
#[derive(Clone, Copy)]
struct Cost {
    seconds: f64,
    cpu: f64,
}

struct Ended {
    begun: Instant,
    payload: Vec<u8>,
    free: Vec<u32>,
    count: u64,
}

impl<P: Protocol> Exchange<P> for Ended
where
    P::Error: std::fmt::Display,
{
    fn now(&mut self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }
    fn payload(&mut self, _: u32) -> &[u8] {
        &self.payload
    }
    fn complete(&mut self, completion: Completion<P::Done<'_>, P::Error>) {
        if let Err(error) = &completion.result {
            panic!("{error}");
        }
        self.free.push(completion.tag);
        self.count += 1;
    }
}

/// CPU time of this thread.
fn cpu() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}

fn run<P: Protocol>(
    work: Work,
    mut pipeline: Pipeline<P>,
    request: impl Fn(u64) -> P::Request<'static>,
) -> Cost
where
    P::Error: std::fmt::Display + std::fmt::Debug,
{
    let Work { block, depth, count, .. } = work;
    let mut with = Ended {
        begun: Instant::now(),
        payload: vec![1; block as usize],
        free: (0..depth.into()).collect(),
        count: 0,
    };
    let (begun, cpu_before) = (Instant::now(), cpu());
    let mut submitted = 0;
    while with.count < count {
        while submitted < count
            && let Some(tag) = with.free.pop()
        {
            let offset = submitted * u64::from(block);
            pipeline.submit(tag, request(offset)).expect("a free tag is a free slot");
            submitted += 1;
        }
        pipeline.reap(u64::MAX, &mut with).expect("the server is in this program");
    }
    Cost { seconds: begun.elapsed().as_secs_f64(), cpu: (cpu() - cpu_before).as_secs_f64() }
}

fn connect(address: SocketAddr) -> Socket {
    let free = SystemClock::no_deadline();
    plimsoll_transport::connect(&[address.ip()], address.port(), SourcePort::Any, LIMIT, &free)
        .expect("the server is in this program")
}

fn options(work: Work) -> PipelineOptions {
    let depth = NonZeroU16::new(work.depth).expect("not zero");
    PipelineOptions { depth, read_most: work.block, write_most: work.block, unread: true }
}

fn older(version: Version, address: SocketAddr, work: Work) -> Cost {
    let credential = Credential::Sys(AuthSys::caller(None, None));
    let pipeline = Nfs3::pipeline_of(version, connect(address), &credential, options(work));
    let file = nfs3::FileHandle::new(&[1; 32]).expect("short enough");
    let (count, stability) = (work.block, Stability::Unstable);
    run(work, pipeline, move |offset| match work.write {
        true => nfs3::Request::Write(WriteArguments { file, offset, count, stability }),
        false => nfs3::Request::Read(ReadArguments { file, offset, count }),
    })
}

fn version_4_1(address: SocketAddr, work: Work) -> Cost {
    let credential = Credential::Sys(AuthSys::caller(None, None));
    let (identity, options) = (Identity::new(Minor::V1), options(work));
    let client = Client::new(connect(address), &credential, &identity, options.depth, LIMIT)
        .expect("the server takes everybody");
    let pipeline = Nfs4::pipeline(client, options).expect("it has a session");
    let file = nfs4::FileHandle::new(&[1; 32]).expect("short enough");
    let (state, count, stability) = (StateId::ANONYMOUS, work.block, Stability::Unstable);
    run(work, pipeline, move |offset| match work.write {
        true => nfs4::Request::Write { file, state, offset, count, stability },
        false => nfs4::Request::Read { file, state, offset, count },
    })
}

/// A call of version 3 up to the payload of a WRITE, with its mark; where its offset stands.
fn call(work: Work) -> (Vec<u8>, usize) {
    let payload = if work.write { work.block } else { 0 };
    // Mark, number, CALL, RPC 2, program, version, procedure, AUTH_SYS of nobody in particular, AUTH_NONE.
    let header = [0, 0, 0, 2, 100_003, 3, 6 + u32::from(work.write), 1, 20, 0, 0, 0, 0, 0, 0, 0];
    let file = [32, 1, 1, 1, 1, 1, 1, 1, 1];
    let mut words = [&header[..], &file].concat();
    let offset = words.len() * 4;
    words.extend([0, 0, work.block]);
    if work.write {
        words.extend([0, payload]); // UNSTABLE
    }
    words[0] = 0x8000_0000 | (words.len() as u32 * 4 - 4 + payload);
    (words.iter().flat_map(|word| word.to_be_bytes()).collect(), offset)
}

/// Sends all of two buffers.
fn send_both(mut stream: &TcpStream, mut first: &[u8], mut second: &[u8]) {
    while !(first.is_empty() && second.is_empty()) {
        let parts = [IoSlice::new(first), IoSlice::new(second)];
        let count = stream.write_vectored(&parts).expect("the server is in this program");
        let of_first = count.min(first.len());
        (first, second) = (&first[of_first..], &second[count - of_first..]);
    }
}

/// The least there is to do.
fn by_hand(address: SocketAddr, work: Work) -> Cost {
    let stream = TcpStream::connect(address).expect("the server is in this program");
    stream.set_nodelay(true).expect("it is a TCP socket");
    let (call, offset_at) = call(work);
    let payload = vec![1; if work.write { work.block as usize } else { 0 }];
    let (calls, looks) = (
        Calls { count: work.count, depth: work.depth.into() },
        matches!(work.least, Least::Replies),
    );
    let times = std::cell::RefCell::new(vec![Instant::now(); usize::from(work.depth)]);
    let slot = |number: u64| (number % calls.depth) as usize;
    let mut batch = Vec::with_capacity((call.len() + COPIED) * usize::from(work.depth));
    let send = |numbers: std::ops::Range<u64>| {
        for number in numbers {
            let at = batch.len();
            batch.extend_from_slice(&call);
            batch[at + 4..at + 8].copy_from_slice(&(number as u32).to_be_bytes());
            let offset = number * u64::from(work.block);
            batch[at + offset_at..at + offset_at + 8].copy_from_slice(&offset.to_be_bytes());
            if looks {
                times.borrow_mut()[slot(number)] = Instant::now();
            }
            if payload.len() <= COPIED {
                batch.extend_from_slice(&payload);
            } else {
                send_both(&stream, &batch, &payload);
                batch.clear();
            }
        }
        send_both(&stream, &batch, &[]);
        batch.clear();
    };
    let receive = |buffer: &mut [u8]| (&stream).read(buffer).expect("the server goes on");
    let (begun, cpu_before) = (Instant::now(), cpu());
    if looks {
        let mut waited = Duration::ZERO;
        let (place, extra) = if work.write { (36, 0) } else { (32, work.block as usize) };
        bare::look_at_each(calls, 64 + extra, send, receive, |reply| {
            let word = |at: usize| {
                u32::from_be_bytes(*reply[at..].first_chunk().expect("a reply is longer"))
            };
            assert_eq!((word(8), word(20), word(24), word(place)), (0, 0, 0, work.block));
            waited += times.borrow()[slot(word(0).into())].elapsed();
        });
        std::hint::black_box(waited);
    } else {
        // As the responder answers: mark, header, results.
        let reply = if work.write { 4 + 24 + 28 } else { 4 + 24 + 20 + work.block as usize };
        bare::count_bytes(calls, reply, send, receive);
    }
    Cost { seconds: begun.elapsed().as_secs_f64(), cpu: (cpu() - cpu_before).as_secs_f64() }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Bytes of all its blocks, in units of 10^9.
fn total_gigabytes(work: Work) -> f64 {
    work.count as f64 * f64::from(work.block) / 1e9
}

fn main() {
    let serve = |table: Table| null::serve(table, Costs::FREE).expect("a port of this machine");
    let servers = [serve(null::nfs2), serve(null::nfs3), serve(null::nfs4)];
    let names = ["2", "3", "4.1"];
    for work in WORK {
        let mut costs: [Vec<Cost>; 3] = Default::default();
        let mut least = Vec::new();
        for round in 0..ROUNDS {
            for turn in 0..=names.len() {
                // Each version, and the loop by hand, is first as often as the others.
                let version = (round + turn) % (names.len() + 1);
                let Some(&address) = servers.get(version) else {
                    least.push(by_hand(servers[1], work));
                    continue;
                };
                match version {
                    // Its transfers are of 8 KiB at most.
                    0 if work.block > 8192 => {}
                    0 => costs[0].push(older(Version::V2, address, work)),
                    1 => costs[1].push(older(Version::V3, address, work)),
                    _ => costs[2].push(version_4_1(address, work)),
                }
            }
        }
        for (name, own) in names.iter().zip(&costs).filter(|(_, own)| !own.is_empty()) {
            let median_of = |value: &dyn Fn(&Cost) -> f64| median(own.iter().map(value).collect());
            let (count, bytes) = (work.count as f64, work.count as f64 * f64::from(work.block));
            let ratio = own.iter().zip(&costs[1]).map(|(own, third)| own.cpu / third.cpu).collect();
            println!(
                "{:<22} version {name:<4} {:>8.0} operations/s  {:.5} CPU-s/100k  {:.5} CPU-s/GB  {:.2} x version 3",
                work.name,
                median_of(&|cost| count / cost.seconds),
                median_of(&|cost| cost.cpu / count * 1e5),
                median_of(&|cost| cost.cpu / bytes * 1e9),
                median(ratio),
            );
        }
        let per = |all: &[Cost]| match work.least {
            Least::Bytes => median(all.iter().map(|c| c.cpu).collect()) / total_gigabytes(work),
            Least::Replies => median(all.iter().map(|c| c.cpu).collect()) / work.count as f64 * 1e5,
        };
        let unit = match work.least {
            Least::Bytes => "CPU-s/GB",
            Least::Replies => "CPU-s/100k",
        };
        let (name, limit) = (work.name, work.least.name());
        bare::print(name, limit, unit, per(&costs[1]), per(&least), work.goal);
    }
}
