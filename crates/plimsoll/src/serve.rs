//! `plimsoll serve`: the local page.

use crate::arguments::{ServeArguments, StoreArguments};
use crate::signals::Signals;
use crate::{output, store};
use plimsoll_live::serve::{Server, Settings};
use plimsoll_model::Failure;

/// Serves until a signal comes, and returns the exit code that belongs to it.
pub fn run(serve: &ServeArguments, store: &StoreArguments) -> Result<u8, Failure> {
    let signals = Signals::listen()?;
    let store = store::path(store)?;
    let runs = plimsoll_live::feed::runtime_directory()?;
    let server = Server::open(Settings { port: serve.port, store, runs })?;
    output::print(&format!("{}\n", server.url()))?;
    output::complain(
        "Open this address in a browser on this machine. Anyone who knows it can read the studies. \
         Stop with Ctrl-C.",
    );
    server.run(&signals.stop)?;
    Ok(signals.cause().map_or(0, plimsoll_model::Cause::exit_code))
}
