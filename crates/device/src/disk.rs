//! What the disk behind a path does.

use super::bench::Bench;
use super::clean::{Odd, clean};
use super::inventory::Fields;
use plimsoll_model::device::{DiskFigures, DiskPhase};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::probe::Request;

/// Most phases that are kept.
const MOST_PHASES: usize = 16;

/// What the probe leaves free beside its file.
const KEPT_FREE_BYTES: u64 = 16 << 20;

/// Measures in a directory of the host, which the user named, with a file that takes at most half
/// of what is `available` there.
pub(super) fn measure(
    bench: &mut Bench<'_>,
    path: &str,
    available: Option<u64>,
    odd: &mut Odd,
) -> DiskFigures {
    let mut disk = DiskFigures::default();
    let (size, duration_ms) = if bench.quick { (64_u64 << 20, 1000) } else { (256 << 20, 5000) };
    let most = available.map_or(size, |bytes| bytes.saturating_sub(KEPT_FREE_BYTES) / 2);
    let size = size.min(most.max(1 << 20)) >> 20 << 20;
    let request = Request::new("disk")
        .set("path", path)
        .set("size_bytes", size)
        .set("duration_ms", duration_ms);
    bench.say(&format!("the disk behind {path}"));
    bench.verb(request, &mut |section| take(&mut disk, section, odd));
    let wrong = disk.phases.iter().filter_map(|p| p.wrong_blocks_count);
    let wrong = wrong.fold(0, u64::saturating_add);
    if wrong > 0 {
        bench.failed(
            Failure::new(Cause::Trial, "check the data that was read back from the disk")
                .on(path)
                .happened(format!("{wrong} block(s) were wrong"))
                .next("The disk, its cable or the memory is faulty: back up the data on it."),
        );
    }
    if disk.direct == Some(false) {
        bench.note("The file system refused O_DIRECT: reads may come from memory.".to_owned());
    }
    disk
}

/// Reads a section of the verb `disk`.
pub fn take(disk: &mut DiskFigures, section: serde_json::Value, odd: &mut Odd) {
    let fields = Fields(clean(section, odd));
    match fields.text("section").as_deref() {
        Some("disk") => {
            let figures: DiskFigures = fields.all().unwrap_or_default();
            (disk.path, disk.size_bytes, disk.direct) =
                (figures.path, figures.size_bytes, figures.direct);
        }
        Some("disk_phase") if disk.phases.len() < MOST_PHASES => {
            disk.phases.extend(fields.all::<DiskPhase>());
        }
        _ => {}
    }
}
