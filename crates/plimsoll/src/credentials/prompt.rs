//! Asking for a password at the terminal, without showing it.

use crate::signals::Signals;
use nix::sys::termios::{SetArg, tcgetattr, tcsetattr};
use plimsoll_load::Password;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How often is looked whether a signal came meanwhile.
const PATIENCE: Duration = Duration::from_millis(50);

/// Asks at the terminal; `None` where there is none. However it ends, by Ctrl-C and by signals
/// from elsewhere too, the terminal is left as it was found.
pub fn ask(prompt: &str, signals: &Signals) -> io::Result<Option<Password>> {
    let Ok(mut terminal) = File::options().read(true).write(true).open("/dev/tty") else {
        return Ok(None);
    };
    let found = tcgetattr(&terminal)?;
    let (sender, receiver) = mpsc::channel();
    let prompt = prompt.to_owned();
    // The thread may wait for a key for ever: a signal does not end that, but it ends the waiting
    // for the thread.
    std::thread::spawn(move || sender.send(rpassword::prompt_password(prompt)));
    loop {
        match receiver.recv_timeout(PATIENCE) {
            Ok(typed) => {
                let typed = typed.map(|typed| Some(Password::new(typed)));
                if typed.is_err() {
                    let _ = writeln!(terminal);
                }
                return typed;
            }
            Err(RecvTimeoutError::Timeout) if signals.cause().is_none() => {}
            Err(_) => {
                tcsetattr(&terminal, SetArg::TCSANOW, &found)?;
                let _ = writeln!(terminal);
                return Err(ErrorKind::Interrupted.into());
            }
        }
    }
}
