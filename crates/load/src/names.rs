//! Names of hosts, and their addresses.

use plimsoll_model::Deadline;
use plimsoll_transport::Resolver;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// Addresses of hosts: those that were found before, and how others are asked for.
#[derive(Clone, Debug)]
pub struct Names {
    known: BTreeMap<String, Vec<IpAddr>>,
    resolver: Resolver,
}

impl Default for Names {
    fn default() -> Self {
        Names::resolved_by(plimsoll_transport::by_library)
    }
}

impl Names {
    /// Nothing is known yet, and asked for so.
    pub fn resolved_by(resolver: Resolver) -> Names {
        Names { known: BTreeMap::new(), resolver }
    }

    /// Takes the addresses of a host; none are as good as not knowing it.
    pub fn know(&mut self, host: &str, addresses: Vec<IpAddr>) {
        if !addresses.is_empty() {
            self.known.insert(host.to_owned(), addresses);
        }
    }

    /// All addresses of a host, found within a time limit.
    pub fn find(
        &self,
        host: &str,
        limit: Duration,
        deadline: &Deadline,
    ) -> Result<Vec<IpAddr>, plimsoll_transport::Error> {
        match self.known.get(host) {
            Some(known) => Ok(known.clone()),
            None => plimsoll_transport::resolve(host, self.resolver, limit, deadline),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_not_asked_for() {
        let (limit, free) =
            (Duration::from_secs(5), plimsoll_transport::SystemClock::no_deadline());
        let mut names = Names::default();
        names.know("films.invalid", vec![[192, 0, 2, 1].into()]);
        names.know("127.0.0.2", vec![]);
        assert_eq!(
            names.find("films.invalid", limit, &free).unwrap(),
            [IpAddr::from([192, 0, 2, 1])]
        );
        assert_eq!(names.find("127.0.0.2", limit, &free).unwrap(), [IpAddr::from([127, 0, 0, 2])]);
    }
}
