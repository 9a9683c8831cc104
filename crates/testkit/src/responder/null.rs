//! A server without storage: it answers READ with zeros, and everything else with success and nothing
//! more, and forgets what is written. What is left is what the client itself costs.

mod maze;
mod nfs4;

pub use maze::{MAZE_NAME, maze};
pub use nfs4::nfs4;

use super::connection::{self, Answer, RECORDS};
use super::costs::{Charge, Costs};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;

/// What a version of the protocol answers: appends the results of a procedure with these arguments.
pub type Table = fn(procedure: u32, arguments: &[u8], results: &mut Vec<u8>);

/// Serves any number of connections, each on a thread that ends with it, on any port of this machine, for
/// as long as this process lives.
///
/// # Errors
/// No port can be listened on.
pub fn serve(table: Table, costs: Costs) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let charge = Arc::new(Charge::new(costs));
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let charge = charge.clone();
            let answer = move |call: &mut [u8], replies: &mut Vec<u8>| reply(call, table, replies);
            std::thread::spawn(move || {
                drop(connection::serve(&stream, RECORDS, (*charge).as_ref(), answer));
            });
        }
    });
    Ok(address)
}

/// Version 2 (RFC 1094).
pub fn nfs2(procedure: u32, arguments: &[u8], results: &mut Vec<u8>) {
    const READ: u32 = 6;
    const WRITE: u32 = 8;
    /// Words of the attributes of a file, and bytes of a handle.
    const ATTRIBUTES: [u32; 17] = [1; 17];
    const HANDLE: usize = 32;
    put(results, &[0]); // NFS_OK
    match procedure {
        READ => {
            let count = word(arguments, HANDLE + 4).min(8192);
            put(results, &ATTRIBUTES);
            put(results, &[count]);
            results.resize(results.len() + (count as usize).next_multiple_of(4), 0);
        }
        WRITE => put(results, &ATTRIBUTES),
        _ => {}
    }
}

/// Version 3 (RFC 1813).
pub fn nfs3(procedure: u32, arguments: &[u8], results: &mut Vec<u8>) {
    const READ: u32 = 6;
    const WRITE: u32 = 7;
    let count = match procedure {
        READ | WRITE => word(arguments, skip(arguments, 0) + 8),
        _ => 0,
    };
    put(results, &[0]); // NFS3_OK
    match procedure {
        READ => {
            // No attributes, not the end of the file.
            put(results, &[0, count, 0, count]);
            results.resize(results.len() + (count as usize).next_multiple_of(4), 0);
        }
        // FILE_SYNC, whatever was asked for.
        WRITE => put(results, &[0, 0, count, 2, 0, 0]),
        _ => put(results, &[0, 0, 0, 0]),
    }
}

fn reply(call: &[u8], table: Table, replies: &mut Vec<u8>) -> Answer {
    let procedure = word(call, 20);
    let arguments = skip(call, skip(call, 24 + 4) + 4);
    put(replies, &[word(call, 0), 1, 0, 0, 0, 0]); // header
    table(procedure, call.get(arguments..).unwrap_or(&[]), replies);
    Answer::Reply
}

fn put(to: &mut Vec<u8>, words: &[u32]) {
    words.iter().for_each(|word| to.extend_from_slice(&word.to_be_bytes()));
}

/// The word at a place; 0 beyond the end.
fn word(bytes: &[u8], at: usize) -> u32 {
    let bytes = bytes.get(at..).and_then(<[u8]>::first_chunk);
    u32::from_be_bytes(bytes.copied().unwrap_or_default())
}

/// The place after opaque data.
fn skip(bytes: &[u8], at: usize) -> usize {
    at + 4 + (word(bytes, at) as usize).next_multiple_of(4)
}
