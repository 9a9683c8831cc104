use super::*;
use crate::Cause;
use proptest::prelude::*;
use proptest::sample::select;

fn nfs(text: &str) -> NfsTarget {
    match text.parse::<Target>() {
        Ok(Target::Nfs(t)) => t,
        other => panic!("{text}: {other:?}"),
    }
}

fn smb(text: &str) -> SmbTarget {
    match text.parse::<Target>() {
        Ok(Target::Smb(t)) => t,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn spaces_and_letters_may_stand_as_they_are() {
    assert_eq!(nfs("nfs://nas/my films/Übung").path, "/my films/Übung");
    assert_eq!(nfs("nfs://nas/my%20films").path, "/my films");
    assert_eq!(nfs("nfs://nas").path, "/");
    assert_eq!(nfs("nfs://[::1]:2049/x").host, "::1");
    assert_eq!(nfs("nfs://nas:2049/x?mountport=20048&uid=7").mount_port, Some(20048));
}

#[test]
fn a_share_with_everything_that_can_be_said_of_it() {
    let target = smb("smb://HOME;Jo%40x@[::1]:4445/my films/new//Übung%23/\
                      ?vers=3.0.2&sign=on&encrypt=off&guest=allow&rsize=65536&wsize=4096");
    let expected = SmbTarget {
        host: "::1".into(),
        port: Some(4445),
        domain: Some("HOME".into()),
        user: Some("Jo@x".into()),
        share: "my films".into(),
        path: "new/Übung#".into(),
        dialect: Some(SmbDialect::Smb3_0_2),
        sign: SmbProtection::On,
        encrypt: SmbProtection::Off,
        guest_allowed: true,
        rsize: Some(65536),
        wsize: Some(4096),
    };
    assert_eq!(target, expected);
    assert_eq!(target.who(), "HOME\\Jo@x");
    let short = smb("smb://nas/films");
    let expected = SmbTarget { host: "nas".into(), share: "films".into(), ..SmbTarget::default() };
    assert_eq!(short, expected);
    assert_eq!(short.who(), "guest");
    assert_eq!(smb("smb://me@corp@nas/x").user.as_deref(), Some("me@corp"));
    assert_eq!(smb("smb://me@nas").share, "");
}

#[test]
fn kinds_are_known_in_capitals_too() {
    assert_eq!(nfs("NFS://nas/Films"), nfs("nfs://nas/Films"));
    assert_eq!(smb("Smb://me@nas/Films"), smb("smb://me@nas/Films"));
    let file = DirectoryTarget { path: "/srv/Films".into() };
    assert_eq!("FILE:///srv/Films".parse::<Target>().unwrap(), Target::Directory(file));
}

#[test]
fn shares_as_other_programs_write_them() {
    for (written, url) in [
        ("nas:/volume1/my films", "nfs://nas/volume1/my%20films"),
        ("me@nas:/export", "nfs://nas/export"),
        ("[2001:db8::1]:/export", "nfs://[2001:db8::1]/export"),
        ("192.0.2.7:/", "nfs://192.0.2.7/"),
        ("nfs:/nas/export", "nfs://nas/export"),
        ("//nas/films", "smb://nas/films"),
        ("//HOME;me@nas/films/new/", "smb://HOME;me@nas/films/new"),
        ("//me:hunter2@nas/films", "smb://me@nas/films"),
        (r"\\nas\my films\new", "smb://nas/my%20films/new"),
        ("smb:/me@nas/films", "smb://me@nas/films"),
    ] {
        assert_eq!(suggested_url(written).as_deref(), Some(url), "{written}");
        // What is recommended is what is meant again.
        assert!(url.parse::<Target>().is_ok());
    }
    for path in ["/srv/films", "films", "./nas:/x", "C:/films", "//nas", "nas:films", "a/b:/c", ""]
    {
        assert_eq!(suggested_url(path), None, "{path}");
    }
    let failure = "cifs://me@nas/films".parse::<Target>().unwrap_err();
    assert!(failure.next.contains("smb://me@nas/films"), "{failure}");
}

#[test]
fn bad_targets_say_what_would_be_good() {
    for (text, part) in [
        ("nfs://nas/x?rsze=1", "The options are: vers=2|3|4|4.0|4.1|4.2, proto=tcp|udp, nconnect="),
        ("nfs://nas/x?vers=5", "vers=5: no such version"),
        ("nfs://nas/x?vers=4.3", "no such version"),
        ("nfs://nas/x?vers=03", "no such version"),
        ("nfs://nas/x?proto=rdma", "must be tcp or udp"),
        ("nfs://nas/x?nconnect=0", "from 1 to 16"),
        ("nfs://nas/x?nconnect=17", "from 1 to 16"),
        ("nfs://nas/x?proto=udp&vers=4", "version 4 does not run over UDP"),
        ("nfs://nas/x?vers=4.2&proto=udp", "version 4.2 does not run over UDP"),
        ("nfs://nas/x?nconnect=2&proto=udp", "no connections"),
        ("nfs://nas/x?rsize=1", "from 512 bytes"),
        ("nfs://nas:99999/x", "not a port"),
        ("nfs:///x", "not a host"),
        ("nfs://me@nas/x", "a user"),
        ("nfs://::1/x", "brackets"),
        ("nfs://nas/../x", "'..'"),
        ("nfs://nas/%00", "NUL"),
        ("ftp://nas/x", "ftp://"),
        ("cifs://nas/x", "smb://"),
        ("", "empty"),
        ("smb:///films", "not a host"),
        ("smb://me@nas/x?vers=1.0", "vers=2.0.2|2.1|3.0|3.0.2|3.1.1"),
        ("smb://me@nas/x?sign=yes", "auto, on or off"),
        ("smb://me@nas/x?guest=yes", "must be allow"),
        ("smb://me@nas/x?wsize=0", "from 512 bytes"),
        ("smb://me@nas/x?uid=0", "unknown option 'uid'"),
        ("smb://me@nas/x?vers=2.1&encrypt=on", "vers=3.0 or newer"),
        ("smb://HOME;@nas/x", "without a user"),
        ("smb://me@nas/films/../x", "'..'"),
        ("smb://me@nas/films/a:b", "':'"),
        ("smb://me@nas/films/why%3F", "'?'"),
        ("smb://me@nas/films/end.", "ends with a dot"),
        ("smb://me@nas/films/end%20/x", "ends with a dot or a space"),
    ] {
        let failure = text.parse::<Target>().unwrap_err();
        assert_eq!(failure.cause, Cause::Usage);
        assert!(failure.to_string().contains(part), "{text}: {failure}");
    }
}

#[test]
fn a_password_is_refused_and_not_repeated() {
    for text in [
        "smb://me:hunter2@nas/films",
        "smb://HOME;me:hunter2@nas:4445/films?vers=3.0",
        "smb://me:hunter2/a@nas/films",
        "smb://me:a@hunter2@nas/films",
        "smb://me:1?hunter2@nas/films",
        "smb://me@nas/films?password=hunter2",
        "smb://me@nas/films?sign=on&pass=hunter2&wsize=1",
        "nfs://me:hunter2@nas/films",
        "ftp://me:hunter2@nas/films",
    ] {
        let failure = text.parse::<Target>().unwrap_err();
        assert_eq!(failure.cause, Cause::Usage);
        let said = format!("{failure} {failure:?}");
        assert!(!said.contains("hunter2"), "{text}: {said}");
        if text.starts_with("smb") {
            assert!(said.contains("PLIMSOLL_PASSWORD"), "{text}: {said}");
        }
    }
}

fn nfs_target() -> impl Strategy<Value = NfsTarget> {
    let path = "/[a-zA-Z0-9 %?#&=äöü/]{0,30}";
    let numbers = (any::<Option<u32>>(), any::<Option<u32>>(), proptest::option::of(1u16..));
    let size = || proptest::option::of(512u32..=64 << 20);
    let ports = select(vec![SourcePort::Auto, SourcePort::Privileged, SourcePort::Any]);
    let version = proptest::option::of(select(NfsVersion::ALL.to_vec()));
    let transport = proptest::option::of(select(vec![NfsTransport::Tcp, NfsTransport::Udp]));
    let nconnect = proptest::option::of(1..=NfsTarget::MOST_CONNECTIONS);
    let means = (ports, version, transport, nconnect);
    (path, proptest::option::of(1u16..), numbers, (size(), size()), means).prop_map(
        |(path, port, (uid, gid, mount_port), (rsize, wsize), means)| {
            let (source_port, version, transport, nconnect) = means;
            NfsTarget {
                host: "nas".into(),
                port,
                path,
                mount_port,
                uid,
                gid,
                rsize,
                wsize,
                source_port,
                version,
                transport,
                nconnect: nconnect.and_then(std::num::NonZeroU8::new),
            }
        },
    )
}

fn smb_target() -> impl Strategy<Value = SmbTarget> {
    let name = "[a-zA-Z0-9%#&=;@'äöü+-]{1,12}";
    let who = proptest::option::of((proptest::option::of(name), name));
    let protection = || select(vec![SmbProtection::Auto, SmbProtection::On, SmbProtection::Off]);
    let size = proptest::option::of(512u32..=64 << 20);
    let dialect = proptest::option::of(select(SmbDialect::ALL.to_vec()));
    let path = proptest::collection::vec(name, 0..4);
    let port = proptest::option::of(1u16..);
    let means = (dialect, protection(), protection(), any::<bool>(), size.clone(), size);
    (who, port, name, path, means).prop_map(
        |(who, port, share, path, (dialect, sign, encrypt, guest_allowed, rsize, wsize))| {
            let (domain, user) = who.map_or((None, None), |(d, u)| (d, Some(u)));
            let path = path.join("/");
            let host = "nas".into();
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

#[test]
fn targets_on_the_loopback_are_known() {
    let on_loopback = |text: &str| text.parse::<Target>().unwrap().is_on_loopback();
    for text in [
        "nfs://127.0.0.1/a",
        "nfs://127.8.0.9/a",
        "smb://localhost/a",
        "nfs://[::1]/a",
        "nfs://LOCALHOST./a",
    ] {
        assert!(on_loopback(text), "{text}");
    }
    for text in ["/srv", "nfs://nas/a", "smb://192.0.2.1/a", "nfs://[2001:db8::1]/a"] {
        assert!(!on_loopback(text), "{text}");
    }
}

#[test]
fn a_file_on_a_server_is_a_directory_and_a_name() {
    let file = |text: &str| {
        let found = text.parse::<Target>().unwrap().file();
        found.map(|(directory, name)| (directory.to_string(), name))
    };
    for (text, directory, name) in [
        ("nfs://nas/films/new/Holiday 1.mkv?vers=3", "nfs://nas/films/new?vers=3", "Holiday 1.mkv"),
        ("nfs://nas:2049/x.mp4", "nfs://nas:2049/", "x.mp4"),
        ("smb://me@nas/films/x.mp4", "smb://me@nas/films", "x.mp4"),
        ("smb://nas/films/new/x.mp4", "smb://nas/films/new", "x.mp4"),
    ] {
        assert_eq!(file(text), Some((directory.to_owned(), name.to_owned())), "{text}");
    }
    for text in ["/mnt/x.mkv", "nfs://nas", "nfs://nas/", "smb://nas/films"] {
        assert_eq!(file(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_refused_without_panic(text in "\\PC{0,60}") {
        let _ = text.parse::<Target>();
        let _ = [&text, &format!("//{text}"), &format!("x:/{text}")].map(|t| suggested_url(t));
        let _ = format!("nfs://{text}").parse::<Target>();
        let _ = format!("smb://{text}").parse::<Target>();
        let _ = format!("smb://me@nas/{text}").parse::<Target>();
    }

    #[test]
    fn what_is_printed_reads_back(target in nfs_target()) {
        let text = target.to_string();
        prop_assume!(!text.contains(".."));
        let udp = target.transport == Some(NfsTransport::Udp);
        let four = target.version.is_some_and(|version| version.to_string().starts_with('4'));
        let impossible = udp && (four || target.nconnect.is_some());
        match text.parse::<Target>() {
            Ok(_) if impossible => prop_assert!(false, "{} was understood", text),
            Ok(read) => prop_assert_eq!(read, Target::Nfs(target)),
            Err(failure) => prop_assert!(impossible, "{}", failure),
        }
    }

    #[test]
    fn a_share_that_is_printed_reads_back(target in smb_target()) {
        let old = target.dialect.is_some_and(|d| d < SmbDialect::Smb3_0);
        prop_assume!(!(old && target.encrypt == SmbProtection::On));
        let text = target.to_string();
        prop_assert_eq!(text.parse::<Target>().unwrap(), Target::Smb(target));
    }

    /// Whatever is understood of a target is shown again: so there is no place for a password.
    #[test]
    fn no_password_is_ever_understood(password in "[a-z0-9]{6,9}[/?@]?", user in "[a-z]{1,4}") {
        let target = format!("smb://{user}:{password}@nas/share").parse::<Target>();
        if let Err(failure) = target {
            prop_assert!(!failure.to_string().contains(password.trim_end_matches(['/', '?', '@'])));
        }
    }
}
