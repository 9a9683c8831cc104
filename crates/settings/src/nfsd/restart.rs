//! What the server has to be stopped and started again for. It keeps everything else that it has by
//! then, which may be another setting of the same study.
//!
//! Clients learn the largest block when they mount, and the server drops calls that are larger: what is
//! mounted from it has to be mounted anew. Plimsoll's own clients ask again with each connection.

use super::super::{Found, Knob, Original, kernel_file};
use super::server::{
    BLOCK_SIZES, Server, check_boot, expect_same_boot, is_same_boot, versions_of, words,
};
use super::{MAX_BLOCK_SIZE, VERSIONS};
use plimsoll_model::units::Bytes;
use plimsoll_model::{Cause, Failure, Switch};
use plimsoll_reach::Reach;

/// One part of what the server is.
pub(super) trait Part: Send + Sync {
    const NAME: &'static str;

    /// Changes it; `None` where the level is none.
    fn with(&self, server: Server, level: &str) -> Option<Server>;

    /// Its level.
    fn level(&self, server: &Server) -> String;

    /// What its levels are.
    const LEVELS: &'static str;
}

/// The largest block in bytes.
pub(super) struct MaxBlockSize;

impl Part for MaxBlockSize {
    const NAME: &'static str = MAX_BLOCK_SIZE;
    const LEVELS: &'static str = "it is not a size from 1KiB to 4MiB in whole KiB";

    fn with(&self, server: Server, level: &str) -> Option<Server> {
        let max_block_size = level.parse::<Bytes>().ok()?.0;
        let sound = BLOCK_SIZES.contains(&max_block_size) && max_block_size.is_multiple_of(1024);
        sound.then_some(Server { max_block_size, ..server })
    }

    fn level(&self, server: &Server) -> String {
        server.max_block_size.to_string()
    }
}

/// The versions that it speaks.
pub(super) struct Versions;

impl Part for Versions {
    const NAME: &'static str = VERSIONS;
    const LEVELS: &'static str = "it does not name versions, such as 3, 4.2 or 3+4.0+4.1+4.2";

    fn with(&self, server: Server, level: &str) -> Option<Server> {
        Some(Server { versions: versions_of(level)?, ..server })
    }

    fn level(&self, server: &Server) -> String {
        words(&server.versions)
    }
}

/// A part that takes a restart.
pub(super) struct Restart<P>(pub P);

impl<P: Part> Restart<P> {
    /// The server with this level in place of what it has.
    fn with(&self, server: Server, level: &str) -> Server {
        self.0.with(server.clone(), level).unwrap_or(server)
    }

    fn expect(&self, host: &dyn Reach, wanted: &Server) -> Result<(), Failure> {
        let now = Server::read(host)?;
        if now == *wanted {
            return Ok(());
        }
        let tried = format!("set {}", P::NAME);
        let (now, wanted) = (now.differing(wanted), wanted.differing(&now));
        let happened = format!("the server has {now}, not {wanted}");
        let next = "Check /etc/nfs.conf on the host, which may set another value.";
        Err(Failure::new(Cause::Trial, tried).on(host.name()).happened(happened).next(next))
    }

    /// Starts the server so, unless it is so already.
    fn start(&self, host: &dyn Reach, now: &Server, wanted: &Server) -> Result<(), Failure> {
        if now == wanted {
            return Server::expect_startable(host);
        }
        wanted.start(host)?;
        self.expect(host, wanted)
    }
}

impl Server {
    /// What is not the same in another one.
    fn differing(&self, other: &Server) -> String {
        let [own, others] = [self, other].map(|server| {
            [
                format!("{} threads", server.threads),
                format!("block size {} bytes", server.max_block_size),
                format!("versions {}", words(&server.versions)),
                format!("ports {}", server.ports.join(", ")),
            ]
        });
        let pairs = own.into_iter().zip(others);
        let differing: Vec<String> =
            pairs.filter(|(own, other)| own != other).map(|(own, _)| own).collect();
        differing.join(", ")
    }
}

impl<P: Part> Knob for Restart<P> {
    fn name(&self) -> String {
        P::NAME.to_owned()
    }

    fn switch(&self) -> Switch {
        Switch::Restart
    }

    fn check(&self, level: &str) -> Result<(), String> {
        let any =
            Server { threads: 1, max_block_size: 1024, versions: ["3"].into(), ports: Vec::new() };
        self.0.with(any, level).map(drop).ok_or_else(|| P::LEVELS.to_owned())
    }

    fn check_original(&self, original: &Original) -> Result<(), String> {
        let server = Server::from_original(original).filter(|server| server.threads > 0);
        server.ok_or("it is not a server that can be started")?;
        check_boot(original)
    }

    fn read(&self, host: &dyn Reach) -> Result<Found, Failure> {
        let server = Server::running(host)?;
        let original = server.to_original(&kernel_file::boot(host)?);
        Ok(Found { level: self.0.level(&server), original })
    }

    fn apply(&self, host: &dyn Reach, original: &Original, level: &str) -> Result<(), Failure> {
        expect_same_boot(host, P::NAME, original)?;
        let now = Server::running(host)?;
        let wanted = self.with(now.clone(), level);
        self.start(host, &now, &wanted)
    }

    fn verify(&self, host: &dyn Reach, level: &str) -> Result<(), Failure> {
        let now = Server::running(host)?;
        let wanted = self.with(now, level);
        self.expect(host, &wanted)
    }

    /// One that a killed run has stopped is started as it was found; else the part alone is put back.
    fn undo(&self, host: &dyn Reach, original: &Original) -> Result<(), Failure> {
        let Some(found) = Server::from_original(original) else { return Ok(()) };
        if !is_same_boot(host, original)? {
            return Ok(());
        }
        let now = Server::read(host)?;
        let wanted = match now.threads {
            0 => found,
            _ => self.with(now.clone(), &self.0.level(&found)),
        };
        self.start(host, &now, &wanted)
    }

    fn is_as_found(&self, original: &Original, now: &Original) -> bool {
        let part = |of: &Original| Server::from_original(of).map(|server| self.0.level(&server));
        part(original) == part(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels() {
        let [size, versions]: [&dyn Knob; 2] = [&Restart(MaxBlockSize), &Restart(Versions)];
        for level in ["16384", "16KiB", "1MiB"] {
            size.check(level).unwrap();
        }
        for level in ["", "0", "1000", "16385", "8MiB", "-1", "16KiB;id"] {
            assert!(size.check(level).is_err(), "{level}");
        }
        for level in ["3", "4.2", "3+4.2", "4.2+3"] {
            versions.check(level).unwrap();
        }
        for level in ["", "2", "4", "3+", "3+3", "3,4.2", "3 4.2"] {
            assert!(versions.check(level).is_err(), "{level}");
        }
    }
}
