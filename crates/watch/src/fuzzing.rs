//! What a host's shell may answer, for fuzzing.

use super::shell::{facts, sample, ticks_per_second};
use super::{Account, Sections};
use crate::proc_files::Hardware;
use plimsoll_model::{HostName, Nanos};

/// Longest text that a fact may have.
const LONGEST: usize = 1024;

/// Takes answers, parted by NULs: what the host is, then samples, a second apart.
///
/// # Panics
/// If what came of them is not clean: that is what is looked for.
pub fn answers(bytes: &[u8]) {
    let mut answers = bytes.split(|byte| *byte == 0);
    let said = Sections::new(answers.next().unwrap_or_default());
    let facts = facts(&said, &HostName::Local);
    assert!(facts.kernel.len() + facts.cpu_model.len() <= LONGEST);
    let ticks_per_second = ticks_per_second(&said);
    let mut account =
        Account::new(&HostName::Local, Hardware::from_paths(said.get("devices")), None);
    for (second, answer) in answers.enumerate() {
        let Some(sample) = sample(&Sections::new(answer), ticks_per_second) else { continue };
        let at = Nanos(second as u64 * 1_000_000_000);
        account.add(&sample.taken(at, at));
    }
    account.flags().iter().for_each(|flag| drop(flag.message()));
    let Some(load) = account.load() else { return };
    let json = serde_json::to_value(&load);
    assert!(json.is_ok_and(|json| !has_null(&json)), "something is not finite: {load:?}");
    assert!(load.cores_busy.iter().all(|busy| (0.0..=1.0).contains(busy)), "{load:?}");
}

/// Numbers that are not finite become null; nothing else does, for what is absent is left out.
fn has_null(value: &serde_json::Value) -> bool {
    match value {
        serde_json::Value::Null => true,
        serde_json::Value::Array(items) => items.iter().any(has_null),
        serde_json::Value::Object(fields) => fields.values().any(has_null),
        _ => false,
    }
}
