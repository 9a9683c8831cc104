//! The real SMB servers on their stage, seen through Samba's own client.

use plimsoll_testkit::Need;
use plimsoll_testkit::clients::{nfs_cat, pattern};
use plimsoll_testkit::servers::samba::{Dialect, Encryption, Signing};
use plimsoll_testkit::servers::{
    Export, Ganesha, GaneshaConfig, ImpacketServer, Samba, SambaConfig, SambaShare,
};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Runs a command in smbclient; all it said, and whether it succeeded.
fn say(client: &mut Command, commands: &str) -> (bool, String) {
    let output = client.args(["-c", commands]).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[track_caller]
fn done(client: &mut Command, commands: &str) -> String {
    let (ok, said) = say(client, commands);
    assert!(ok, "{commands}: {said}");
    said
}

#[track_caller]
fn refused(client: &mut Command, commands: &str) -> String {
    let (ok, said) = say(client, commands);
    assert!(!ok, "{commands} succeeded: {said}");
    said
}

#[test]
fn files_pass_both_ways() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba, Need::Smbclient);
    let names = ["data", "Musik für Ärzte"];
    let server = Samba::start(&stage, SambaConfig::new(names.map(SambaShare::new))).unwrap();
    let content = pattern(3_000_001);
    fs::write("/run/content", &content).unwrap();
    for name in names {
        let mut client = server.smbclient(name).unwrap();
        let said = done(&mut client, "put /run/content there; ls; get there /run/back");
        assert!(said.contains("there") && said.contains("3000001"), "{said}");
        assert_eq!(fs::read(server.directory(name).unwrap().join("there")).unwrap(), content);
        assert_eq!(fs::read("/run/back").unwrap(), content);
        fs::remove_file("/run/back").unwrap();
    }
    assert_eq!(server.directory("none"), None);
    assert_eq!(
        server.url("Musik für Ärzte"),
        "smb://tester@127.0.0.1:20445/Musik%20f%C3%BCr%20%C3%84rzte"
    );
    assert_eq!(server.guest_url("data"), "smb://127.0.0.1:20445/data");
}

#[test]
fn what_the_configuration_asks_is_kept() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba, Need::Smbclient);
    let shares = [
        SambaShare::new("open"),
        SambaShare::new("public").guest_ok(),
        SambaShare::new("fixed").read_only(),
        SambaShare::new("sealed").encryption(Encryption::Required),
        SambaShare::new("full").size(1 << 20),
    ];
    let config = SambaConfig::new(shares)
        .guests()
        .user("ann", "other")
        .signing(Signing::Mandatory)
        .dialects(Dialect::V2_1..=Dialect::V3_0_2);
    let server = Samba::start(&stage, config).unwrap();
    fs::write("/run/content", pattern(2 << 20)).unwrap();
    let client = |share: &str| server.smbclient(share).unwrap();
    let put = "put /run/content file";
    done(&mut client("open"), put);
    assert!(refused(&mut client("fixed"), put).contains("ACCESS_DENIED"));
    assert!(refused(&mut client("full"), put).contains("DISK_FULL"));
    done(&mut client("sealed"), put);
    // Dialect 2.1 has no encryption.
    let open = refused(client("sealed").args(["-m", "SMB2_10"]), put);
    assert!(open.contains("ACCESS_DENIED"), "{open}");
    done(client("open").args(["-m", "SMB2_10"]), "ls");
    refused(client("open").args(["-m", "SMB2_02"]), "ls");
    done(client("open").args(["-U", "ann"]).env("PASSWD", "other"), "ls");
    let wrong = refused(client("open").env("PASSWD", "wrong"), "ls");
    assert!(wrong.contains("LOGON_FAILURE"), "{wrong}");
    done(client("public").args(["-U", "stranger"]), "ls");
    assert!(refused(client("open").args(["-U", "stranger"]), "ls").contains("ACCESS_DENIED"));
}

#[test]
fn a_directory_is_seen_by_nfs_and_smb() {
    let stage =
        plimsoll_testkit::enter_or_skip!(Need::Ganesha, Need::Samba, Need::Smbclient, Need::Libnfs);
    let nfs = Ganesha::start(&stage, GaneshaConfig::one(Export::directory("data"))).unwrap();
    let shared = SambaShare::existing("data", nfs.directory("data").unwrap());
    let smb = Samba::start(&stage, SambaConfig::one(shared)).unwrap();
    let content = pattern(100_001);
    fs::write("/run/content", &content).unwrap();
    done(&mut smb.smbclient("data").unwrap(), "put /run/content file");
    assert_eq!(nfs_cat(&nfs.libnfs_url("data", "file")).unwrap(), content);
}

#[test]
fn a_crash_ends_every_process_and_a_restart_keeps_the_files() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba, Need::Smbclient);
    let mut server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    done(&mut server.smbclient("data").unwrap(), "put /proc/version file; ls");
    let mut connection = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let processes = server.processes();
    assert!(processes.len() > 1, "{processes:?}");
    assert_eq!(server.id(), Some(processes[0]));
    server.kill();
    assert!(processes.iter().all(|id| !Path::new(&format!("/proc/{id}")).exists()));
    // Closed, or reset: nobody holds it open.
    assert!(!matches!(connection.read(&mut [0]), Ok(1..)));
    assert!(TcpStream::connect(("127.0.0.1", server.port())).is_err());
    assert_eq!((server.id(), server.processes()), (None, Vec::new()));
    server.restart().unwrap();
    let said = done(&mut server.smbclient("data").unwrap(), "ls");
    assert!(said.contains("file"), "{said}");
    server.stop().unwrap();
    assert!(TcpStream::connect(("127.0.0.1", server.port())).is_err());
}

#[test]
fn a_frozen_server_is_silent_until_it_thaws() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    let mut connection = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let short = Duration::from_millis(300);
    connection.set_read_timeout(Some(short)).unwrap();
    server.freeze().unwrap();
    // An SMB 1 NEGOTIATE offering dialect "SMB 2.002" is what every SMB 2 server answers
    // (MS-SMB2, section 3.3.5.3.1).
    let mut negotiate = vec![0; 4 + 32 + 3];
    negotiate[3] = 32 + 3 + 11;
    negotiate[4..9].copy_from_slice(b"\xffSMB\x72");
    negotiate[37] = 11;
    negotiate.extend_from_slice(b"\x02SMB 2.002\0");
    connection.write_all(&negotiate).unwrap();
    assert!(connection.read(&mut [0; 64]).is_err());
    server.thaw().unwrap();
    connection.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut reply = [0; 8];
    connection.read_exact(&mut reply).unwrap();
    assert_eq!(&reply[4..], b"\xfeSMB");
}

#[test]
fn a_broken_configuration_is_told_with_the_log() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let config = SambaConfig::one(SambaShare::new("data")).line("server role = nonsense");
    let error = Samba::start(&stage, config).unwrap_err().to_string();
    assert!(error.contains("server role"), "{error}");
}

#[test]
fn a_server_can_run_without_a_stage() {
    if !plimsoll_testkit::available(Need::Namespaces) || !plimsoll_testkit::available(Need::Samba) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let shared = place.path().join("data");
    fs::create_dir(&shared).unwrap();
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut config = SambaConfig::one(SambaShare::existing("data", &shared)).port(free);
    config.users[0].name = "root".into();
    let server = Samba::start_in(place.path().join("server"), config).unwrap();
    TcpStream::connect(("127.0.0.1", server.port())).unwrap();
    let own = SambaConfig::one(SambaShare::new("data"));
    Samba::start_in(place.path().join("other"), own).unwrap_err();
}

#[test]
fn impackets_server_serves_files() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Impacket, Need::Smbclient);
    let server = ImpacketServer::start(&stage, "DATA", 20446).unwrap();
    let content = pattern(300_001);
    fs::write("/run/content", &content).unwrap();
    done(&mut server.smbclient().unwrap(), "put /run/content there; ls; get there /run/back");
    assert_eq!(fs::read(server.directory().join("there")).unwrap(), content);
    assert_eq!(fs::read("/run/back").unwrap(), content);
    let wrong = refused(server.smbclient().unwrap().env("PASSWD", "wrong"), "ls");
    assert!(wrong.contains("LOGON_FAILURE"), "{wrong}");
    assert_eq!(server.url(), "smb://tester@127.0.0.1:20446/DATA");
}
