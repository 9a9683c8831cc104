//! pread and pwrite: in the worker's own thread at depth 1, in a thread a slot above.

use super::file::{OpenFile, op_error, short};
use super::names::{Names, not_open};
use super::tree::Tree;
use crate::aligned::AlignedBuffer;
use crate::content::{Content, ContentWriter};
use crate::cpu;
use crate::op::{Done, Found, Op, OpError, Tag};
use crate::open_files::LaneFiles;
use crate::share::{Full, Lane, LaneDead, LaneRequest};
use plimsoll_model::{Clock, ErrorKind, Nanos, OpKind, Stability};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Does one operation at a time.
struct Performer {
    files: LaneFiles<OpenFile>,
    names: Names,
    content: Arc<Content>,
    verify: bool,
    block: u32,
    /// Made at the first read and write: most lanes need one of them.
    buffer: Option<AlignedBuffer>,
    writer: Option<ContentWriter>,
}

impl Performer {
    fn new(files: LaneFiles<OpenFile>, tree: &Arc<Tree>, request: &LaneRequest) -> Performer {
        let names = Names::new(tree, request);
        let content = request.content.clone();
        let LaneRequest { verify, block, .. } = *request;
        Performer { files, names, content, verify, block, buffer: None, writer: None }
    }

    /// Does `op`; how many bytes it moved, and what it found.
    #[inline]
    fn perform(&mut self, op: &Op) -> Result<(u32, Option<Box<Found>>), OpError> {
        match op {
            Op::Read(span) => {
                let file = self.files.get(span.file).ok_or_else(|| not_open(span.file))?;
                let file = file.for_span(span, Stability::Unstable);
                let block = self.block;
                let buffer = self.buffer.get_or_insert_with(|| AlignedBuffer::new(block as usize));
                let length = span.length.min(block) as usize;
                let bytes = retry(|| file.read_at(&mut buffer[..length], span.offset))
                    .map_err(|e| op_error("pread", &e))?;
                if bytes != span.length as usize {
                    return Err(short("pread", span, bytes));
                }
                if self.verify {
                    self.content.check(
                        span.file,
                        span.generation,
                        span.offset,
                        &buffer[..bytes],
                    )?;
                }
                Ok((bytes as u32, None))
            }
            Op::Write(span, stability) => {
                let open = self.files.get(span.file).ok_or_else(|| not_open(span.file))?;
                let file = open.for_span(span, *stability);
                let writer = self.writer.get_or_insert_with(|| self.content.writer(self.block));
                let data = writer.fill(span);
                let bytes = retry(|| file.write_at(data, span.offset))
                    .map_err(|e| op_error("pwrite", &e))?;
                if bytes != span.length as usize {
                    return Err(short("pwrite", span, bytes));
                }
                if open.needs_flush(*stability) {
                    file.sync_data().map_err(|e| op_error("fdatasync", &e))?;
                }
                Ok((bytes as u32, None))
            }
            Op::Flush(id) => {
                let file = self.files.get(*id).ok_or_else(|| not_open(*id))?.for_flush();
                file.sync_data().map_err(|e| op_error("fdatasync", &e))?;
                Ok((0, None))
            }
            other => self.names.perform(other, &mut self.files),
        }
    }

    #[inline]
    fn done(&mut self, tag: Tag, op: &Op, issued: Nanos, clock: &dyn Clock) -> Done {
        let result = self.perform(op);
        let done = clock.now();
        let (bytes, result) = match result {
            Ok((bytes, found)) => (bytes, Ok(found)),
            Err(error) => (0, Err(error)),
        };
        Done { tag, issued, sent: issued, done, bytes, result }
    }
}

/// A signal is no failure.
#[inline]
fn retry(mut call: impl FnMut() -> std::io::Result<usize>) -> std::io::Result<usize> {
    loop {
        match call() {
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// One operation at a time, in the thread that reaps: nothing is cheaper. It cannot give up on a
/// system call, so it may come back later than `until`.
pub(super) struct InlineLane {
    performer: Performer,
    clock: Arc<dyn Clock>,
    waiting: Option<(Tag, Op, Nanos)>,
}

impl InlineLane {
    pub(super) fn new(
        files: LaneFiles<OpenFile>,
        tree: &Arc<Tree>,
        request: &LaneRequest,
    ) -> InlineLane {
        let clock = request.clock.clone();
        InlineLane { performer: Performer::new(files, tree, request), clock, waiting: None }
    }
}

impl Lane for InlineLane {
    fn does(&self, _kind: OpKind) -> bool {
        true
    }

    fn submit(&mut self, tag: Tag, op: &Op, issued: Nanos) -> Result<(), Full> {
        if self.waiting.is_some() {
            return Err(Full);
        }
        self.waiting = Some((tag, *op, issued));
        Ok(())
    }

    fn reap(&mut self, until: Nanos, out: &mut Vec<Done>) -> Result<(), LaneDead> {
        match self.waiting.take() {
            Some((tag, op, issued)) => {
                out.push(self.performer.done(tag, &op, issued, &*self.clock));
            }
            None => self.clock.sleep_until(until),
        }
        Ok(())
    }

    fn close_own(&mut self) {
        self.performer.files.close_own();
    }
}

/// A thread for each operation in flight. The threads end when the lane is dropped, each after
/// the system call it is in.
pub(super) struct PoolLane {
    clock: Arc<dyn Clock>,
    jobs: Vec<Sender<(Tag, Op, Nanos)>>,
    done: Receiver<Done>,
    in_flight: usize,
    threads: Vec<JoinHandle<()>>,
    thread_ids: Vec<i32>,
    files: LaneFiles<OpenFile>,
}

impl PoolLane {
    pub(super) fn new(
        files: LaneFiles<OpenFile>,
        tree: &Arc<Tree>,
        request: &LaneRequest,
    ) -> std::io::Result<PoolLane> {
        let (done_sender, done) = channel();
        let (id_sender, ids) = channel();
        let (mut jobs, mut threads) = (Vec::new(), Vec::new());
        for _ in 0..request.depth.get() {
            let (sender, receiver) = channel::<(Tag, Op, Nanos)>();
            let mut performer = Performer::new(files.again(), tree, request);
            let clock = request.clock.clone();
            let (done_sender, id_sender) = (done_sender.clone(), id_sender.clone());
            let thread = std::thread::Builder::new().name("psync".into()).spawn(move || {
                let _ = id_sender.send(nix::unistd::gettid().as_raw());
                for (tag, op, issued) in receiver {
                    let done = performer.done(tag, &op, issued, &*clock);
                    if done_sender.send(done).is_err() {
                        break;
                    }
                }
            })?;
            jobs.push(sender);
            threads.push(thread);
        }
        drop(id_sender);
        let clock = request.clock.clone();
        let thread_ids = ids.iter().take(jobs.len()).collect();
        Ok(PoolLane { clock, jobs, done, in_flight: 0, threads, thread_ids, files })
    }
}

impl Lane for PoolLane {
    fn does(&self, _kind: OpKind) -> bool {
        true
    }

    fn submit(&mut self, tag: Tag, op: &Op, issued: Nanos) -> Result<(), Full> {
        let thread = self.jobs.get(usize::from(tag.0)).ok_or(Full)?;
        thread.send((tag, *op, issued)).map_err(|_| Full)?;
        self.in_flight += 1;
        Ok(())
    }

    fn reap(&mut self, until: Nanos, out: &mut Vec<Done>) -> Result<(), LaneDead> {
        // At most a day: a far deadline must not overflow the system's clock.
        let wait = (until - self.clock.now()).min(Duration::from_secs(86_400));
        let before = out.len();
        match self.done.recv_timeout(wait) {
            Ok(first) => out.push(first),
            Err(RecvTimeoutError::Timeout) => return Ok(()),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(LaneDead {
                    kind: ErrorKind::Io,
                    detail: "the threads of pread and pwrite have ended".into(),
                });
            }
        }
        out.extend(self.done.try_iter());
        self.in_flight = self.in_flight.saturating_sub(out.len() - before);
        Ok(())
    }

    fn close_own(&mut self) {
        self.files.close_own();
    }

    fn helper_cpu(&self) -> Duration {
        self.thread_ids.iter().map(|id| cpu::of_thread(*id)).sum()
    }
}

impl Drop for PoolLane {
    fn drop(&mut self) {
        self.jobs.clear();
        // The threads hold the files open: wait for them, so that a removed file is gone, but not
        // for a system call that may never return.
        if self.in_flight == 0 {
            for thread in self.threads.drain(..) {
                let _ = thread.join();
            }
        }
    }
}
