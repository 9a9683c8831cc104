//! The portmapper, version 2 (RFC 1833, section 3): which port a service listens on.

use crate::Error;
use crate::rpc::{Client, Credential, Program};
use crate::xdr::{self, Decode, Decoder, Encode, Encoder};
use plimsoll_transport::Channel;
use std::time::Duration;

/// The portmapper's own port.
pub const PORT: u16 = 111;
/// Its RPC program.
pub const PROGRAM: Program = Program { number: 100_000, version: 2 };

const GETPORT: u32 = 3;
/// Longest reply taken: a port and headers.
const REPLY_LIMIT: usize = 1024;

/// What a service is reached over, by the numbers of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// TCP.
    Tcp = 6,
    /// UDP.
    Udp = 17,
}

impl Over {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Over::Tcp => "TCP",
            Over::Udp => "UDP",
        }
    }
}

/// What GETPORT is asked: a service, and what it is to be reached over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Query(pub Program, pub Over);

impl Encode for Query {
    fn encode(&self, to: &mut Encoder<'_>) {
        for word in [self.0.number, self.0.version, self.1 as u32, 0] {
            to.u32(word);
        }
    }
}

impl Decode<'_> for Query {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, xdr::Error> {
        let program = Program { number: from.u32()?, version: from.u32()? };
        match (from.u32()?, from.u32()?) {
            (6, _) => Ok(Query(program, Over::Tcp)),
            (17, _) => Ok(Query(program, Over::Udp)),
            (value, _) => Err(xdr::Error::Unknown { what: "TCP or UDP", value }),
        }
    }
}

/// What GETPORT answers: a port, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer(pub Option<u16>);

impl Encode for Answer {
    fn encode(&self, to: &mut Encoder<'_>) {
        to.u32(self.0.unwrap_or(0).into());
    }
}

impl Decode<'_> for Answer {
    fn decode(from: &mut Decoder<'_>) -> Result<Self, xdr::Error> {
        let port = u16::try_from(from.u32()?).map_err(|_| xdr::Error::Invalid("port"))?;
        Ok(Answer((port != 0).then_some(port)))
    }
}

/// Asks the portmapper at the other end of `channel` for a service's port, over the same protocol that
/// the channel is of, waiting for at most `limit`.
pub fn port_of(
    channel: impl Into<Channel>,
    service: Program,
    limit: Duration,
) -> Result<u16, Error> {
    let channel = channel.into();
    let over = match channel {
        Channel::Stream(_) => Over::Tcp,
        Channel::Datagrams(_) => Over::Udp,
    };
    let mut client = Client::new(channel, PROGRAM, &Credential::None, REPLY_LIMIT, limit);
    let Answer(port) = client.call(GETPORT, &Query(service, over))?;
    let Program { number: program, version } = service;
    port.ok_or(Error::NotRegistered { program, version, over: over.name() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xdr::{decode_all, encode_all};
    use proptest::prelude::*;

    #[test]
    fn a_query_is_four_words() {
        let query = Query(Program { number: 100_005, version: 3 }, Over::Tcp);
        assert_eq!(encode_all(&query), [0, 1, 0x86, 0xa5, 0, 0, 0, 3, 0, 0, 0, 6, 0, 0, 0, 0]);
        assert_eq!(decode_all::<Answer>(&[0, 0, 0, 0]), Ok(Answer(None)));
        assert!(decode_all::<Answer>(&[0, 1, 0, 0]).is_err(), "above 65535");
    }

    proptest! {
        #[test]
        fn both_read_back(number: u32, version: u32, port: u16) {
            for over in [Over::Tcp, Over::Udp] {
                let query = Query(Program { number, version }, over);
                prop_assert_eq!(decode_all::<Query>(&encode_all(&query)), Ok(query));
            }
            let answer = Answer((port != 0).then_some(port));
            prop_assert_eq!(decode_all::<Answer>(&encode_all(&answer)), Ok(answer));
        }

        #[test]
        fn any_bytes_are_taken_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..24)) {
            let _ = decode_all::<Query>(&bytes);
            let _ = decode_all::<Answer>(&bytes);
        }
    }
}
