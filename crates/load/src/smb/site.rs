//! Where a share is, and who uses it: all that is needed to connect to it again.

use super::failures::{self, Step, failure};
use crate::advice::{name_one, readable};
use crate::connection::TimeLimits;
use crate::oddities::Oddities;
use crate::open_options::OpenOptions;
use plimsoll_model::{Cause, Deadline, Failure, SmbDialect, SmbProtection, SmbTarget, Target};
use plimsoll_smb::{Credentials, Dialect, NtStatus, Options, Protection, Session, Tree};
use plimsoll_transport::{Socket, SourcePort};
use std::net::IpAddr;
use std::sync::Arc;

/// The port of SMB over TCP (MS-SMB2, section 1.9).
const PORT: u16 = 445;

/// The server, the share, and who uses it.
#[derive(Clone, Debug)]
pub(super) struct Site {
    /// The target as the user wrote it.
    pub given: String,
    pub target: SmbTarget,
    addresses: Vec<IpAddr>,
    pub port: u16,
    credentials: Credentials,
    options: Options,
    limits: TimeLimits,
    /// Until when everything may go on.
    pub deadline: Deadline,
    pub oddities: Arc<Oddities>,
}

impl Site {
    /// The end of one operation that begins now, however many calls it takes.
    pub fn operation(&self) -> Deadline {
        self.deadline.within(self.limits.call)
    }

    /// Finds the host, sees that it can be reached, and only then asks for the password.
    pub fn find(target: &SmbTarget, given: &str, open: &OpenOptions) -> Result<Self, Failure> {
        let limits = open.limits;
        let mut site = Site {
            given: given.to_owned(),
            target: target.clone(),
            addresses: Vec::new(),
            port: target.port.unwrap_or(PORT),
            credentials: Credentials::guest(),
            options: options(target, limits),
            limits,
            deadline: open.deadline.clone(),
            oddities: Arc::default(),
        };
        site.addresses = open
            .names
            .find(&target.host, limits.connect, &site.deadline)
            .map_err(|e| site.failure("look up the host", Step::Reach, &e.into()))?;
        if let Some(user) = &target.user {
            // Typing a password takes longer than servers wait for the first word.
            drop(site.connect()?);
            site.credentials = Credentials {
                user: user.clone(),
                domain: target.domain.clone().unwrap_or_default(),
                password: open.passwords.find(target)?,
            };
        }
        Ok(site)
    }

    /// A failure, for what was tried.
    pub fn failure(
        &self,
        tried: impl Into<String>,
        step: Step,
        error: &plimsoll_smb::Error,
    ) -> Failure {
        failure(tried, self, step, error)
    }

    fn connect(&self) -> Result<Socket, Failure> {
        let (from, limit) = (SourcePort::Any, self.limits.connect);
        plimsoll_transport::connect(&self.addresses, self.port, from, limit, &self.deadline)
            .map_err(|e| {
                let tried = format!("connect to the SMB service (port {})", self.port);
                self.failure(tried, Step::Reach, &e.into())
            })
    }

    /// Logs in over a new connection: once, so that a wrong password locks nobody out.
    fn session(&self) -> Result<Session, Failure> {
        let mut socket = self.connect()?;
        socket.set_deadline(self.operation());
        Session::open(socket, &self.target.host, &self.credentials, &self.options)
            .map_err(|e| self.failure(format!("log in as {}", self.target.who()), Step::LogIn, &e))
    }

    /// The share, over a new connection.
    pub fn tree(&self) -> Result<Tree, Failure> {
        let mut session = self.session()?;
        if self.target.share.is_empty() {
            let next = self.name_a_share(shares(&mut session));
            let happened = "the URL names no share";
            return Err(Failure::new(Cause::Usage, "open the share")
                .on(&self.given)
                .happened(happened)
                .next(next));
        }
        let guest = session.facts().guest;
        let tree = session.tree(&self.target.share).map_err(|(mut session, error)| {
            let mut failure = self.failure("open the share", Step::Share { guest }, &error);
            if error.status() == Some(NtStatus::BAD_NETWORK_NAME) || error.is_not_there() {
                let listed = shares(&mut session);
                let wanted = self.target.share.to_lowercase();
                let there = |names: &[String]| names.iter().any(|n| n.to_lowercase() == wanted);
                // A share that the server lists is there: what it needs is not.
                (failure.happened, failure.next) = match listed.as_deref().is_some_and(there) {
                    true => {
                        let happened =
                            format!("the server lists the share but cannot open it ({error})");
                        (happened, failures::NOT_OPENED.to_owned())
                    }
                    false => (format!("no such share ({error})"), self.name_a_share(listed)),
                };
            }
            failure
        });
        tree.map(|mut tree| {
            tree.set_deadline(self.deadline.clone());
            tree
        })
    }

    /// What to do where the share is wrong: the URLs of those that there are; `None`: the server does not
    /// list them.
    fn name_a_share(&self, shares: Option<Vec<String>>) -> String {
        let Some(shares) = shares else { return failures::UNLISTED.to_owned() };
        let url = |share: String| {
            let named = SmbTarget { share, path: String::new(), ..self.target.clone() };
            readable(Target::Smb(named))
        };
        let urls: Vec<_> = shares.into_iter().filter_map(url).collect();
        match urls.is_empty() {
            true => "The server lists no shares: create one on the server.".to_owned(),
            false => name_one("the server's shares", &urls),
        }
    }

    /// A path below the target, as a path below the share.
    pub fn path(&self, below: &str) -> String {
        match (&*self.target.path, below) {
            (base, "") => base.to_owned(),
            ("", below) => below.to_owned(),
            (base, below) => format!("{base}/{below}"),
        }
    }
}

fn options(target: &SmbTarget, limits: TimeLimits) -> Options {
    let dialect = |d: SmbDialect| match d {
        SmbDialect::Smb2_0_2 => Dialect::Smb2_0_2,
        SmbDialect::Smb2_1 => Dialect::Smb2_1,
        SmbDialect::Smb3_0 => Dialect::Smb3_0,
        SmbDialect::Smb3_0_2 => Dialect::Smb3_0_2,
        SmbDialect::Smb3_1_1 => Dialect::Smb3_1_1,
    };
    let protection = |p: SmbProtection| match p {
        SmbProtection::Auto => Protection::Auto,
        SmbProtection::On => Protection::On,
        SmbProtection::Off => Protection::Off,
    };
    let usual = Options::default();
    Options {
        dialects: target.dialect.map_or(usual.dialects.clone(), |d| vec![dialect(d)]),
        sign: protection(target.sign),
        encrypt: protection(target.encrypt),
        guests: target.guest_allowed,
        call_timeout: limits.call,
        ..usual
    }
}

/// The names of the server's shares of files, those of administrators last; `None`: it does not list them.
fn shares(session: &mut Session) -> Option<Vec<String>> {
    let shares = session.shares().ok()?;
    let mut names: Vec<String> = shares
        .iter()
        .filter(|share| share.kind == plimsoll_smb::ShareKind::Files)
        .map(|share| share.name.clone())
        .collect();
    names.sort_by_key(|name| name.ends_with('$'));
    Some(names)
}
