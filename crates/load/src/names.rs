//! Names of hosts, and their addresses.

use plimsoll_model::Deadline;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

/// Addresses of hosts that were found before, for where the system's own resolver does not work:
/// a static program has no name services but the plain ones. Other names are asked for as usual.
#[derive(Clone, Debug, Default)]
pub struct Names(BTreeMap<String, Vec<IpAddr>>);

impl Names {
    /// Takes the addresses of a host; none are as good as not knowing it.
    pub fn know(&mut self, host: &str, addresses: Vec<IpAddr>) {
        if !addresses.is_empty() {
            self.0.insert(host.to_owned(), addresses);
        }
    }

    /// All addresses of a host, found within a time limit.
    pub fn find(
        &self,
        host: &str,
        limit: Duration,
        deadline: &Deadline,
    ) -> Result<Vec<IpAddr>, plimsoll_transport::Error> {
        match self.0.get(host) {
            Some(known) => Ok(known.clone()),
            None => plimsoll_transport::resolve(host, limit, deadline),
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
