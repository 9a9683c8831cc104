//! Every fuzz target over its corpus, without a fuzzer. `make fuzz` goes on from there.
#![allow(unused_attributes, reason = "a program of the fuzzer has no main function")]
#![allow(clippy::duplicate_mod, reason = "each target is a program, and some share a module")]

/// The targets name the fuzzer's crate: this one stands in for it.
extern crate self as libfuzzer_sys;

use nix::sys::resource::{Resource, setrlimit};
use std::path::PathBuf;

/// A test for each file of a target.
macro_rules! targets {
    ($($name:ident $file:literal)*) => {
        $(
            #[path = $file]
            mod $name;
        )*

        mod corpora {
            $(
                #[test]
                fn $name() {
                    super::replay(stringify!($name), super::$name::run);
                }
            )*
        }

        const TARGETS: &[&str] = &[$(stringify!($name)),*];
    };
}

targets! {
    content "../fuzz/fuzz_targets/content.rs"
    deploy_answers "../fuzz/fuzz_targets/deploy_answers.rs"
    device_sections "../fuzz/fuzz_targets/device_sections.rs"
    device_shell "../fuzz/fuzz_targets/device_shell.rs"
    film_matroska "../fuzz/fuzz_targets/film_matroska.rs"
    film_mp4 "../fuzz/fuzz_targets/film_mp4.rs"
    import_fio_json "../fuzz/fuzz_targets/import_fio_json.rs"
    import_fio_terse "../fuzz/fuzz_targets/import_fio_terse.rs"
    import_fio_text "../fuzz/fuzz_targets/import_fio_text.rs"
    import_flent "../fuzz/fuzz_targets/import_flent.rs"
    import_iperf3 "../fuzz/fuzz_targets/import_iperf3.rs"
    import_netperf "../fuzz/fuzz_targets/import_netperf.rs"
    import_own "../fuzz/fuzz_targets/import_own.rs"
    lab_agent "../fuzz/fuzz_targets/lab_agent.rs"
    lab_file "../fuzz/fuzz_targets/lab_file.rs"
    lab_monitor "../fuzz/fuzz_targets/lab_monitor.rs"
    lab_state "../fuzz/fuzz_targets/lab_state.rs"
    live_feed "../fuzz/fuzz_targets/live_feed.rs"
    model_words "../fuzz/fuzz_targets/model_words.rs"
    net_iperf3 "../fuzz/fuzz_targets/net_iperf3.rs"
    net_sections "../fuzz/fuzz_targets/net_sections.rs"
    nfs2_results "../fuzz/fuzz_targets/nfs2_results.rs"
    nfs4_compound "../fuzz/fuzz_targets/nfs4_compound.rs"
    nfs4_formats "../fuzz/fuzz_targets/nfs4_formats.rs"
    nfs4_session "../fuzz/fuzz_targets/nfs4_session.rs"
    nfs_calls "../fuzz/fuzz_targets/nfs_calls.rs"
    nfs_datagrams "../fuzz/fuzz_targets/nfs_datagrams.rs"
    nfs_directory "../fuzz/fuzz_targets/nfs_directory.rs"
    nfs_file_system "../fuzz/fuzz_targets/nfs_file_system.rs"
    nfs_mount "../fuzz/fuzz_targets/nfs_mount.rs"
    nfs_names "../fuzz/fuzz_targets/nfs_names.rs"
    nfs_pipeline "../fuzz/fuzz_targets/nfs_pipeline.rs"
    nfs_portmap "../fuzz/fuzz_targets/nfs_portmap.rs"
    nfs_read "../fuzz/fuzz_targets/nfs_read.rs"
    nfs_records "../fuzz/fuzz_targets/nfs_records.rs"
    nfs_rpc_reply "../fuzz/fuzz_targets/nfs_rpc_reply.rs"
    nfs_session "../fuzz/fuzz_targets/nfs_session.rs"
    nfs_write "../fuzz/fuzz_targets/nfs_write.rs"
    probe_session "../fuzz/fuzz_targets/probe_session.rs"
    reach_output "../fuzz/fuzz_targets/reach_output.rs"
    report_study "../fuzz/fuzz_targets/report_study.rs"
    run_lease "../fuzz/fuzz_targets/run_lease.rs"
    runner_replies "../fuzz/fuzz_targets/runner_replies.rs"
    runner_requests "../fuzz/fuzz_targets/runner_requests.rs"
    smb_compound "../fuzz/fuzz_targets/smb_compound.rs"
    smb_create "../fuzz/fuzz_targets/smb_create.rs"
    smb_directory "../fuzz/fuzz_targets/smb_directory.rs"
    smb_frames "../fuzz/fuzz_targets/smb_frames.rs"
    smb_info "../fuzz/fuzz_targets/smb_info.rs"
    smb_negotiate "../fuzz/fuzz_targets/smb_negotiate.rs"
    smb_pipe "../fuzz/fuzz_targets/smb_pipe.rs"
    smb_pipeline "../fuzz/fuzz_targets/smb_pipeline.rs"
    smb_read "../fuzz/fuzz_targets/smb_read.rs"
    smb_session "../fuzz/fuzz_targets/smb_session.rs"
    smb_session_setup "../fuzz/fuzz_targets/smb_session_setup.rs"
    smb_shares "../fuzz/fuzz_targets/smb_shares.rs"
    smb_transform "../fuzz/fuzz_targets/smb_transform.rs"
    smb_tree_connect "../fuzz/fuzz_targets/smb_tree_connect.rs"
    store_rows "../fuzz/fuzz_targets/store_rows.rs"
    trace_samples "../fuzz/fuzz_targets/trace_samples.rs"
    trace_text "../fuzz/fuzz_targets/trace_text.rs"
    undo_journal "../fuzz/fuzz_targets/undo_journal.rs"
    watch_answers "../fuzz/fuzz_targets/watch_answers.rs"
    watch_mounts "../fuzz/fuzz_targets/watch_mounts.rs"
}

fn fuzz(directory: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz").join(directory)
}

/// Most memory that inputs may make all of these tests allocate, in bytes.
const MOST_MEMORY: u64 = 1 << 30;

/// All inputs of a target's corpus; one that is not survived is named before what it panics with.
fn replay(name: &str, target: fn(&[u8])) {
    let corpus = fuzz("corpus").join(name);
    let inputs = std::fs::read_dir(&corpus).expect("a corpus").map(|entry| entry.unwrap().path());
    let inputs: Vec<PathBuf> = inputs.collect();
    assert!(!inputs.is_empty(), "{} has inputs", corpus.display());
    setrlimit(Resource::RLIMIT_DATA, MOST_MEMORY, MOST_MEMORY).expect("a limit below the last");
    target(b"");
    for input in inputs {
        println!("{}", input.display());
        target(&std::fs::read(&input).unwrap());
    }
}

#[test]
fn no_target_is_left_out() {
    let files = std::fs::read_dir(fuzz("fuzz_targets")).unwrap().map(|entry| entry.unwrap().path());
    let programs = files.filter(|file| file.extension().is_some_and(|end| end == "rs"));
    let mut names: Vec<String> =
        programs.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    names.sort();
    assert_eq!(names, TARGETS);
    let manifest = std::fs::read_to_string(fuzz("Cargo.toml")).unwrap();
    for name in names {
        assert!(manifest.contains(&format!("name = \"{name}\"")), "`make fuzz` runs {name}");
    }
}

/// What a target does with an input. At the end, so that targets find it where they name it.
#[macro_export]
macro_rules! fuzz_target {
    (|$bytes:ident: &[u8]| $body:expr) => {
        pub fn run($bytes: &[u8]) {
            $body;
        }
    };
}
