//! Where a share is, once found: all that is needed to connect to it again.

use super::failures::{Caller, Service, failure};
use crate::connection::TimeLimits;
use crate::oddities::Oddities;
use crate::wire::TransferSizes;
use plimsoll_model::{Deadline, Failure, NfsTarget, NfsTransport};
use plimsoll_nfs::Version;
use plimsoll_nfs::nfs3::Client;
use plimsoll_nfs::rpc::{AuthSys, Credential};
use plimsoll_transport::{Channel, DatagramSocket, Socket, SourcePort};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The server, and who calls it.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// The target as the user wrote it.
    pub given: String,
    /// What that names.
    pub target: NfsTarget,
    pub addresses: Vec<IpAddr>,
    /// Port of the NFS service.
    pub port: u16,
    pub user: AuthSys,
    pub source_port: SourcePort,
    /// The version that is spoken.
    pub version: Version,
    /// What it is spoken over.
    pub transport: NfsTransport,
    pub limits: TimeLimits,
    /// Until when everything may go on.
    pub deadline: Deadline,
    pub oddities: Arc<Oddities>,
    pub largest: Arc<Largest>,
}

/// Longest READ and WRITE that a server takes: any, until it has said which.
#[derive(Debug)]
pub(crate) struct Largest(Mutex<TransferSizes>);

impl Default for Largest {
    fn default() -> Self {
        Largest(Mutex::new(TransferSizes { read: u32::MAX, write: u32::MAX }))
    }
}

impl Largest {
    fn sizes(&self) -> MutexGuard<'_, TransferSizes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The server takes these: connections that are made from now on keep to them.
    pub fn note(&self, sizes: TransferSizes) {
        *self.sizes() = sizes;
    }

    /// What it takes.
    pub fn get(&self) -> TransferSizes {
        *self.sizes()
    }
}

impl Site {
    /// Who calls over a connection, or would over one that could not be made.
    pub fn caller(&self, socket: Option<&Channel>) -> Caller {
        let privileged = socket.is_some_and(Channel::is_privileged);
        Caller { uid: self.user.uid(), gid: self.user.gid(), privileged }
    }

    /// A failure of a service, for what was tried.
    pub fn failure(
        &self,
        tried: impl Into<String>,
        service: Service,
        socket: Option<&Channel>,
        error: &plimsoll_nfs::Error,
    ) -> Failure {
        failure(tried, &self.given, service, self.caller(socket), error)
    }

    /// The end of one operation that begins now, however many calls it takes.
    pub fn operation(&self) -> Deadline {
        self.deadline.within(self.limits.call)
    }

    /// A new connection to one of the server's services, or a socket for datagrams to it.
    pub fn connect(&self, service: Service, port: u16) -> Result<Channel, Failure> {
        match self.transport {
            NfsTransport::Tcp => self.stream(service, port).map(Channel::from),
            NfsTransport::Udp => self.datagrams(service, port).map(Channel::from),
        }
    }

    /// The same over TCP, whatever the target's transport.
    pub fn stream(&self, service: Service, port: u16) -> Result<Socket, Failure> {
        self.try_stream(service, port).map_err(|error| self.not_connected(service, port, error))
    }

    /// The same, with what went wrong as the transport has it.
    pub fn try_stream(
        &self,
        service: Service,
        port: u16,
    ) -> Result<Socket, plimsoll_transport::Error> {
        let (from, limit) = (self.from(service), self.limits.connect);
        plimsoll_transport::connect(&self.addresses, port, from, limit, &self.deadline)
    }

    /// The same over UDP.
    pub fn datagrams(&self, service: Service, port: u16) -> Result<DatagramSocket, Failure> {
        DatagramSocket::connect(&self.addresses, port, self.from(service), &self.deadline)
            .map_err(|error| self.not_connected(service, port, error))
    }

    /// The portmapper serves every caller: no scarce port for it.
    fn from(&self, service: Service) -> SourcePort {
        match service {
            Service::Portmapper => SourcePort::Any,
            _ => self.source_port,
        }
    }

    /// A failure of connecting to a service.
    pub fn not_connected(
        &self,
        service: Service,
        port: u16,
        error: plimsoll_transport::Error,
    ) -> Failure {
        let tried = format!("connect to the {service} (port {port})");
        self.failure(tried, service, None, &error.into())
    }

    /// Who calls, as sent with every call.
    pub fn credential(&self) -> Credential {
        Credential::Sys(self.user.clone())
    }

    /// A new connection for the cold path.
    pub fn client(&self) -> Result<Client, Failure> {
        let socket = self.connect(Service::Nfs, self.port)?;
        let credential = self.credential();
        let mut client = Client::of_version(self.version, socket, &credential, self.limits.call);
        let TransferSizes { read, write } = self.largest.get();
        client.limit_transfers(read, write);
        Ok(client)
    }
}
