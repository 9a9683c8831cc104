//! The hot path does not allocate.
#![allow(unsafe_code)] // A counting allocator cannot be written without.

mod peer;

use peer::{EVERY_PROTECTION, Manners, content};
use plimsoll_smb::{
    Access, Completion, CreateHow, Dialect, Exchange, FileId, Pipeline, PipelineOptions, Request,
    Smb2,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::num::NonZeroU16;
use std::time::Instant;

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

const BLOCK: u32 = 65536;
const SMALL: u32 = 4096;

struct Ended {
    begun: Instant,
    payload: Vec<u8>,
    lengths: [u32; 32],
    free: Vec<u32>,
    count: u64,
}

impl Exchange<Smb2> for Ended {
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

/// Every kind of call, over and over.
fn drive(pipeline: &mut Pipeline, with: &mut Ended, calls: u64) {
    let file = FileId { persistent: 1, volatile: 2 };
    for i in 0..calls {
        while with.free.is_empty() {
            assert_ne!(pipeline.reap(u64::MAX, with).unwrap(), 0);
        }
        let tag = with.free.pop().unwrap();
        with.lengths[tag as usize] = if i % 8 == 2 { BLOCK } else { SMALL };
        match i % 8 {
            0 => pipeline.submit(tag, Request::Read { file, offset: i * 4096, count: BLOCK }),
            1 => pipeline
                .submit(tag, Request::Write { file, offset: 0, count: SMALL, through: true }),
            2 => pipeline
                .submit(tag, Request::Write { file, offset: 0, count: BLOCK, through: false }),
            3 => pipeline.submit(tag, Request::Flush { file }),
            4 => pipeline.submit(
                tag,
                Request::Put {
                    path: "a/directory/with a file.bin",
                    how: CreateHow::New,
                    count: SMALL,
                    through: false,
                },
            ),
            5 => pipeline
                .submit(tag, Request::Get { path: "a/directory/with a file.bin", most: SMALL }),
            6 => pipeline.submit(
                tag,
                Request::Open { path: "short", how: CreateHow::Open, access: Access::Read },
            ),
            _ => pipeline.submit(tag, Request::Close { file }),
        }
        .unwrap();
    }
    while pipeline.in_flight() > 0 {
        pipeline.reap(u64::MAX, with).unwrap();
    }
}

#[test]
fn no_operation_allocates() {
    for protection in EVERY_PROTECTION {
        let manners = Manners { protection, ..Manners::default() };
        let (link, _peer) = peer::connect(manners, 64, Dialect::Smb3_1_1);
        let depth = NonZeroU16::new(32).unwrap();
        let options = PipelineOptions { depth, read_most: BLOCK, write_most: BLOCK, unread: true };
        let mut pipeline = Smb2::pipeline(link, options);
        let mut with = Ended {
            begun: Instant::now(),
            payload: content(0, BLOCK as usize),
            lengths: [0; 32],
            free: (0..32).collect(),
            count: 0,
        };
        let before = ALLOCATIONS.get();
        drive(&mut pipeline, &mut with, 400);
        assert_eq!(ALLOCATIONS.get() - before, 0, "{protection:?}");
        assert_eq!(with.count, 400);
    }
}
