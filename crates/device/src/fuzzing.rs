//! For fuzz targets.

use super::clean::Odd;
use super::inventory::Reading;
use super::{
    clocks, coremark, cpu, crypto, cryptsetup, disk, exports, links, memory, openssl, shell,
    wireless,
};
use plimsoll_model::device::{
    Algorithm, CpuFigures, CryptoFigures, DiskFigures, Inventory, MOST_ENTRIES, MemoryFigures,
    ReadBy,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt::Debug;

/// Sections of every verb, a JSON text a line.
pub fn sections(text: &str) {
    let values = || text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut odd = Odd::default();
    let mut reading = Reading::by(ReadBy::Probe);
    let (mut cpu, mut memory) = (CpuFigures::default(), MemoryFigures::default());
    let (mut crypto, mut disk) = (CryptoFigures::default(), DiskFigures::default());
    for value in values() {
        reading.take(value.clone(), &mut odd);
        cpu::take(&mut cpu, value.clone(), &mut odd);
        memory::take(&mut memory, value.clone(), &mut odd);
        crypto::take(&mut crypto, value.clone(), &Algorithm::ALL, &mut odd);
        disk::take(&mut disk, value, &mut odd);
    }
    bounded(&reading.finish());
    reads_back(&cpu);
    reads_back(&memory);
    reads_back(&crypto);
    reads_back(&disk);
    assert!(odd.into_remarks().len() < MOST_ENTRIES);
}

/// What a shell and programs print.
pub fn shell(text: &str) {
    let mut odd = Odd::default();
    let mut reading = Reading::by(ReadBy::Shell);
    for section in shell::from_output(text) {
        reading.take(section, &mut odd);
    }
    for section in shell::paths_from_output(text, &["/a".to_owned(), "/b c".to_owned()]) {
        reading.take(section, &mut odd);
    }
    let more = [clocks::from_log(text), links::from_output(text), links::rules_from_output(text)];
    more.into_iter().flatten().for_each(|section| reading.take(section, &mut odd));
    bounded(&reading.finish());
    if let Ok(report) = coremark::parse(text) {
        assert!(report.iterations_per_second.is_finite() && report.seconds >= 10.0);
    }
    for algorithm in Algorithm::ALL {
        let rates = [openssl::parse(text, algorithm), cryptsetup::parse(text, algorithm)];
        assert!(rates.into_iter().flatten().all(|rate| rate > 0));
    }
    let _ = openssl::version(text);
    assert!(wireless::parse(text).signal_dbm.is_none_or(|dbm| dbm <= 50));
}

fn bounded(inventory: &Inventory) {
    let nics = inventory.network.as_ref().map_or(0, |network| network.nics.len());
    assert!(nics <= MOST_ENTRIES && inventory.disks.len() <= MOST_ENTRIES);
    let paths = exports::paths(inventory);
    assert!(paths.iter().map(String::len).sum::<usize>() <= 3000);
    assert!(paths.iter().all(|path| path.starts_with('/') && !path.contains('\n')));
    reads_back(inventory);
}

/// What is kept of it can be read again, and is the same.
fn reads_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(facts: &T) {
    let text = serde_json::to_string(facts).expect("facts are JSON");
    assert_eq!(*facts, serde_json::from_str::<T>(&text).expect("JSON of facts is facts"));
}
