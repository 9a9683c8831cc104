//! Hosts where something else than the probe answers, or the probe does not do what it should.

mod probe_support;

use plimsoll_model::{Cause, Failure};
use plimsoll_reach::probe::{Placed, Request};
use plimsoll_reach::{Channel, Local, Output, Reach};
use probe_support::{Impostor, LONG, programs, run};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn impostor(script: &str) -> Placed {
    let host = Impostor { script: script.into() };
    Placed::place(Arc::new(host), &programs(), None).unwrap()
}

/// What a verb fails with where that script answers.
fn failure(script: &str) -> Failure {
    let request = Request::new("cpu").within(Duration::from_secs(20));
    let failure = run(&impostor(script), &request).1.unwrap_err();
    assert!(!failure.to_string().replace('\n', "").contains(char::is_control), "{failure}");
    assert!(!failure.next.is_empty(), "{failure}");
    failure
}

/// A frame as an argument of printf.
fn frame(letter: char, body: &str) -> String {
    format!("PLMS\\001{letter}\\0\\0\\0\\0\\{:o}\\{:o}{body}", body.len() / 256, body.len() % 256)
}

#[test]
fn garbage_and_endless_output_end() {
    for script in ["head -c 200000 /dev/urandom", "yes", "cat /dev/zero"] {
        let failure = failure(script);
        assert_eq!(failure.cause, Cause::Trial);
        assert!(failure.happened.contains("not from a probe"), "{script}: {failure}");
        assert!(failure.next.contains("remove it from the login scripts"), "{failure}");
    }
    let section = frame('R', r#"{"section":"a"}"#);
    let endless = failure(&format!("while :; do printf '{section}'; done"));
    assert!(endless.happened.contains("does not end"), "{endless}");
    let after = failure(&format!("printf '{section}'; yes"));
    assert!(after.happened.contains("bytes between its answers: \"y\\n"), "{after}");
}

/// Clocks that nobody asked for, faster than they are read.
#[test]
fn a_session_that_sends_other_messages_without_end_ends() {
    let clocks = "yes 'PLMS#C@@@@@%0123456789abcdef' | tr -d '\\n' | tr '#@%' '\\001\\000\\020'";
    let request = Request::new("net");
    let failure = impostor(clocks).serve(&request).err().unwrap();
    assert!(failure.happened.contains("does not end"), "{failure}");
    let facts = frame('R', r#"{"section":"net"}"#);
    let mut session = impostor(&format!("printf '{facts}'; {clocks}")).serve(&request).unwrap();
    let failure = session.section(Instant::now() + LONG).unwrap_err();
    assert!(failure.happened.contains("does not end"), "{failure}");
}

#[test]
fn another_version_is_refused_naming_both() {
    let failure = failure(r"printf 'PLMS\002R\0\0\0\0\0\0'; cat");
    assert!(failure.happened.contains("version 2"), "{failure}");
    assert!(failure.happened.contains("version 1"), "{failure}");
    assert!(failure.next.contains("PLIMSOLL_PROBES"), "{failure}");
}

#[test]
fn absurd_lengths_and_bombs_are_refused() {
    let long = failure(r"printf 'PLMS\001R\0\0\377\377\377\377'; cat /dev/zero");
    assert!(long.happened.contains("4294967295 bytes, more than the limit"), "{long}");
    let deep =
        failure(r"printf 'PLMS\001R\0\0\0\0\047\020'; head -c 10000 /dev/zero | tr '\0' '['");
    assert!(deep.happened.contains("recursion"), "{deep}");
    let nameless = failure(&format!("printf '{}'", frame('R', "{}")));
    assert!(nameless.happened.contains("name its section"), "{nameless}");
}

#[test]
fn a_probe_that_breaks_off_is_reported_with_how() {
    let half = failure(r#"printf 'PLMS\001R\0\0\0\0\0\100{"section'"#);
    assert!(half.happened.contains("ended too early: it ended with exit code 0"), "{half}");
    let loud = failure("echo 'no such luck' >&2; exit 3");
    assert!(loud.happened.contains("exit code 3: no such luck"), "{loud}");
    let killed = failure("kill -9 $$");
    assert!(killed.happened.contains("killed (signal 9)"), "{killed}");
    let memory = failure("echo \"sh: can't fork: Out of memory\" >&2; exit 2");
    assert!(memory.happened.contains("does not have enough memory"), "{memory}");
    let crashed = failure("sh -c 'kill -SEGV $$'; exit $?");
    assert!(crashed.happened.contains("signal 11"), "{crashed}");
}

#[test]
fn its_words_are_freed_of_control_characters() {
    let words = r#"{"error":"cpu","on":"a\u001b[2Jb","happened":"\u0007","next":"run"}"#;
    let failure = failure(&format!("printf '{}'", frame('E', words).replace(r"\u", r"\\u")));
    assert_eq!(
        (failure.on.as_str(), failure.happened.as_str()),
        ("impostor (a\u{fffd}[2Jb)", "\u{fffd}")
    );
}

/// Whatever it does after its last words, nobody waits for it.
#[test]
fn a_probe_that_does_not_go_is_left() {
    let done = frame('D', r#"{"status":"done"}"#);
    let started = Instant::now();
    let placed = impostor(&format!("printf '{done}'; trap '' HUP TERM; sleep 1000"));
    run(&placed, &Request::new("cpu")).1.unwrap();
    assert!(started.elapsed() < LONG);
}

#[test]
fn a_sampler_that_answers_unasked_is_refused() {
    let facts = frame('R', r#"{"section":"sample","clock_ticks_per_second":0}"#);
    let sample = frame('T', &"x".repeat(24));
    let failure = impostor(&format!("printf '{facts}{sample}'; cat")).sampler().err().unwrap();
    assert!(failure.happened.contains("not requested"), "{failure}");
    let failure = impostor(&format!("printf '{facts}{}'; cat", frame('T', "short"))).sampler();
    let failure = failure.err().unwrap();
    assert!(failure.happened.contains("contradict"), "{failure}");
}

/// A host whose commands all answer alike.
struct Liar(&'static [u8]);

impl Reach for Liar {
    fn name(&self) -> &str {
        "liar"
    }

    fn run(&self, _: &str, _: &[u8], _: Duration) -> Result<Output, Failure> {
        let (output, errors) = (self.0.to_vec(), self.0.to_vec());
        Ok(Output { status: Some(0), output, errors, cut: false })
    }

    fn open(&self, _: &str) -> Result<Box<dyn Channel>, Failure> {
        Local.open("printf 'plimsoll-place /\\033[2Jx\\n'; exit 7")
    }
}

#[test]
fn a_host_that_lies_about_itself_gets_no_probe() {
    for (answer, word) in [
        (&b""[..], "calls itself"),
        (b"\n\n\n", "calls itself"),
        (b"\x1b[2Jvax\n\x7fELF\x01", "\u{fffd}[2Jvax"),
        (b"x86_64\n", "plimsoll-place"),
        (b"x86_64\n\x7fELF\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", ""),
    ] {
        let failure = Placed::place(Arc::new(Liar(answer)), &programs(), None).err().unwrap();
        assert!(failure.happened.contains(word), "{answer:?}: {failure}");
        assert!(!failure.happened.contains('\x1b'), "{failure}");
    }
}
