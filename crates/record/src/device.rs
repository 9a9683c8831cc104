//! Records of devices in the store.

use crate::store::{Kept, Store};
use crate::summary::{get, json};
use crate::{document, trouble};
use plimsoll_model::device::Part;
use plimsoll_model::{Cause, Device, DeviceId, Ended, Failure};
use rusqlite::{Transaction, params};

/// A record of a device in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceSummary {
    /// Identity.
    pub id: DeviceId,
    /// Start, in seconds since 1970-01-01 UTC.
    pub started_unix_seconds: u64,
    /// The host as the user named it.
    pub host: String,
    /// What its maker calls it, else its processor's name, where either is known.
    pub model: Option<String>,
    /// Parts begun.
    pub parts: Vec<Part>,
    /// Whether everything that was asked for is there.
    pub complete: bool,
    /// How it ended.
    pub ended: Ended,
}

impl From<Device> for DeviceSummary {
    fn from(device: Device) -> Self {
        let inventory = device.inventory.as_ref();
        let model = inventory.and_then(|i| i.system.as_ref()?.model.clone());
        let processor = inventory.and_then(|i| i.cpu.as_ref()?.model.clone());
        DeviceSummary {
            model: model.or(processor),
            parts: device.parts.iter().map(|part| part.part).collect(),
            complete: device.is_complete(),
            id: device.id,
            started_unix_seconds: device.started_unix_seconds,
            host: device.host.to_string(),
            ended: device.ended,
        }
    }
}

/// A record of a device as it is kept.
pub(crate) struct DeviceRow<'a> {
    device: &'a Device,
    document: String,
}

impl<'a> DeviceRow<'a> {
    pub(crate) fn new(device: &'a Device) -> Result<Self, Failure> {
        let document = document::write(device, &format!("device record {}", device.id))?;
        Ok(DeviceRow { device, document })
    }

    pub(crate) fn insert(&self, store: &Transaction<'_>) -> rusqlite::Result<()> {
        let Device { id, started_unix_seconds, schema, host, .. } = self.device;
        store.execute(
            "INSERT INTO devices (id, started_unix_seconds, schema, host, document) \
             VALUES (?, ?, ?, ?, ?)",
            params![id.0, started_unix_seconds, schema, host.to_string(), self.document],
        )?;
        Ok(())
    }
}

impl Store {
    /// Records a new device. Fails when the id is taken.
    pub fn begin_device(&self, device: &Device) -> Result<(), Failure> {
        let row = DeviceRow::new(device)?;
        self.write(&format!("record the device {}", device.id), |store| row.insert(store))
    }

    /// Records anew what is known of a device. Fails when it is not in the store.
    pub fn update_device(&self, device: &Device) -> Result<(), Failure> {
        let document = document::write(device, &format!("device record {}", device.id))?;
        let mut found = 0;
        self.write(&format!("record the device {}", device.id), |store| {
            found = store.execute(
                "UPDATE devices SET document = ? WHERE id = ?",
                params![document, device.id.0],
            )?;
            Ok(())
        })?;
        match found {
            0 => Err(trouble::no_such_study(self.path(), &device.id.0, "there is none")),
            _ => Ok(()),
        }
    }

    /// Every record of a device in the order begun, the latest last.
    pub fn devices(&self) -> Result<Vec<DeviceSummary>, Failure> {
        let documents = self.documents(
            "SELECT id, document FROM devices ORDER BY started_unix_seconds, sequence",
            [],
        )?;
        Ok(documents.into_iter().map(DeviceSummary::from).collect())
    }

    /// The record of a device with this id, whose id begins so and no other record's does, or the
    /// `latest` record of all, if that is one of a device.
    pub fn load_device(&self, reference: &str) -> Result<Device, Failure> {
        match self.find(reference)? {
            Kept::Device(id) => self.device(&id),
            Kept::Study(id) => Err(Failure::new(
                Cause::Usage,
                format!("find the device '{}'", reference.escape_debug()),
                self.path().display(),
                format!("{id} is a study"),
                "Name a record of a device; plimsoll list shows them all.",
            )),
        }
    }

    fn device(&self, id: &DeviceId) -> Result<Device, Failure> {
        let mut found =
            self.documents("SELECT id, document FROM devices WHERE id = ?", [id.0.as_str()])?;
        found.pop().ok_or_else(|| {
            trouble::no_such_study(self.path(), &id.0, "it went away while it was read")
        })
    }

    fn documents(&self, sql: &str, values: impl rusqlite::Params) -> Result<Vec<Device>, Failure> {
        let told = |e: rusqlite::Error| trouble::sqlite("read the devices", self.path(), &e);
        let mut query = self.connection().prepare_cached(sql).map_err(told)?;
        let mut rows = query.query(values).map_err(told)?;
        let mut devices = Vec::new();
        while let Some(row) = rows.next().map_err(told)? {
            let id: String = get(row, 0, self.path(), "a device's id")?;
            devices.push(json(row, 1, self.path(), &format!("the device {id}"))?);
        }
        Ok(devices)
    }
}
