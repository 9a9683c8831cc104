//! Servers that close connections: beyond a limit of them, which the trial fails by alone, and all of them.

mod support;

use plimsoll_load::{
    Content, Ended, Files, LaidOut, OpenOptions, OperationContext, Passwords, RunSpec, Share,
    SystemClock, TimeLimits, lay_out, run_from,
};
use plimsoll_model::units::{Bytes, MIB};
use plimsoll_model::{Cause, Deadline, Failure, PatternJob};
use plimsoll_smb::SigningAlgorithm;
use plimsoll_testkit::responder::smb::{PASSWORD, SmbResponder};
use plimsoll_testkit::responder::{Costs, Responder};
use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

/// A server may be away for half of it.
const CALL: Duration = Duration::from_secs(6);

fn open(url: &str) -> Arc<dyn Share> {
    let limits = TimeLimits { connect: Duration::from_secs(2), call: CALL };
    let passwords = Passwords::new(|_| Ok(PASSWORD.into()));
    let options = OpenOptions { limits, passwords, ..OpenOptions::default() };
    plimsoll_load::open(&url.parse().unwrap(), &options).unwrap()
}

fn smb() -> SmbResponder {
    SmbResponder::start(SigningAlgorithm::AesGmac, Costs::FREE).unwrap()
}

/// Random reads of six workers, of a file that is there.
fn reads(share: &dyn Share) -> RunSpec {
    let mut names = share.namespace().unwrap();
    names.make_directory("run").unwrap();
    let laid_out = LaidOut { file: names.create("run/f").unwrap(), generation: 0 };
    let context = OperationContext {
        content: Arc::new(Content::new(support::STUDY)),
        paths: Arc::default(),
        deadline: Deadline::new(Arc::new(SystemClock::new()), Arc::default()),
        operation_timeout: 10 * CALL,
        stalls: Default::default(),
    };
    lay_out(share, &context, laid_out, MIB, &mut |_| {}).unwrap();
    RunSpec {
        job: PatternJob::random_reads(Bytes(4096), Bytes(MIB)),
        workers: NonZeroU16::new(6).unwrap(),
        depth: NonZeroU16::MIN,
        files: Files { read: vec![laid_out], write: vec![] },
        context,
        duration: 10 * CALL,
        window: Duration::from_millis(100),
        seed: 1,
    }
}

/// What the trial fails with if this happens when all workers have their connections.
fn failure(share: &dyn Share, spec: &RunSpec, happens: impl Fn() + Sync) -> Failure {
    let gate = || {
        happens();
        Ok(spec.context.deadline.now())
    };
    let (team, ..) = run_from(share, spec, None, Some(&gate)).unwrap();
    let Ended::Failed(error) = &team.ended else { panic!("{:?}", team.ended) };
    team.failure("finish the trial", "nas", error)
}

fn assert_is_limit(failure: &Failure, how: &str) {
    assert_eq!(failure.cause, Cause::Trial, "{failure}");
    for words in [how, "answered other connections"] {
        assert!(failure.happened.contains(words), "{failure}");
    }
    assert!(failure.next.contains("fewer connections"), "{failure}");
}

/// The trial went on until an operation had waited for as long as it may take, and the study ended, as by a server that
/// is down.
#[test]
fn nfs_beyond_a_limit_ends_the_trial_alone() {
    let server = Responder::start().unwrap();
    let share = open(&server.url());
    let spec = reads(&*share);
    // Of those that were open a few may be closing.
    server.answer_on_more(2);
    let failure = failure(&*share, &spec, || {});
    assert_is_limit(&failure, "new connections were closed unanswered");
}

/// Lanes that connect again push each other out: the trial was complete, "reconnected" thousands of times.
#[test]
fn nfs_that_closes_its_oldest_connections_ends_the_trial_alone() {
    let server = Responder::start().unwrap();
    let share = open(&server.url());
    let spec = reads(&*share);
    server.keep_newest(3);
    let failure = failure(&*share, &spec, || {});
    assert_is_limit(&failure, "");
}

/// The first close ended the study.
#[test]
fn smb_beyond_a_limit_ends_the_trial_alone() {
    let server = smb();
    let share = open(&server.url());
    let spec = reads(&*share);
    let failure = failure(&*share, &spec, || server.cut_newest(2));
    assert_is_limit(&failure, "");
}

#[test]
fn smb_that_closes_its_oldest_connections_ends_the_trial_alone() {
    let server = smb();
    let share = open(&server.url());
    let spec = reads(&*share);
    let mut names = share.namespace().unwrap();
    server.keep_newest(3);
    let failure = failure(&*share, &spec, || {});
    assert_is_limit(&failure, "");
    // Their connection is the oldest of all.
    assert_eq!(names.list("run").unwrap().len(), 1);
}

#[test]
fn smb_that_closes_all_connections_is_gone() {
    let server = smb();
    let share = open(&server.url());
    let spec = reads(&*share);
    let failure = failure(&*share, &spec, || server.cut());
    assert_eq!(failure.cause, Cause::Unreachable, "{failure}");
    assert!(!failure.happened.contains("other connections"), "{failure}");
}

/// It was used for ever, and its end was called one of the network.
#[test]
fn a_session_that_the_server_ends_is_made_again_for_names_and_fails_a_trial_alone() {
    let server = smb();
    let share = open(&server.url());
    let spec = reads(&*share);
    let mut names = share.namespace().unwrap();
    server.end_sessions();
    assert_eq!(names.list("run").unwrap().len(), 1);
    let failure = failure(&*share, &spec, || server.end_sessions());
    assert_eq!(failure.cause, Cause::Trial, "{failure}");
    assert!(failure.happened.contains("ended the session"), "{failure}");
}
