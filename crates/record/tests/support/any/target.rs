//! Strategies of targets.

use super::text;
use plimsoll_model::*;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use std::num::NonZeroU8;

pub fn target() -> impl Strategy<Value = Target> {
    let ports = select(vec![SourcePort::Auto, SourcePort::Privileged, SourcePort::Any]);
    let numbers = (any::<Option<u32>>(), any::<Option<u32>>(), any::<Option<u32>>());
    let version = option::of(select(NfsVersion::ALL.to_vec()));
    let transport = option::of(select(vec![NfsTransport::Tcp, NfsTransport::Udp]));
    let means = (ports, version, transport, option::of(any::<NonZeroU8>()));
    let nfs = (text(), text(), any::<(Option<u16>, Option<u16>)>(), numbers, means).prop_map(
        |(host, path, (port, mount_port), (uid, gid, rsize), means)| {
            let (source_port, version, transport, nconnect) = means;
            Target::Nfs(NfsTarget {
                host,
                port,
                path,
                mount_port,
                uid,
                gid,
                rsize,
                wsize: rsize,
                source_port,
                version,
                transport,
                nconnect,
            })
        },
    );
    let directory = text().prop_map(|t| Target::Directory(DirectoryTarget { path: t.into() }));
    prop_oneof![nfs, smb().prop_map(Target::Smb), directory]
}

fn smb() -> impl Strategy<Value = SmbTarget> {
    let protection = select(vec![SmbProtection::Auto, SmbProtection::On, SmbProtection::Off]);
    let dialect = option::of(select(SmbDialect::ALL.to_vec()));
    let optional = || option::of(text());
    let names = (text(), optional(), optional(), text(), text());
    let numbers = (any::<Option<u16>>(), any::<Option<u32>>());
    (names, numbers, dialect, protection, any::<bool>()).prop_map(
        |((host, domain, user, share, path), (port, rsize), dialect, sign, guest_allowed)| {
            let (encrypt, wsize) = (sign, rsize);
            SmbTarget {
                host,
                port,
                domain,
                user,
                share,
                path,
                dialect,
                sign,
                encrypt,
                guest_allowed,
                rsize,
                wsize,
            }
        },
    )
}
