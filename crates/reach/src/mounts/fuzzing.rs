//! What a kernel may say of its mounts, for fuzzing.

use super::{MountTexts, account, between};

/// Longest name of an operation.
const LONGEST: usize = 32;

/// Takes a directory and the three files at two moments, parted by NULs.
///
/// # Panics
/// If what came of them is not clean: that is what is looked for.
pub fn texts(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut parts = text.split('\0').map(str::to_owned);
    let mut next = || parts.next().unwrap_or_default();
    let directory = next();
    let mountinfo = next();
    let mut look =
        || MountTexts { mountinfo: mountinfo.clone(), mountstats: next(), cifs_stats: next() };
    let looks = [look(), look()].map(|texts| account(&texts, &directory));
    let [Some(from), Some(to)] = looks else { return };
    let same = between(&to, &to).unwrap_or_default();
    assert!(same.operations.is_empty(), "nothing happened: {same:?}");
    let Some(load) = between(&from, &to) else { return };
    for (name, operation) in &load.operations {
        assert!(name.len() <= LONGEST, "{name}");
        assert!(operation.count > 0 || operation.errors > 0, "{name}: nothing happened");
        let wire = operation.wire.unwrap_or_default();
        let command = operation.command.unwrap_or_default().seconds;
        for seconds in
            [wire.queue_seconds, wire.round_trip_seconds, wire.execution_seconds, command]
        {
            assert!(seconds.is_finite() && seconds >= 0.0, "{load:?}");
        }
    }
}
