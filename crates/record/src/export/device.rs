//! Records of devices for other programs: JSON in the schema `plimsoll-device/1`, which reads back,
//! and CSV, a row a figure.

use super::csv::text;
use super::json::{is_major, read, write};
use crate::document;
use csv::{Terminator, WriterBuilder};
use plimsoll_model::device::DEVICE_SCHEMA;
use plimsoll_model::{Device, Failure};

/// The record as JSON in the schema `plimsoll-device/1` (docs/schema.md), ending with a newline.
pub fn device_to_json(device: &Device) -> Result<String, Failure> {
    write(device, &format!("device record {}", device.id))
}

/// A record from JSON in the schema `plimsoll-device/1`. Unknown fields are ignored; another major
/// version of the schema, and anything that is no such record, is refused with its line and column.
pub fn device_from_json(text: &str) -> Result<Device, Failure> {
    read(text, "read a device record from JSON", DEVICE_SCHEMA)
}

/// Whether JSON says that it is a record of a device.
pub fn is_device_json(text: &str) -> bool {
    is_major(text, DEVICE_SCHEMA)
}

/// The figures of these records as CSV with a header, lines ended by CR LF: a row a figure, its unit
/// beside it.
pub fn devices_to_csv(devices: &[Device]) -> Result<String, Failure> {
    let told = |e: csv::Error| document::refused("CSV", e);
    let mut table = WriterBuilder::new().terminator(Terminator::CRLF).from_writer(Vec::new());
    let header = [
        "device",
        "started_unix_seconds",
        "host",
        "part",
        "figure",
        "value",
        "unit",
        "measured_by",
        "cpu_share",
    ];
    table.write_record(header).map_err(told)?;
    for device in devices {
        for figure in device.measured() {
            table
                .write_record([
                    text(&device.id.0),
                    device.started_unix_seconds.to_string(),
                    text(&device.host.to_string()),
                    figure.part.to_string(),
                    text(&figure.figure),
                    figure.value.to_string(),
                    figure.quantity.unit().to_owned(),
                    figure.by.to_owned(),
                    figure.cpu_share.map_or(String::new(), |share| format!("{share:.3}")),
                ])
                .map_err(told)?;
        }
    }
    let bytes = table.into_inner().map_err(|e| document::refused("CSV", e.error()))?;
    String::from_utf8(bytes).map_err(|e| document::refused("CSV", e))
}
