//! A server without storage: it answers READ with zeros and forgets what is written. What is left
//! is what the client itself costs.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};

const READ: u32 = 6;
const WRITE: u32 = 7;
/// Space for the longest call or reply in bytes.
const LONGEST: usize = (1 << 20) + 4096;

/// Serves one connection on a thread that ends with it.
pub fn serve_one() -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || serve(listener.accept().unwrap().0));
    address
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// Skips opaque data.
fn skip(bytes: &[u8], at: usize) -> usize {
    at + 4 + (word(bytes, at) as usize).next_multiple_of(4)
}

fn serve(mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut buffer = vec![0; 4 * LONGEST];
    let mut replies = Vec::with_capacity(LONGEST);
    let (mut begin, mut end) = (0, 0);
    loop {
        if buffer.len() - end < LONGEST {
            buffer.copy_within(begin..end, 0);
            (begin, end) = (0, end - begin);
        }
        match stream.read(&mut buffer[end..]) {
            Ok(count @ 1..) => end += count,
            _ => return,
        }
        while end - begin >= 4 {
            let length = (word(&buffer, begin) & 0x7fff_ffff) as usize;
            if end - begin < 4 + length {
                break;
            }
            answer(&buffer[begin + 4..begin + 4 + length], &mut replies);
            begin += 4 + length;
        }
        if stream.write_all(&replies).is_err() {
            return;
        }
        replies.clear();
    }
}

fn answer(call: &[u8], replies: &mut Vec<u8>) {
    let procedure = word(call, 20);
    let arguments = skip(call, skip(call, 24 + 4) + 4);
    let count = match procedure {
        READ | WRITE => word(call, skip(call, arguments) + 8),
        _ => 0,
    };
    let at = replies.len();
    let mut put = |words: &[u32]| {
        words.iter().for_each(|w| replies.extend_from_slice(&w.to_be_bytes()));
    };
    put(&[0, word(call, 0), 1, 0, 0, 0, 0, 0]); // mark, header, NFS3_OK
    match procedure {
        READ => {
            put(&[0, count, 0, count]);
            replies.resize(replies.len() + (count as usize).next_multiple_of(4), 0);
        }
        WRITE => put(&[0, 0, count, 2, 0, 0]),
        _ => put(&[0, 0, 0, 0]),
    }
    let mark = (replies.len() - at - 4) as u32 | 0x8000_0000;
    replies[at..at + 4].copy_from_slice(&mark.to_be_bytes());
}
