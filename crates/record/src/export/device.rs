//! Figures of devices as CSV, a row a figure.

use super::csv::text;
use crate::document;
use csv::{Terminator, WriterBuilder};
use plimsoll_model::{Device, Failure};

/// The figures of these records as CSV with a header, lines ended by CR LF: a row a figure, its unit
/// beside it.
pub fn devices_to_csv(devices: &[Device]) -> Result<String, Failure> {
    let failed = |e: csv::Error| document::refused("CSV", e);
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
    table.write_record(header).map_err(failed)?;
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
                .map_err(failed)?;
        }
    }
    let bytes = table.into_inner().map_err(|e| document::refused("CSV", e.error()))?;
    String::from_utf8(bytes).map_err(|e| document::refused("CSV", e))
}
