//! Somebody between client and server, who passes everything on but for the one reply a test
//! names.

use super::fake::{HERE, frame};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

type Change = Box<dyn FnOnce(Vec<u8>) -> Vec<Vec<u8>> + Send>;

/// A way to a server that changes a reply once it is armed.
#[derive(Clone)]
pub struct Proxy {
    pub port: u16,
    change: Arc<Mutex<Option<Change>>>,
}

impl Proxy {
    /// Stands before a server, for one connection.
    pub fn before(server: u16) -> Self {
        let listener = TcpListener::bind((HERE, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let change: Arc<Mutex<Option<Change>>> = Arc::default();
        let armed = change.clone();
        std::thread::spawn(move || {
            let (client, _) = listener.accept().unwrap();
            let server = TcpStream::connect((HERE, server)).unwrap();
            client.set_nodelay(true).unwrap();
            server.set_nodelay(true).unwrap();
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut from, &mut to);
                let _ = to.shutdown(Shutdown::Both);
            });
            pass_replies(server, client, &armed);
        });
        Self { port, change }
    }

    /// The next reply of the server becomes these messages.
    pub fn arm(&self, change: impl FnOnce(Vec<u8>) -> Vec<Vec<u8>> + Send + 'static) {
        *self.change.lock().unwrap() = Some(Box::new(change));
    }

    /// Whether the change was made.
    pub fn has_fired(&self) -> bool {
        self.change.lock().unwrap().is_none()
    }
}

fn pass_replies(mut from: TcpStream, mut to: TcpStream, armed: &Mutex<Option<Change>>) {
    loop {
        let mut length = [0; 4];
        if from.read_exact(&mut length).is_err() {
            break;
        }
        let mut message = vec![0; u32::from_be_bytes(length) as usize];
        if from.read_exact(&mut message).is_err() {
            break;
        }
        let change = armed.lock().unwrap().take();
        let messages =
            change.map_or_else(|| vec![message.clone()], |change| change(message.clone()));
        if messages.iter().any(|message| to.write_all(&frame(message)).is_err()) {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}
