//! Flash, buses, disks, and what lies behind a path.

use super::facts::facts;

facts! {
    /// A flash partition. Partitions may overlap: their sum is not the size of the flash.
    pub struct Mtd {
        /// The device.
        pub name: Option<String>,
        /// What it is for.
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
        /// Rate of its link per lane, in the kernel's words.
        pub link_rate: Option<String>,
        /// Lanes in use.
        pub link_lanes_count: Option<u64>,
        /// Rate per lane that it could have.
        pub most_link_rate: Option<String>,
        /// Lanes that it has.
        pub most_link_lanes_count: Option<u64>,
    }

    /// A device on USB.
    pub struct UsbDevice {
        /// Its place.
        pub name: Option<String>,
        /// What its maker calls itself.
        pub manufacturer: Option<String>,
        /// What its maker calls it.
        pub product: Option<String>,
        /// Its vendor in hexadecimal.
        pub vendor: Option<String>,
        /// Its product number in hexadecimal.
        pub device: Option<String>,
        /// Rate of its link in bit/s.
        pub rate_bits_per_second: Option<u64>,
        /// Version of USB that it speaks.
        pub usb_version: Option<String>,
    }

    /// The link of a SATA port.
    pub struct SataLink {
        /// Its name.
        pub name: Option<String>,
        /// Its rate in the kernel's words.
        pub rate: Option<String>,
        /// The most that it may have.
        pub most_rate: Option<String>,
    }

    /// A disk, or a device made of others (RAID, encrypted, a logical volume).
    pub struct Disk {
        /// Its name.
        pub name: Option<String>,
        /// How many devices are above it on the way from a file system.
        pub depth_count: Option<u64>,
        /// Who made it.
        pub vendor: Option<String>,
        /// What its maker calls it.
        pub model: Option<String>,
        /// `MMC` or `SD`.
        pub mmc_type: Option<String>,
        /// Size in bytes.
        pub size_bytes: Option<u64>,
        /// Whether the kernel takes it for a disk that turns.
        pub rotational: Option<bool>,
        /// Whether it can be taken out.
        pub removable: Option<bool>,
        /// Whether it cannot be written.
        pub read_only: Option<bool>,
        /// The schedulers, the one in use in brackets.
        pub scheduler: Option<String>,
        /// `write back` or `write through`.
        pub write_cache: Option<String>,
        /// Requests that may wait.
        pub requests_count: Option<u64>,
        /// Commands that the disk takes at once.
        pub queue_depth_count: Option<u64>,
        /// Bytes read ahead.
        pub read_ahead_bytes: Option<u64>,
        /// Its block towards the kernel in bytes.
        pub logical_block_bytes: Option<u64>,
        /// Its own block in bytes.
        pub physical_block_bytes: Option<u64>,
        /// Rate of the USB link it hangs on, in bit/s.
        pub usb_rate_bits_per_second: Option<u64>,
        /// Level of a RAID.
        pub raid_level: Option<String>,
        /// State of a RAID.
        pub raid_state: Option<String>,
        /// What a RAID is doing by itself: `resync`, `check`, `idle`.
        pub raid_sync_action: Option<String>,
        /// Name of a mapped device.
        pub mapped_name: Option<String>,
        /// What a mapped device is: begins with `CRYPT-`, `LVM-`.
        pub mapped_kind: Option<String>,
    }

    /// What lies behind a path.
    pub struct PathFacts {
        /// The path.
        pub path: Option<String>,
        /// The same with its links followed.
        pub real_path: Option<String>,
        /// Where its file system is mounted.
        pub mount_point: Option<String>,
        /// The file system.
        pub file_system: Option<String>,
        /// What it is mounted from.
        pub source: Option<String>,
        /// Options of the mount.
        pub mount_options: Option<String>,
        /// Options of the file system.
        pub file_system_options: Option<String>,
        /// Size in bytes.
        pub size_bytes: Option<u64>,
        /// Bytes that a user may still write.
        pub available_bytes: Option<u64>,
        /// Why it could not be looked at, as the host numbers errors.
        pub errno_number: Option<u64>,
        /// The device, then what it is made of.
        pub devices: Vec<Disk>,
    }
}
