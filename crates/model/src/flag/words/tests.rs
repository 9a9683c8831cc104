use super::*;
use crate::HostResource;
use crate::units::{Bytes, GIB, MIB};

/// Nobody can stop a thread of the kernel, and nobody should try.
#[test]
fn no_thread_of_the_kernel_is_to_be_stopped() {
    let advice = |process: &str, kernel| {
        let process = process.to_owned();
        let windows = crate::flag::IdleWindows::default();
        Flag::BusyProcess { host: HostName::Local, process, cores: 0.3, kernel, windows }.advice()
    };
    let of_kernel = advice("kworker/0:1H", true);
    assert!(of_kernel.contains("thread of the kernel"), "{of_kernel}");
    assert!(!of_kernel.to_lowercase().contains("stop"), "{of_kernel}");
    assert!(advice("indexer", false).contains("stop it"));
}

#[test]
fn a_client_that_is_another_host_is_named() {
    let texts = |host: Option<&str>| {
        let host = host.map(|host| host.parse().unwrap());
        let flag = Flag::ClientSaturated { host, core_busy: 0.97, serves: false };
        (flag.message(), flag.advice())
    };
    let (message, advice) = texts(Some("ssh://root@laptop"));
    let said = "ssh://root@laptop may be the bottleneck, not the storage: a core was 97% busy";
    assert_eq!(message, said);
    assert_eq!(advice, "Use fewer workers or a faster CPU.");
    assert!(texts(None).0.starts_with("This machine may be the bottleneck"), "{}", texts(None).0);
    // No faster client helps where the server is on the same machine.
    let both = Flag::ClientSaturated { host: None, core_busy: 0.97, serves: true };
    assert!(both.advice().contains("with --host local,"), "{}", both.advice());
    // Studies of older versions have no host.
    let old: Flag =
        serde_json::from_str(r#"{"flag":"client_saturated","core_busy":0.97}"#).unwrap();
    assert_eq!((old.message(), old.advice()), texts(None));
}

/// Warnings name the host in commands.
#[test]
fn a_flag_names_a_host_as_plans_do() {
    let read = |host: &str| {
        let flag = serde_json::json!({ "flag": "host_restarted", "host": host });
        serde_json::from_value::<Flag>(flag)
    };
    let router = HostName::Lab { lab: "bed".into(), host: "router".into() };
    assert_eq!(read("lab://bed/router").unwrap().host(), Some(&router));
    for none in ["nas", "", "ssh://-oProxyCommand=id"] {
        assert!(read(none).is_err(), "{none}");
    }
}

/// A table of an export has observations: no effect on figures of a screen, and no marks of one.
#[test]
fn a_fact_is_an_observation() {
    let windows = crate::flag::IdleWindows::default;
    let slower = Flag::FarSlower { times: 3.4 };
    assert_eq!(slower.fact(), "3.4 times slower than the same work in other blocks");
    let stolen = Flag::Stolen { host: HostName::Local, share: 0.25 };
    let fact = "the hypervisor took 25% of the CPU time of this machine for others";
    assert_eq!(stolen.fact(), fact);
    let load =
        Flag::OtherLoad { host: HostName::Local, resource: HostResource::Cpu, per_second: 0.5 };
    let fact = "other work used the CPU of this machine (0.50 cores more than the same work took in other blocks)";
    assert_eq!(load.fact(), fact);
    for flag in [
        slower,
        stolen,
        load,
        Flag::BadContent { stale: 0, misplaced: 0, corrupt: 1 },
        Flag::BusyBaseline { host: HostName::Local, busy: 0.9, windows: windows() },
        Flag::Throttled { host: HostName::Local, from_hertz: 2e9, to_hertz: 1e9, celsius: None },
        Flag::Burst { workloads: vec!["random write".into()], why: Burst::NotSteady },
        Flag::BehindSchedule { due_per_second: 30.0, per_second: 20.0 },
        Flag::FewOperations { count: 3 },
        Flag::NearClientCeiling { bytes_per_second: 1e9, ceiling_bytes_per_second: 1.1e9 },
        Flag::TwoPhases {
            at_seconds: 2.0,
            burst_bytes_per_second: 2e8,
            sustained_bytes_per_second: 1e8,
        },
    ] {
        let fact = flag.fact();
        let said = flag.message();
        assert!(!fact.contains("too low") && !fact.contains('*'), "{fact}");
        assert!(!fact.starts_with(char::is_uppercase) && fact != said, "{fact}");
    }
}

/// The most severe first; what stands on any screen does so wherever it is in that order.
#[test]
fn what_the_user_has_to_remove_is_urgent() {
    let flag = Flag::Leftovers {
        directories: vec!["a".into(), "b".into()],
        target: "/srv".into(),
        on: None,
    };
    let words = flag.words(None);
    assert!(words.severity.is_urgent() && words.severity > Severity::Disturbance);
    assert_eq!(flag.message(), "Killed runs left 2 directories on /srv (a, b)");
    assert_eq!(flag.advice(), "Remove with: plimsoll clean '/srv'");
}

#[test]
fn sizes_that_are_advised_can_be_read() {
    let advised = |bytes: u64| at_least(Bytes(bytes));
    assert_eq!(advised(49_368_192 << 10), "48GiB");
    assert_eq!(advised(16 * GIB), "16GiB");
    assert_eq!(advised(1_100 * MIB), "1152MiB");
    assert_eq!(advised(100 * MIB + 1), "101MiB");
    assert_eq!(advised(5 << 10), "5KiB");
    assert_eq!(advised(u64::MAX), format!("{}B", u64::MAX));
}

#[test]
fn files_that_were_made_smaller_say_at_what_rate_writing_runs() {
    let (wanted, used) = (Bytes(128 * MIB), Bytes(32 * MIB));
    let flag = Flag::SizeLowered { wanted, used, bytes_per_second: 28.7e6 };
    assert_eq!(
        flag.message(),
        "The files have 32 MiB instead of 128 MiB: writing runs at 28.7 MB/s"
    );
}

#[test]
fn operations_in_flight_are_rate_times_response_time() {
    let flag = Flag::InFlightMismatch { integrated: 8.0, by_littles_law: 6.5 };
    let said = "The operations in flight (8.00) do not match rate × response time (6.50)";
    assert_eq!(flag.message(), said);
}

#[test]
fn figures_of_a_kept_rate_have_three_digits() {
    let said = |caveat| {
        let workload = "out".to_owned();
        Flag::KeptRate { workload, frame: Bytes(128), caveat }.message()
    };
    // A credit of three frames was "0 kB".
    let few = said(crate::RateCaveat::BurstCredit { bytes: 384.0, frames_per_second: 38_127.4 });
    assert!(few.contains("credit of 0.384 kB") && few.contains("then 38100 frames"), "{few}");
    let few = said(crate::RateCaveat::Collapse { frames_per_second: 812.6 });
    assert!(few.contains("only 813 frames a second"), "{few}");
    let none = said(crate::RateCaveat::Interruptions { frames_per_second: 0.0 });
    assert!(none.contains("about 0 frames a second"), "{none}");
}
