//! Commands in a machine are what they are on any host.

use super::pair::{LIMIT, Pair, eventually, kill, run, said};
use plimsoll_lab::vm;
use plimsoll_model::Cause;
use plimsoll_reach::{Channel, MOST_ERRORS, MOST_OUTPUT, put, quote};
use std::io::ErrorKind;
use std::time::{Duration, Instant};

fn soon() -> Instant {
    Instant::now() + LIMIT
}

fn read_line(channel: &mut dyn Channel) -> String {
    let mut line = Vec::new();
    let mut byte = [0];
    while !line.ends_with(b"\n") && channel.read(&mut byte, soon()).unwrap() == 1 {
        line.push(byte[0]);
    }
    String::from_utf8(line).unwrap()
}

pub fn pass_both_ways(pair: &Pair) {
    let host = &*pair.to_client;
    let output = run(host, "tr a-z A-Z; echo oops >&2; exit 7", b"from here");
    assert_eq!((output.status, output.cut), (Some(7), false));
    assert_eq!((&output.output[..], &output.errors[..]), (&b"FROM HERE"[..], &b"oops\n"[..]));
    let nothing = run(host, "", b"nobody reads this");
    assert_eq!((nothing.status, nothing.output.len()), (Some(0), 0));
    let killed = run(host, "echo before; kill -9 $$", b"");
    assert_eq!((killed.status, &killed.output[..]), (None, &b"before\n"[..]));
    // What is left running keeps nobody waiting.
    assert_eq!(said(host, "sleep 600.5 & echo done"), "done\n");
    said(host, "pkill -x sleep");

    let bytes: Vec<u8> = (0..1_000_003_u32).map(|i| (i.wrapping_mul(i) >> 7) as u8).collect();
    assert!(run(host, "cat", &bytes).output == bytes);
    let words = ["it's", "a\\b", "$HOME `id` \"x\"", "line\nbreak", "ü%s!", ""];
    let quoted: Vec<_> = words.iter().map(|word| quote(word)).collect();
    let expected: String = words.iter().map(|word| format!("{word}|")).collect();
    assert_eq!(said(host, &format!("printf '%s|' {}", quoted.join(" "))), expected);
    let lines: String = (0..3000).map(|i| format!("# line {i}\n")).collect();
    assert_eq!(said(host, &format!("{lines}echo end")), "end\n");

    let much = run(host, "head -c 6000000 /dev/zero; echo end >&2", b"");
    assert_eq!((much.output.len(), much.cut), (MOST_OUTPUT, true));
    assert_eq!((much.status, &much.errors[..]), (Some(0), &b"end\n"[..]));
    let complaints = run(host, "head -c 300000 /dev/zero >&2; echo end >&2; echo out", b"");
    assert_eq!((complaints.errors.len(), complaints.cut), (MOST_ERRORS, true));
    assert!(complaints.errors.ends_with(b"\0end\n"));
    assert_eq!(complaints.output, b"out\n");

    let program: Vec<u8> = (0..8_u32 << 20).map(|i| (i ^ (i >> 9)) as u8).collect();
    let begun = Instant::now();
    put(host, &program, "/run/program", 0o700, LIMIT).unwrap();
    eprintln!("8 MiB copied in: {:.1?}", begun.elapsed());
    let there = said(host, "stat -c '%s %a' /run/program");
    assert_eq!(there, format!("{} 700\n", program.len()));
    said(host, "rm /run/program");
    let begun = Instant::now();
    (0..10).for_each(|_| drop(said(host, "true")));
    eprintln!("a command: {:.1?}", begun.elapsed() / 10);
}

pub fn many_at_once(pair: &Pair) {
    let echo = "while read -r line; do echo \"got $line\"; done; echo bye; echo last >&2; exit 3";
    let mut channels: Vec<_> = (0..6).map(|_| pair.to_client.open(echo).unwrap()).collect();
    for (i, channel) in channels.iter_mut().enumerate() {
        channel.write(format!("{i}\n").as_bytes(), soon()).unwrap();
    }
    for (i, channel) in channels.iter_mut().enumerate().rev() {
        assert_eq!(read_line(&mut **channel), format!("got {i}\n"));
    }
    let mut first = channels.swap_remove(0);
    let silence = first.read(&mut [0; 16], Instant::now() + Duration::from_millis(50));
    assert_eq!(silence.unwrap_err().kind(), ErrorKind::TimedOut);
    let end = first.finish(LIMIT).unwrap();
    assert_eq!(
        (end.status, &end.output[..], &end.errors[..]),
        (Some(3), &b"bye\n"[..], &b"last\n"[..])
    );
    drop(channels);
    // Complaints are listened to while nobody asks for them.
    let mut loud =
        pair.to_client.open("head -c 1000000 /dev/zero >&2; echo done; read -r x").unwrap();
    assert_eq!(read_line(&mut *loud), "done\n");
    assert_eq!(loud.finish(LIMIT).unwrap().errors.len(), MOST_ERRORS);
}

/// A client that goes away takes its command along: closed, dropped, or killed. The command has time to
/// remove what it has made.
pub fn end_with_whoever_asked(pair: &Pair) {
    let host = &*pair.to_client;
    let sleepers = || said(host, "pgrep -cx sleep || true").trim().to_owned();
    let deaf = host.open("sleep 600.25 & sleep 600.25").unwrap();
    eventually("they sleep", || sleepers() == "2");
    drop(deaf);
    eventually("they are gone", || sleepers() == "0");
    // Whoever does not read keeps nobody waiting.
    let mut stuck = host.open("exec sleep 600.25").unwrap();
    let much = vec![0; 4 << 20];
    let error = stuck.write(&much, Instant::now() + Duration::from_millis(300)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    drop(stuck);
    eventually("it is gone", || sleepers() == "0");

    let mut other = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_client_that_is_killed"])
        .env("PLIMSOLL_TEST_MACHINE", &pair.client.directory)
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    eventually("the other's command runs", || sleepers() == "1");
    assert_eq!(said(host, "ls -d /run/left"), "/run/left\n");
    other.kill().unwrap();
    other.wait().unwrap();
    eventually("it removes what it has made", || said(host, "ls -d /run/left || true").is_empty());
    eventually("a command that ignores its input ends with it", || sleepers() == "0");
}

pub fn are_refused_or_given_up(pair: &Pair) {
    let host = &*pair.to_client;
    assert_eq!(host.run("echo \0", b"", LIMIT).unwrap_err().cause, Cause::Usage);
    let short = Duration::from_millis(500);
    for command in ["sleep 600", "cat /dev/zero", "sleep 600 </dev/null"] {
        let failure = host.run(command, &vec![0; 4 << 20], short).unwrap_err();
        assert_eq!(failure.cause, Cause::Unreachable, "{command}: {failure}");
        assert!(failure.happened.contains("did not end"), "{failure}");
    }
    assert_eq!(said(host, "echo still here"), "still here\n");
}

/// A machine that dies under a command is reported.
pub fn lost_machine(pair: Pair) {
    std::thread::scope(|scope| {
        let command = scope.spawn(|| pair.to_client.run("echo begun; exec sleep 600", b"", LIMIT));
        eventually("the command runs", || {
            said(&*pair.to_client, "pgrep -cx sleep || true") == "1\n"
        });
        kill(pair.pids[1]);
        let failure = command.join().unwrap().unwrap_err();
        assert_eq!(failure.cause, Cause::Unreachable);
        assert!(failure.happened.contains("the machine stopped"), "{failure}");
    });
    let failure = vm::reach(&pair.client.directory, "client").run("true", b"", LIMIT).unwrap_err();
    assert!(failure.happened.contains("does not run"), "{failure}");
}
