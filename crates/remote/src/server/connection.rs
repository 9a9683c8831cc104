//! The two streams: requests come in, replies go out, and neither makes the work wait.

use crate::protocol::{Lines, MOST_REQUEST, PULSE, Reply, Request, SILENCE};
use plimsoll_load::SystemClock;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Events that may wait to be sent; further ones are dropped, as nothing waits for them.
const MOST_WAITING: usize = 1000;
/// How often is looked whether the other side is still there.
const GLANCE: Duration = Duration::from_millis(200);

/// The two streams.
pub struct Connection {
    requests: Mutex<Receiver<Result<Request, String>>>,
    replies: Sender<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
    /// The kernel's clock: processes of one machine agree on it.
    pub clock: SystemClock,
    /// Set when the trial under way is to end: asked for, or because nobody is there any more.
    pub stop: Arc<AtomicBool>,
    /// Set when nobody is there any more.
    gone: Arc<AtomicBool>,
    /// Set when that is so because nothing was heard for too long.
    silent: AtomicBool,
}

impl Connection {
    /// Those of this process, and its signals.
    pub fn of_this_process() -> io::Result<Arc<Self>> {
        let (stop, gone) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, gone.clone())?;
            signal_hook::flag::register(signal, stop.clone())?;
        }
        let (replies, to_send) = mpsc::channel::<Vec<u8>>();
        let waiting = Arc::new(AtomicUsize::new(0));
        let (sent, no_reader) = (waiting.clone(), [gone.clone(), stop.clone()]);
        thread::Builder::new().name("send".into()).spawn(move || {
            for line in to_send {
                let mut out = io::stdout().lock();
                if out.write_all(&line).and_then(|()| out.flush()).is_err() {
                    no_reader.iter().for_each(|flag| flag.store(true, Ordering::Relaxed));
                }
                sent.fetch_sub(1, Ordering::Relaxed);
            }
        })?;
        let (asked, requests) = mpsc::channel();
        let heard = Arc::new(Mutex::new(Instant::now()));
        let reader = Reader { asked, heard: heard.clone(), stop: stop.clone(), gone: gone.clone() };
        thread::Builder::new().name("receive".into()).spawn(move || reader.run())?;
        let connection = Arc::new(Connection {
            requests: Mutex::new(requests),
            replies,
            waiting,
            clock: SystemClock::of_the_kernel(),
            stop,
            gone,
            silent: AtomicBool::new(false),
        });
        let pulse = connection.clone();
        thread::Builder::new().name("pulse".into()).spawn(move || {
            loop {
                thread::sleep(PULSE);
                pulse.say(&Reply::Alive);
                if heard.lock().unwrap_or_else(PoisonError::into_inner).elapsed() > SILENCE {
                    pulse.silent.store(true, Ordering::Relaxed);
                    pulse.gone.store(true, Ordering::Relaxed);
                    pulse.stop.store(true, Ordering::Relaxed);
                }
            }
        })?;
        Ok(connection)
    }

    /// The next request; `None`: nobody is there any more.
    pub fn next(&self) -> Option<Result<Request, String>> {
        let requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            // What was asked before the end is answered; a trial is stopped at once then.
            match requests.recv_timeout(if self.is_gone() { Duration::ZERO } else { GLANCE }) {
                Ok(request) => return Some(request),
                Err(RecvTimeoutError::Timeout) if !self.is_gone() => {}
                Err(_) => return None,
            }
        }
    }

    /// Whether nobody is there any more.
    fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// Whether the connection may still be there, and nobody at its other end.
    pub fn is_silent(&self) -> bool {
        self.silent.load(Ordering::Relaxed)
    }

    /// Says something that is waited for.
    pub fn say(&self, reply: &Reply) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let _ = self.replies.send(reply.to_line());
    }

    /// Says something that may be lost.
    pub fn mention(&self, reply: &Reply) {
        if self.waiting.load(Ordering::Relaxed) < MOST_WAITING {
            self.say(reply);
        }
    }

    /// Waits until all is sent, but not for long.
    pub fn flush(&self, limit: Duration) {
        let end = Instant::now() + limit;
        while self.waiting.load(Ordering::Relaxed) > 0 && Instant::now() < end {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Takes requests in while others are worked on.
struct Reader {
    asked: Sender<Result<Request, String>>,
    heard: Arc<Mutex<Instant>>,
    stop: Arc<AtomicBool>,
    gone: Arc<AtomicBool>,
}

impl Reader {
    fn run(self) {
        // Whatever ends it, nothing can come any more.
        self.take();
        self.gone.store(true, Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
    }

    fn take(&self) -> Option<()> {
        let mut lines = Lines::new(MOST_REQUEST);
        let mut buffer = [0; 16 << 10];
        loop {
            match io::stdin().read(&mut buffer) {
                Ok(0) => return None,
                Ok(count) => lines.push(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return None,
            }
            *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            loop {
                match lines.next_line() {
                    Ok(Some(line)) => match Request::from_line(&line) {
                        Ok(Request::Alive) => {}
                        Ok(Request::Stop) => self.stop.store(true, Ordering::Relaxed),
                        request => self.asked.send(request).ok()?,
                    },
                    Ok(None) => break,
                    Err(error) => {
                        let _ = self.asked.send(Err(error.to_string()));
                        return None;
                    }
                }
            }
        }
    }
}
