//! The terminal, borrowed: alternate screen, no cursor, no echo. Given back on every way out:
//! when the borrower is dropped, and before the message of a panic in any thread.

use nix::sys::termios::{
    LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr,
};
use nix::unistd::{getpgrp, tcgetpgrp};
use plimsoll_model::{Cause, Failure, printable};
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::{Frame, Terminal};
use std::io::{self, IsTerminal, Stderr, stderr};
use std::sync::{Arc, Mutex, PoisonError};

/// The borrowed terminal behind standard error.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stderr>>,
    before: Arc<Before>,
}

/// How the terminal was, as long as it is borrowed.
struct Before(Mutex<Option<Termios>>);

impl Screen {
    /// Takes the terminal over.
    pub(super) fn open() -> Result<Screen, Failure> {
        let failed = |why: &dyn std::fmt::Display| {
            let next =
                "The progress line is shown instead; --live needs a terminal in the foreground.";
            Failure::new(Cause::Usage, "show the dashboard")
                .on("standard error")
                .happened(why)
                .next(next)
        };
        if !stderr().is_terminal() {
            return Err(failed(&"it is not a terminal"));
        }
        // A background process that touches the settings is stopped by the system.
        if tcgetpgrp(stderr()).is_ok_and(|group| group != getpgrp()) {
            return Err(failed(&"this process is in the background"));
        }
        let settings = tcgetattr(stderr()).map_err(|e| failed(&e))?;
        // Keys still make signals, so that Ctrl-C works as ever. But Ctrl-Z would stop the load in
        // the middle of a trial, and what is typed would be seen in the picture.
        let mut changed = settings.clone();
        changed.local_flags &= !(LocalFlags::ECHO | LocalFlags::ICANON);
        changed.control_chars[SpecialCharacterIndices::VSUSP as usize] = 0;
        let before = Arc::new(Before(Mutex::new(Some(settings))));
        before.give_back_before_panics();
        let opened = tcsetattr(stderr(), SetArg::TCSANOW, &changed)
            .map_err(io::Error::from)
            .and_then(|()| execute!(stderr(), EnterAlternateScreen))
            .and_then(|()| Terminal::new(CrosstermBackend::new(stderr())));
        match opened {
            Ok(terminal) => Ok(Screen { terminal, before }),
            Err(error) => {
                before.give_back();
                Err(failed(&error))
            }
        }
    }

    /// Draws a picture.
    pub(super) fn draw(&mut self, picture: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        let safe = |frame: &mut Frame<'_>| {
            picture(frame);
            escape(frame.buffer_mut());
        };
        self.terminal.draw(safe).map(drop)
    }
}

/// Whatever was drawn: no cell steers the terminal.
fn escape(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        if printable(cell.symbol()) != cell.symbol() {
            cell.set_symbol("\u{fffd}");
        }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.before.give_back();
    }
}

impl Before {
    /// Gives the terminal back, once.
    fn give_back(&self) {
        let settings = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(settings) = settings {
            let _ = execute!(stderr(), LeaveAlternateScreen, Show);
            let _ = tcsetattr(stderr(), SetArg::TCSANOW, &settings);
        }
    }

    fn give_back_before_panics(self: &Arc<Self>) {
        let (before, hook) = (self.clone(), std::panic::take_hook());
        std::panic::set_hook(Box::new(move |panic| {
            before.give_back();
            hook(panic);
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::pty::openpty;

    #[test]
    fn no_cell_steers_the_terminal() {
        let mut buffer = Buffer::with_lines(["abcd"]);
        for (cell, symbol) in
            buffer.content.iter_mut().zip(["a\u{202e}", "\u{1b}[2J", "─", "\u{9b}"])
        {
            cell.set_symbol(symbol);
        }
        escape(&mut buffer);
        let shown: String = buffer.content.iter().map(|cell| cell.symbol()).collect();
        assert_eq!(shown, "\u{fffd}\u{fffd}─\u{fffd}");
    }

    #[test]
    fn a_panic_in_any_thread_gives_the_terminal_back_once() {
        let terminal = openpty(None, None).unwrap();
        let settings = tcgetattr(&terminal.slave).unwrap();
        let before = Arc::new(Before(Mutex::new(Some(settings))));
        before.give_back_before_panics();
        let panicked = std::thread::spawn(|| panic!("meant to be")).join();
        assert!(panicked.is_err());
        assert!(before.0.lock().unwrap().is_none());
    }
}
