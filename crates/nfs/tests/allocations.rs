//! The hot path does not allocate.
#![allow(unsafe_code)] // A counting allocator cannot be written without.

use plimsoll_nfs::nfs3::{
    Completion, Exchange, FileHandle, Name, Nfs3, PipelineOptions, Place, ReadArguments, Request,
    Stability, WriteArguments,
};
use plimsoll_nfs::rpc::{AuthSys, Credential};
use plimsoll_testkit::responder::null;
use plimsoll_transport::SourcePort;
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

impl Exchange<Nfs3> for Ended {
    fn now(&mut self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }
    fn payload(&mut self, tag: u32) -> &[u8] {
        &self.payload[..self.lengths[tag as usize] as usize]
    }
    fn complete(&mut self, completion: Completion<'_>) {
        assert!(completion.result.is_ok());
        self.free.push(completion.tag);
        self.count += 1;
    }
}

#[test]
fn no_operation_allocates() {
    const BLOCK: u32 = 65536;
    let address = null::serve(null::nfs3).unwrap();
    let limit = Duration::from_secs(5);
    let socket = plimsoll_transport::connect(
        &[address.ip()],
        address.port(),
        SourcePort::Any,
        limit,
        &plimsoll_transport::SystemClock::no_deadline(),
    )
    .unwrap();
    let credential = Credential::Sys(AuthSys::new("test", 1, 2, &[3, 4]));
    let depth = NonZeroU16::new(32).unwrap();
    let options = PipelineOptions { depth, read_most: BLOCK, write_most: BLOCK };
    let mut pipeline = Nfs3::pipeline(socket, &credential, options);
    let file = FileHandle::new(&[1; 32]).unwrap();
    let directory = file;
    let name = Name::new("a-name-of-some-length").unwrap();
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
        let offset = i * 4096;
        let count = if i % 5 == 1 { 4096 } else { BLOCK };
        with.lengths[tag as usize] = count;
        let stability = if i % 5 == 1 { Stability::FileSync } else { Stability::Unstable };
        let request = match i % 5 {
            0 => Request::Read(ReadArguments { file, offset, count }),
            1 | 2 => Request::Write(WriteArguments { file, offset, count, stability }),
            3 => Request::Remove(Place { directory, name }),
            _ => Request::commit(file),
        };
        pipeline.submit(tag, request).unwrap();
    }
    while pipeline.in_flight() > 0 {
        pipeline.reap(u64::MAX, &mut with).unwrap();
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
    assert_eq!(with.count, 20_000);
}
