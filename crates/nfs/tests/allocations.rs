//! The hot path does not allocate.
#![allow(unsafe_code)] // A counting allocator cannot be written without.

use plimsoll_nfs::nfs3::{
    self, Name, Nfs3, Place, ReadArguments, Request, Stability, WriteArguments,
};
use plimsoll_nfs::nfs4::{self, Client, Identity, Minor, Nfs4, StateId};
use plimsoll_nfs::rpc::{AuthSys, Credential};
use plimsoll_testkit::responder::Costs;
use plimsoll_testkit::responder::null::{self, Table};
use plimsoll_transport::{
    Completion, Exchange, Pipeline, PipelineOptions, Protocol, Socket, SourcePort, SystemClock,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::num::NonZeroU16;
use std::time::{Duration, Instant};

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: every call goes to the system's allocator unchanged; counting touches a thread-local
// that needs no allocation and no destructor.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

struct Ended {
    begun: Instant,
    payload: Vec<u8>,
    /// Bytes of each write.
    lengths: [u32; 32],
    free: Vec<u32>,
    count: u64,
}

impl<P: Protocol> Exchange<P> for Ended {
    fn now(&mut self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }
    fn payload(&mut self, tag: u32) -> &[u8] {
        &self.payload[..self.lengths[tag as usize] as usize]
    }
    fn complete(&mut self, completion: Completion<P::Done<'_>, P::Error>) {
        assert!(completion.result.is_ok());
        self.free.push(completion.tag);
        self.count += 1;
    }
}

const BLOCK: u32 = 65536;
const LIMIT: Duration = Duration::from_secs(5);

fn connect(table: Table) -> Socket {
    let address = null::serve(table, Costs::FREE).unwrap();
    let free = SystemClock::no_deadline();
    plimsoll_transport::connect(&[address.ip()], address.port(), SourcePort::Any, LIMIT, &free)
        .unwrap()
}

fn credential() -> Credential {
    Credential::Sys(AuthSys::new("test", 1, 2, &[3, 4]))
}

fn options() -> PipelineOptions {
    let depth = NonZeroU16::new(32).unwrap();
    PipelineOptions { depth, read_most: BLOCK, write_most: BLOCK, unread: true }
}

fn name() -> Name<'static> {
    Name::new("a-name-of-some-length").unwrap()
}

/// What the next operation is, with its bytes.
enum Next {
    Read(u32),
    Write(u32, Stability),
    Remove,
    Commit,
}

/// Drives a pipeline; fails where an operation allocates. `request` makes each from what it is and
/// where.
fn assert_nothing_allocated<P: Protocol>(
    mut pipeline: Pipeline<P>,
    request: impl Fn(Next, u64) -> P::Request<'static>,
) where
    P::Error: std::fmt::Debug,
{
    let mut with = Ended {
        begun: Instant::now(),
        payload: vec![1; BLOCK as usize],
        lengths: [0; 32],
        free: (0..32).collect(),
        count: 0,
    };
    let before = ALLOCATIONS.get();
    for i in 0..20_000u64 {
        while with.free.is_empty() {
            assert_ne!(pipeline.reap(u64::MAX, &mut with).unwrap(), 0);
        }
        let tag = with.free.pop().unwrap();
        let count = if i % 5 == 1 { 4096 } else { BLOCK };
        with.lengths[tag as usize] = count;
        let next = match i % 5 {
            0 => Next::Read(count),
            1 => Next::Write(count, Stability::FileSync),
            2 => Next::Write(count, Stability::Unstable),
            3 => Next::Remove,
            _ => Next::Commit,
        };
        pipeline.submit(tag, request(next, i * 4096)).unwrap();
    }
    while pipeline.in_flight() > 0 {
        pipeline.reap(u64::MAX, &mut with).unwrap();
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
    assert_eq!(with.count, 20_000);
}

#[test]
fn no_operation_of_version_3_allocates() {
    let pipeline = Nfs3::pipeline(connect(null::nfs3), &credential(), options());
    let file = nfs3::FileHandle::new(&[1; 32]).unwrap();
    assert_nothing_allocated(pipeline, |next, offset| match next {
        Next::Read(count) => Request::Read(ReadArguments { file, offset, count }),
        Next::Write(count, stability) => {
            Request::Write(WriteArguments { file, offset, count, stability })
        }
        Next::Remove => Request::Remove(Place { directory: file, name: name() }),
        Next::Commit => Request::commit(file),
    });
}

#[test]
fn no_operation_of_version_4_1_allocates() {
    let (identity, options) = (Identity::new(Minor::V1), options());
    let socket = connect(null::nfs4);
    let client = Client::new(socket, &credential(), &identity, options.depth, LIMIT).unwrap();
    let pipeline = Nfs4::pipeline(client, options).unwrap();
    let (file, state) = (nfs4::FileHandle::new(&[1; 32]).unwrap(), StateId::ANONYMOUS);
    assert_nothing_allocated(pipeline, |next, offset| match next {
        Next::Read(count) => nfs4::Request::Read { file, state, offset, count },
        Next::Write(count, stability) => {
            nfs4::Request::Write { file, state, offset, count, stability }
        }
        Next::Remove => nfs4::Request::Remove(nfs4::Place { directory: file, name: name() }),
        Next::Commit => nfs4::Request::Commit(file),
    });
}
