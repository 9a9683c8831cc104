//! What several tests need.
#![allow(dead_code, reason = "each test uses a part of it")]

use plimsoll_load::{Content, FileId, Files, LaidOut, RunSpec};
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::{Clock, Layout, Pattern, Stability, Workload};
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

pub fn workers(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).unwrap()
}

/// 4 KiB operations on 1 MiB by one worker of depth 1.
pub fn workload(pattern: Pattern) -> Workload {
    Workload {
        pattern,
        block: Bytes(4 * KIB),
        size: Bytes(MIB),
        workers: workers(1),
        depth: workers(1),
        layout: Layout::Disjoint,
        stability: Stability::Unstable,
        verify: false,
    }
}

pub fn files() -> Files {
    let laid_out = |file| LaidOut { file: FileId(file), generation: 4 };
    Files { read: laid_out(1), write: laid_out(2) }
}

pub fn spec(workload: Workload, clock: Arc<dyn Clock>, duration: Duration) -> RunSpec {
    RunSpec {
        workload,
        files: files(),
        content: Arc::new(Content::new(1)),
        clock,
        duration,
        window: Duration::from_millis(100),
        operation_timeout: Duration::from_secs(30),
        seed: 5,
    }
}
