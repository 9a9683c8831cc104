//! Where passwords come from, and that they go nowhere but to the server.

mod support;

use plimsoll_testkit::servers::samba::{PASSWORD, USER};
use plimsoll_testkit::servers::{Samba, SambaConfig, SambaShare};
use plimsoll_testkit::{Need, Stage, enter_or_skip};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use support::rows::check;
use support::terminal::AtTerminal;
use support::{Plimsoll, Ran};

fn serve(stage: &Stage) -> Samba {
    Samba::start(stage, SambaConfig::one(SambaShare::new("films"))).unwrap()
}

/// Sees that a password is in nothing that the program said or kept.
#[track_caller]
fn assert_nowhere(password: &str, program: &Plimsoll, ran: &Ran) {
    let utf16: Vec<u8> = password.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let holds = |bytes: &[u8]| {
        let found = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
        found(password.as_bytes()) || found(&utf16)
    };
    assert!(!holds(ran.out.as_bytes()) && !holds(ran.err.as_bytes()), "{ran:?}");
    for command in ["list", "show", "export"] {
        let ran = program.run(&[command]);
        assert!(!holds(ran.out.as_bytes()) && !holds(ran.err.as_bytes()), "{command}: {ran:?}");
    }
    for entry in std::fs::read_dir(program.home()).unwrap().flatten() {
        if entry.path().is_file() && entry.file_name() != "credentials" {
            let bytes = std::fs::read(entry.path()).unwrap();
            assert!(!holds(&bytes), "{} holds it", entry.path().display());
        }
    }
}

fn write_private(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
}

#[test]
fn the_environment_and_where_the_password_is_not() {
    let stage = enter_or_skip!(Need::Samba);
    let server = serve(&stage);
    let program = Plimsoll::new()
        .with("PLIMSOLL_PASSWORD", PASSWORD)
        .with("RUST_LOG", "trace")
        .with("RUST_BACKTRACE", "full");
    let json = program.home().join("study.json");
    let ran = check(
        &program,
        &server.url("films"),
        &["--pattern=random-read", &format!("--json={}", json.display())],
    );
    assert_nowhere(PASSWORD, &program, &ran.expect(0));
    assert!(json.exists());
    // Where it is wrong, too.
    let program = Plimsoll::new().with("PLIMSOLL_PASSWORD", "shut sesame");
    let ran = check(&program, &server.url("films"), &[]);
    assert_nowhere("shut sesame", &program, &ran.expect(4));
}

#[test]
fn a_password_on_the_command_line_is_refused_and_not_kept() {
    let program = Plimsoll::new();
    for target in ["smb://me:tell-nobody@nas/films", "smb://me@nas/films?password=tell-nobody"] {
        let ran = check(&program, target, &[]).expect(2);
        assert!(ran.err.contains("PLIMSOLL_PASSWORD"), "{}", ran.err);
        assert_nowhere("tell-nobody", &program, &ran);
    }
}

#[test]
fn credentials_files_are_found_by_user_and_host() {
    let stage = enter_or_skip!(Need::Samba);
    let server = serve(&stage);
    let url = server.url("films");
    let program = Plimsoll::new();
    let text =
        format!("# mine\n[me@nas]\npassword = x\n[{USER}@127.0.0.1]\npassword = {PASSWORD}\n");
    let given = program.home().join("credentials");
    write_private(&given, &text);
    let option = format!("--credentials={}", given.display());
    let ran = check(&program, &url, &["--pattern=random-read", &option]).expect(0);
    assert_nowhere(PASSWORD, &program, &ran);
    program.run(&["clean", &url, &option]).expect(0);
    // The user's own one.
    std::fs::create_dir_all(program.home().join("plimsoll")).unwrap();
    write_private(&program.home().join("plimsoll/credentials"), &text);
    check(&program, &url, &["--pattern=random-read"]).expect(0);
    // One that others can read.
    std::fs::set_permissions(&given, Permissions::from_mode(0o644)).unwrap();
    let ran = check(&program, &url, &[&option]).expect(4);
    for word in ["other users can read", "chmod 600", given.to_str().unwrap()] {
        assert!(ran.err.contains(word), "{word}: {}", ran.err);
    }
    assert_nowhere(PASSWORD, &program, &ran);
    // One that is not understood: the line is named and not shown.
    write_private(&given, "[me@nas]\ntell-nobody\n");
    let ran = check(&program, &url, &[&option]).expect(2);
    assert!(ran.err.contains("line 2"), "{}", ran.err);
    assert_nowhere("tell-nobody", &program, &ran);
}

#[test]
fn without_a_terminal_it_says_what_to_set() {
    let stage = enter_or_skip!(Need::Samba);
    let server = serve(&stage);
    let program = Plimsoll::new();
    // A session of its own has no terminal, whoever runs the tests.
    let mut setsid = Command::new("setsid");
    setsid.arg("--wait");
    let url = server.url("films");
    let ran = program.command_under(setsid, &["check", &url, "--quiet"]).output().unwrap();
    let ran = Ran::from(ran).expect(4);
    for word in ["PLIMSOLL_PASSWORD", &format!("[{USER}@127.0.0.1]"), "terminal", &url] {
        assert!(ran.err.contains(word), "{word}: {}", ran.err);
    }
}

#[test]
fn a_prompt_asks_once_and_shows_nothing() {
    let stage = enter_or_skip!(Need::Samba);
    let server = serve(&stage);
    let program = Plimsoll::new();
    let url = server.url("films");
    let mut terminal = AtTerminal::start(
        &program,
        &[
            "check",
            &url,
            &url,
            "--pattern=random-read",
            "--size=8MiB",
            "--repeats=1",
            "--time=200ms",
            "--baseline=0s",
            "--quiet",
        ],
    );
    let prompt = format!("Password of {USER}@127.0.0.1: ");
    terminal.wait_for(&prompt);
    terminal.type_in(&format!("{PASSWORD}x\u{7f}\r"));
    let (said, code) = terminal.ended();
    assert_eq!(code, "0", "{said}");
    assert_eq!(said.matches(&prompt).count(), 1, "{said}");
    assert!(!said.contains(PASSWORD), "{said}");
}

#[test]
fn a_prompt_that_is_interrupted_leaves_the_terminal_as_it_was() {
    let stage = enter_or_skip!(Need::Samba);
    let server = serve(&stage);
    let url = server.url("films");
    for (command, by, expected) in
        [("check", "keys", "130"), ("clean", "keys", "130"), ("check", "-TERM", "143")]
    {
        let program = Plimsoll::new();
        let mut terminal = AtTerminal::start(&program, &[command, &url]);
        terminal.wait_for("Password of ");
        terminal.type_in("half a pass");
        match by {
            "keys" => terminal.type_in("\u{3}"),
            signal => {
                // What is typed reaches the terminal a moment after it was written; what comes when the
                // prompt has ended is shown, as anything that is typed to a shell.
                std::thread::sleep(Duration::from_millis(500));
                let word = program.home().to_str().unwrap().to_owned();
                kill_with_variable("PLIMSOLL_DB", &word, signal);
            }
        }
        let (said, code) = terminal.ended();
        assert_eq!(code, expected, "{command} {by}: {said}");
        assert!(!said.contains("half a pass"), "{said}");
    }
}

/// Sends a signal to the program whose environment variable begins with `value`.
fn kill_with_variable(name: &str, value: &str, signal: &str) {
    let begins = format!("{name}={value}");
    let program = std::fs::canonicalize(env!("CARGO_BIN_EXE_plimsoll")).unwrap();
    let mut sent = 0;
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let name = process.file_name();
        let Some(pid) = name.to_str().filter(|n| n.parse::<u32>().is_ok()) else { continue };
        let is = std::fs::read_link(process.path().join("exe")).unwrap_or_default();
        let variables = std::fs::read(process.path().join("environ")).unwrap_or_default();
        let ours = variables.split(|b| *b == 0).any(|v| v.starts_with(begins.as_bytes()));
        if ours && is == program {
            let status = Command::new("kill").args([signal, pid]).status().unwrap();
            sent += u32::from(status.success());
        }
    }
    assert_eq!(sent, 1);
}
