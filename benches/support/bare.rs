//! The least that a client can do: loops by hand that send calls made beforehand and take the replies, with
//! nothing around them. What a client costs beside them is what it adds.

/// What is to be done.
#[derive(Clone, Copy)]
pub struct Calls {
    /// How many.
    pub count: u64,
    /// How many of them at a time.
    pub depth: u64,
}

/// Bytes of the mark in front of a reply, which is its length but for the highest bits.
const MARK: usize = 4;
const LENGTH: u32 = 0x00ff_ffff;
/// Bytes asked for in one receive: as many as plimsoll's client asks for.
const PIECE: usize = 256 * 1024;

/// Moves bytes and looks at none: replies all have `reply` bytes. `send` sends the calls of these numbers,
/// `receive` gives how many bytes came.
pub fn count_bytes(
    calls: Calls,
    reply: usize,
    mut send: impl FnMut(std::ops::Range<u64>),
    mut receive: impl FnMut(&mut [u8]) -> usize,
) {
    let mut buffer = vec![0; PIECE];
    let (mut sent, mut received) = (0, 0);
    while received < calls.count * reply as u64 {
        let next = calls.count.min(received / reply as u64 + calls.depth);
        send(sent..next);
        sent = next;
        received += receive(&mut buffer) as u64;
    }
    assert_eq!(received, calls.count * reply as u64, "bytes of replies");
}

/// The same, with each reply put together in one place and looked at, without its mark.
pub fn look_at_each(
    calls: Calls,
    longest: usize,
    mut send: impl FnMut(std::ops::Range<u64>),
    mut receive: impl FnMut(&mut [u8]) -> usize,
    mut look: impl FnMut(&mut [u8]),
) {
    let mut buffer = vec![0; longest + MARK + PIECE];
    let (mut begin, mut end, mut sent, mut done) = (0, 0, 0, 0);
    while done < calls.count {
        let next = calls.count.min(done + calls.depth);
        send(sent..next);
        sent = next;
        if begin == end {
            (begin, end) = (0, 0);
        } else if buffer.len() - begin < longest + MARK {
            buffer.copy_within(begin..end, 0);
            (begin, end) = (0, end - begin);
        }
        let space = buffer.len().min(end + PIECE);
        end += receive(&mut buffer[end..space]);
        while let Some(mark) = buffer[begin..end].first_chunk::<MARK>() {
            let length = (u32::from_be_bytes(*mark) & LENGTH) as usize;
            let Some(reply) = buffer[begin..end].get_mut(MARK..MARK + length) else { break };
            look(reply);
            begin += MARK + length;
            done += 1;
        }
    }
}

/// Says how a client does beside the limit, and what it should.
pub fn print(name: &str, limit: &str, unit: &str, ours: f64, least: f64, goal: f64) {
    let ratio = ours / least;
    let met = if ratio <= goal { "met" } else { "NOT met" };
    println!(
        "{name:<30} plimsoll {ours:.5} {unit}, {limit} {least:.5} {unit}: ratio {ratio:.2} (goal <= {goal}: {met})"
    );
}
