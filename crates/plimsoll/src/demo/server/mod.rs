//! An NFS 3 server inside the program: for the demonstration, and for tests that run anywhere.
//!
//! It serves one directory on 127.0.0.1, MOUNT and NFS on the same free port, without a
//! portmapper. The protocol is the `nfs3_server` crate's; the file system is this module's. What
//! the crate decides, whatever the file system does:
//! - FSSTAT always claims 1 TiB of free space; a write beyond the true space fails with
//!   `NFS3ERR_NOSPC`, as it should.
//! - REMOVE and RMDIR are one call: either removes a file or an empty directory.
//! - MKDIR ignores the attributes; directories get 0777 less the umask.
//! - A call with the number (XID) of one of the last 2,048 calls of its connection is taken for a
//!   retransmission and gets no answer.
//! - Beyond 256 calls in flight on a connection, further ones are answered with `SYSTEM_ERR`.
//! - A record may be up to 2 GiB long. Only this machine can connect.
//!
//! Any user of this machine can, and acts with the rights of the user who started the server,
//! inside the directory. So serve only a directory made for the purpose.

mod attributes;
mod filesystem;
mod places;
mod tree;

use filesystem::ServedDirectory;
use nfs3_server::tcp::{NFSTcp, NFSTcpListener};
use std::io;
use std::path::Path;
use std::sync::mpsc;
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// The name of the one export; paths below it can be mounted as well.
pub const EXPORT: &str = "/share";

/// A running server; dropping it closes every connection and stops it.
#[derive(Debug)]
pub struct BuiltinServer {
    port: u16,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl BuiltinServer {
    /// Serves a directory that exists, until dropped. Symbolic links in it are shown and never
    /// followed.
    ///
    /// # Errors
    /// If the directory cannot be opened or no port bound.
    pub fn start(directory: impl AsRef<Path>) -> io::Result<Self> {
        let directory = directory.as_ref();
        let served = ServedDirectory::open(directory).map_err(|error| {
            let happened = format!("cannot serve {}: {error}", directory.display());
            io::Error::new(error.kind(), happened)
        })?;
        let (stop, stopped) = oneshot::channel();
        let (report, started) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("nfs-server".into())
            .spawn(move || serve(served, stopped, &report))?;
        let port = started
            .recv()
            .map_err(|_| io::Error::other("the NFS server ended at once"))?
            .map_err(|error| {
                let happened = format!("the NFS server cannot listen on 127.0.0.1: {error}");
                io::Error::new(error.kind(), happened)
            })?;
        Ok(Self { port, stop: Some(stop), thread: Some(thread) })
    }

    /// The port of NFS and MOUNT.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The URL of the export for plimsoll.
    pub fn url(&self) -> String {
        format!("nfs://127.0.0.1:{0}{EXPORT}?mountport={0}", self.port)
    }
}

impl Drop for BuiltinServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in there has been printed; there is nothing to add.
            let _ = thread.join();
        }
    }
}

/// The whole life of the server, on its own thread, which is the only one that knows tokio.
fn serve(
    served: ServedDirectory,
    stopped: oneshot::Receiver<()>,
    report: &mpsc::Sender<io::Result<u16>>,
) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return drop(report.send(Err(error))),
    };
    runtime.block_on(async {
        let mut listener = match NFSTcpListener::bind("127.0.0.1:0", served).await {
            Ok(listener) => listener,
            Err(error) => return drop(report.send(Err(error))),
        };
        listener.with_export_name(EXPORT);
        if report.send(Ok(listener.get_listen_port())).is_err() {
            return;
        }
        tokio::select! {
            _ = stopped => {}
            // Accepting fails when this process runs out of descriptors, for instance; clients
            // then see closed connections.
            _ = listener.handle_forever() => {}
        }
    });
}
