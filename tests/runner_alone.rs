//! The program by itself: what it says, and that whatever ends it leaves nothing behind.

use plimsoll_model::units::Bytes;
use plimsoll_model::{
    Cause, Event, Length, Nanos, Outcome, Part, PatternJob, Phase, StudyId, Target, Workload,
};
use plimsoll_remote::protocol::{Begin, Connect, Reply, Request};
use plimsoll_runner::{OpenOptions, RunnerOptions};
use plimsoll_testkit::points;
use std::io::{BufRead, BufReader, Write};
use std::num::NonZeroU16;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    share: tempfile::TempDir,
}

impl Program {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_plimsoll-runner"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let share = tempfile::tempdir().unwrap();
        let mut program = Program { child, input, output, share };
        assert_eq!(program.reply(), Reply::hello());
        program
    }

    fn say(&mut self, line: &[u8]) {
        self.input.as_mut().unwrap().write_all(line).unwrap();
    }

    fn reply(&mut self) -> Reply {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        Reply::from_line(line.trim_end().as_bytes()).unwrap_or_else(|e| panic!("{e}: {line}"))
    }

    /// The reply to a request, after its events.
    fn ask(&mut self, request: &Request) -> Reply {
        self.say(&request.to_line());
        loop {
            match self.reply() {
                Reply::Event { .. } | Reply::LoadBegins | Reply::LoadEnds | Reply::Alive => {}
                reply => return reply,
            }
        }
    }

    /// A study with one directory, prepared.
    fn prepared() -> Self {
        let mut program = Program::begun(OpenOptions::default());
        program.prepare();
        assert_eq!(entries(program.share.path()), 1, "the run's directory");
        program
    }

    fn prepare(&mut self) {
        let prepare = Request::Prepare { target: 0, workloads: vec![workload(1.0, "random-read")] };
        while {
            let Reply::Target { more, .. } = self.ask(&prepare) else { panic!("not prepared") };
            more
        } {}
    }

    /// A study with one directory, where a file lies.
    fn begun(how: OpenOptions) -> Self {
        let mut program = Program::start();
        if let Some(file) = &how.file {
            std::fs::write(program.share.path().join(file), vec![1; 1 << 20]).unwrap();
        }
        let options = RunnerOptions {
            study: StudyId("0123abcd".into()),
            nonce: 1,
            longest_trial: Duration::from_secs(60),
            operation_timeout: Duration::from_secs(30),
            server_memory: None,
            live: true,
            set_up: Duration::from_secs(600),
            deadline: plimsoll_load::SystemClock::no_deadline(),
        };
        assert_eq!(program.ask(&Request::Begin(Begin::from(&options))), Reply::Done);
        let target: Target = program.share.path().to_str().unwrap().parse().unwrap();
        let connect = Connect::new(&target, &how, Vec::new());
        assert_eq!(program.ask(&Request::Connect(Box::new(connect))), Reply::Done);
        assert!(matches!(program.ask(&Request::Attach { target: 0 }), Reply::Target { .. }));
        program
    }

    /// Begins a trial of a minute.
    fn begin_trial(&mut self) {
        self.say(&trial(60.0).to_line());
        loop {
            let Reply::Event { event } = self.reply() else { continue };
            if matches!(event, Event::Phase { phase: Phase::Measure, .. }) {
                return;
            }
        }
    }

    /// It ends long before its trial would, and leaves nothing.
    fn assert_ends(mut self) {
        let begin = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(begin.elapsed() < Duration::from_secs(30), "it goes on");
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(entries(self.share.path()), 0, "nothing is left");
    }
}

fn entries(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

fn workload(seconds: f64, pattern: &str) -> Workload {
    let pattern = pattern.parse().unwrap();
    let job = PatternJob::new(pattern, Bytes(4096), Bytes(1 << 20));
    let part = Part::closed(job.into(), NonZeroU16::MIN, NonZeroU16::MIN);
    Workload::new(part, Length::For { seconds, warm_up_seconds: 0.0 })
}

fn point(seconds: f64, pattern: &str) -> Request {
    Request::Point { spec: Box::new(points::spec(workload(seconds, pattern))), gated: false }
}

fn trial(seconds: f64) -> Request {
    point(seconds, "random-read")
}

#[test]
fn a_file_is_read_in_place_and_nothing_written() {
    let file = Some("film".to_owned());
    let mut program = Program::begun(OpenOptions { file, ..OpenOptions::default() });
    assert_eq!(entries(program.share.path()), 1, "the file alone");
    program.prepare();
    let Reply::Result { result, .. } = program.ask(&trial(0.2)) else { panic!("a result") };
    assert_eq!(result.outcome, Outcome::Complete);
    let Reply::Result { result, .. } = program.ask(&point(0.2, "random-write")) else {
        panic!("a result")
    };
    let Outcome::Failed { failure, .. } = result.outcome else { panic!("{:?}", result.outcome) };
    assert!(failure.happened.contains("plimsoll does not write"), "{failure}");
    assert_eq!(program.ask(&Request::Close), Reply::Closed { flags: Vec::new() });
    assert_eq!(entries(program.share.path()), 1, "the file alone");
    assert_eq!(std::fs::read(program.share.path().join("film")).unwrap(), vec![1; 1 << 20]);
}

#[test]
fn a_trial_and_an_orderly_end() {
    let mut program = Program::prepared();
    let Reply::Result { result, .. } = program.ask(&trial(0.3)) else { panic!("a result") };
    assert_eq!(result.outcome, Outcome::Complete);
    assert!(!result.parts[0].quantities.is_empty());
    assert_eq!(program.ask(&Request::Close), Reply::Closed { flags: vec![] });
    program.assert_ends();
}

#[test]
fn a_trial_that_is_stopped_says_so() {
    let mut program = Program::prepared();
    program.begin_trial();
    program.say(&Request::Stop.to_line());
    let result = loop {
        match program.reply() {
            Reply::Result { result, .. } => break result,
            Reply::Event { .. } | Reply::LoadBegins | Reply::LoadEnds | Reply::Alive => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(result.outcome, Outcome::Stopped);
    assert_eq!(program.ask(&Request::Close), Reply::Closed { flags: vec![] });
    program.assert_ends();
}

#[test]
fn it_ends_with_its_input_and_by_signals() {
    let mut program = Program::prepared();
    program.begin_trial();
    program.input = None;
    program.assert_ends();
    for signal in ["-TERM", "-HUP"] {
        let mut program = Program::prepared();
        program.begin_trial();
        let id = program.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
        program.assert_ends();
    }
}

#[test]
fn requests_out_of_order_are_refused() {
    let mut program = Program::start();
    for request in [
        Request::Attach { target: 0 },
        Request::Clean { target: 0, own: true },
        trial(1.0),
        Request::Password { password: plimsoll_remote::protocol::Secret("x".into()) },
    ] {
        match program.ask(&request) {
            Reply::Failed { failure } => assert_eq!(failure.cause, Cause::Usage, "{failure}"),
            Reply::Result { result, .. } => assert_ne!(result.outcome, Outcome::Complete),
            other => panic!("{other:?}"),
        }
    }
    program.say(b"{\"request\":\"password\",\"password\":[\"hunter2\"]}\n");
    let Reply::Failed { failure } = program.reply() else { panic!("refused") };
    assert!(!failure.to_string().contains("hunter2"), "{failure}");
    let id = "\"study\":\"../../etc\",\"nonce\":1,\"longest_trial_seconds\":1,\"operation_timeout_seconds\":1,\"live\":true,\"set_up_seconds\":1";
    program.say(format!("{{\"request\":\"begin\",{id}}}\n").as_bytes());
    assert!(matches!(program.reply(), Reply::Failed { .. }), "a study's name names a directory");
    // It does not listen to the end of it.
    let _ = program.input.as_mut().unwrap().write_all(&[b'x'; 2 << 20]);
    assert!(matches!(program.reply(), Reply::Failed { .. }), "a line without end");
    program.assert_ends();
}

/// A trial that waits for its start.
fn gated(seconds: f64) -> Request {
    let Request::Point { spec, .. } = trial(seconds) else { unreachable!() };
    Request::Point { spec, gated: true }
}

#[test]
fn a_gated_trial_begins_at_the_instant_and_says_how_late() {
    let mut program = Program::prepared();
    let clock = |program: &mut Program| {
        let Reply::Clock { now } = program.ask(&Request::Clock) else { panic!("its clock") };
        now
    };
    let first = clock(&mut program);
    assert_eq!(program.ask(&gated(0.3)), Reply::Ready);
    let now = clock(&mut program);
    assert!(now > first, "it tells the time while it waits, too");
    let at = now + Duration::from_millis(400);
    let Reply::Result { result, late } = program.ask(&Request::Start { at: Some(at) }) else {
        panic!("a result")
    };
    assert_eq!(result.outcome, Outcome::Complete);
    let end = clock(&mut program);
    assert!(end >= at + Duration::from_millis(300), "it neither began before nor was cut short");
    let late = late.expect("how late") - Nanos(0);
    assert!(late < end.since(at), "measured from the instant: {late:?}");
    let Reply::Result { late, .. } = program.ask(&trial(0.1)) else { panic!("a result") };
    assert_eq!(late, None, "there was no instant");
}

#[test]
fn a_gated_trial_that_is_not_to_begin_or_too_late_has_no_figures() {
    let mut program = Program::prepared();
    let cases = [
        (None, None),
        (Some(Nanos(1)), Some("ms too late")),
        (Some(Nanos(u64::MAX)), Some("too far in the future")),
    ];
    for (at, words) in cases {
        assert_eq!(program.ask(&gated(60.0)), Reply::Ready);
        let Reply::Result { result, late } = program.ask(&Request::Start { at }) else {
            panic!("a result")
        };
        match (&result.outcome, words) {
            (Outcome::Stopped, None) => {}
            (Outcome::Failed { failure, .. }, Some(words)) => {
                assert!(failure.happened.contains(words), "{failure}");
            }
            other => panic!("{other:?}"),
        }
        assert!(result.parts.is_empty() && late.is_none());
    }
    let start = Request::Start { at: Some(Nanos(u64::MAX)) };
    assert!(matches!(program.ask(&start), Reply::Failed { .. }), "nothing waits for it");
    assert_eq!(program.ask(&gated(60.0)), Reply::Ready);
    let Reply::Result { result, .. } = program.ask(&trial(1.0)) else { panic!("a result") };
    assert!(matches!(result.outcome, Outcome::Failed { .. }), "it waits for its start");
    assert_eq!(program.ask(&gated(60.0)), Reply::Ready);
    program.input = None;
    program.assert_ends();
}
