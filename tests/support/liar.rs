//! A server that lies: it stands before an honest one and changes what that answers.
//!
//! It knows no more of the protocols than where a message ends: both ONC RPC over TCP and SMB put
//! its length first.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Programs and procedures of RPC (RFC 1813).
pub const MOUNT: u32 = 100_005;
pub const NFS: u32 = 100_003;

/// A call, as far as it is understood: program and procedure of RPC, or nothing of SMB.
pub type Call = (u32, u32);

/// What becomes of an answer.
pub enum Lie {
    /// It is sent so.
    Tell(Vec<u8>),
    /// It is sent after a while.
    After(Duration, Vec<u8>),
    /// It is sent a byte a second.
    Trickle(Vec<u8>),
    /// It is sent 100 bytes at a time, ten times a second.
    InPieces(Vec<u8>),
    /// It is not sent, nor anything else on this connection.
    Silence,
}

type Lying = dyn Fn(Call, Vec<u8>) -> Lie + Send + Sync;

/// A lying server.
pub struct Liar {
    port: u16,
    lies: Arc<AtomicUsize>,
}

impl Liar {
    /// Stands before the server on a port of this machine.
    pub fn before(
        server: u16,
        lying: impl Fn(Call, Vec<u8>) -> Lie + Send + Sync + 'static,
    ) -> Liar {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let lies = Arc::new(AtomicUsize::new(0));
        let (lying, count): (Arc<Lying>, _) = (Arc::new(lying), lies.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let server = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).unwrap();
                let (lying, lies) = (lying.clone(), count.clone());
                let calls: Arc<Mutex<HashMap<u32, Call>>> = Arc::default();
                let known = calls.clone();
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                std::thread::spawn(move || {
                    relay(from, to, |to, message| {
                        if let [_, _, _, _, 0, 0, 0, 0, ..] = message[..] {
                            let call = (word(&message, 12), word(&message, 20));
                            known.lock().unwrap().insert(word(&message, 0), call);
                        }
                        send(to, &message)
                    })
                });
                std::thread::spawn(move || {
                    relay(server, client, |to, message| {
                        let call = calls.lock().unwrap().remove(&word(&message, 0));
                        match lying(call.unwrap_or_default(), message) {
                            Lie::Tell(message) => send(to, &message),
                            Lie::After(time, message) => {
                                lies.fetch_add(1, Ordering::Relaxed);
                                std::thread::sleep(time);
                                send(to, &message)
                            }
                            Lie::Trickle(message) => {
                                lies.fetch_add(1, Ordering::Relaxed);
                                in_pieces(to, &message, 1, Duration::from_secs(1))
                            }
                            Lie::InPieces(message) => {
                                lies.fetch_add(1, Ordering::Relaxed);
                                in_pieces(to, &message, 100, Duration::from_millis(100))
                            }
                            Lie::Silence => {
                                lies.fetch_add(1, Ordering::Relaxed);
                                loop {
                                    std::thread::park();
                                }
                            }
                        }
                    })
                });
            }
        });
        Liar { port, lies }
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How often it has lied.
    pub fn lies(&self) -> usize {
        self.lies.load(Ordering::Relaxed)
    }
}

fn word(message: &[u8], at: usize) -> u32 {
    message.get(at..at + 4).map_or(0, |b| u32::from_be_bytes(b.try_into().unwrap()))
}

/// A message with its length. That it is the last fragment is what RPC says with its highest bit;
/// what SMB says there is zero.
fn framed(message: &[u8]) -> Vec<u8> {
    let rpc = !message.starts_with(b"\xfeSMB") && !message.starts_with(b"\xfdSMB");
    let mark = message.len() as u32 | if rpc { 0x8000_0000 } else { 0 };
    [&mark.to_be_bytes()[..], message].concat()
}

fn send(to: &mut TcpStream, message: &[u8]) -> io::Result<()> {
    to.write_all(&framed(message))
}

/// A message in pieces of so many bytes, with a pause after each.
fn in_pieces(to: &mut TcpStream, message: &[u8], bytes: usize, pause: Duration) -> io::Result<()> {
    framed(message).chunks(bytes).try_for_each(|piece| {
        to.write_all(piece)?;
        std::thread::sleep(pause);
        Ok(())
    })
}

/// Hands on message after message until one side has gone, and then lets the other go too.
fn relay(
    mut from: TcpStream,
    mut to: TcpStream,
    mut hand_on: impl FnMut(&mut TcpStream, Vec<u8>) -> io::Result<()>,
) {
    to.set_nodelay(true).unwrap();
    let mut mark = [0; 4];
    let mut message = Vec::new();
    while from.read_exact(&mut mark).is_ok() {
        let mark = u32::from_be_bytes(mark);
        let begin = message.len();
        message.resize(begin + (mark & 0x7fff_ffff) as usize, 0);
        if from.read_exact(&mut message[begin..]).is_err() {
            break;
        }
        let whole = mark & 0x8000_0000 != 0 || message.get(1..4) == Some(b"SMB");
        if whole && hand_on(&mut to, std::mem::take(&mut message)).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}
