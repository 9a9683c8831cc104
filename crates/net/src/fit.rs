//! Frames and payloads that fit into the packets of a path. Pure: no input or output.

use crate::order::LEAST_PAYLOAD;
use plimsoll_model::units::Bytes;
use plimsoll_model::{DatagramsJob, Flag, ForwardingJob};
use std::net::IpAddr;

/// Makes a frame as short as a path with packets of so many bytes needs; a flag if it was longer.
pub(crate) fn frame(job: &mut ForwardingJob, mtu: u64) -> Option<Flag> {
    let (wanted, longest) = (job.longest(), Bytes(mtu + ForwardingJob::AROUND_PACKET));
    (wanted > longest).then(|| {
        *job = job.capped(longest);
        Flag::FrameCapped { wanted, used: longest, path_mtu: Bytes(mtu) }
    })
}

/// The same of a payload to such an address.
pub(crate) fn payload(job: &mut DatagramsJob, mtu: u64, address: IpAddr) -> Option<Flag> {
    let longest = Bytes(mtu.saturating_sub(udp_headers(address)).max(LEAST_PAYLOAD));
    let wanted = job.payload;
    (wanted > longest).then(|| {
        job.payload = longest;
        Flag::PayloadCapped { wanted, used: longest, path_mtu: Bytes(mtu) }
    })
}

/// Bytes of the headers of a datagram in a packet to such an address.
pub(crate) fn udp_headers(address: IpAddr) -> u64 {
    match address.is_ipv6() {
        true => ForwardingJob::IPV6_UDP_HEADERS,
        false => ForwardingJob::IPV4_UDP_HEADERS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Flow;

    #[test]
    fn what_is_too_long_is_made_to_fit() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let mut job = DatagramsJob::new(Flow::Out);
        assert_eq!(payload(&mut job, 1500, address("10.0.0.1")), None);
        for (to, used) in [("10.0.0.1", 1252), ("fd00::1", 1232)] {
            let mut job = DatagramsJob::new(Flow::Out);
            let (wanted, used, path_mtu) = (job.payload, Bytes(used), Bytes(1280));
            let capped = Flag::PayloadCapped { wanted, used, path_mtu };
            assert_eq!(payload(&mut job, 1280, address(to)), Some(capped));
            assert_eq!(job.payload, used);
        }
        payload(&mut job, 0, address("10.0.0.1"));
        assert_eq!(job.payload, Bytes(LEAST_PAYLOAD));
        let mut job = ForwardingJob::new(Flow::Out, Bytes(1518));
        assert_eq!(frame(&mut job, 1500), None);
        assert!(matches!(frame(&mut job, 1280), Some(Flag::FrameCapped { .. })));
        assert_eq!(job.longest(), Bytes(1298));
    }
}
