//! Version 4.1 with directories above its exports that have no end: each has two of its kind and an export,
//! whose name steers terminals. Nothing can be written above the exports.

use super::nfs4::{compound, length};
use super::{put, skip, word};

/// What the names of the exports begin with.
pub const MAZE_NAME: &str = "export\u{1b}[2J\u{202e}, nfs:elsewhere";

const CREATE: u32 = 6;
const GET_ATTRIBUTES: u32 = 9;
const GET_HANDLE: u32 = 10;
const LOOKUP: u32 = 15;
const PUT_HANDLE: u32 = 22;
const PUT_ROOT: u32 = 24;
const READ_DIRECTORY: u32 = 26;
const READ_ONLY: u32 = 30;
/// Attributes that it has: what it is, and its file system.
const KNOWN: u32 = 1 << 1 | 1 << 8;

/// A directory: how deep it is, and whether it is an export, or in one.
#[derive(Clone, Copy, Default)]
struct Directory {
    depth: u32,
    exported: u32,
}

impl Directory {
    fn attributes(self, wanted: u32, to: &mut Vec<u8>) {
        let which = wanted & KNOWN;
        let mut values = Vec::new();
        if which & 1 << 1 != 0 {
            put(&mut values, &[2]); // a directory
        }
        if which & 1 << 8 != 0 {
            put(&mut values, &[0, self.exported, 0, 0]);
        }
        put(to, &[1, which]);
        opaque(&values, to);
    }

    fn below(self, name: &[u8]) -> Directory {
        let exported = u32::from(name.starts_with(b"export")).max(self.exported);
        Directory { depth: self.depth.wrapping_add(1), exported }
    }
}

fn opaque(bytes: &[u8], to: &mut Vec<u8>) {
    put(to, &[bytes.len() as u32]);
    to.extend_from_slice(bytes);
    to.resize(to.len().next_multiple_of(4), 0);
}

/// The maze.
pub fn maze(procedure: u32, arguments: &[u8], results: &mut Vec<u8>) {
    let mut here = Directory::default();
    compound(procedure, arguments, results, |operation, arguments, at, results| {
        let word_at = |place: usize| word(arguments, at + place);
        let bitmap = |place: usize| place + 4 + 4 * word_at(place) as usize;
        Ok(match operation {
            PUT_ROOT => {
                here = Directory::default();
                0
            }
            PUT_HANDLE => {
                here = Directory { depth: word_at(4), exported: word_at(8) };
                skip(arguments, at) - at
            }
            GET_HANDLE => {
                put(results, &[8, here.depth, here.exported]);
                0
            }
            LOOKUP => {
                let name = arguments.get(at + 4..at + 4 + word_at(0) as usize).unwrap_or_default();
                here = here.below(name);
                skip(arguments, at) - at
            }
            GET_ATTRIBUTES => {
                here.attributes(word_at(4), results);
                bitmap(0)
            }
            READ_DIRECTORY => {
                put(results, &[0, 0]);
                for (number, name) in ["again", "and again", MAZE_NAME].into_iter().enumerate() {
                    put(results, &[1, 0, number as u32 + 1]);
                    opaque(name.as_bytes(), results);
                    here.below(name.as_bytes()).attributes(word_at(28), results);
                }
                put(results, &[0, 1]);
                bitmap(24)
            }
            CREATE => return Err(READ_ONLY),
            other => return length(other, arguments, at, results),
        })
    });
}
