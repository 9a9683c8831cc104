//! An NFS server in this program whose behaviour tests command: it keeps files in memory as RFC 1813
//! wants it, restarts when it is asked to, with the loss of what was not committed, loses replies and
//! asks to be asked again later. It counts what it did. What its calls cost is known where tests say so
//! ([`Costs`]).
//!
//! Every version of the protocol is a table of procedures of its own (`responder/`), and so is each
//! transport: what they have in common is [`Responder`]. [`null`] is without storage; how both serve a
//! connection and what they charge is the same.

mod connection;
mod costs;
mod nfs3;
pub mod null;
pub mod smb;
mod tree;

pub use costs::{Costs, Schedule, Stalls};
pub use nfs3::procedure;

use connection::{Answer, Connections, RECORDS};
use costs::Charge;
use nfs3::Refusal;
use nfs3_types::rpc::{
    accept_stat_data, accepted_reply, auth_unix, call_body, msg_body, opaque_auth, reply_body,
    rpc_msg,
};
use nfs3_types::xdr_codec::{Pack, Unpack};
use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use tree::Tree;

/// The path of the one export.
const EXPORT: &str = "/data";

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Responder {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// What it did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections that were made.
    pub connections: u64,
    /// LOOKUPs that were done.
    pub lookups: u64,
    /// READs that were done.
    pub reads: u64,
    /// WRITEs that were done.
    pub writes: u64,
    /// The same by what they asked for: UNSTABLE, DATA_SYNC and FILE_SYNC.
    pub by_stability: [u64; 3],
    /// Bytes of those that were not made stable at once.
    pub unstable_bytes: u64,
    /// COMMITs that were done.
    pub commits: u64,
    /// Restarts.
    pub restarts: u64,
    /// Bytes of unstable writes that were lost in restarts.
    pub lost_bytes: u64,
    /// Operations that were done and not answered.
    pub replies_lost: u64,
    /// Calls that came a second time after their reply was lost.
    pub doubles: u64,
    /// Calls that were answered with JUKEBOX.
    pub asked_to_wait: u64,
    /// Most groups beside the first that a caller was in (AUTH_SYS, RFC 5531, appendix A).
    pub groups: u64,
}

/// What is left of a server's memory of its handles when it restarts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handles {
    /// They are good for ever, as a file system's are.
    Kept,
    /// Every handle that it ever gave is stale.
    Lost,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<ServerState>,
    charge: Option<Charge>,
    connections: Connections,
    ended: AtomicBool,
}

struct ServerState {
    tree: Tree,
    /// What its handles begin with.
    handles: u64,
    /// Another one after every restart.
    verifier: u64,
    faults: Faults,
    counts: Counts,
    /// Who calls: uid and gid.
    caller: (u32, u32),
    /// As whom everybody is taken.
    squash: Option<(u32, u32)>,
    /// Calls whose replies were lost: procedure and arguments.
    unanswered: Vec<(u32, Vec<u8>)>,
}

impl std::fmt::Debug for ServerState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerState").field("counts", &self.counts).finish_non_exhaustive()
    }
}

/// What goes wrong from now on.
#[derive(Debug, Default)]
struct Faults {
    /// How many calls are answered with JUKEBOX.
    jukebox: u64,
    /// How many replies of a procedure are lost.
    lost: BTreeMap<u32, u64>,
    /// After how many further WRITEs it restarts, and how.
    restart: Option<(u64, Handles)>,
    /// How long it takes for a call that does nothing.
    null: Duration,
    /// Longest READ and WRITE, where that is not the usual one.
    largest: Option<u32>,
    /// Most open connections on which calls are answered.
    answered: Option<usize>,
}

impl Responder {
    /// Serves an empty directory on any port of this machine.
    ///
    /// # Errors
    /// No port can be listened on.
    pub fn start() -> io::Result<Responder> {
        Self::start_with(Costs::FREE)
    }

    /// The same, with calls of known costs.
    ///
    /// # Errors
    /// No port can be listened on.
    pub fn start_with(costs: Costs) -> io::Result<Responder> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let state = ServerState {
            tree: Tree::new(),
            handles: 1,
            verifier: 1,
            faults: Faults::default(),
            counts: Counts::default(),
            caller: (0, 0),
            squash: None,
            unanswered: Vec::new(),
        };
        let shared = Arc::new(Shared {
            state: Mutex::new(state),
            charge: Charge::new(costs),
            connections: Connections::default(),
            ended: AtomicBool::new(false),
        });
        let of_thread = shared.clone();
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if of_thread.ended.load(Ordering::Acquire) {
                    return;
                }
                let shared = of_thread.clone();
                // Those threads end with their connections.
                std::thread::spawn(move || drop(shared.serve(stream)));
            }
        });
        Ok(Responder { address, shared, thread: Some(thread) })
    }

    /// The URL of its export.
    pub fn url(&self) -> String {
        let port = self.address.port();
        format!("nfs://127.0.0.1:{port}{EXPORT}?mountport={port}")
    }

    /// Where it listens, for NFS and for MOUNT.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Restarts it: what was not committed is lost, the write verifier is another one, connections
    /// break.
    pub fn restart(&self, handles: Handles) {
        self.shared.state().restart(handles);
        self.cut();
    }

    /// The same by itself, once it has done so many further WRITEs; the last one is not answered.
    pub fn restart_after(&self, writes: u64, handles: Handles) {
        self.shared.state().faults.restart = Some((writes.max(1), handles));
    }

    /// Breaks every connection.
    pub fn cut(&self) {
        self.shared.connections.cut();
    }

    /// Does so many operations of this procedure without answering, and breaks the connection instead.
    pub fn lose_replies(&self, procedure: u32, count: u64) {
        self.shared.state().faults.lost.insert(procedure, count);
    }

    /// Answers the next calls, as many as that, with JUKEBOX.
    pub fn ask_to_wait(&self, times: u64) {
        self.shared.state().faults.jukebox = times;
    }

    /// Takes everybody for this user and group.
    pub fn squash(&self, uid: u32, gid: u32) {
        self.shared.state().squash = Some((uid, gid));
    }

    /// Names this as the longest READ and WRITE that it takes, in bytes, and refuses longer ones.
    pub fn take_at_most(&self, bytes: u32) {
        self.shared.state().faults.largest = Some(bytes);
    }

    /// Answers on so many connections beside those that are open now. It takes more, and closes each when it is used.
    pub fn answer_on_more(&self, connections: usize) {
        let open = self.shared.connections.count();
        self.shared.state().faults.answered = Some(open + connections);
    }

    /// Keeps so many connections open from now on: it closes the oldest one for a new one.
    pub fn keep_newest(&self, connections: usize) {
        self.shared.connections.keep_newest(connections);
    }

    /// Takes so long for each call that does nothing (NULL).
    pub fn delay_null(&self, time: Duration) {
        self.shared.state().faults.null = time;
    }

    /// What it did so far.
    pub fn counts(&self) -> Counts {
        self.shared.state().counts
    }

    /// The bytes of a file that a restart would leave there; `None` if there is no such file.
    pub fn stable(&self, path: &str) -> Option<Vec<u8>> {
        self.shared.state().tree.find(path).ok().map(|file| file.stable().to_vec())
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        self.cut();
        let _waker = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, ServerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers the calls of a connection one after the other.
    fn serve(&self, stream: TcpStream) -> io::Result<()> {
        let (number, open) = self.connections.add(&stream)?;
        self.state().counts.connections += 1;
        let answer = |call: &mut [u8], replies: &mut Vec<u8>| {
            let mut state = self.state();
            match state.faults.answered.is_some_and(|most| open > most) {
                true => Answer::Cut,
                false => state.answer(call, replies),
            }
        };
        let served = connection::serve(&stream, RECORDS, self.charge.as_ref(), answer);
        self.connections.remove(number);
        match served {
            Ok(Answer::CutAll) => {
                self.connections.cut();
                Ok(())
            }
            _ => stream.shutdown(Shutdown::Both),
        }
    }
}

impl ServerState {
    fn answer(&mut self, call: &[u8], replies: &mut Vec<u8>) -> Answer {
        let mut rest = call;
        let Ok((rpc_msg { xid, body: msg_body::CALL(call) }, _)) = rpc_msg::unpack(&mut rest)
        else {
            return Answer::Cut;
        };
        self.called_by(&call);
        let (writes, double) = (self.counts.writes, (call.proc, rest.to_vec()));
        let nfs = call.prog == nfs3_types::nfs3::PROGRAM;
        let results = match (call.prog, call.vers) {
            (nfs3_types::mount::PROGRAM, 3) => nfs3::mount(self, call.proc),
            (nfs3_types::nfs3::PROGRAM, 3) => nfs3::nfs(self, call.proc, rest),
            (nfs3_types::mount::PROGRAM | nfs3_types::nfs3::PROGRAM, _) => {
                Err(Refusal::Rpc(accept_stat_data::PROG_MISMATCH { low: 3, high: 3 }))
            }
            _ => Err(Refusal::Rpc(accept_stat_data::PROG_UNAVAIL)),
        };
        if let Some(at) = self.unanswered.iter().position(|before| nfs && *before == double) {
            self.unanswered.swap_remove(at);
            self.counts.doubles += 1;
        }
        if let Some(left) = self.faults.lost.get_mut(&call.proc).filter(|left| nfs && **left > 0) {
            *left -= 1;
            self.counts.replies_lost += 1;
            self.unanswered.push(double);
            return Answer::Cut;
        }
        if let Some((left, handles)) = &mut self.faults.restart
            && self.counts.writes > writes
        {
            *left -= 1;
            if *left == 0 {
                let handles = *handles;
                self.faults.restart = None;
                self.restart(handles);
                return Answer::CutAll;
            }
        }
        reply(xid, results, replies);
        Answer::Reply
    }

    fn called_by(&mut self, call: &call_body<'_>) {
        if let Ok((auth, _)) = auth_unix::unpack(&mut &call.cred.body[..]) {
            self.caller = self.squash.unwrap_or((auth.uid, auth.gid));
            self.counts.groups = self.counts.groups.max(auth.gids.len() as u64);
        }
    }

    fn restart(&mut self, handles: Handles) {
        self.counts.lost_bytes += self.tree.restart();
        self.counts.restarts += 1;
        self.verifier += 1;
        if handles == Handles::Lost {
            self.handles += 1;
        }
    }
}

fn reply(xid: u32, results: Result<Vec<u8>, Refusal>, to: &mut Vec<u8>) {
    let (reply_data, results) = match results {
        Ok(results) => (accept_stat_data::SUCCESS, results),
        Err(Refusal::Rpc(status)) => (status, Vec::new()),
        Err(Refusal::Nfs(_)) => (accept_stat_data::SYSTEM_ERR, Vec::new()),
    };
    let accepted = accepted_reply { verf: opaque_auth::default(), reply_data };
    let message = rpc_msg { xid, body: msg_body::REPLY(reply_body::MSG_ACCEPTED(accepted)) };
    message.pack(to).expect("a vector takes everything");
    to.extend(results);
}
