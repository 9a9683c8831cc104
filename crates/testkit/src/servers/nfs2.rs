//! A server of NFS version 2 and MOUNT 1 in memory, over UDP and TCP on one port, written from RFC
//! 1094 alone. It is strict: a call that is not exactly what the RFC says is answered GARBAGE_ARGS.
//! As servers do, it remembers what it has answered to calls that cannot be made twice.

use super::xdr::{Reader, fill, words};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const MAXDATA: usize = 8192;
const FHSIZE: usize = 32;
const MAXNAMLEN: usize = 255;
/// Bytes of a handle that are not its number: a client must give them back as they are.
const SEAL: [u8; FHSIZE - 4] = *b"\x01a handle is opaque to all.\xff";

/// Statuses (section 2.3.1).
const NOENT: u32 = 2;
const EXIST: u32 = 17;
const NOTDIR: u32 = 20;
const ISDIR: u32 = 21;
const NOTEMPTY: u32 = 66;
const STALE: u32 = 70;

/// A running server. Its threads end with the test.
#[derive(Clone, Debug)]
pub struct Nfs2Server {
    address: SocketAddr,
    state: Arc<Mutex<ServerState>>,
}

#[derive(Debug)]
struct ServerState {
    nodes: Vec<Option<Node>>,
    calls: BTreeMap<(u32, u32), u64>,
    /// How many calls of NFS came from each.
    callers: BTreeMap<SocketAddr, u64>,
    /// Replies by caller and transaction.
    answered: BTreeMap<(SocketAddr, u32), Vec<u8>>,
}

#[derive(Clone, Debug)]
enum Node {
    File { data: Vec<u8>, mode: u32, modified: [u32; 2] },
    Directory { entries: BTreeMap<Vec<u8>, usize>, mode: u32 },
}

type Reply = Result<Vec<u8>, u32>;

impl Nfs2Server {
    /// Starts a server that exports `/export`, empty.
    pub fn start() -> std::io::Result<Self> {
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = udp.local_addr()?;
        let tcp = TcpListener::bind(address)?;
        let root = Node::Directory { entries: BTreeMap::new(), mode: 0o755 };
        let (nodes, calls, callers) = (vec![Some(root)], BTreeMap::new(), BTreeMap::new());
        let answered = BTreeMap::new();
        let state = Arc::new(Mutex::new(ServerState { nodes, calls, callers, answered }));
        let server = Nfs2Server { address, state };
        let of_udp = server.clone();
        std::thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while let Ok((length, from)) = udp.recv_from(&mut buffer) {
                if let Some(reply) = of_udp.lock().answer(&buffer[..length], from) {
                    let _ = udp.send_to(&reply, from);
                }
            }
        });
        let of_tcp = server.clone();
        std::thread::spawn(move || {
            for stream in tcp.incoming().flatten() {
                let server = of_tcp.clone();
                std::thread::spawn(move || server.serve(stream));
            }
        });
        Ok(server)
    }

    /// Where it listens, over UDP and TCP, for NFS and MOUNT.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How often a procedure of NFS was called.
    pub fn calls(&self, procedure: u32) -> u64 {
        self.lock().calls.get(&(100_003, procedure)).copied().unwrap_or(0)
    }

    /// How many calls of NFS came from each port.
    pub fn callers(&self) -> BTreeMap<SocketAddr, u64> {
        self.lock().callers.clone()
    }

    /// The content of a file by its path below the export.
    pub fn content(&self, path: &str) -> Option<Vec<u8>> {
        let state = self.lock();
        let mut at = 0;
        for part in path.split('/') {
            let Some(Some(Node::Directory { entries, .. })) = state.nodes.get(at) else {
                return None;
            };
            at = *entries.get(part.as_bytes())?;
        }
        match state.nodes.get(at)? {
            Some(Node::File { data, .. }) => Some(data.clone()),
            _ => None,
        }
    }

    /// How many files and directories there are below the export.
    pub fn count(&self) -> usize {
        self.lock().nodes.iter().flatten().count() - 1
    }

    fn lock(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, mut stream: TcpStream) -> Option<()> {
        stream.set_nodelay(true).ok()?;
        let peer = stream.peer_addr().ok()?;
        loop {
            let (mut record, mut last) = (Vec::new(), false);
            while !last {
                let mut mark = [0; 4];
                stream.read_exact(&mut mark).ok()?;
                let mark = u32::from_be_bytes(mark);
                last = mark >> 31 == 1;
                let begin = record.len();
                record.resize(begin + (mark & 0x7fff_ffff) as usize, 0);
                stream.read_exact(&mut record[begin..]).ok()?;
            }
            let reply = self.lock().answer(&record, peer)?;
            let mark = reply.len() as u32 | 1 << 31;
            stream.write_all(&[&mark.to_be_bytes(), &reply[..]].concat()).ok()?;
        }
    }
}

impl ServerState {
    /// The reply to a call; none to what is no call.
    fn answer(&mut self, call: &[u8], caller: SocketAddr) -> Option<Vec<u8>> {
        let mut from = Reader(call);
        let (xid, kind, rpc) = (from.word()?, from.word()?, from.word()?);
        let (program, version, procedure) = (from.word()?, from.word()?, from.word()?);
        for _credential_and_verifier in 0..2 {
            from.word()?;
            from.opaque(400)?;
        }
        if (kind, rpc) != (0, 2) {
            return None;
        }
        let only = match program {
            100_003 => 2,
            100_005 => 1,
            _ => return Some(words(&[xid, 1, 0, 0, 0, 1])),
        };
        if version != only {
            return Some(words(&[xid, 1, 0, 0, 0, 2, only, only]));
        }
        *self.calls.entry((program, procedure)).or_default() += 1;
        *self.callers.entry(caller).or_default() += u64::from(program == 100_003);
        let changes = program == 100_003 && matches!(procedure, 2 | 8..=15);
        if let Some(reply) = self.answered.get(&(caller, xid)).filter(|_| changes) {
            return Some(reply.clone());
        }
        let results = match program {
            100_003 => self.nfs(procedure, &mut from),
            _ => self.mount(procedure, &mut from),
        };
        let reply = match results.filter(|_| from.0.is_empty()) {
            Some(results) => [words(&[xid, 1, 0, 0, 0, 0]), results].concat(),
            None => words(&[xid, 1, 0, 0, 0, 4]),
        };
        if changes {
            self.answered.insert((caller, xid), reply.clone());
        }
        Some(reply)
    }

    fn mount(&mut self, procedure: u32, from: &mut Reader<'_>) -> Option<Vec<u8>> {
        Some(match procedure {
            0 => Vec::new(),
            1 => match from.opaque(1024)? {
                b"/export" => [words(&[0]), handle(0)].concat(),
                _ => words(&[NOENT]),
            },
            3 => from.opaque(1024).map(|_| Vec::new())?,
            5 => [words(&[1]), fill(b"/export"), words(&[0, 0])].concat(),
            _ => return None,
        })
    }

    /// `None`: the arguments are not what they should be.
    fn nfs(&mut self, procedure: u32, from: &mut Reader<'_>) -> Option<Vec<u8>> {
        if procedure == 0 {
            return Some(Vec::new());
        }
        let Some(id) = number(from.fixed(FHSIZE)?) else { return Some(words(&[STALE])) };
        let reply = match procedure {
            1 => self.attributes(id),
            2 => {
                let set = sattr(from)?;
                self.set(id, set)
            }
            4 => {
                let name = from.opaque(MAXNAMLEN)?;
                self.entry(id, name).and_then(|file| self.file(file))
            }
            6 => {
                let (offset, count, _) =
                    (from.word()? as usize, from.word()? as usize, from.word()?);
                (count <= MAXDATA).then_some(())?;
                self.read(id, offset, count)
            }
            8 => {
                let (_, offset, _) = (from.word()?, from.word()? as usize, from.word()?);
                let data = from.opaque(MAXDATA)?;
                self.write(id, offset, data)
            }
            9 | 14 => {
                let (name, set) = (from.opaque(MAXNAMLEN)?.to_vec(), sattr(from)?);
                self.make(id, name, set, procedure == 14)
            }
            10 | 15 => {
                let name = from.opaque(MAXNAMLEN)?;
                self.remove(id, name, procedure == 15)
            }
            11 => {
                let name = from.opaque(MAXNAMLEN)?;
                let to = number(from.fixed(FHSIZE)?)?;
                self.rename(id, name, to, from.opaque(MAXNAMLEN)?.to_vec())
            }
            16 => {
                let (cookie, count) = (from.word()? as usize, from.word()? as usize);
                self.list(id, cookie, count)
            }
            17 => Ok(words(&[8192, 4096, 1 << 20, 1 << 19, 1 << 18])),
            _ => return None,
        };
        Some(match reply {
            Ok(results) => [words(&[0]), results].concat(),
            Err(status) => words(&[status]),
        })
    }

    fn node(&mut self, id: usize) -> Result<&mut Node, u32> {
        self.nodes.get_mut(id).and_then(Option::as_mut).ok_or(STALE)
    }

    fn entries(&mut self, id: usize) -> Result<&mut BTreeMap<Vec<u8>, usize>, u32> {
        match self.node(id)? {
            Node::Directory { entries, .. } => Ok(entries),
            Node::File { .. } => Err(NOTDIR),
        }
    }

    fn entry(&mut self, id: usize, name: &[u8]) -> Result<usize, u32> {
        self.entries(id)?.get(name).copied().ok_or(NOENT)
    }

    /// fattr.
    fn attributes(&mut self, id: usize) -> Reply {
        let (kind, mode, size, modified) = match self.node(id)? {
            Node::File { data, mode, modified } => (1, 0o100_000 | *mode, data.len(), *modified),
            Node::Directory { mode, .. } => (2, 0o40_000 | *mode, 4096, [1, 0]),
        };
        let blocks = size.div_ceil(512) as u32;
        let [seconds, micro] = modified;
        let id = id as u32 + 100;
        let size = size as u32;
        Ok(words(&[
            kind, mode, 1, 1000, 100, size, 4096, 0, blocks, 7, id, 1, 2, seconds, micro, 5, 6,
        ]))
    }

    /// diropres.
    fn file(&mut self, id: usize) -> Reply {
        Ok([handle(id), self.attributes(id)?].concat())
    }

    fn set(&mut self, id: usize, set: [u32; 8]) -> Reply {
        let some = |value: u32| (value != u32::MAX).then_some(value);
        match self.node(id)? {
            Node::File { data, mode, modified } => {
                *mode = some(set[0]).unwrap_or(*mode);
                if let Some(size) = some(set[3]) {
                    data.resize(size as usize, 0);
                }
                if set[6] != u32::MAX {
                    *modified = [set[6], set[7]];
                }
            }
            Node::Directory { mode, .. } => *mode = some(set[0]).unwrap_or(*mode),
        }
        self.attributes(id)
    }

    fn read(&mut self, id: usize, offset: usize, count: usize) -> Reply {
        let attributes = self.attributes(id)?;
        let Node::File { data, .. } = self.node(id)? else { return Err(ISDIR) };
        let begin = offset.min(data.len());
        let data = fill(&data[begin..data.len().min(begin + count)]);
        Ok([attributes, data].concat())
    }

    fn write(&mut self, id: usize, offset: usize, bytes: &[u8]) -> Reply {
        let Node::File { data, .. } = self.node(id)? else { return Err(ISDIR) };
        let end = offset + bytes.len();
        // Enough for every test, and not more than the machine has.
        if end > 256 << 20 {
            return Err(27);
        }
        data.resize(data.len().max(end), 0);
        data[offset..end].copy_from_slice(bytes);
        self.attributes(id)
    }

    /// CREATE makes a file that is there empty where it is told to; MKDIR refuses it.
    fn make(&mut self, id: usize, name: Vec<u8>, set: [u32; 8], directory: bool) -> Reply {
        let new = self.nodes.len();
        let entries = self.entries(id)?;
        if let Some(there) = entries.get(&name).copied() {
            if directory {
                return Err(EXIST);
            }
            self.set(there, set)?;
            return self.file(there);
        }
        entries.insert(name, new);
        self.nodes.push(Some(match directory {
            true => Node::Directory { entries: BTreeMap::new(), mode: 0 },
            false => Node::File { data: Vec::new(), mode: 0, modified: [3, 4] },
        }));
        self.set(new, set)?;
        self.file(new)
    }

    fn remove(&mut self, id: usize, name: &[u8], directory: bool) -> Reply {
        let there = self.entry(id, name)?;
        match self.node(there)? {
            Node::Directory { entries, .. } if directory && !entries.is_empty() => {
                return Err(NOTEMPTY);
            }
            Node::Directory { .. } if !directory => return Err(ISDIR),
            Node::File { .. } if directory => return Err(NOTDIR),
            _ => {}
        }
        self.entries(id)?.remove(name);
        self.nodes[there] = None;
        Ok(Vec::new())
    }

    fn rename(&mut self, id: usize, name: &[u8], to: usize, new: Vec<u8>) -> Reply {
        let there = self.entry(id, name)?;
        self.entries(to)?;
        self.entries(id)?.remove(name);
        self.entries(to)?.insert(new, there);
        Ok(Vec::new())
    }

    /// As many entries as fit into `count` bytes, with `.` and `..`.
    fn list(&mut self, id: usize, cookie: usize, count: usize) -> Reply {
        let mut names = vec![b".".to_vec(), b"..".to_vec()];
        names.extend(self.entries(id)?.keys().cloned());
        let mut page = Vec::new();
        let mut end = 1;
        for (i, name) in names.iter().enumerate().skip(cookie) {
            let entry = [words(&[1, i as u32 + 1]), fill(name), words(&[i as u32 + 1])].concat();
            if page.len() + entry.len() + 8 > count {
                end = 0;
                break;
            }
            page.extend(entry);
        }
        Ok([page, words(&[0, end])].concat())
    }
}

fn handle(id: usize) -> Vec<u8> {
    [&(id as u32).to_be_bytes()[..], &SEAL].concat()
}

/// The file that a handle is of; `None`: it is none of ours.
fn number(handle: &[u8]) -> Option<usize> {
    let (id, seal) = handle.split_first_chunk()?;
    (*seal == SEAL).then_some(u32::from_be_bytes(*id) as usize)
}

/// sattr: mode, uid, gid, size, times of access and of the last change.
fn sattr(from: &mut Reader<'_>) -> Option<[u32; 8]> {
    let mut set = [0; 8];
    for value in &mut set {
        *value = from.word()?;
    }
    Some(set)
}
