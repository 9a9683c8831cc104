//! The hosts of a study, and the part that each of them has in it.

use crate::HostName;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Part that a host has in a study.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostRole {
    /// It drives trials.
    Client,
    /// It serves storage.
    #[default]
    Server,
    /// It forwards the packets of a path.
    Router,
    /// It is the end of a path that drives no trials.
    Peer,
}

impl HostRole {
    /// Whether it is the one at the other end from the client.
    pub fn is_far_end(self) -> bool {
        matches!(self, HostRole::Server | HostRole::Peer)
    }

    fn is_server(&self) -> bool {
        *self == HostRole::Server
    }
}

/// Monitored host of a study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watched {
    /// How it is reached.
    pub host: HostName,
    /// Part that it has.
    #[serde(default, skip_serializing_if = "HostRole::is_server")]
    pub role: HostRole,
    /// Index of the subject that it has this part for; `None`: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<usize>,
    /// Whether it was derived from the subject's server; it is then monitored only if the
    /// connection works.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub guessed: bool,
}

impl Watched {
    /// A host that was named, with its part for all subjects.
    pub fn new(host: HostName, role: HostRole) -> Watched {
        Watched { host, role, subject: None, guessed: false }
    }

    /// Whether it has its part for this subject.
    pub fn concerns(&self, subject: usize) -> bool {
        self.subject.is_none_or(|own| own == subject)
    }
}

/// The hosts that drive the trials: those that are named, else this machine.
pub(crate) fn clients(named: impl IntoIterator<Item = HostName>) -> Vec<Watched> {
    let mut named: Vec<HostName> = named.into_iter().collect();
    if named.is_empty() {
        named.push(HostName::Local);
    }
    named.into_iter().map(|host| Watched::new(host, HostRole::Client)).collect()
}

/// The hosts of a plan as exports have them: the clients as names, absent where this machine is the only one, and the
/// others with their roles.
#[derive(Serialize, Deserialize)]
struct Exported {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    clients: Vec<HostName>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    hosts: Vec<Watched>,
}

/// Writes the hosts of a plan.
pub(crate) fn serialize<S: Serializer>(
    watched: &[Watched],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let (clients, hosts): (Vec<Watched>, Vec<Watched>) =
        watched.iter().cloned().partition(|one| one.role == HostRole::Client);
    let mut clients: Vec<HostName> = clients.into_iter().map(|client| client.host).collect();
    if clients == [HostName::Local] {
        clients.clear();
    }
    Exported { clients, hosts }.serialize(serializer)
}

/// Reads the hosts of a plan.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Watched>, D::Error> {
    let Exported { clients, hosts } = Exported::deserialize(deserializer)?;
    Ok(self::clients(clients).into_iter().chain(hosts).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Design, Plan};

    fn host(name: &str) -> HostName {
        name.parse().unwrap()
    }

    fn plan(others: &[Watched]) -> Plan {
        let mut plan = Plan::new(Vec::new(), Vec::new(), Design::default());
        plan.watched.extend_from_slice(others);
        plan
    }

    fn read_again(plan: &Plan) -> Plan {
        serde_json::from_str(&serde_json::to_string(plan).unwrap()).unwrap()
    }

    #[test]
    fn hosts_keep_their_roles_in_an_export() {
        let router = Watched {
            subject: Some(0),
            ..Watched::new(host("ssh://root@router"), HostRole::Router)
        };
        let peer = Watched::new(host("ssh://wan"), HostRole::Peer);
        let mut plan = plan(&[peer, router]);
        assert_eq!(read_again(&plan), plan);
        plan.drive_on([host("ssh://lan"), HostName::Local]);
        let again = read_again(&plan);
        assert_eq!(again, plan);
        let roles = again.watched.iter().map(|one| one.role);
        let expected = [HostRole::Client, HostRole::Client, HostRole::Peer, HostRole::Router];
        assert_eq!(roles.collect::<Vec<_>>(), expected);
        assert_eq!(again.router(0), Some(&host("ssh://root@router")));
        assert_eq!(again.router(1), None);
    }

    /// Exports name a role only where it is not that of a server.
    #[test]
    fn hosts_without_a_role_are_servers() {
        let plan = plan(&[Watched::new(host("ssh://nas"), HostRole::Server)]);
        let json = serde_json::to_value(&plan).unwrap();
        assert_eq!(json["hosts"], serde_json::json!([{ "host": "ssh://nas" }]));
        assert_eq!(json.get("clients"), None);
        assert_eq!(read_again(&plan), plan);
    }

    #[test]
    fn trials_are_driven_on_the_hosts_that_are_named_else_on_this_machine() {
        let mut plan = plan(&[Watched::new(host("ssh://nas"), HostRole::Server)]);
        assert!(plan.clients().eq([&HostName::Local]) && !plan.is_remote());
        plan.drive_on([host("ssh://pc"), HostName::Local]);
        assert!(plan.clients().eq([&host("ssh://pc"), &HostName::Local]) && plan.is_remote());
        assert!(plan.is_client(&host("ssh://pc")) && plan.is_client(&HostName::Local));
        plan.drive_on([]);
        assert!(plan.clients().eq([&HostName::Local]) && !plan.is_client(&host("ssh://pc")));
        assert_eq!(plan.others().count(), 1);
    }
}
