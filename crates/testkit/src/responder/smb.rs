//! An SMB server in this program: dialect 3.1.1, one share, one user, every message signed with GMAC or
//! CMAC. It keeps files in memory, in the same tree as the NFS server beside it, and charges the same costs.
//! No locks, oplocks, links, encryption or older dialects.

mod files;
mod login;
pub mod reply;
mod request;
mod session;
mod status;

use super::connection::{self, Connections, FRAMES};
use super::costs::{Charge, Costs};
use super::tree::Tree;
use plimsoll_smb::SigningAlgorithm;
use session::Session;
use status::Status;
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// The one share.
pub const SHARE: &str = "data";
/// Who may come to it.
pub const USER: &str = "user";
/// With which password.
pub const PASSWORD: &str = "password";

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct SmbResponder {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    tree: Mutex<Tree>,
    charge: Option<Charge>,
    /// How messages are signed where the client has it too, and else with CMAC.
    signing: SigningAlgorithm,
    connections: Connections,
    /// How often all sessions have been ended.
    life: AtomicU64,
    ended: AtomicBool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("signing", &self.signing).finish_non_exhaustive()
    }
}

impl Shared {
    fn new(signing: SigningAlgorithm, costs: Costs) -> Shared {
        Shared {
            tree: Mutex::new(Tree::new()),
            charge: Charge::new(costs),
            signing,
            connections: Connections::default(),
            life: AtomicU64::new(0),
            ended: AtomicBool::new(false),
        }
    }

    fn life(&self) -> u64 {
        self.life.load(Ordering::Acquire)
    }

    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(self: &Arc<Self>, stream: &TcpStream) -> io::Result<()> {
        let (number, _) = self.connections.add(stream)?;
        let mut session = Session::new(self.clone());
        let answer = |frame: &mut [u8], replies: &mut Vec<u8>| session.answer(frame, replies);
        let served = connection::serve(stream, FRAMES, self.charge.as_ref(), answer);
        self.connections.remove(number);
        served?;
        stream.shutdown(Shutdown::Both)
    }
}

impl SmbResponder {
    /// Serves an empty share on any port of this machine, signed in this way where the client has it too.
    ///
    /// # Errors
    /// No port can be listened on.
    pub fn start(signing: SigningAlgorithm, costs: Costs) -> io::Result<SmbResponder> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared::new(signing, costs));
        let of_thread = shared.clone();
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if of_thread.ended.load(Ordering::Acquire) {
                    return;
                }
                let shared = of_thread.clone();
                // Those threads end with their connections.
                std::thread::spawn(move || drop(shared.serve(&stream)));
            }
        });
        Ok(SmbResponder { address, shared, thread: Some(thread) })
    }

    /// The URL of its share, with its user.
    pub fn url(&self) -> String {
        format!("smb://{USER}@127.0.0.1:{}/{SHARE}", self.address.port())
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Breaks every connection.
    pub fn cut(&self) {
        self.shared.connections.cut();
    }

    /// Breaks the newest connections, as many as that.
    pub fn cut_newest(&self, connections: usize) {
        self.shared.connections.cut_newest(connections);
    }

    /// Keeps so many connections open from now on: it closes the oldest one for a new one.
    pub fn keep_newest(&self, connections: usize) {
        self.shared.connections.keep_newest(connections);
    }

    /// Ends every session, as an administrator may: their connections stay.
    pub fn end_sessions(&self) {
        self.shared.life.fetch_add(1, Ordering::AcqRel);
    }

    /// What is below the share: paths with `/` between names, sorted.
    pub fn names(&self) -> Vec<String> {
        self.shared.tree().paths()
    }
}

impl Drop for SmbResponder {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Release);
        self.cut();
        let _waker = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
