//! The program at a terminal.

use super::{Plimsoll, wait_until};
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

/// The program at a terminal of its own, made by `script`, with what its shell says after it.
pub struct AtTerminal {
    script: Child,
    said: Arc<Mutex<String>>,
}

impl AtTerminal {
    /// Starts it.
    pub fn start(program: &Plimsoll, arguments: &[&str]) -> Self {
        let inner = program.command(arguments);
        let quoted = |word: &OsStr| format!("'{}'", word.to_str().unwrap().replace('\'', "'\\''"));
        let words: Vec<_> =
            [inner.get_program()].into_iter().chain(inner.get_args()).map(quoted).collect();
        let line = format!("{}; echo code=$?; stty -a", words.join(" "));
        let mut command = Command::new("script");
        command.args(["--quiet", "--command", &line, "/dev/null"]);
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let mut script =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("script starts");
        let said = Arc::<Mutex<String>>::default();
        let (mut from, to) = (script.stdout.take().unwrap(), said.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                to.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        AtTerminal { script, said }
    }

    /// What the terminal shows so far.
    pub fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// Waits until the terminal shows a word.
    pub fn wait_for(&self, word: &str) {
        wait_until(word, || self.said().contains(word));
    }

    /// Types keys.
    pub fn type_in(&mut self, keys: &str) {
        let input = self.script.stdin.as_mut().unwrap();
        input.write_all(keys.as_bytes()).and_then(|()| input.flush()).unwrap();
    }

    /// The exit code, after the terminal was found as it was before.
    #[track_caller]
    pub fn ended(mut self) -> (String, String) {
        self.wait_for("echoprt");
        drop(self.script.stdin.take());
        let _ = self.script.wait();
        let said = self.said();
        let settings: Vec<_> = said.split_once("code=").unwrap().1.split_whitespace().collect();
        for setting in ["echo", "icanon", "isig"] {
            assert!(settings.contains(&setting), "{setting} is off:\n{said}");
        }
        let code = settings[0].to_owned();
        (said, code)
    }
}

/// A test that fails leaves no program behind, which would hold its output open: without its terminal it ends.
impl Drop for AtTerminal {
    fn drop(&mut self) {
        let _ = self.script.kill();
        let _ = self.script.wait();
    }
}
