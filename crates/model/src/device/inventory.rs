//! Inventory of a device: the machine, its system, processor and memory.

use super::facts::facts;
use super::{
    Disk, Mtd, Netfilter, NfsServer, Nics, PathFacts, PciDevice, Radio, SataLink, SmbServer,
    UsbDevice,
};
use serde::{Deserialize, Serialize};

/// Who read the inventory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadBy {
    /// The probe.
    Probe,
    /// The host's own shell, which sees less.
    Shell,
}

facts! {
    /// Inventory of a device. Unknown values are absent.
    pub struct Inventory {
        /// Source: `probe` or `shell`.
        pub read_by: Option<ReadBy>,
        /// Version of the probe.
        pub probe_version: Option<String>,
        /// The machine.
        pub system: Option<System>,
        /// The kernel.
        pub kernel: Option<Kernel>,
        /// The distribution.
        pub distribution: Option<Distribution>,
        /// The processor.
        pub cpu: Option<Cpu>,
        /// Clocks that the kernel reported when it started.
        pub clocks: Option<Clocks>,
        /// The memory.
        pub memory: Option<MemoryFacts>,
        /// Flash partitions.
        pub flash: Vec<Mtd>,
        /// Buses of the kernel.
        pub buses: Vec<String>,
        /// Devices on PCI.
        pub pci: Vec<PciDevice>,
        /// Devices on USB, hubs included.
        pub usb: Vec<UsbDevice>,
        /// Drivers of functions of USB devices: `uas` or `usb-storage` for disks.
        pub usb_drivers: Vec<String>,
        /// Links of SATA ports.
        pub sata_links: Vec<SataLink>,
        /// Radios.
        pub radios: Vec<Radio>,
        /// Network interfaces, and settings of all of them.
        pub network: Option<Nics>,
        /// Packet filter and connection tracking.
        pub netfilter: Option<Netfilter>,
        /// Disks.
        pub disks: Vec<Disk>,
        /// The NFS server.
        pub nfs_server: Option<NfsServer>,
        /// The SMB server.
        pub smb_server: Option<SmbServer>,
        /// File systems and disks of exported paths and of paths that the user named.
        pub paths: Vec<PathFacts>,
    }

    /// The machine.
    pub struct System {
        /// Model.
        pub model: Option<String>,
        /// Manufacturer.
        pub vendor: Option<String>,
        /// Short name of the board.
        pub board: Option<String>,
        /// System on a chip, by the kernel's name.
        pub soc: Option<String>,
        /// Version of the firmware.
        pub firmware_version: Option<String>,
        /// Date of the firmware.
        pub firmware_date: Option<String>,
        /// Compatible devices in the device tree, the most specific first.
        pub compatible: Vec<String>,
    }

    /// The kernel.
    pub struct Kernel {
        /// `Linux`.
        pub name: Option<String>,
        /// Release, as in `uname -r`.
        pub release: Option<String>,
        /// Version, as in `uname -v`.
        pub version: Option<String>,
        /// Machine, as in `uname -m`.
        pub machine: Option<String>,
        /// The host's own name.
        pub host_name: Option<String>,
        /// Clock source of the kernel.
        pub clock_source: Option<String>,
        /// Seconds since the kernel started.
        pub uptime_seconds: Option<u64>,
    }

    /// The distribution.
    pub struct Distribution {
        /// Name and version for people.
        pub name: Option<String>,
        /// Its identifier in os-release: `debian`, `openwrt`.
        pub id: Option<String>,
        /// Its version.
        pub version: Option<String>,
        /// The text of /etc/version, which TrueNAS and others write.
        pub version_file: Option<String>,
        /// The first process.
        pub init: Option<String>,
    }

    /// The processor.
    pub struct Cpu {
        /// The kernel's name, or ARM's name of the part number.
        pub model: Option<String>,
        /// Cores in use, as `0-3`.
        pub cores_online: Option<String>,
        /// Present cores.
        pub cores_present: Option<String>,
        /// Cores that a program may use.
        pub cores_usable_count: Option<u64>,
        /// Simultaneous multithreading: `on`, `off`, `notsupported`.
        pub simultaneous_multithreading: Option<String>,
        /// The kernel's BogoMIPS of the first core; not a clock.
        pub bogomips: Option<String>,
        /// Clock in the model's name, in Hz.
        pub named_clock_hertz: Option<u64>,
        /// Clock of the first core in /proc/cpuinfo, in Hz: current or nominal.
        pub reported_clock_hertz: Option<u64>,
        /// Whether it has AES instructions; absent if unknown.
        pub aes_instructions: Option<bool>,
        /// Clocks of the cores.
        pub clocks: Vec<ClockPolicy>,
        /// Caches of the first core.
        pub caches: Vec<Cache>,
    }

    /// How a group of cores is clocked (cpufreq).
    pub struct ClockPolicy {
        /// The cores, as numbers with spaces.
        pub cores: Option<String>,
        /// The driver.
        pub driver: Option<String>,
        /// The governor.
        pub governor: Option<String>,
        /// Lowest clock in Hz.
        pub least_clock_hertz: Option<u64>,
        /// Highest clock in Hz.
        pub most_clock_hertz: Option<u64>,
        /// Current clock in Hz.
        pub clock_hertz: Option<u64>,
    }

    /// A cache.
    pub struct Cache {
        /// 1 is nearest to the core.
        pub level_number: Option<u64>,
        /// `Data`, `Instruction` or `Unified`.
        #[serde(rename = "type")]
        pub kind: Option<String>,
        /// Size in bytes.
        pub size_bytes: Option<u64>,
        /// Size of a line in bytes.
        pub line_bytes: Option<u64>,
        /// Associativity.
        pub ways_count: Option<u64>,
        /// Cores that share it, as `0-1`.
        pub shared_by_cores: Option<String>,
    }

    /// Clocks that a router's kernel writes into its log when it starts.
    pub struct Clocks {
        /// Clock of the processor in Hz.
        pub cpu_hertz: Option<u64>,
        /// Clock of the memory in Hz.
        pub memory_hertz: Option<u64>,
        /// Clock of the system bus in Hz.
        pub bus_hertz: Option<u64>,
    }

    /// The memory.
    pub struct MemoryFacts {
        /// Memory that the kernel manages, in bytes; slightly less than the installed memory.
        pub total_bytes: Option<u64>,
        /// Free or reclaimable memory in bytes.
        pub available_bytes: Option<u64>,
        /// Swap space in bytes.
        pub swap_total_bytes: Option<u64>,
        /// Size of a page in bytes.
        pub page_size_bytes: Option<u64>,
        /// Memory modules, if the firmware reports them.
        pub modules: Vec<MemoryModule>,
    }

    /// A memory module (SMBIOS, structure 17).
    pub struct MemoryModule {
        /// Size in bytes.
        pub size_bytes: Option<u64>,
        /// Type number of SMBIOS: 24 is DDR3, 26 DDR4, 34 DDR5.
        pub smbios_type_number: Option<u64>,
        /// Data width in bits.
        pub data_width_bits: Option<u64>,
        /// Transfers per second as configured.
        pub transfers_per_second: Option<u64>,
        /// Highest supported transfers per second.
        pub most_transfers_per_second: Option<u64>,
    }
}

impl Inventory {
    /// Clock of the CPU in Hz, and its source: highest clock (cpufreq), the kernel's log, the
    /// model's name, or /proc/cpuinfo.
    pub fn clock(&self) -> Option<(u64, &'static str)> {
        let cpu = self.cpu.as_ref();
        let scaled = cpu.into_iter().flat_map(|c| &c.clocks).filter_map(|c| c.most_clock_hertz);
        let logged = self.clocks.as_ref().and_then(|c| c.cpu_hertz);
        let named = cpu.and_then(|c| c.named_clock_hertz);
        let clock_from = |clock: Option<u64>, from| clock.filter(|c| *c > 0).map(|c| (c, from));
        clock_from(scaled.max(), "its highest clock")
            .or(clock_from(logged, "the kernel's log"))
            .or(clock_from(named, "its name"))
            .or(clock_from(cpu.and_then(|c| c.reported_clock_hertz), "/proc/cpuinfo"))
    }
}
