//! The local page: the store's studies and the runs under way, for the browser of whoever started
//! it and for nobody else. It listens on the loopback address alone, every address has a random
//! token in it, and requests for another host's name are refused, so that no page from elsewhere
//! can reach it (DNS rebinding). The async runtime of this module stays in here.

mod guard;
mod html;
mod live;
mod pages;
mod routes;
mod studies;
mod watcher;

pub(crate) use live::runs as page_of;

use guard::Token;
use plimsoll_model::{Cause, Failure};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often it is looked whether the server is to stop.
const LOOK: Duration = Duration::from_millis(50);

/// What is served.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The port; 0 for any that is free.
    pub port: u16,
    /// The store of studies. It need not exist yet, and it is not made.
    pub store: PathBuf,
    /// The directory in which runs publish their progress.
    pub runs: PathBuf,
}

/// A server that listens but does not answer yet.
pub struct Server {
    listener: TcpListener,
    port: u16,
    token: Token,
    settings: Settings,
}

impl Server {
    /// Listens on the loopback address. Fails where the port is taken or not allowed.
    pub fn open(settings: Settings) -> Result<Server, Failure> {
        let address = (Ipv4Addr::LOCALHOST, settings.port);
        let opened = TcpListener::bind(address).and_then(|listener| {
            listener.set_nonblocking(true)?;
            let port = listener.local_addr()?.port();
            Ok((listener, port))
        });
        match opened {
            Ok((listener, port)) => Ok(Server { listener, port, token: Token::draw(), settings }),
            Err(error) => Err(cannot_listen(settings.port, &error)),
        }
    }

    /// Where it is, the token included.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token)
    }

    /// Answers until `stop` is set; then it ends at once, whoever still reads.
    pub fn run(self, stop: &AtomicBool) -> Result<(), Failure> {
        let failed = |e: io::Error| {
            Failure::new(Cause::Trial, "serve the page")
                .on(self.url())
                .happened(e)
                .next("Start it again.")
        };
        // One thread: it serves one person, and the measurement wants the others.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(2)
            .build()
            .map_err(failed)?;
        let (news, watcher) = watcher::start(&self.settings);
        let outcome = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener.try_clone()?)?;
            let site = routes::Site {
                token: self.token.clone(),
                port: self.port,
                store: self.settings.store.clone(),
                runs: self.settings.runs.clone(),
                news,
            };
            tokio::select! {
                ended = async { axum::serve(listener, routes::router(Arc::new(site))).await } => ended,
                () = stop_requested(stop) => Ok(()),
            }
        });
        runtime.shutdown_background();
        drop(watcher);
        outcome.map_err(failed)
    }
}

async fn stop_requested(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        tokio::time::sleep(LOOK).await;
    }
}

fn cannot_listen(port: u16, error: &io::Error) -> Failure {
    let (cause, next) = match error.kind() {
        io::ErrorKind::AddrInUse => (
            Cause::Usage,
            "Another program uses this port: give another --port, or omit it to use any free port.",
        ),
        io::ErrorKind::PermissionDenied => {
            (Cause::NotPermitted, "Ports below 1024 need root: give a higher --port.")
        }
        _ => (Cause::Trial, "Give another --port, or omit it to use any free port."),
    };
    Failure::new(cause, "listen for a browser")
        .on(format!("127.0.0.1:{port}"))
        .happened(error)
        .next(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_that_is_taken_is_reported() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let settings = Settings { port, store: PathBuf::new(), runs: PathBuf::new() };
        let failure = Server::open(settings).err().unwrap();
        assert_eq!(failure.cause, Cause::Usage);
        assert!(failure.to_string().contains(&format!("127.0.0.1:{port}")), "{failure}");
        assert!(failure.next.contains("--port"), "{failure}");
    }
}
