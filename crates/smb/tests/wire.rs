//! What goes over the wire, as somebody else's decoder sees it: every message well formed, every
//! signature right, everything encrypted opened, and as many messages as there should be.

mod support;

use plimsoll_smb::{Access, CreateHow, Dialect, Request, SigningAlgorithm};
use plimsoll_testkit::Need;
use plimsoll_testkit::capture::{self, Capture};
use plimsoll_testkit::servers::samba::PASSWORD;
use plimsoll_testkit::servers::{Samba, SambaConfig, SambaShare};
use std::path::Path;
use std::time::SystemTime;
use support::flight::{Ended, User, finish, pipeline};
use support::{Way, pattern, tree};

const PORT: u16 = 20445;

/// One of every kind of message; echoes and small files as often as the test counts.
fn traffic(way: Way) {
    let content = pattern(60_000);
    let mut tree = tree(PORT, "data", &way.options());
    for _ in 0..5 {
        tree.echo().unwrap();
    }
    for i in 0..3 {
        tree.put_small(&format!("klein {i}"), CreateHow::New, &content[..11_500], i == 2).unwrap();
        assert_eq!(tree.get_small(&format!("klein {i}"), 20_000).unwrap(), content[..11_500]);
    }
    tree.make_directory("Ordner").unwrap();
    let (file, _) = tree.create("Ordner/Datei", CreateHow::New, Access::ReadWrite).unwrap();
    assert_eq!(tree.write(file, 0, &content).unwrap(), content.len());
    let mut back = vec![0; content.len()];
    assert_eq!(tree.read(file, 0, &mut back).unwrap(), content.len());
    assert!(back == content);
    tree.flush(file).unwrap();
    tree.set_size(file, 100).unwrap();
    tree.set_times(file, SystemTime::UNIX_EPOCH).unwrap();
    tree.close(file).unwrap();
    tree.rename("Ordner/Datei", "Datei").unwrap();
    assert_eq!(tree.list("", 100).unwrap().len(), 5);
    tree.space().unwrap();
    assert!(tree.get_small("none", 1).is_err());
    for i in 0..3 {
        tree.remove_file(&format!("klein {i}")).unwrap();
    }
    tree.remove_file("Datei").unwrap();
    tree.remove_directory("Ordner").unwrap();
    tree.disconnect();
}

/// Begins to capture what goes to the server and comes from it.
fn begin(file: &str) -> Capture {
    Capture::start(&format!("tcp port {PORT}"), file)
}

/// tshark knows the password: it opens what is encrypted and can check signatures.
fn decode(file: &Path, signatures: bool, filter: &str, fields: &[&str]) -> Vec<Vec<String>> {
    let port = format!("tcp.port=={PORT},nbss");
    let password = format!("ntlmssp.nt_password:{PASSWORD}");
    let signatures = format!("smb2.verify_signatures:{signatures}");
    let settings = ["-d", &port, "-o", &password, "-o", &signatures];
    capture::decode(file, &settings, filter, fields)
}

struct Packet {
    way: Way,
    request: bool,
    /// The commands in it, in their order.
    commands: String,
    /// What the decoder finds broken.
    complaint: String,
    sealed: bool,
}

/// tshark's measure of an error among its expert notes.
const ERROR: &str = "8388608";

/// All messages but replies that say: later. Those are not signed.
const FINAL: &str = "smb2 && !(smb2.nt_status == 0x103)";

/// The packets of a capture that carry messages and pass a filter.
fn packets(capture: &Path, filter: &str) -> Vec<Packet> {
    let fields = [
        "tcp.stream",
        "tcp.dstport",
        "smb2.cmd",
        "_ws.malformed",
        "_ws.expert.severity",
        "_ws.expert.message",
        "smb2.header.transform.flags",
    ];
    let packet = |row: &Vec<String>| {
        let broken = !row[3].is_empty() || row[4].split(',').any(|severity| severity == ERROR);
        Packet {
            way: Way::ALL[row[0].parse::<usize>().unwrap()],
            request: row[1] == PORT.to_string(),
            commands: row[2].clone(),
            complaint: if broken { format!("{} {}", row[3], row[5]) } else { String::new() },
            sealed: !row[6].is_empty(),
        }
    };
    decode(capture, false, filter, &fields).iter().map(packet).collect()
}

#[test]
fn tshark_finds_every_message_well_formed_and_signed_and_sealed_as_it_should() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba, Need::Tshark);
    let _server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    let capture = begin("/run/every.pcapng");
    Way::ALL.into_iter().for_each(traffic);
    let capture = capture.stop();
    let packets = packets(&capture, FINAL);
    for way in Way::ALL {
        let of_way = || packets.iter().filter(|packet| packet.way == way);
        let count = |what: &dyn Fn(&Packet) -> bool| of_way().filter(|p| what(p)).count();
        for packet in of_way() {
            // What Samba puts into its NEGOTIATE Response for very old clients is no SPNEGO
            // (MS-SPNG, section 3.2.5.2), and tshark says so. All else is in order.
            let hint = !packet.request && packet.commands == "0";
            let said = &packet.complaint;
            assert!(
                said.is_empty() || hint && said.contains("BER Error"),
                "{way:?}: {} {said}",
                packet.commands
            );
        }
        // As many as were sent, no matter how they are protected.
        let requests = |commands: &str| count(&|p| p.request && p.commands == commands);
        assert_eq!(requests("13"), 5, "{way:?}: echoes");
        // Signed requests go one by one, and with those of the large file.
        let (compound, single) = if way.signing.is_some() { (0, 1) } else { (1, 0) };
        assert_eq!(requests("5,9,6"), 2 * compound, "{way:?}: small files up");
        assert_eq!(requests("5,9,7,6"), compound, "{way:?}: a small file up, flushed");
        assert_eq!(requests("9"), 1 + 3 * single, "{way:?}: writes");
        // The fourth is of a file that is not there.
        assert_eq!(requests("5,8,6"), 4 * compound, "{way:?}: small files down");
        assert_eq!(requests("8"), 1 + 3 * single, "{way:?}: reads");
        assert_eq!(requests("0"), 1, "{way:?}: one negotiation");
        assert_eq!(requests("1"), 2, "{way:?}: one try to log in");
        assert_eq!(requests("2"), 1, "{way:?}: logged off");
        // Each was answered.
        let messages = |request: bool| {
            let frames = of_way().filter(|p| p.request == request);
            let mut all: Vec<_> = frames.flat_map(|p| p.commands.split(',')).collect();
            all.sort_unstable();
            all
        };
        assert_eq!(messages(true), messages(false), "{way:?}");
        let protected = of_way().filter(|p| !matches!(p.commands.as_str(), "0" | "1"));
        for packet in protected {
            assert_eq!(packet.sealed, way.cipher.is_some(), "{way:?}: {}", packet.commands);
        }
    }
    check_signatures(&capture);
}

/// Every signature that tshark can check is right. tshark 4.0 checks the first message of a frame
/// alone (the others of a compound it takes to be longer than they are, the server's too), and in
/// dialect 3.1.1 it takes every signature for AES-CMAC.
fn check_signatures(capture: &Path) {
    let fields = ["tcp.stream", "smb2.cmd", "smb2.good_signature", "smb2.bad_signature"];
    let rows = decode(capture, true, &format!("{FINAL} && smb2.cmd > 1"), &fields);
    for (index, way) in Way::ALL.iter().enumerate() {
        let checked = match way.dialect {
            Dialect::Smb3_1_1 => way.signing == Some(SigningAlgorithm::AesCmac),
            _ => way.signing.is_some(),
        };
        let count = |list: &str| list.split(',').filter(|item| !item.is_empty()).count();
        let of_way: Vec<_> = rows.iter().filter(|row| row[0] == index.to_string()).collect();
        assert!(of_way.len() >= 60, "{way:?}");
        for row in of_way.iter().filter(|_| checked) {
            let [messages, good, bad] = [1, 2, 3].map(|field: usize| count(&row[field]));
            assert_eq!((good, bad), (1, messages - 1), "{way:?} {row:?}");
        }
        if way.signing.is_none() {
            let signed = of_way.iter().filter(|row| !row[2].is_empty() || !row[3].is_empty());
            // What proves that nobody changed the negotiation is signed in any case: in 3.1.1 the
            // request for a share, in 3.0 and 3.0.2 a question of its own. So is the answer.
            let proof = way.dialect >= Dialect::Smb3_0 && way.cipher.is_none();
            assert_eq!(signed.count(), if proof { 2 } else { 0 }, "{way:?}");
        }
    }
}

/// What a pipeline sends: many calls at a time, so that packets carry several.
fn pipelined_traffic(way: Way) {
    let mut pipeline = pipeline(tree(PORT, "data", &way.options()), 16, 1 << 20);
    let mut user = User::new();
    pipeline
        .submit(
            9,
            Request::Open { path: "Datei", how: CreateHow::Replace, access: Access::ReadWrite },
        )
        .unwrap();
    finish(&mut pipeline, &mut user);
    let Ended::File(file, _) = user.ok(9) else { panic!("not a file") };
    // tshark takes a frame on another port than 445 for one of NetBIOS, below 128 KiB.
    let length = if pipeline.protocol().options().write_most > 65_536 { 120_000 } else { 60_000 };
    for tag in 0..5 {
        user.payloads.insert(tag, pattern(length as usize));
        pipeline
            .submit(
                tag,
                Request::Write {
                    file,
                    offset: u64::from(tag) * 200_000,
                    count: length,
                    through: tag == 1,
                },
            )
            .unwrap();
    }
    for tag in 10..15 {
        user.payloads.insert(tag, pattern(10 * tag as usize));
        let name = format!("klein {tag}");
        pipeline
            .submit(
                tag,
                Request::Put {
                    path: &name,
                    how: CreateHow::Replace,
                    count: 10 * tag,
                    through: false,
                },
            )
            .unwrap();
    }
    finish(&mut pipeline, &mut user);
    for tag in 0..5 {
        assert_eq!(user.ok(tag), Ended::Count(length));
        pipeline
            .submit(tag, Request::Read { file, offset: u64::from(tag) * 200_000, count: length })
            .unwrap();
    }
    for tag in 10..15 {
        assert_eq!(user.ok(tag), Ended::Count(10 * tag));
        pipeline.submit(tag, Request::Get { path: &format!("klein {tag}"), most: 1000 }).unwrap();
    }
    pipeline.submit(9, Request::Flush { file }).unwrap();
    finish(&mut pipeline, &mut user);
    for tag in 0..5 {
        assert!(user.ok(tag) == Ended::Data(pattern(length as usize)));
    }
    pipeline.submit(8, Request::Close { file }).unwrap();
    finish(&mut pipeline, &mut user);
}

#[test]
fn tshark_finds_every_message_of_a_pipeline_well_formed() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba, Need::Tshark);
    let _server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    let capture = begin("/run/pipeline.pcapng");
    Way::ALL.into_iter().for_each(pipelined_traffic);
    let packets = packets(&capture.stop(), "smb2");
    for way in Way::ALL {
        let of_way = || packets.iter().filter(|packet| packet.way == way);
        for packet in of_way() {
            let said = &packet.complaint;
            let hint = !packet.request && packet.commands == "0" && said.contains("BER Error");
            assert!(said.is_empty() || hint, "{way:?}: {} {said}", packet.commands);
        }
        for request in [true, false] {
            let packets = of_way().filter(|packet| packet.request == request);
            let all: Vec<_> = packets.flat_map(|packet| packet.commands.split(',')).collect();
            // Dialect 2.0.2 cannot write through, so it flushes.
            let flushes = 1 + usize::from(way.dialect == Dialect::Smb2_0_2);
            for (command, expected) in [("5", 11), ("6", 11), ("8", 10), ("9", 10), ("7", flushes)]
            {
                let count = all.iter().filter(|c| **c == command).count();
                // Some replies come twice, the first time to say: later.
                let right = if request { count == expected } else { count >= expected };
                assert!(right, "{way:?} {request} {command}: {count}, not {expected}");
            }
        }
    }
}

#[test]
fn a_capture_of_nothing_and_a_broken_message_are_noticed() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba, Need::Tshark);
    let _server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    let capture = begin("/run/broken.pcapng");
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", PORT)).unwrap();
    // A NEGOTIATE whose list of dialects is longer than the message.
    let mut message = vec![0; 64 + 36];
    message[..6].copy_from_slice(b"\xfeSMB\x40\0");
    message[64] = 36;
    message[66] = 9;
    std::io::Write::write_all(&mut stream, &support::fake::frame(&message)).unwrap();
    let packets = packets(&capture.stop(), FINAL);
    assert!(packets.iter().any(|p| p.request && !p.complaint.is_empty()));
    let nothing = Capture::start("tcp port 20999", "/run/nothing.pcapng");
    traffic(Way::ALL[1]);
    assert!(decode(&nothing.stop(), false, "smb2", &["smb2.cmd"]).is_empty());
}
