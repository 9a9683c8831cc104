//! What the client itself costs: pipelines of each version against servers without storage, on loopback,
//! in turn. Prints the medians of operations per second and of this thread's CPU time per operation and
//! gigabyte, and the CPU time as a ratio to version 3's of the same round.

use nix::time::{ClockId, clock_gettime};
use plimsoll_nfs::Version;
use plimsoll_nfs::nfs3::{self, Nfs3, ReadArguments, Stability, WriteArguments};
use plimsoll_nfs::nfs4::{self, Client, Identity, Minor, Nfs4, StateId};
use plimsoll_nfs::rpc::{AuthSys, Credential};
use plimsoll_testkit::responder::null::{self, Table};
use plimsoll_transport::{
    Completion, Exchange, Pipeline, PipelineOptions, Protocol, Socket, SourcePort, SystemClock,
};
use std::net::SocketAddr;
use std::num::NonZeroU16;
use std::time::{Duration, Instant};

const ROUNDS: usize = 9;
const LIMIT: Duration = Duration::from_secs(5);

/// What is done again and again.
#[derive(Clone, Copy)]
struct Work {
    name: &'static str,
    write: bool,
    block: u32,
    depth: u16,
    count: u64,
}

const WORK: [Work; 5] = [
    Work { name: "read 4 KiB depth 1", write: false, block: 4096, depth: 1, count: 30_000 },
    Work { name: "read 4 KiB depth 32", write: false, block: 4096, depth: 32, count: 200_000 },
    Work { name: "write 4 KiB depth 32", write: true, block: 4096, depth: 32, count: 100_000 },
    Work { name: "read 1 MiB depth 4", write: false, block: 1 << 20, depth: 4, count: 2_000 },
    Work { name: "write 1 MiB depth 4", write: true, block: 1 << 20, depth: 4, count: 2_000 },
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
    PipelineOptions { depth, read_most: work.block, write_most: work.block }
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

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let serve = |table: Table| null::serve(table).expect("a port of this machine");
    let servers = [serve(null::nfs2), serve(null::nfs3), serve(null::nfs4)];
    let names = ["2", "3", "4.1"];
    for work in WORK {
        let mut costs: [Vec<Cost>; 3] = Default::default();
        for round in 0..ROUNDS {
            for turn in 0..names.len() {
                // Each version is first as often as the others.
                let version = (round + turn) % names.len();
                let address = servers[version];
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
            let of = |value: &dyn Fn(&Cost) -> f64| median(own.iter().map(value).collect());
            let (count, bytes) = (work.count as f64, work.count as f64 * f64::from(work.block));
            let ratio = own.iter().zip(&costs[1]).map(|(own, third)| own.cpu / third.cpu).collect();
            println!(
                "{:<22} version {name:<4} {:>8.0} operations/s  {:.5} CPU-s/100k  {:.5} CPU-s/GB  {:.2} x version 3",
                work.name,
                of(&|cost| count / cost.seconds),
                of(&|cost| cost.cpu / count * 1e5),
                of(&|cost| cost.cpu / bytes * 1e9),
                median(ratio),
            );
        }
    }
}
