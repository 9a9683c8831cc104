//! Flash, buses, disks and paths.

use super::facts::facts;

facts! {
    /// A flash partition. Partitions may overlap: their sum is not the size of the flash.
    pub struct Mtd {
        /// The device.
        pub name: Option<String>,
        /// Purpose.
        pub label: Option<String>,
        /// `nor`, `nand`.
        #[serde(rename = "type")]
        pub kind: Option<String>,
        /// Size in bytes.
        pub size_bytes: Option<u64>,
        /// Bytes erased at once.
        pub erase_size_bytes: Option<u64>,
    }

    /// A device on PCI.
    pub struct PciDevice {
        /// Its address.
        pub name: Option<String>,
        /// Its class in hexadecimal.
        pub class: Option<String>,
        /// Its vendor in hexadecimal.
        pub vendor: Option<String>,
        /// Its device number in hexadecimal.
        pub device: Option<String>,
        /// Its driver.
        pub driver: Option<String>,
        /// Rate of its link per lane, as the kernel reports it.
        pub link_rate: Option<String>,
        /// Lanes in use.
        pub link_lanes_count: Option<u64>,
        /// Highest supported rate per lane.
        pub most_link_rate: Option<String>,
        /// Available lanes.
        pub most_link_lanes_count: Option<u64>,
    }

    /// A device on USB.
    pub struct UsbDevice {
        /// Its place.
        pub name: Option<String>,
        /// Manufacturer.
        pub manufacturer: Option<String>,
        /// Product name.
        pub product: Option<String>,
        /// Its vendor in hexadecimal.
        pub vendor: Option<String>,
        /// Its product number in hexadecimal.
        pub device: Option<String>,
        /// Rate of its link in bit/s.
        pub rate_bits_per_second: Option<u64>,
        /// USB version.
        pub usb_version: Option<String>,
    }

    /// The link of a SATA port.
    pub struct SataLink {
        /// Its name.
        pub name: Option<String>,
        /// Its rate, as the kernel reports it.
        pub rate: Option<String>,
        /// Highest supported rate.
        pub most_rate: Option<String>,
    }

    /// A disk, or a device made of others (RAID, encrypted, a logical volume).
    pub struct Disk {
        /// Its name.
        pub name: Option<String>,
        /// Number of devices between it and the file system.
        pub depth_count: Option<u64>,
        /// Manufacturer.
        pub vendor: Option<String>,
        /// Model.
        pub model: Option<String>,
        /// `MMC` or `SD`.
        pub mmc_type: Option<String>,
        /// Size in bytes.
        pub size_bytes: Option<u64>,
        /// Whether it rotates, according to the kernel.
        pub rotational: Option<bool>,
        /// Whether it is removable.
        pub removable: Option<bool>,
        /// Whether it is read-only.
        pub read_only: Option<bool>,
        /// The schedulers, the one in use in brackets.
        pub scheduler: Option<String>,
        /// `write back` or `write through`.
        pub write_cache: Option<String>,
        /// Highest number of waiting requests.
        pub requests_count: Option<u64>,
        /// Commands that the disk accepts at once.
        pub queue_depth_count: Option<u64>,
        /// Read-ahead in bytes.
        pub read_ahead_bytes: Option<u64>,
        /// Logical block size in bytes.
        pub logical_block_bytes: Option<u64>,
        /// Physical block size in bytes.
        pub physical_block_bytes: Option<u64>,
        /// Rate of its USB link in bit/s.
        pub usb_rate_bits_per_second: Option<u64>,
        /// Level of a RAID.
        pub raid_level: Option<String>,
        /// State of a RAID.
        pub raid_state: Option<String>,
        /// Background task of a RAID: `resync`, `check`, `idle`.
        pub raid_sync_action: Option<String>,
        /// Name of a mapped device.
        pub mapped_name: Option<String>,
        /// Kind of a mapped device: begins with `CRYPT-`, `LVM-`.
        pub mapped_kind: Option<String>,
    }

    /// File system and disks of a path.
    pub struct PathFacts {
        /// The path.
        pub path: Option<String>,
        /// The path with its links resolved.
        pub real_path: Option<String>,
        /// Mount point of its file system.
        pub mount_point: Option<String>,
        /// The file system.
        pub file_system: Option<String>,
        /// Mounted device or export.
        pub source: Option<String>,
        /// Options of the mount.
        pub mount_options: Option<String>,
        /// Options of the file system.
        pub file_system_options: Option<String>,
        /// Size in bytes.
        pub size_bytes: Option<u64>,
        /// Bytes available to a user.
        pub available_bytes: Option<u64>,
        /// Error number of the host if the path could not be read.
        pub errno_number: Option<u64>,
        /// The device, then its components.
        pub devices: Vec<Disk>,
    }
}
