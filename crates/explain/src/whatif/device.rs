//! How much faster the processor of one device is than that of another, by what both did of the same work.

use super::{Encryption, ProcessorSpeed};
use crate::byte_costs::speed;
use plimsoll_model::device::{Algorithm, Device};

/// Speed of a new device's processor as times that of an old one: the fastest core, and all cores together. `None` if
/// either was not measured, or measured with another version of the work.
pub fn processor_speed(old: &Device, new: &Device) -> Option<ProcessorSpeed> {
    let (a, b) = (old.cpu.as_ref()?, new.cpu.as_ref()?);
    if a.workload_version_number != b.workload_version_number {
        return None;
    }
    let core = |device: &Device| {
        let cores = device.cpu.iter().flat_map(|cpu| &cpu.cores);
        cores.filter_map(|core| core.rounds_per_second).max().filter(|rounds| *rounds > 0)
    };
    let all = |device: &Device| {
        let rounds = device.cpu.as_ref()?.all.as_ref()?.rounds_per_second;
        rounds.filter(|rounds| *rounds > 0)
    };
    let one_core = core(new)? as f64 / core(old)? as f64;
    let all_cores = all(new).zip(all(old)).map(|(new, old)| new as f64 / old as f64);
    let machine = |device: &Device| device.inventory.as_ref()?.kernel.as_ref()?.machine.clone();
    let is_same = machine(old).is_some() && machine(old) == machine(new);
    Some(ProcessorSpeed {
        one_core,
        all_cores: all_cores.unwrap_or(one_core),
        other_architecture: !is_same,
    })
}

/// CPU time of one core of a device for a byte of encryption: of SMB's first cipher, and of the default of LUKS. `None` if
/// that was not measured.
pub fn encryption_seconds(device: &Device, layer: Encryption) -> Option<f64> {
    let algorithm = match layer {
        Encryption::Smb => Algorithm::Aes128Gcm,
        Encryption::Disk => Algorithm::Aes256Xts,
    };
    speed(device, algorithm).map(|(bytes_per_second, _)| 1.0 / bytes_per_second)
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::device::{AllRounds, CoreRounds, CpuFigures, Inventory, Kernel};

    fn device(machine: &str, core: u64, all: u64) -> Device {
        let kernel = Kernel { machine: Some(machine.into()), ..Kernel::default() };
        let core = CoreRounds { rounds_per_second: Some(core), ..CoreRounds::default() };
        let all = AllRounds { rounds_per_second: Some(all), ..AllRounds::default() };
        let cpu = CpuFigures {
            workload_version_number: Some(1),
            cores: vec![core],
            all: Some(all),
            ..CpuFigures::default()
        };
        let inventory = Some(Inventory { kernel: Some(kernel), ..Inventory::default() });
        Device { inventory, cpu: Some(cpu), ..Device::default() }
    }

    #[test]
    fn speeds_are_ratios_of_the_same_work() {
        let old = device("x86_64", 1000, 2000);
        let found = processor_speed(&old, &device("x86_64", 3000, 12_000)).unwrap();
        assert_eq!((found.one_core, found.all_cores, found.other_architecture), (3.0, 6.0, false));
        let other = processor_speed(&old, &device("aarch64", 500, 2000)).unwrap();
        assert_eq!((other.one_core, other.all_cores, other.other_architecture), (0.5, 1.0, true));
        let mut newer = device("x86_64", 3000, 12_000);
        newer.cpu.as_mut().unwrap().workload_version_number = Some(2);
        assert_eq!(processor_speed(&old, &newer), None);
        assert_eq!(processor_speed(&old, &Device::default()), None);
    }
}
