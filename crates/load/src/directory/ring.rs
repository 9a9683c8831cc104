//! An io_uring whose buffers it owns itself: one of two files with unsafe code.
//!
//! Why unsafe: the kernel reads and writes memory behind the compiler's back, so the `io-uring`
//! crate makes pushing an entry unsafe. What makes it sound here: an entry only ever points into
//! the buffer of its slot, which lives in this struct; a slot is marked busy from push to
//! completion, and its buffer is neither lent out nor freed while it is; dropping the ring waits
//! for what is in flight, and leaks the buffers if that does not end. File descriptors are not
//! memory: a wrong one gives an error, and callers keep them open.
#![allow(unsafe_code)]

use crate::aligned::AlignedBuffer;
use io_uring::types::{CancelBuilder, Fd, FsyncFlags, SubmitArgs, Timespec};
use io_uring::{IoUring, opcode, squeue};
use nix::errno::Errno;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// How long dropping waits for operations that were cancelled.
const DROP_WAIT: Duration = Duration::from_secs(2);

/// A ring with one buffer a slot.
pub(super) struct Ring {
    ring: IoUring,
    /// Whether it takes submissions; it is enabled by the thread that will use it.
    enabled: bool,
    buffers: Vec<AlignedBuffer>,
    busy: Vec<bool>,
    in_flight: usize,
}

/// Whether the kernel gives this process a ring.
pub(super) fn available() -> Result<(), Errno> {
    let errno = |e: io::Error| Errno::from_raw(e.raw_os_error().unwrap_or(0));
    let ring = IoUring::new(1).map_err(errno)?;
    // Waiting with a deadline needs Linux 5.11.
    if ring.params().is_feature_ext_arg() { Ok(()) } else { Err(Errno::ENOSYS) }
}

impl Ring {
    /// A ring of `depth` slots with a page-aligned buffer of `block` bytes each.
    pub(super) fn new(depth: u16, block: u32) -> io::Result<Ring> {
        let depth = usize::from(depth);
        // Completions are worked off where they are waited for, all at once (Linux 6.1); or at
        // least without an interrupt before (5.19). The first needs a single thread, which is that
        // of the first wait: until then the ring is disabled.
        let deferred = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_r_disabled()
            .build(depth as u32);
        let enabled = deferred.is_err();
        let ring = deferred
            .or_else(|_| IoUring::builder().setup_coop_taskrun().build(depth as u32))
            .or_else(|_| IoUring::new(depth as u32))?;
        let buffers = (0..depth).map(|_| AlignedBuffer::new(block as usize)).collect();
        Ok(Ring { ring, enabled, buffers, busy: vec![false; depth], in_flight: 0 })
    }

    /// The buffer of a slot that is not in flight.
    pub(super) fn buffer(&mut self, slot: usize) -> Option<&mut [u8]> {
        let free = self.busy.get(slot).is_some_and(|busy| !busy);
        self.buffers.get_mut(slot).filter(|_| free).map(|b| &mut **b)
    }

    /// Queues a read of `length` bytes into the slot's buffer. False if there is no room.
    pub(super) fn read(&mut self, slot: usize, file: &File, offset: u64, length: u32) -> bool {
        let Some(buffer) = self.buffer(slot) else { return false };
        let length = length.min(buffer.len() as u32);
        let entry = opcode::Read::new(Fd(file.as_raw_fd()), buffer.as_mut_ptr(), length);
        self.push(slot, entry.offset(offset).build())
    }

    /// Queues a write of the first `length` bytes of the slot's buffer. False if there is no room.
    pub(super) fn write(&mut self, slot: usize, file: &File, offset: u64, length: u32) -> bool {
        let Some(buffer) = self.buffer(slot) else { return false };
        let length = length.min(buffer.len() as u32);
        let entry = opcode::Write::new(Fd(file.as_raw_fd()), buffer.as_ptr(), length);
        self.push(slot, entry.offset(offset).build())
    }

    /// Queues an fdatasync. False if there is no room.
    pub(super) fn sync(&mut self, slot: usize, file: &File) -> bool {
        if self.buffer(slot).is_none() {
            return false;
        }
        let entry = opcode::Fsync::new(Fd(file.as_raw_fd())).flags(FsyncFlags::DATASYNC);
        self.push(slot, entry.build())
    }

    fn push(&mut self, slot: usize, entry: squeue::Entry) -> bool {
        // SAFETY: the entry points into this slot's own buffer, within its length, or to no memory.
        // The slot is marked busy now, so the buffer stays as it is until the completion.
        let pushed = unsafe { self.ring.submission().push(&entry.user_data(slot as u64)) }.is_ok();
        if pushed {
            self.busy[slot] = true;
            self.in_flight += 1;
        }
        pushed
    }

    /// Submits what is queued, waits at most `wait` for one completion, and calls `completed`
    /// with slot and result (bytes, or a negative errno) of each.
    pub(super) fn wait(
        &mut self,
        wait: Duration,
        mut completed: impl FnMut(usize, i32),
    ) -> io::Result<()> {
        if !self.enabled {
            self.ring.submitter().register_enable_rings()?;
            self.enabled = true;
        }
        let time = Timespec::from(wait);
        let arguments = SubmitArgs::new().timespec(&time);
        match self.ring.submitter().submit_with_args(1, &arguments) {
            Ok(_) => {}
            // The deadline came, a signal did, or completions must be fetched first.
            Err(e) if matches!(e.raw_os_error(), Some(libc::ETIME | libc::EINTR | libc::EBUSY)) => {
            }
            Err(e) => return Err(e),
        }
        for entry in self.ring.completion() {
            let slot = entry.user_data() as usize;
            if let Some(busy) = self.busy.get_mut(slot)
                && std::mem::take(busy)
            {
                self.in_flight -= 1;
                completed(slot, entry.result());
            }
        }
        Ok(())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        if self.in_flight > 0 {
            let half = Timespec::from(DROP_WAIT / 2);
            let _ = self.ring.submitter().register_sync_cancel(Some(half), CancelBuilder::any());
            for _ in 0..20 {
                if self.in_flight > 0 && self.wait(DROP_WAIT / 40, |_, _| {}).is_err() {
                    break;
                }
            }
        }
        if self.in_flight > 0 {
            // The kernel may still write there: better lost than used again.
            std::mem::forget(std::mem::take(&mut self.buffers));
        }
    }
}
