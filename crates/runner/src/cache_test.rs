//! The cache test: do reads come from memory or from a disk? Blocks all over what is read are read
//! twice, one after the other: the second time, memory has them.

use plimsoll_load::{LaidOut, Lane, Memory, Op, OperationContext, Share, Span, Tag, fetched};
use plimsoll_model::units::KIB;
use plimsoll_model::{ClientMemory, Failure, StoredOn};
use plimsoll_stats::order::generator;
use plimsoll_stats::reread::{Answer, decide};
use rand::RngExt;
use std::collections::HashSet;
use std::num::NonZeroU16;
use std::time::Duration;

const BLOCK: u32 = 4 * KIB as u32;
/// It is looked at after this time, and where it is unclear after twice as long, up to the last time:
/// figures scatter more on slow paths, and there are fewer.
const FIRST_LOOK: Duration = Duration::from_millis(500);
const LAST_LOOK: Duration = Duration::from_secs(4);
/// More pairs are not needed on any path.
const MOST_PAIRS: usize = 8192;

/// Reads blocks of 4 KiB, one at a time, at random places of `size` bytes in all of the files. `seed`
/// draws the places: two tests of the same files must differ in it, or the second one finds in memory
/// what the first one has read.
pub(crate) fn reads_from(
    share: &dyn Share,
    context: &OperationContext,
    files: &[LaidOut],
    size: u64,
    seed: u64,
) -> Result<StoredOn, Failure> {
    let blocks = size / u64::from(BLOCK) / files.len().max(1) as u64;
    let most = MOST_PAIRS.min((blocks * files.len() as u64 / 2) as usize);
    let (mut draw, mut known) = (generator(seed, "cache test"), HashSet::new());
    let mut next = || {
        while known.len() < most {
            let place = (draw.random_range(0..files.len()), draw.random_range(0..blocks));
            if known.insert(place) {
                return Some(place);
            }
        }
        None
    };
    let mut reader =
        Reader { lane: share.lane(context.lane(NonZeroU16::MIN, BLOCK, false))?, context };
    // The first operation on a file may cost more: some lanes open it then.
    if !files.iter().all(|file| reader.read(file, 0).is_some()) {
        return Ok(StoredOn::Unknown);
    }
    let memory = share.memory();
    let fetched_before = fetched();
    let (begin, mut look, mut pairs) = (context.deadline.now(), FIRST_LOOK, Vec::new());
    loop {
        let mut place = next();
        while let Some((file, block)) = place {
            let mut read = || reader.read(&files[file], block * u64::from(BLOCK));
            let Some(pair) = read().zip(read()) else { return Ok(StoredOn::Unknown) };
            pairs.push(pair);
            if context.deadline.now() >= begin + look {
                break;
            }
            place = next();
        }
        if let Memory::Client(ClientMemory::PageCache | ClientMemory::Buffered) = memory {
            let fetched = fetched().zip(fetched_before).map(|(after, before)| after - before);
            return Ok(through_page_cache(fetched, pairs.len()));
        }
        let in_memory = match memory {
            Memory::Client(_) => StoredOn::ClientMemory,
            Memory::Server | Memory::None => StoredOn::ServerMemory,
        };
        match decide(&pairs).map(|reread| reread.answer) {
            Some(Answer::Memory) => return Ok(in_memory),
            Some(Answer::Disk) => return Ok(StoredOn::Disk),
            _ if place.is_none() || look >= LAST_LOOK => return Ok(StoredOn::Unknown),
            _ => look *= 2,
        }
    }
}

/// What reads through the page cache come from, by how many bytes were fetched from storage for so many
/// blocks. Never the disk alone: what is read again in a trial comes from the cache.
fn through_page_cache(fetched: Option<u64>, blocks: usize) -> StoredOn {
    match fetched {
        Some(bytes) if bytes * 10 < blocks as u64 * u64::from(BLOCK) => StoredOn::ClientMemory,
        _ => StoredOn::Unknown,
    }
}

/// Reads one block at a time.
struct Reader<'a> {
    lane: Box<dyn Lane>,
    context: &'a OperationContext,
}

impl Reader<'_> {
    /// How long one read took, in seconds; `None` where it failed, or there is no time for it.
    fn read(&mut self, of: &LaidOut, offset: u64) -> Option<f64> {
        let span = Span { file: of.file, offset, length: BLOCK, generation: of.generation };
        let deadline = self.context.deadline.within(self.context.operation_timeout);
        let issued = deadline.now();
        self.lane.submit(Tag(0), &Op::Read(span), issued).ok()?;
        let mut done = Vec::new();
        while done.is_empty() {
            let until = deadline.now() + deadline.slice().ok()?;
            self.lane.reap(until, &mut done).ok()?;
        }
        let done = done.pop()?;
        done.result.ok()?;
        Some(done.done.since(issued).as_secs_f64())
    }
}
