//! Names of ARM's processors (Arm, "MIDR_EL1": implementer and primary part number).

/// The name of an implementer and part, as /proc/cpuinfo writes them: `0x41`, `0xd03`.
pub(super) fn name(implementer: &str, part: &str) -> Option<&'static str> {
    let number = |text: &str| u32::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    let (implementer, part) = (number(implementer)?, number(part)?);
    NAMES.iter().find(|(i, p, _)| (*i, *p) == (implementer, part)).map(|(_, _, name)| *name)
}

const ARM: u32 = 0x41;

/// Those that are found in routers, network storage and small servers.
const NAMES: [(u32, u32, &str); 32] = [
    (ARM, 0x926, "ARM926EJ-S"),
    (ARM, 0xb02, "ARM11 MPCore"),
    (ARM, 0xb76, "ARM1176"),
    (ARM, 0xc05, "ARM Cortex-A5"),
    (ARM, 0xc07, "ARM Cortex-A7"),
    (ARM, 0xc08, "ARM Cortex-A8"),
    (ARM, 0xc09, "ARM Cortex-A9"),
    (ARM, 0xc0e, "ARM Cortex-A17"),
    (ARM, 0xc0f, "ARM Cortex-A15"),
    (ARM, 0xd01, "ARM Cortex-A32"),
    (ARM, 0xd02, "ARM Cortex-A34"),
    (ARM, 0xd03, "ARM Cortex-A53"),
    (ARM, 0xd04, "ARM Cortex-A35"),
    (ARM, 0xd05, "ARM Cortex-A55"),
    (ARM, 0xd07, "ARM Cortex-A57"),
    (ARM, 0xd08, "ARM Cortex-A72"),
    (ARM, 0xd09, "ARM Cortex-A73"),
    (ARM, 0xd0a, "ARM Cortex-A75"),
    (ARM, 0xd0b, "ARM Cortex-A76"),
    (ARM, 0xd0c, "ARM Neoverse N1"),
    (ARM, 0xd0d, "ARM Cortex-A77"),
    (ARM, 0xd40, "ARM Neoverse V1"),
    (ARM, 0xd41, "ARM Cortex-A78"),
    (ARM, 0xd46, "ARM Cortex-A510"),
    (ARM, 0xd47, "ARM Cortex-A710"),
    (ARM, 0xd49, "ARM Neoverse N2"),
    (ARM, 0xd4f, "ARM Neoverse V2"),
    (0x51, 0x06f, "Qualcomm Krait"),
    (0x56, 0x131, "Marvell Feroceon 88FR131"),
    (0x56, 0x581, "Marvell PJ4/PJ4B"),
    (0x56, 0x584, "Marvell PJ4B-MP"),
    (0xc0, 0xac3, "Ampere-1"),
];
