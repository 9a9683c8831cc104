//! What servers refuse, and what this client does: the right error, and never a second try.

mod support;

use plimsoll_smb::{
    CreateHow, Credentials, Dialect, Error, NtStatus, Options, Protection, Session,
};
use plimsoll_testkit::Need;
use plimsoll_testkit::servers::samba::{Dialect as Spoken, Encryption, Signing};
use plimsoll_testkit::servers::{Samba, SambaConfig, SambaShare};
use support::{connect, open, tree, user};

fn with(change: impl FnOnce(&mut Options)) -> Options {
    let mut options = Options::default();
    change(&mut options);
    options
}

/// STATUS_MEDIA_WRITE_PROTECTED (MS-ERREF, section 2.3.1).
const WRITE_PROTECTED: NtStatus = NtStatus(0xC000_00A2);

/// The error of a share that cannot be opened.
#[track_caller]
fn refused(port: u16, share: &str, options: &Options) -> Error {
    match open(port, options) {
        Err(error) => error,
        Ok(session) => session.tree(share).err().expect("it was let in").1,
    }
}

#[test]
fn a_wrong_user_or_password_is_distinguished_from_all_else() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    let wrong = [
        Credentials { password: "wrong".into(), ..user() },
        Credentials { password: "".into(), ..user() },
        Credentials { user: "stranger".into(), ..user() },
    ];
    for dialect in Dialect::ALL {
        let options = with(|o| o.dialects = vec![*dialect]);
        for credentials in &wrong {
            let answer = Session::open(connect(server.port()), "127.0.0.1", credentials, &options);
            let error = answer.map(drop).unwrap_err();
            assert_eq!(error.status(), Some(NtStatus::LOGON_FAILURE), "{dialect} {error}");
        }
        // Users of this machine's own domain, by any name of it, are the same.
        let domain = Credentials { domain: "LAB".into(), ..user() };
        let session = Session::open(connect(server.port()), "127.0.0.1", &domain, &options);
        assert_eq!(session.unwrap().facts().dialect, *dialect);
    }
}

#[test]
fn a_wrong_share_leaves_a_session_that_lists_the_right_ones() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let shares = ["data", "Bücher", "hidden"].map(SambaShare::new);
    let [data, books, hidden] = shares;
    let hidden = hidden.line("browseable = no");
    let server =
        Samba::start(&stage, SambaConfig::new([data, books.line("comment = für alle"), hidden]))
            .unwrap();
    for way in support::Way::ALL {
        let session = open(server.port(), &way.options()).unwrap();
        let (mut session, error) = session.tree("backups").err().unwrap();
        assert_eq!(error.status(), Some(NtStatus::BAD_NETWORK_NAME), "{way:?}");
        let shares = session.shares().unwrap();
        let names: Vec<_> = shares.iter().map(|share| share.name.as_str()).collect();
        assert!(names.contains(&"data") && names.contains(&"Bücher"), "{names:?}");
        assert!(!names.contains(&"hidden"), "{names:?}");
        assert!(shares.iter().any(|share| share.comment == "für alle"));
        let mut tree = session.tree("data").map_err(|(_, error)| error).unwrap();
        tree.echo().unwrap();
        tree.disconnect();
    }
}

#[test]
fn guests_come_in_where_they_may() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let shares = [SambaShare::new("public").guest_ok(), SambaShare::new("data")];
    let server = Samba::start(&stage, SambaConfig::new(shares).guests()).unwrap();
    let stranger = Credentials { user: "stranger".into(), ..user() };
    for dialect in Dialect::ALL {
        let options = with(|o| o.dialects = vec![*dialect]);
        let allowed = Options { guests: true, ..options.clone() };
        for (guest, options) in [(Credentials::guest(), options), (stranger.clone(), allowed)] {
            let enter = |options: &Options| {
                Session::open(connect(server.port()), "127.0.0.1", &guest, options)
            };
            let session = enter(&options).unwrap();
            assert!(session.facts().guest && session.facts().signing.is_none(), "{dialect}");
            let (session, error) = session.tree("data").err().unwrap();
            assert_eq!(error.status(), Some(NtStatus::ACCESS_DENIED), "{dialect}");
            let mut tree = session.tree("public").map_err(|(_, error)| error).unwrap();
            tree.put_small("file", CreateHow::Replace, b"from a guest", false).unwrap();
            assert_eq!(tree.get_small("file", 100).unwrap(), b"from a guest");
            tree.disconnect();
            // Nothing proves who a guest is, so nothing can be signed or encrypted.
            let signed = Options { sign: Protection::On, ..options.clone() };
            let error = enter(&signed).map(drop).unwrap_err();
            assert_eq!(error, Error::GuestOnly("signed"), "{dialect}");
        }
    }
    // Who names a user is not made a guest unasked: that server has not looked at the password.
    for dialect in Dialect::ALL {
        for sign in [Protection::Auto, Protection::On, Protection::Off] {
            let options = with(|o| (o.dialects, o.sign) = (vec![*dialect], sign));
            let session = Session::open(connect(server.port()), "127.0.0.1", &stranger, &options);
            let error = session.map(drop).unwrap_err();
            assert_eq!(error, Error::GuestRefused("a guest"), "{dialect} {sign:?}");
        }
        // A user that it knows is no guest, allowed or not, and signs.
        let options = with(|o| (o.dialects, o.guests) = (vec![*dialect], true));
        let session = open(server.port(), &options).unwrap();
        assert!(!session.facts().guest && session.facts().signing.is_some(), "{dialect}");
    }
    // Where no guest may come, a stranger is refused.
    let mut closed = SambaConfig::one(SambaShare::new("data")).port(20446);
    closed.guests = false;
    let closed = Samba::start(&stage, closed).unwrap();
    let answer =
        Session::open(connect(closed.port()), "127.0.0.1", &Credentials::guest(), &with(|_| ()));
    let refused = match answer {
        Err(error) => error,
        Ok(session) => session.tree("data").err().expect("a guest was let in").1,
    };
    assert!(refused.status().is_some(), "{refused:?}");
}

#[test]
fn a_server_that_insists_on_signing_gets_it_or_an_error() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let config = SambaConfig::one(SambaShare::new("data")).signing(Signing::Mandatory);
    let server = Samba::start(&stage, config).unwrap();
    for dialect in Dialect::ALL {
        let auto = with(|o| o.dialects = vec![*dialect]);
        let mut tree = tree(server.port(), "data", &auto);
        assert!(tree.facts().signing.is_some(), "{dialect}");
        tree.put_small("file", CreateHow::Replace, b"signed", true).unwrap();
        tree.disconnect();
        let off = Options { sign: Protection::Off, ..auto };
        assert_eq!(refused(server.port(), "data", &off), Error::SigningRequired, "{dialect}");
    }
}

#[test]
fn without_being_asked_a_user_signs_and_nothing_is_encrypted() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    for dialect in Dialect::ALL {
        for (sign, signed) in [(Protection::Auto, true), (Protection::Off, false)] {
            let options = with(|o| (o.dialects, o.sign) = (vec![*dialect], sign));
            let mut tree = tree(server.port(), "data", &options);
            assert_eq!(tree.facts().signing.is_some(), signed, "{dialect}");
            assert_eq!(tree.facts().cipher, None, "{dialect}");
            tree.put_small("file", CreateHow::Replace, b"bare", true).unwrap();
            assert_eq!(tree.get_small("file", 100).unwrap(), b"bare");
            tree.disconnect();
        }
    }
}

#[test]
fn servers_and_shares_that_insist_on_encryption_get_it_or_an_error() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let shares = [
        SambaShare::new("bare").encryption(Encryption::Off),
        SambaShare::new("asked"),
        SambaShare::new("desired").encryption(Encryption::Desired),
        SambaShare::new("required").encryption(Encryption::Required),
    ];
    let server = Samba::start(&stage, SambaConfig::new(shares)).unwrap();
    let everywhere = SambaConfig::one(SambaShare::new("data").encryption(Encryption::Required))
        .port(20446)
        .line("smb encrypt = required");
    let everywhere = Samba::start(&stage, everywhere).unwrap();
    for dialect in Dialect::ALL {
        let auto = with(|o| o.dialects = vec![*dialect]);
        let can = *dialect >= Dialect::Smb3_0;
        for (share, encrypted) in
            [("bare", false), ("asked", false), ("desired", can), ("required", true)]
        {
            if encrypted && !can {
                let error = refused(server.port(), share, &auto);
                let said = matches!(error, Error::RefusedUnencrypted(why) if !why.contains("off"));
                assert!(said, "{dialect} {share} {error:?}");
                continue;
            }
            let mut tree = tree(server.port(), share, &auto);
            assert_eq!(tree.tree_facts().encrypted, encrypted, "{dialect} {share}");
            tree.put_small("file", CreateHow::Replace, b"content", true).unwrap();
            assert_eq!(tree.get_small("file", 100).unwrap(), b"content");
            tree.disconnect();
        }
        let off = Options { encrypt: Protection::Off, ..auto.clone() };
        for (port, share) in [(server.port(), "required"), (everywhere.port(), "data")] {
            let error = refused(port, share, &off);
            // A server that does not know of encryption refuses without naming it.
            let refused =
                matches!(error, Error::EncryptionRequired(_) | Error::RefusedUnencrypted(_));
            assert!(refused, "{dialect} {share} {error:?}");
        }
        let on = Options { encrypt: Protection::On, ..auto };
        if can {
            let mut tree = tree(everywhere.port(), "data", &on);
            tree.put_small("file", CreateHow::Replace, b"content", true).unwrap();
            tree.disconnect();
        } else {
            let error = refused(server.port(), "asked", &on);
            assert!(matches!(error, Error::EncryptionRefused(_)), "{dialect} {error:?}");
        }
    }
}

#[test]
fn a_server_without_what_is_asked_for_is_reported() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let config = SambaConfig::one(SambaShare::new("data"))
        .dialects(Spoken::V2_1..=Spoken::V3_0)
        .line("smb encrypt = off");
    let server = Samba::start(&stage, config).unwrap();
    let offered = vec![Dialect::Smb3_0_2, Dialect::Smb3_1_1];
    let error = refused(server.port(), "data", &with(|o| o.dialects = offered.clone()));
    assert_eq!(error, Error::DialectRefused { offered });
    let error = refused(server.port(), "data", &with(|o| o.dialects = vec![Dialect::Smb2_0_2]));
    assert!(matches!(error, Error::DialectRefused { .. }), "{error:?}");
    assert_eq!(open(server.port(), &with(|_| ())).unwrap().facts().dialect, Dialect::Smb3_0);
    let error = refused(server.port(), "data", &with(|o| o.encrypt = Protection::On));
    assert!(matches!(error, Error::EncryptionRefused(_)), "{error:?}");
}

#[test]
fn a_server_that_offers_one_algorithm_gets_it() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    for (port, (signing, cipher)) in
        (20450..).zip([("AES-128-CMAC", "AES-256-CCM"), ("HMAC-SHA256", "AES-128-CCM")])
    {
        let config = SambaConfig::one(SambaShare::new("data"))
            .port(port)
            .line(&format!("server smb3 signing algorithms = {signing}"))
            .line(&format!("server smb3 encryption algorithms = {cipher}"));
        let server = Samba::start(&stage, config).unwrap();
        let signed = tree(server.port(), "data", &with(|o| o.sign = Protection::On));
        let chosen = signed.facts().signing.unwrap().to_string();
        assert_eq!(chosen.contains("CMAC"), signing.contains("CMAC"), "{chosen}");
        signed.disconnect();
        let sealed = tree(server.port(), "data", &with(|o| o.encrypt = Protection::On));
        assert_eq!(sealed.facts().cipher.unwrap().to_string(), cipher);
        sealed.disconnect();
    }
}

#[test]
fn a_share_to_read_and_a_full_one_refuse_writes_and_go_on() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let shares = [SambaShare::new("fixed").read_only(), SambaShare::new("full").size(1 << 20)];
    let server = Samba::start(&stage, SambaConfig::new(shares)).unwrap();
    let options = with(|o| o.sign = Protection::On);
    let mut fixed = tree(server.port(), "fixed", &options);
    let error = fixed.put_small("file", CreateHow::New, b"x", false).unwrap_err();
    let refusals = [Some(NtStatus::ACCESS_DENIED), Some(WRITE_PROTECTED)];
    assert!(refusals.contains(&error.status()) && !error.is_fatal(), "{error:?}");
    assert!(fixed.make_directory("directory").is_err());
    assert_eq!(fixed.list("", 10).unwrap(), []);
    fixed.disconnect();
    let mut full = tree(server.port(), "full", &options);
    let (file, _) = full.create("file", CreateHow::New, plimsoll_smb::Access::ReadWrite).unwrap();
    let part = support::pattern(65_536);
    let error = (0..64).find_map(|i| full.write(file, i * 65_536, &part).err()).unwrap();
    assert_eq!(error.status(), Some(NtStatus::DISK_FULL));
    full.close(file).unwrap();
    full.remove_file("file").unwrap();
    full.disconnect();
}

#[test]
fn names_that_smb_cannot_carry_are_not_sent() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    let mut tree = tree(server.port(), "data", &Options::default());
    for name in [
        "a\\b", "a:b", "a*", "?", "\"", "<", "a>", "|", "tab\t", "\u{1}", "dot.", "space ", "..",
        ".", "a/../b", "a//b", "/a", "a/",
    ] {
        let error = tree.put_small(name, CreateHow::New, b"", false).unwrap_err();
        assert!(matches!(error, Error::Name { .. }), "{name:?}: {error:?}");
        assert!(!error.is_fatal());
    }
    for name in [".hidden", "a b", " leading", "Ünïcödé", "😀", "~$x", "a.b.c", "CON"] {
        tree.put_small(name, CreateHow::New, name.as_bytes(), false).unwrap();
        assert_eq!(tree.get_small(name, 100).unwrap(), name.as_bytes());
    }
    tree.disconnect();
}

#[test]
fn a_server_that_dies_or_freezes_is_an_error_in_time() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Samba);
    let mut server = Samba::start(&stage, SambaConfig::one(SambaShare::new("data"))).unwrap();
    let options = with(|o| o.call_timeout = std::time::Duration::from_millis(700));
    let mut frozen = tree(server.port(), "data", &options);
    let mut dead = tree(server.port(), "data", &options);
    server.freeze().unwrap();
    let error = frozen.put_small("file", CreateHow::New, b"x", false).unwrap_err();
    assert!(matches!(error, Error::Tcp(plimsoll_transport::Error::TimedOut { .. })), "{error:?}");
    assert!(frozen.echo().is_err(), "a connection that missed an answer is of no more use");
    server.thaw().unwrap();
    dead.echo().unwrap();
    server.restart().unwrap();
    let error = dead.echo().unwrap_err();
    assert!(matches!(error, Error::Tcp(_)) && error.is_fatal(), "{error:?}");
    let mut again = tree(server.port(), "data", &options);
    again.echo().unwrap();
    again.disconnect();
}
