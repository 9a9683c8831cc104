//! Commands that are run to their end.

use crate::support::{LIMIT, Server, everywhere, run, said};
use plimsoll_model::Cause;
use plimsoll_reach::{MOST_ERRORS, MOST_OUTPUT, quote};
use plimsoll_testkit::Need;
use proptest::prelude::*;
use std::time::Duration;

#[test]
fn input_output_errors_and_exit_codes_pass() {
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    everywhere(&stage, |host| {
        let output = run(host, "tr a-z A-Z; echo oops >&2; exit 7", b"from here");
        assert_eq!(output.output, b"FROM HERE", "{}", host.name());
        assert_eq!(output.errors, b"oops\n");
        assert_eq!((output.status, output.cut), (Some(7), false));
        let nothing = run(host, "", b"nobody reads this");
        assert_eq!((nothing.status, nothing.output.len()), (Some(0), 0));
    });
}

#[test]
fn every_byte_passes_both_ways() {
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    let bytes: Vec<u8> = (0..1_000_003_u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
    everywhere(&stage, |host| {
        assert!(run(host, "cat", &bytes).output == bytes, "{}", host.name());
    });
}

#[test]
fn what_is_too_much_is_cut() {
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    everywhere(&stage, |host| {
        let output = run(host, "head -c 6000000 /dev/zero; echo end >&2", b"");
        assert_eq!((output.output.len(), output.cut), (MOST_OUTPUT, true), "{}", host.name());
        assert_eq!((output.status, &output.errors[..]), (Some(0), &b"end\n"[..]));
        let complaints = run(host, "head -c 300000 /dev/zero >&2; echo end >&2; echo out", b"");
        assert_eq!((complaints.errors.len(), complaints.cut), (MOST_ERRORS, true));
        assert!(complaints.errors.ends_with(b"\0end\n"));
        assert_eq!(complaints.output, b"out\n");
    });
}

#[test]
fn what_takes_too_long_is_given_up() {
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    everywhere(&stage, |host| {
        let short = Duration::from_millis(300);
        // The second never stops writing, the third never reads.
        for command in ["sleep 600", "cat /dev/zero", "sleep 600 </dev/null"] {
            let input = vec![0; 8 << 20];
            let failure = host.run(command, &input, short).unwrap_err();
            assert_eq!(failure.cause, Cause::Unreachable, "{command}: {failure}");
            assert!(failure.happened.contains("did not end"), "{failure}");
        }
        // The connection is as good as before.
        assert_eq!(said(host, "echo still here"), "still here\n");
    });
}

#[test]
fn long_commands_pass() {
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    let lines: String = (0..3000).map(|i| format!("# line {i}\n")).collect();
    everywhere(&stage, |host| {
        assert_eq!(said(host, &format!("{lines}echo end")), "end\n");
    });
}

#[test]
fn the_shell_is_the_one_at_bin_sh() {
    let stage = plimsoll_testkit::enter_or_skip!(Need::Dropbear, Need::Busybox, Need::SshClient);
    let [_, server] = Server::each(&stage);
    let host = server.reach();
    assert_eq!(said(&host, "readlink -f /bin/sh"), "/bin/busybox\n");
    assert_eq!(
        said(&host, "ls /bin | while read f; do readlink -f /bin/$f; done | sort -u"),
        "/bin/busybox\n"
    );
    assert!(run(&host, "bash -c true", b"").status != Some(0));
}

#[test]
fn a_signal_is_no_exit_code() {
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    everywhere(&stage, |host| {
        let output = run(host, "echo before; kill -9 $$", b"");
        assert_eq!(
            (output.status, &output.output[..]),
            (None, &b"before\n"[..]),
            "{}",
            host.name()
        );
        // In a child of the shell it is one.
        assert_eq!(run(host, "sh -c 'kill -9 $$'", b"").status, Some(137));
    });
}

#[test]
fn nul_bytes_are_refused() {
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    everywhere(&stage, |host| {
        let failure = host.run("echo \0", b"", LIMIT).unwrap_err();
        assert_eq!(failure.cause, Cause::Usage, "{failure}");
    });
}

/// Words arrive as they are on the way through ssh, login shell and BusyBox.
#[test]
fn words_arrive_intact() {
    let stage = plimsoll_testkit::enter_or_skip!(
        Need::Sshd,
        Need::Dropbear,
        Need::Busybox,
        Need::SshClient
    );
    let hosts = Server::each(&stage).map(|server| (server.reach(), server));
    let word = "[^\0]{0,12}|[!'\"\\\\$`\n~*#;&|<>(){} %-]{0,12}";
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(24));
    let words = prop::collection::vec(word, 1..4);
    runner
        .run(&words, |words| {
            let quoted: Vec<_> = words.iter().map(|word| quote(word)).collect();
            let command = format!("printf '%s|' {}", quoted.join(" "));
            let expected: String = words.iter().map(|word| format!("{word}|")).collect();
            for (host, _) in &hosts {
                let output = run(host, &command, b"");
                prop_assert_eq!(String::from_utf8_lossy(&output.output), &expected[..]);
            }
            Ok(())
        })
        .unwrap();
}
