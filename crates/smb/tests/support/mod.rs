//! What the tests share: sessions with real servers in every protection there is, a fake server,
//! its lies, somebody in between, the user's side of a pipeline, and captured traffic.
#![allow(dead_code, reason = "every test program uses a part of it")]

pub mod fake;
pub mod flight;
pub mod lies;
pub mod proxy;

use plimsoll_smb::{
    Cipher, Credentials, Dialect, Error, Options, Protection, Session, SessionFacts,
    SigningAlgorithm, Tree,
};
use plimsoll_testkit::servers::samba::{PASSWORD, USER};
use plimsoll_transport::{Socket, SourcePort};
use std::process::Command;
use std::time::Duration;

/// So many bytes in which every stretch differs from its neighbours.
pub fn pattern(length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    let next = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(next).collect()
}

/// The user that lab's servers know.
pub fn user() -> Credentials {
    Credentials { user: USER.into(), domain: String::new(), password: PASSWORD.into() }
}

pub fn connect(port: u16) -> Socket {
    plimsoll_transport::connect(
        &[fake::HERE],
        port,
        SourcePort::Any,
        Duration::from_secs(10),
        &plimsoll_transport::SystemClock::no_deadline(),
    )
    .unwrap()
}

pub fn open(port: u16, options: &Options) -> Result<Session, Error> {
    Session::open(connect(port), "127.0.0.1", &user(), options)
}

#[track_caller]
pub fn tree(port: u16, share: &str, options: &Options) -> Tree {
    let session = open(port, options).unwrap();
    session.tree(share).map_err(|(_, error)| error).unwrap()
}

/// A dialect and how its messages are protected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Way {
    pub dialect: Dialect,
    pub signing: Option<SigningAlgorithm>,
    pub cipher: Option<Cipher>,
}

impl Way {
    const fn new(
        dialect: Dialect,
        signing: Option<SigningAlgorithm>,
        cipher: Option<Cipher>,
    ) -> Self {
        Self { dialect, signing, cipher }
    }

    /// Every dialect, bare, with every signing algorithm and with every cipher it has.
    pub const ALL: [Self; 18] = {
        use Cipher::{Aes128Ccm, Aes128Gcm, Aes256Ccm, Aes256Gcm};
        use Dialect::{Smb2_0_2, Smb2_1, Smb3_0, Smb3_0_2, Smb3_1_1};
        use SigningAlgorithm::{AesCmac, AesGmac, HmacSha256};
        [
            Self::new(Smb2_0_2, None, None),
            Self::new(Smb2_0_2, Some(HmacSha256), None),
            Self::new(Smb2_1, None, None),
            Self::new(Smb2_1, Some(HmacSha256), None),
            Self::new(Smb3_0, None, None),
            Self::new(Smb3_0, Some(AesCmac), None),
            Self::new(Smb3_0, None, Some(Aes128Ccm)),
            Self::new(Smb3_0_2, None, None),
            Self::new(Smb3_0_2, Some(AesCmac), None),
            Self::new(Smb3_0_2, None, Some(Aes128Ccm)),
            Self::new(Smb3_1_1, None, None),
            Self::new(Smb3_1_1, Some(HmacSha256), None),
            Self::new(Smb3_1_1, Some(AesCmac), None),
            Self::new(Smb3_1_1, Some(AesGmac), None),
            Self::new(Smb3_1_1, None, Some(Aes128Ccm)),
            Self::new(Smb3_1_1, None, Some(Aes128Gcm)),
            Self::new(Smb3_1_1, None, Some(Aes256Ccm)),
            Self::new(Smb3_1_1, None, Some(Aes256Gcm)),
        ]
    };

    pub fn options(self) -> Options {
        let protection = |asked: bool| if asked { Protection::On } else { Protection::Off };
        let defaults = Options::default();
        Options {
            dialects: vec![self.dialect],
            sign: protection(self.signing.is_some()),
            encrypt: protection(self.cipher.is_some()),
            signing_algorithms: self.signing.map_or(defaults.signing_algorithms, |s| vec![s]),
            ciphers: self.cipher.map_or(defaults.ciphers, |c| vec![c]),
            guests: false,
            call_timeout: Duration::from_secs(30),
        }
    }

    /// Whether a session became what was asked for.
    #[track_caller]
    pub fn check(self, facts: &SessionFacts) {
        assert_eq!(facts.dialect, self.dialect);
        assert_eq!(facts.cipher, self.cipher, "{self:?}");
        if self.cipher.is_none() {
            assert_eq!(facts.signing, self.signing, "{self:?}");
        }
        assert!(!facts.guest);
    }
}

/// Runs smbclient's commands and returns what it said.
#[track_caller]
pub fn smbclient(client: &mut Command, commands: &str) -> String {
    let output = client.args(["-c", commands]).output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success() && !said.contains("NT_STATUS"), "{commands}: {said}");
    said
}
