//! What the client itself costs: a pipeline against a server without storage, on loopback. Prints
//! operations per second and this thread's CPU time per operation or gigabyte.

use nix::time::{ClockId, clock_gettime};
use plimsoll_nfs::nfs3::{
    Completion, Exchange, FileHandle, Nfs3, PipelineOptions, ReadArguments, Request, Stability,
    WriteArguments,
};
use plimsoll_nfs::rpc::{AuthSys, Credential};
use plimsoll_testkit::responder::null;
use plimsoll_transport::SourcePort;
use std::num::NonZeroU16;
use std::time::{Duration, Instant};

struct Ended {
    begun: Instant,
    payload: Vec<u8>,
    free: Vec<u32>,
    count: u64,
}

impl Exchange<Nfs3> for Ended {
    fn now(&mut self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }
    fn payload(&mut self, _: u32) -> &[u8] {
        &self.payload
    }
    fn complete(&mut self, completion: Completion<'_>) {
        assert!(completion.result.is_ok(), "{completion:?}");
        self.free.push(completion.tag);
        self.count += 1;
    }
}

/// CPU time of this thread.
fn cpu() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map(Duration::from).unwrap_or_default()
}

fn run(name: &str, write: bool, block: u32, depth: u16, count: u64) {
    let address = null::serve(null::nfs3).expect("a port of this machine");
    let limit = Duration::from_secs(5);
    let socket = plimsoll_transport::connect(
        &[address.ip()],
        address.port(),
        SourcePort::Any,
        limit,
        &plimsoll_transport::SystemClock::no_deadline(),
    )
    .expect("the server is in this program");
    let credential = Credential::Sys(AuthSys::caller(None, None));
    let depth = NonZeroU16::new(depth).expect("not zero");
    let options = PipelineOptions { depth, read_most: block, write_most: block };
    let mut pipeline = Nfs3::pipeline(socket, &credential, options);
    let file = FileHandle::new(&[1; 32]).expect("short enough");
    let payload = vec![1; block as usize];
    let mut with = Ended {
        begun: Instant::now(),
        payload: payload.clone(),
        free: (0..depth.get().into()).collect(),
        count: 0,
    };
    let (begun, cpu_before) = (Instant::now(), cpu());
    let mut submitted = 0;
    while with.count < count {
        while submitted < count
            && let Some(tag) = with.free.pop()
        {
            let offset = submitted * u64::from(block);
            let request = if write {
                let stability = Stability::Unstable;
                Request::Write(WriteArguments { file, offset, count: block, stability })
            } else {
                Request::Read(ReadArguments { file, offset, count: block })
            };
            pipeline.submit(tag, request).expect("a free tag is a free slot");
            submitted += 1;
        }
        pipeline.reap(u64::MAX, &mut with).expect("the server is in this program");
    }
    let (seconds, cpu) = (begun.elapsed().as_secs_f64(), (cpu() - cpu_before).as_secs_f64());
    let (rate, per_100k) = (count as f64 / seconds, cpu / count as f64 * 1e5);
    let per_gb = cpu / (count as f64 * f64::from(block)) * 1e9;
    println!(
        "{name:<24} {rate:>10.0} operations/s  {per_100k:.5} CPU-s/100k  {per_gb:.5} CPU-s/GB"
    );
}

fn main() {
    run("read 4 KiB depth 1", false, 4096, 1, 50_000);
    run("read 4 KiB depth 32", false, 4096, 32, 500_000);
    run("write 4 KiB depth 32", true, 4096, 32, 300_000);
    run("read 1 MiB depth 4", false, 1 << 20, 4, 4_000);
    run("write 1 MiB depth 4", true, 1 << 20, 4, 4_000);
}
