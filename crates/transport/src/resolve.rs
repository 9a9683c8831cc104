//! Names of hosts.

use crate::{Deadline, Error, Over};
use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

/// How the addresses of a name are found.
pub type Resolver = fn(&str) -> io::Result<Vec<IpAddr>>;

/// All addresses of a host, found within `limit`. The thread that asks is left behind if the name
/// service does not answer: the system offers no way to stop it.
pub fn resolve(
    host: &str,
    resolver: Resolver,
    limit: Duration,
    deadline: &Deadline,
) -> Result<Vec<IpAddr>, Error> {
    if let Ok(address) = host.parse() {
        return Ok(vec![address]);
    }
    let (answer, answers) = mpsc::channel();
    let name = host.to_owned();
    let unknown = |detail: String| Error::UnknownHost { host: host.to_owned(), detail };
    std::thread::Builder::new()
        .name("resolve".into())
        .spawn(move || {
            let _ = answer.send(resolver(&name));
        })
        .map_err(|e| unknown(e.to_string()))?;
    let end = deadline.within(limit);
    loop {
        let slice = end.slice().map_err(|over| match over {
            Over::Stopped => Error::Stopped,
            Over::Whole => Error::OutOfTime,
            Over::Step(after) => Error::ResolveTimedOut { host: host.to_owned(), after },
        })?;
        match answers.recv_timeout(slice) {
            Ok(Ok(all)) if !all.is_empty() => return Ok(all),
            Ok(Ok(_)) => return Err(unknown("it has no address".into())),
            Ok(Err(e)) => return Err(unknown(e.to_string())),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(unknown("the name service failed".into()));
            }
        }
    }
}

/// What this program's C library finds.
pub fn by_library(name: &str) -> io::Result<Vec<IpAddr>> {
    let mut all: Vec<IpAddr> = (name, 0).to_socket_addrs()?.map(|found| found.ip()).collect();
    all.dedup();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SystemClock;
    use std::net::Ipv6Addr;

    const LIMIT: Duration = Duration::from_secs(5);

    #[test]
    fn addresses_need_no_name_service() {
        let resolve = |host| resolve(host, by_library, LIMIT, &SystemClock::no_deadline());
        assert_eq!(resolve("127.0.0.1").unwrap(), [IpAddr::from([127, 0, 0, 1])]);
        assert_eq!(resolve("::1").unwrap(), [IpAddr::V6(Ipv6Addr::LOCALHOST)]);
        assert!(matches!(
            resolve("no-such-host.invalid"),
            Err(Error::UnknownHost { .. } | Error::ResolveTimedOut { .. })
        ));
    }

    #[test]
    fn a_request_to_stop_ends_it() {
        let deadline = SystemClock::no_deadline();
        deadline.stop().store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(
            resolve("no-such-host.invalid", by_library, LIMIT, &deadline),
            Err(Error::Stopped)
        );
    }
}
