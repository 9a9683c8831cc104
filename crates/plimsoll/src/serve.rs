//! `plimsoll serve`: the local page.

use crate::arguments::StoreArguments;
use crate::signals::Signals;
use crate::{output, store};
use clap::Args;
use plimsoll_live::serve::{Server, Settings};
use plimsoll_model::Failure;

#[derive(Args)]
pub struct ServeArguments {
    /// Port on 127.0.0.1 [default: any free port]
    #[arg(long, value_name = "N", default_value = "0", hide_default_value = true)]
    pub port: u16,
}

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
