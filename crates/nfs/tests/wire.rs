//! What goes over the wire in every version and over every transport, as somebody else's decoder sees it: no
//! message is malformed, in either direction, and every call is answered.

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "support/session4.rs"]
mod session4;

use plimsoll_nfs::nfs3::{Client, CreateHow, Name, SetAttributes, Stability};
use plimsoll_nfs::rpc::{AuthSys, Credential};
use plimsoll_nfs::{Version, mount};
use plimsoll_testkit::Need;
use plimsoll_testkit::capture::{Capture, decode};
use plimsoll_testkit::servers::{Export, Ganesha, GaneshaConfig, Nfs2Server};
use plimsoll_transport::{Channel, DatagramSocket, SourcePort, SystemClock};
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(60);
const EXPORT: &str = "/run/export/data";
const DESTROY_SESSION: u32 = 44;
/// tshark's measure of an error among its expert notes.
const ERROR: &str = "8388608";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Over {
    Tcp,
    Udp,
}

fn channel(to: SocketAddr, over: Over) -> Channel {
    let (addresses, free) = ([to.ip()], SystemClock::no_deadline());
    match over {
        Over::Tcp => {
            let (port, any) = (to.port(), SourcePort::Any);
            plimsoll_transport::connect(&addresses, port, any, LIMIT, &free).unwrap().into()
        }
        Over::Udp => {
            DatagramSocket::connect(&addresses, to.port(), SourcePort::Any, &free).unwrap().into()
        }
    }
}

fn name(text: &str) -> Name<'_> {
    Name::new(text).unwrap()
}

/// Every call that version 2 or 3 has.
fn traffic(version: Version, over: Over, [mount, nfs]: [SocketAddr; 2], export: &str) {
    let credential = Credential::Sys(AuthSys::new("client", 0, 0, &[0, 7]));
    let path = mount::Path::new(export).unwrap();
    let mut mounting = mount::Client::of_version(version, channel(mount, over), &credential, LIMIT);
    mounting.exports().unwrap();
    let root = mounting.mount(path).unwrap();
    let mut client = Client::of_version(version, channel(nfs, over), &credential, LIMIT);
    let plain = SetAttributes { mode: Some(0o644), ..SetAttributes::default() };
    client.null().unwrap();
    client.attributes(root).unwrap();
    client.information(root).unwrap();
    client.space(root).unwrap();
    if version == Version::V3 {
        client.access(root, 0x3f).unwrap();
    }
    assert!(client.lookup(root, name("none")).is_err());
    let directory = client.make_directory(root, name("Größe"), 0o755).unwrap();
    let file = client.create(directory, name("file"), CreateHow::Guarded(plain)).unwrap();
    let bytes = vec![7; 7001];
    for stability in [Stability::Unstable, Stability::DataSync, Stability::FileSync] {
        client.write(file, 0, stability, &bytes).unwrap();
    }
    client.commit(file).unwrap();
    assert_eq!(client.read(file, 0, 8000).unwrap().0, bytes);
    client.set_size(file, 10).unwrap();
    for number in 0..150 {
        let long = format!("a rather long name of a file {number}");
        client.create(directory, name(&long), CreateHow::Unchecked(plain)).unwrap();
    }
    assert_eq!(client.list(directory).unwrap().len(), 151, "of several pages");
    for number in 0..150 {
        client.remove(directory, name(&format!("a rather long name of a file {number}"))).unwrap();
    }
    client.remove(directory, name("file")).unwrap();
    client.remove_directory(root, name("Größe")).unwrap();
    mounting.unmount(path).unwrap();
}

#[test]
fn tshark_finds_every_message_of_every_version_well_formed() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Ganesha, Need::Tshark);
    let config = GaneshaConfig::one(Export::directory("data")).udp();
    let server = Ganesha::start(&stage, config).unwrap();
    let old = Nfs2Server::start().unwrap();
    let here = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let new = [here(server.mount_port()), here(server.nfs_port())];
    let ports = [server.mount_port(), server.nfs_port(), old.address().port()];
    let filter = ports.map(|port| format!("port {port}")).join(" or ");
    let capture = Capture::start(&filter, "/run/nfs.pcapng");
    for over in [Over::Tcp, Over::Udp] {
        traffic(Version::V2, over, [old.address(); 2], "/export");
        traffic(Version::V3, over, new, EXPORT);
    }
    let account = session4::run(new[1], EXPORT, LIMIT);
    assert_eq!(account.failed(), [""; 0]);
    let capture = capture.stop();

    let ways: Vec<String> = ports
        .iter()
        .flat_map(|port| [format!("tcp.port=={port},rpc"), format!("udp.port=={port},rpc")])
        .collect();
    let settings: Vec<&str> = ways.iter().flat_map(|way| ["-d", way]).collect();
    let fields = [
        "rpc.msgtyp",
        "nfs.procedure_v2",
        "nfs.procedure_v3",
        "nfs.opcode",
        "udp.srcport",
        "_ws.malformed",
        "_ws.expert.severity",
        "_ws.expert.message",
    ];
    let rows = decode(&capture, &settings, "rpc", &fields);
    for row in &rows {
        let broken = !row[5].is_empty() || row[6].split(',').any(|severity| severity == ERROR);
        assert!(!broken, "{row:?}");
    }
    let numbers = |field: usize, over: Option<Over>| {
        let same = rows
            .iter()
            .filter(|row| over.is_none_or(|over| row[4].is_empty() == (over == Over::Tcp)));
        let values = same.flat_map(|row| row[field].split(','));
        values.filter_map(|number| number.parse::<u32>().ok()).collect::<Vec<u32>>()
    };
    let types = numbers(0, None);
    let [calls, replies] = [0, 1].map(|kind| types.iter().filter(|found| **found == kind).count());
    // The end of a session is not waited for.
    let ends = numbers(3, None).iter().filter(|operation| **operation == DESTROY_SESSION).count();
    assert!((calls - ends..=calls).contains(&replies), "{calls} calls, {replies} replies");
    let expect_all = |field, over, wanted: &[u32]| {
        let found: BTreeSet<u32> = numbers(field, over).into_iter().collect();
        let missing: Vec<_> = wanted.iter().filter(|number| !found.contains(number)).collect();
        assert!(missing.is_empty(), "{field}: {missing:?} are missing in {found:?}");
    };
    for over in [Over::Tcp, Over::Udp].map(Some) {
        // GETATTR, SETATTR, LOOKUP, READ, WRITE, CREATE, REMOVE, MKDIR, RMDIR, READDIR, STATFS.
        expect_all(1, over, &[0, 1, 2, 4, 6, 8, 9, 10, 14, 15, 16, 17]);
        // GETATTR, SETATTR, LOOKUP, ACCESS, READ, WRITE, CREATE, MKDIR, REMOVE, RMDIR, READDIRPLUS, FSSTAT,
        // FSINFO, COMMIT.
        expect_all(2, over, &[0, 1, 2, 3, 4, 6, 7, 8, 9, 12, 13, 17, 18, 19, 21]);
    }
    // Those that a session has, and the registrations of 4.0 and of 4.1.
    let names = [3, 4, 5, 6, 9, 10, 15, 18, 22, 24, 25, 26, 28, 29, 32, 34, 38];
    expect_all(3, Some(Over::Tcp), &names);
    expect_all(3, Some(Over::Tcp), &[12, 13, 14, 30, 35, 36, 42, 43, 44, 53, 58, 59]);
}
