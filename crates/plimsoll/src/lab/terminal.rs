//! The terminal of this program, lent to a program elsewhere.

use nix::sys::termios::{SetArg, Termios, cfmakeraw, tcgetattr, tcsetattr};
use plimsoll_lab::Window;
use plimsoll_model::{Cause, Failure};
use plimsoll_process::child;
use signal_hook::consts::SIGWINCH;
use std::io::{IsTerminal, stdin, stdout};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a terminal is taken for that does not tell its size.
const USUAL: Window = Window { rows: 24, columns: 80 };

/// The terminal, which passes on every key as it is, until this is dropped.
pub struct Terminal {
    before: Termios,
    resized: Arc<AtomicBool>,
}

impl Terminal {
    /// If input and output are one.
    ///
    /// # Errors
    /// [`Cause::Trial`] where it cannot be set.
    pub fn of_this_program() -> Result<Option<Terminal>, Failure> {
        if !stdin().is_terminal() || !stdout().is_terminal() {
            return Ok(None);
        }
        let failed = |error: std::io::Error| {
            Failure::new(Cause::Trial, "set the terminal").on("standard input").happened(error)
        };
        let resized = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(SIGWINCH, resized.clone()).map_err(failed)?;
        let before = tcgetattr(stdin()).map_err(|error| failed(error.into()))?;
        let mut raw = before.clone();
        cfmakeraw(&mut raw);
        tcsetattr(stdin(), SetArg::TCSADRAIN, &raw).map_err(|error| failed(error.into()))?;
        Ok(Some(Terminal { before, resized }))
    }

    /// Its size.
    pub fn window(&self) -> Window {
        size().unwrap_or(USUAL)
    }

    /// Its size, if that has changed since this was last asked.
    pub fn resized(&self) -> Option<Window> {
        self.resized.swap(false, Ordering::Relaxed).then(|| self.window())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = tcsetattr(stdin(), SetArg::TCSADRAIN, &self.before);
    }
}

/// As stty(1) says it: "24 80".
fn size() -> Option<Window> {
    let mut stty = child::command("stty");
    let said = stty.arg("size").stdin(Stdio::inherit()).stderr(Stdio::null()).output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    let (rows, columns) = said.trim().split_once(' ')?;
    let window = Window { rows: rows.parse().ok()?, columns: columns.parse().ok()? };
    (window.rows > 0 && window.columns > 0).then_some(window)
}
