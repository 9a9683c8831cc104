//! Signed SMB reads beside the least that a client can do: a loop by hand that sends requests
//! made beforehand and signed, puts each reply together and checks its signature (GMAC), against the server in
//! `testkit`, in turn. Prints medians of this thread's CPU time; asserts nothing.
//!
//! `PLIMSOLL_BENCH_ROUNDS` is the number of rounds (9).

#[allow(dead_code, reason = "every reply is looked at here")]
#[path = "../../../benches/support/bare.rs"]
mod bare;
#[allow(dead_code, reason = "of the comparisons with other clients there are the rounds alone")]
mod support;

use bare::Calls;
use plimsoll_smb::{
    Access, CreateHow, Credentials, FileId, Link, Options, Session, SigningAlgorithm, Tree,
};
use plimsoll_testkit::responder::Costs;
use plimsoll_testkit::responder::smb::{PASSWORD, SHARE, SmbResponder, USER};
use plimsoll_transport::{SourcePort, SystemClock};
use std::error::Error;
use std::time::Duration;
use support::{Cost, Outcome, cost_of_thread, median, ours, rounds};

const BLOCK: u32 = 1 << 20;
const DEPTH: u16 = 8;
/// Reads of a run, of a file of so many blocks.
const COUNT: u64 = 1024;
const BLOCKS: u64 = 16;
const GIGABYTES: f64 = COUNT as f64 * BLOCK as f64 / 1e9;
const GOAL: f64 = 1.3;
/// Length of a message's header, and where a READ has its offset.
const HEADER: usize = 64;
const OFFSET: usize = HEADER + 8;

/// Where the least there is to do is done on: one connection, and a file on it.
struct Place {
    link: Link,
    file: FileId,
}

fn tree(server: &SmbResponder) -> Outcome<Tree> {
    let (address, free) = (server.address(), SystemClock::no_deadline());
    let limit = Duration::from_secs(10);
    let ip = [address.ip()];
    let socket = plimsoll_transport::connect(&ip, address.port(), SourcePort::Any, limit, &free)?;
    let user = Credentials { user: USER.into(), domain: String::new(), password: PASSWORD.into() };
    let session = Session::open(socket, "127.0.0.1", &user, &Options::default())?;
    Ok(session.tree(SHARE).map_err(|(_, error)| error)?)
}

fn open(server: &SmbResponder) -> Outcome<(Tree, FileId)> {
    let mut tree = tree(server)?;
    let (file, _) = tree.create("big", CreateHow::OpenOrCreate, Access::ReadWrite)?;
    Ok((tree, file))
}

/// A READ with its prefix, neither numbered nor signed (MS-SMB2, sections 2.2.1 and 2.2.19).
fn request(Place { link, file }: &Place) -> Vec<u8> {
    let charge = link.facts.charge(BLOCK).to_le_bytes();
    let mut bytes = vec![0; HEADER + 49];
    bytes[..6].copy_from_slice(b"\xfeSMB\x40\0");
    bytes[6..8].copy_from_slice(&charge);
    bytes[12] = 8;
    bytes[14..16].copy_from_slice(&charge);
    bytes[36..40].copy_from_slice(&link.tree_id.to_le_bytes());
    bytes[40..48].copy_from_slice(&link.session_id.to_le_bytes());
    bytes[HEADER] = 49;
    bytes[HEADER + 2] = 80;
    bytes[HEADER + 4..OFFSET].copy_from_slice(&BLOCK.to_le_bytes());
    bytes[OFFSET + 8..OFFSET + 16].copy_from_slice(&file.persistent.to_le_bytes());
    bytes[OFFSET + 16..OFFSET + 24].copy_from_slice(&file.volatile.to_le_bytes());
    [&(bytes.len() as u32).to_be_bytes()[..], &bytes].concat()
}

/// The least there is to do.
fn by_hand(place: &Place) -> Outcome<()> {
    const PREFIX: usize = 4;
    let template = request(place);
    let link = &place.link;
    let signer = link.guard.signer.as_ref().ok_or("a user's session is signed")?;
    let end = link.socket.within(Duration::from_secs(60));
    let charge = u64::from(link.facts.charge(BLOCK));
    let mut batch = Vec::with_capacity(template.len() * usize::from(DEPTH));
    let send = |numbers: std::ops::Range<u64>| {
        for number in numbers {
            let at = batch.len();
            batch.extend_from_slice(&template);
            let message = &mut batch[at + PREFIX..];
            let id = link.next_message_id + number * charge;
            message[24..32].copy_from_slice(&id.to_le_bytes());
            let offset = ours::scattered(number, BLOCKS) * u64::from(BLOCK);
            message[OFFSET..OFFSET + 8].copy_from_slice(&offset.to_le_bytes());
            signer.sign(message);
        }
        link.socket.send_all(&batch, &end).expect("the server is in this program");
        batch.clear();
    };
    let receive = |buffer: &mut [u8]| {
        link.socket.receive_some(buffer, &end).expect("the server is in this program")
    };
    let calls = Calls { count: COUNT, depth: DEPTH.into() };
    let mut bytes = 0;
    bare::look_at_each(calls, BLOCK as usize + 1024, send, receive, |reply| {
        assert_eq!(reply[8..12], [0; 4], "the status");
        signer.verify(reply).expect("the server knows the key");
        bytes += (reply.len() - HEADER - 16) as u64;
    });
    if bytes == COUNT * u64::from(BLOCK) { Ok(()) } else { Err(format!("{bytes} bytes").into()) }
}

fn main() -> Result<(), Box<dyn Error>> {
    let count = match std::env::var("PLIMSOLL_BENCH_ROUNDS") {
        Ok(text) => text.parse()?,
        Err(_) => 9,
    };
    let server = SmbResponder::start(SigningAlgorithm::AesGmac, Costs::FREE)?;
    let (mut writer, file) = open(&server)?;
    let block: Vec<u8> = (0..BLOCK).map(|at| (at * 7) as u8).collect();
    for number in 0..BLOCKS {
        let mut written = 0;
        while written < block.len() {
            let at = number * u64::from(BLOCK) + written as u64;
            written += writer.write(file, at, &block[written..])?;
        }
    }
    let our_run = || -> Outcome<Cost> {
        let (tree, file) = open(&server)?;
        let mut pipeline = tree.into_pipeline(ours::options(DEPTH, BLOCK));
        let read = || ours::read(&mut pipeline, file, COUNT, Some(BLOCKS));
        let (bytes, cost) = cost_of_thread(read)?;
        if bytes == COUNT * u64::from(BLOCK) {
            Ok(cost)
        } else {
            Err(format!("{bytes} bytes").into())
        }
    };
    let least_run = || -> Outcome<Cost> {
        let (tree, file) = open(&server)?;
        let place = Place { link: tree.into_link(), file };
        Ok(cost_of_thread(|| by_hand(&place))?.1)
    };
    let all = rounds(count, our_run, least_run)?;
    let cpu = |side: fn(&(Cost, Cost)) -> Cost| median(all.iter().map(|r| side(r).cpu)) / GIGABYTES;
    let limit = "bytes and GMAC";
    bare::print("read 1 MiB depth 8, signed", limit, "CPU-s/GB", cpu(|r| r.0), cpu(|r| r.1), GOAL);
    Ok(())
}
