//! Version 4.1 (RFC 8881): sessions with 64 slots for everybody, whose numbers are taken as they come.

use super::{put, skip, word};
use crate::responder::connection;

const COMMIT: u32 = 5;
const PUT_HANDLE: u32 = 22;
const READ: u32 = 25;
const REMOVE: u32 = 28;
const WRITE: u32 = 38;
const EXCHANGE_ID: u32 = 42;
const CREATE_SESSION: u32 = 43;
const DESTROY_SESSION: u32 = 44;
const SEQUENCE: u32 = 53;
const DESTROY_CLIENT: u32 = 57;
const RECLAIM_COMPLETE: u32 = 58;
const NOT_SUPPORTED: u32 = 10004;

/// Slots of a session, and its longest call and reply in bytes.
const SLOTS: u32 = 64;
const LONGEST: u32 = connection::LONGEST as u32;

/// COMPOUND, with as much of it as transfers need: at anything else it ends.
pub fn nfs4(procedure: u32, arguments: &[u8], results: &mut Vec<u8>) {
    compound(procedure, arguments, results, length);
}

/// Does the operations of a compound until one is refused: each appends what it gives, and says how long its
/// arguments are or why it is refused.
pub(super) fn compound(
    procedure: u32,
    arguments: &[u8],
    results: &mut Vec<u8>,
    mut perform: impl FnMut(u32, &[u8], usize, &mut Vec<u8>) -> Result<usize, u32>,
) {
    if procedure == 0 {
        return;
    }
    let at = skip(arguments, 0) + 4; // after the tag and the minor version
    let (count, mut at) = (word(arguments, at), at + 4);
    let head = results.len();
    put(results, &[0, 0, count]); // NFS4_OK, no tag
    for done in 1..=count {
        let operation = word(arguments, at);
        at += 4;
        let result = results.len();
        put(results, &[operation, 0]);
        match perform(operation, arguments, at, results) {
            Ok(length) => at += length,
            Err(status) => {
                results.truncate(result);
                put(results, &[operation, status]);
                results[head..head + 4].copy_from_slice(&status.to_be_bytes());
                results[head + 8..head + 12].copy_from_slice(&done.to_be_bytes());
                return;
            }
        }
    }
}

/// What transfers need.
pub(super) fn length(
    operation: u32,
    arguments: &[u8],
    at: usize,
    results: &mut Vec<u8>,
) -> Result<usize, u32> {
    let word_at = |place: usize| word(arguments, at + place);
    Ok(match operation {
        SEQUENCE => {
            let same = arguments.get(at..at + 24).ok_or(NOT_SUPPORTED)?; // session, number, slot
            results.extend_from_slice(same);
            put(results, &[SLOTS - 1, SLOTS - 1, 0]);
            32
        }
        PUT_HANDLE => skip(arguments, at) - at,
        READ => {
            let count = word_at(24).min(LONGEST);
            put(results, &[0, count]); // not the end of the file
            results.resize(results.len() + (count as usize).next_multiple_of(4), 0);
            28
        }
        REMOVE => {
            put(results, &[1, 0, 0, 0, 0]); // its directory before and after
            skip(arguments, at) - at
        }
        WRITE => {
            put(results, &[word_at(28), 2, 0, 0]); // FILE_SYNC, whatever was asked for
            skip(arguments, at + 28) - at
        }
        COMMIT => {
            put(results, &[0, 0]);
            12
        }
        EXCHANGE_ID => {
            const NO_LAYOUTS: u32 = 0x10000;
            put(results, &[0, 1, 1, NO_LAYOUTS, 0]); // a client, the number of its first session
            put(results, &[0, 0, 0, 0, 0]); // no names
            skip(arguments, at + 8) - at + 12 // without protection and implementation
        }
        CREATE_SESSION => {
            put(results, &[1, 2, 3, 4, word_at(8), 0]); // its name, the client's number, no flags
            for _ in 0..2 {
                put(results, &[0, LONGEST, LONGEST, 0, 8, SLOTS, 0]);
            }
            // It is the last one.
            arguments.len().saturating_sub(at)
        }
        DESTROY_SESSION => 16,
        DESTROY_CLIENT => 8,
        RECLAIM_COMPLETE => 4,
        _ => return Err(NOT_SUPPORTED),
    })
}
