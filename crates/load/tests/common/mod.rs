//! What several tests need.
#![allow(dead_code, reason = "each test uses a part of it")]

use plimsoll_load::{Content, FileId, Files, LaidOut, OperationContext, RunSpec};
use plimsoll_model::units::{Bytes, KIB, MIB};
use plimsoll_model::{Clock, Deadline, Layout, Pattern, PatternJob, Stability};
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

pub fn workers(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).unwrap()
}

/// 4 KiB operations on 1 MiB.
pub fn job(pattern: Pattern) -> PatternJob {
    PatternJob {
        pattern,
        block: Bytes(4 * KIB),
        size: Bytes(MIB),
        layout: Layout::Disjoint,
        stability: Stability::Unstable,
        verify: false,
    }
}

pub fn files() -> Files {
    let laid_out = |file| LaidOut { file: FileId(file), generation: 4 };
    Files { read: vec![laid_out(1)], write: vec![laid_out(2)] }
}

/// One worker of depth 1.
pub fn spec(job: PatternJob, clock: Arc<dyn Clock>, duration: Duration) -> RunSpec {
    RunSpec {
        job,
        workers: workers(1),
        depth: workers(1),
        files: files(),
        context: context(clock),
        duration,
        window: Duration::from_millis(100),
        seed: 5,
    }
}

pub fn context(clock: Arc<dyn Clock>) -> OperationContext {
    OperationContext {
        content: Arc::new(Content::new(1)),
        paths: Arc::default(),
        deadline: Deadline::new(clock, Arc::default()),
        operation_timeout: Duration::from_secs(30),
        stalls: Default::default(),
    }
}
