//! What names things, on a command line or in a document: targets, hosts, workloads, metrics, sizes,
//! times. What is understood is written the same way, and understood again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_model::units::Bytes;
use plimsoll_model::{HostName, Metric, Pattern, Target};
use std::fmt::{Debug, Display};
use std::str::FromStr;

fn same<T: FromStr + Display + PartialEq + Debug>(text: &str) {
    if let Ok(value) = text.parse::<T>() {
        let written = value.to_string();
        match written.parse::<T>() {
            Ok(again) => assert_eq!(again, value, "{written}"),
            Err(_) => panic!("{written:?} is not understood"),
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    // A directory may be called anything.
    if text.parse::<Target>().is_ok_and(|target| target.host().is_some()) {
        same::<Target>(&text);
    }
    same::<HostName>(&text);
    same::<Pattern>(&text);
    same::<Metric>(&text);
    let _ = text.parse::<Bytes>();
    let _ = plimsoll_model::units::parse_duration(&text);
});
