//! What a Samba shall share, and its configuration file.

use std::fmt::Write;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// Where shared directories lie on a stage.
const ROOT: &str = "/run/share";

/// A server: its shares, its users and what it insists on.
#[derive(Clone, Debug)]
pub struct SambaConfig {
    /// What it shares.
    pub shares: Vec<SambaShare>,
    /// Who may come; [`USER`] unless changed.
    pub users: Vec<User>,
    /// Port of SMB. Not 445 by default, so that servers on one stage may differ.
    pub port: u16,
    /// Oldest and newest dialect; all from 2.0.2 on unless changed.
    pub dialects: RangeInclusive<Dialect>,
    /// Whether clients must sign.
    pub signing: Signing,
    /// Whether users unknown to the server become guests (`map to guest = Bad User`). Those with
    /// a wrong password never do.
    pub guests: bool,
    /// Further lines of the `[global]` section, as in smb.conf(5).
    pub lines: Vec<String>,
}

/// The user of a server that names no other.
pub const USER: &str = "tester";
/// That user's password.
pub const PASSWORD: &str = "open sesame";

/// Somebody who may log in.
#[derive(Clone, Debug)]
pub struct User {
    /// Name; the account is made on the stage if the machine has none of that name.
    pub name: String,
    /// Password.
    pub password: String,
}

/// A dialect of SMB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "the names say it")]
pub enum Dialect {
    V2_0_2,
    V2_1,
    V3_0,
    V3_0_2,
    V3_1_1,
}

impl Dialect {
    fn name(self) -> &'static str {
        match self {
            Self::V2_0_2 => "SMB2_02",
            Self::V2_1 => "SMB2_10",
            Self::V3_0 => "SMB3_00",
            Self::V3_0_2 => "SMB3_02",
            Self::V3_1_1 => "SMB3_11",
        }
    }
}

/// What the server wants of signing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signing {
    /// It signs with clients that want to.
    Auto,
    /// Every client must.
    Mandatory,
    /// It says that it would rather not, and still signs with clients that insist.
    Disabled,
}

/// What a share wants of encryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encryption {
    /// None, even for clients that can.
    Off,
    /// It encrypts with clients that ask for it.
    IfAsked,
    /// It asks clients that can.
    Desired,
    /// It lets no client in that cannot.
    Required,
}

/// Where the files of a share are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A directory on a tmpfs of its own of so many bytes.
    Own {
        /// Size of the tmpfs in bytes.
        bytes: u64,
    },
    /// A directory that exists, for instance one that an NFS server exports too.
    Existing(PathBuf),
}

/// One share.
#[derive(Clone, Debug)]
pub struct SambaShare {
    /// Its name; spaces and letters of any script are welcome.
    pub name: String,
    /// Where its files are.
    pub place: Place,
    /// What it wants of encryption; [`Encryption::IfAsked`] unless changed.
    pub encryption: Encryption,
    /// Whether clients may only read; not unless changed.
    pub read_only: bool,
    /// Whether guests are let in; not unless changed.
    pub guest_ok: bool,
    /// Further lines of its section, as in smb.conf(5).
    pub lines: Vec<String>,
}

impl SambaShare {
    /// A directory of at most 4 GiB, read-write, for users.
    pub fn new(name: &str) -> Self {
        Self::at(name, Place::Own { bytes: 4 << 30 })
    }

    /// A directory that exists, read-write, for users.
    pub fn existing(name: &str, directory: impl Into<PathBuf>) -> Self {
        Self::at(name, Place::Existing(directory.into()))
    }

    fn at(name: &str, place: Place) -> Self {
        Self {
            name: name.into(),
            place,
            encryption: Encryption::IfAsked,
            read_only: false,
            guest_ok: false,
            lines: Vec::new(),
        }
    }

    /// Gives it a directory of its own of another size in bytes: the full disk of tests.
    pub fn size(mut self, bytes: u64) -> Self {
        self.place = Place::Own { bytes };
        self
    }

    /// What it wants of encryption.
    pub fn encryption(mut self, encryption: Encryption) -> Self {
        self.encryption = encryption;
        self
    }

    /// Clients may only read.
    pub fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// Guests are let in.
    pub fn guest_ok(mut self) -> Self {
        self.guest_ok = true;
        self
    }

    /// A further line of its section, as in smb.conf(5).
    pub fn line(mut self, line: &str) -> Self {
        self.lines.push(line.into());
        self
    }

    /// Where its files lie.
    pub fn path(&self) -> PathBuf {
        match &self.place {
            Place::Own { .. } => Path::new(ROOT).join(&self.name),
            Place::Existing(path) => path.clone(),
        }
    }

    fn text(&self) -> String {
        let encryption = match self.encryption {
            Encryption::Off => "off",
            Encryption::IfAsked => "if_required",
            Encryption::Desired => "desired",
            Encryption::Required => "required",
        };
        let mut text = format!(
            "[{}]\n  path = {}\n  read only = {}\n  guest ok = {}\n  smb encrypt = {encryption}\n",
            self.name,
            self.path().display(),
            yes_or_no(self.read_only),
            yes_or_no(self.guest_ok),
        );
        for line in &self.lines {
            let _ = writeln!(text, "  {line}");
        }
        text
    }
}

impl SambaConfig {
    /// These shares on port 20445, for [`USER`] with [`PASSWORD`], every dialect, no guests.
    pub fn new(shares: impl IntoIterator<Item = SambaShare>) -> Self {
        Self {
            shares: shares.into_iter().collect(),
            users: vec![User { name: USER.into(), password: PASSWORD.into() }],
            port: 20445,
            dialects: Dialect::V2_0_2..=Dialect::V3_1_1,
            signing: Signing::Auto,
            guests: false,
            lines: Vec::new(),
        }
    }

    /// A single share.
    pub fn one(share: SambaShare) -> Self {
        Self::new([share])
    }

    /// Another port.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// A further user. The first one is who comes in the URLs.
    pub fn user(mut self, name: &str, password: &str) -> Self {
        self.users.push(User { name: name.into(), password: password.into() });
        self
    }

    /// Oldest and newest dialect.
    pub fn dialects(mut self, dialects: RangeInclusive<Dialect>) -> Self {
        self.dialects = dialects;
        self
    }

    /// Whether clients must sign.
    pub fn signing(mut self, signing: Signing) -> Self {
        self.signing = signing;
        self
    }

    /// Unknown users become guests.
    pub fn guests(mut self) -> Self {
        self.guests = true;
        self
    }

    /// A further line of the `[global]` section, as in smb.conf(5).
    pub fn line(mut self, line: &str) -> Self {
        self.lines.push(line.into());
        self
    }

    /// The configuration file; `directory` is where the server keeps its own things.
    pub(super) fn text(&self, directory: &Path) -> String {
        let signing = match self.signing {
            Signing::Auto => "auto",
            Signing::Mandatory => "mandatory",
            Signing::Disabled => "disabled",
        };
        // The names of machine and workgroup must differ.
        let mut text = format!(
            "[global]
  server role = standalone server
  workgroup = STAGE
  netbios name = LAB
  interfaces = 127.0.0.1
  bind interfaces only = yes
  smb ports = {port}
  disable netbios = yes
  private dir = {own}/private
  state directory = {own}/state
  cache directory = {own}/cache
  lock directory = {own}/lock
  pid directory = {own}/pid
  ncalrpc dir = {own}/ncalrpc
  log file = {own}/smbd.log
  max log size = 0
  passdb backend = tdbsam:{own}/private/passdb.tdb
  load printers = no
  printing = bsd
  printcap name = /dev/null
  disable spoolss = yes
  server min protocol = {oldest}
  server max protocol = {newest}
  server signing = {signing}
  map to guest = {guests}
",
            port = self.port,
            own = directory.display(),
            oldest = self.dialects.start().name(),
            newest = self.dialects.end().name(),
            guests = if self.guests { "Bad User" } else { "Never" },
        );
        for line in &self.lines {
            let _ = writeln!(text, "  {line}");
        }
        for share in &self.shares {
            text.push_str(&share.text());
        }
        text
    }
}

fn yes_or_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}
