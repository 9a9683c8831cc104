//! Which machine's programs a host can run.

use std::fmt;

/// A machine that programs are built for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Machine {
    /// MIPS32, big-endian, without floating point.
    Mips,
    /// MIPS32, little-endian, without floating point.
    Mipsel,
    /// ARMv6, soft float.
    Armv6,
    /// ARMv7 with VFPv3-D16.
    Armv7,
    /// ARMv8, 64 bit, little-endian.
    Aarch64,
    /// RISC-V, 64 bit.
    Riscv64,
    /// x86, 64 bit.
    X86_64,
    /// x86, 32 bit, from the Pentium Pro on.
    I686,
}

/// Bytes of an ELF header that tell the machine.
pub(super) const ELF_BYTES: usize = 20;

impl Machine {
    /// All of them.
    pub const ALL: [Machine; 8] = [
        Machine::Mips,
        Machine::Mipsel,
        Machine::Armv6,
        Machine::Armv7,
        Machine::Aarch64,
        Machine::Riscv64,
        Machine::X86_64,
        Machine::I686,
    ];

    /// Its name: that of the directory of its build.
    pub fn name(self) -> &'static str {
        match self {
            Machine::Mips => "mips",
            Machine::Mipsel => "mipsel",
            Machine::Armv6 => "armv6",
            Machine::Armv7 => "armv7",
            Machine::Aarch64 => "aarch64",
            Machine::Riscv64 => "riscv64",
            Machine::X86_64 => "x86_64",
            Machine::I686 => "i686",
        }
    }

    /// The machine of that name.
    pub fn named(name: &str) -> Option<Machine> {
        Machine::ALL.into_iter().find(|machine| machine.name() == name)
    }

    /// The machine that this program runs on; `None` if the probe is not built for it.
    pub fn here() -> Option<Machine> {
        let little = cfg!(target_endian = "little");
        match std::env::consts::ARCH {
            "mips" => Some(if little { Machine::Mipsel } else { Machine::Mips }),
            "arm" if little => Some(Machine::Armv6),
            "x86" => Some(Machine::I686),
            name => Machine::named(name).filter(|_| little),
        }
    }

    /// The machines that a program may be for, from its beginning; `None` where that is no program's.
    pub(super) fn of_program(head: &[u8]) -> Option<Vec<Machine>> {
        let elf = Elf::read(head)?;
        let machines = match (elf.family, elf.wide, elf.little) {
            (Some(Family::Mips), false, false) => vec![Machine::Mips],
            (Some(Family::Mips), false, true) => vec![Machine::Mipsel],
            (Some(Family::Arm), true, true) => vec![Machine::Aarch64],
            (Some(Family::Arm), false, true) => vec![Machine::Armv7, Machine::Armv6],
            (Some(Family::Riscv), true, true) => vec![Machine::Riscv64],
            (Some(Family::X86), true, true) => vec![Machine::X86_64],
            (Some(Family::X86), false, true) => vec![Machine::I686],
            _ => Vec::new(),
        };
        Some(machines)
    }

    /// The builds that a host may be able to run, the best one first, from what `uname -m` says
    /// and from the beginnings of programs that are there. None: nothing is built for it.
    ///
    /// `uname` alone does not tell the byte order of a MIPS, nor whether the programs on a 64-bit
    /// ARM are 32-bit ones, because the kernel may run no others. Programs of another family than
    /// the kernel's are those of an emulator.
    pub(super) fn candidates(uname: &str, programs: &[&[u8]]) -> Vec<Machine> {
        let seen: Vec<Elf> = programs.iter().filter_map(|program| Elf::read(program)).collect();
        let family = Family::of_uname(uname).or_else(|| seen.first().and_then(|elf| elf.family));
        let elf = seen.iter().find(|elf| elf.family == family);
        let little = elf.is_none_or(|elf| elf.little);
        let wide = elf.map(|elf| elf.wide);
        match (family, little) {
            (Some(Family::Mips), _) => match elf {
                Some(elf) if elf.little => vec![Machine::Mipsel],
                Some(_) => vec![Machine::Mips],
                None => vec![Machine::Mips, Machine::Mipsel],
            },
            (Some(Family::Arm), true) if uname.starts_with("armv6") => vec![Machine::Armv6],
            (Some(Family::Arm), true) if uname == "aarch64" && wide != Some(false) => {
                vec![Machine::Aarch64, Machine::Armv7, Machine::Armv6]
            }
            // Without VFP, the one for ARMv7 ends by an illegal instruction and the other is tried.
            (Some(Family::Arm), true) => vec![Machine::Armv7, Machine::Armv6],
            (Some(Family::Riscv), true) if wide != Some(false) => vec![Machine::Riscv64],
            (Some(Family::X86), true) if uname == "x86_64" || wide == Some(true) => {
                vec![Machine::X86_64, Machine::I686]
            }
            (Some(Family::X86), true) => vec![Machine::I686],
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Mips,
    /// 32 and 64 bit: most 64-bit ones run 32-bit programs.
    Arm,
    Riscv,
    X86,
}

impl Family {
    fn of_uname(name: &str) -> Option<Family> {
        match name {
            "mips" | "mips64" => Some(Family::Mips),
            "aarch64" | "armv8l" => Some(Family::Arm),
            "riscv64" => Some(Family::Riscv),
            "x86_64" | "i686" | "i586" | "i486" | "i386" => Some(Family::X86),
            _ if name.starts_with("armv6") || name.starts_with("armv7") => Some(Family::Arm),
            _ => None,
        }
    }
}

/// What the beginning of an ELF file says (System V ABI, chapter 4).
struct Elf {
    wide: bool,
    little: bool,
    family: Option<Family>,
}

impl Elf {
    fn read(bytes: &[u8]) -> Option<Elf> {
        let bytes: &[u8; ELF_BYTES] = bytes.first_chunk()?;
        let [0x7f, b'E', b'L', b'F', class @ 1..=2, order @ 1..=2, .., a, b] = *bytes else {
            return None;
        };
        let little = order == 1;
        let number = if little { u16::from_le_bytes([a, b]) } else { u16::from_be_bytes([a, b]) };
        let family = match number {
            8 => Some(Family::Mips),
            40 | 183 => Some(Family::Arm),
            243 => Some(Family::Riscv),
            3 | 62 => Some(Family::X86),
            _ => None,
        };
        Some(Elf { wide: class == 2, little, family })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn elf(class: u8, order: u8, machine: u16) -> Vec<u8> {
        let mut bytes = vec![0x7f, b'E', b'L', b'F', class, order, 1];
        bytes.resize(18, 0);
        bytes.extend(if order == 1 { machine.to_le_bytes() } else { machine.to_be_bytes() });
        bytes
    }

    #[test]
    fn kernels_and_their_programs() {
        use Machine::*;
        type Case = (&'static str, Vec<Vec<u8>>, &'static [Machine]);
        let cases: &[Case] = &[
            ("mips", vec![elf(1, 2, 8)], &[Mips]),
            ("mips", vec![elf(1, 1, 8)], &[Mipsel]),
            ("mips64", vec![elf(2, 1, 8)], &[Mipsel]),
            ("mips", vec![], &[Mips, Mipsel]),
            ("aarch64", vec![elf(2, 1, 183)], &[Aarch64, Armv7, Armv6]),
            ("aarch64", vec![elf(1, 1, 40)], &[Armv7, Armv6]),
            ("armv7l", vec![elf(1, 1, 40)], &[Armv7, Armv6]),
            ("armv6l", vec![elf(1, 1, 40)], &[Armv6]),
            ("armv5tel", vec![], &[]),
            ("armv7b", vec![elf(1, 2, 40)], &[]),
            ("riscv64", vec![elf(2, 1, 243)], &[Riscv64]),
            ("x86_64", vec![elf(2, 1, 62)], &[X86_64, I686]),
            ("x86_64", vec![elf(1, 1, 3)], &[X86_64, I686]),
            ("i686", vec![elf(1, 1, 3)], &[I686]),
            ("i686", vec![elf(2, 1, 62)], &[X86_64, I686]),
            ("ppc64le", vec![elf(2, 1, 21)], &[]),
            ("s390x", vec![], &[]),
            // No uname: what the shell is must do.
            ("", vec![elf(1, 2, 8)], &[Mips]),
            ("", vec![], &[]),
            // Under an emulator the shell's process is the emulator's program.
            ("mips", vec![elf(2, 1, 62), elf(1, 1, 8)], &[Mipsel]),
            ("mips", vec![elf(2, 1, 62)], &[Mips, Mipsel]),
        ];
        for (uname, programs, expected) in cases {
            let programs: Vec<&[u8]> = programs.iter().map(Vec::as_slice).collect();
            assert_eq!(&Machine::candidates(uname, &programs), expected, "{uname} {programs:?}");
        }
    }

    #[test]
    fn what_is_no_program_is_none() {
        for bytes in
            [&b""[..], b"#!/bin/sh\n", b"\x7fELF", &[0xff; 20], &elf(3, 1, 8), &elf(1, 0, 8)]
        {
            assert!(Machine::of_program(bytes).is_none(), "{bytes:?}");
        }
    }

    #[test]
    fn programs_name_their_machine() {
        use Machine::*;
        let machines =
            |class, order, machine| Machine::of_program(&elf(class, order, machine)).unwrap();
        assert_eq!(machines(1, 2, 8), [Mips]);
        assert_eq!(machines(1, 1, 8), [Mipsel]);
        assert_eq!(machines(1, 1, 40), [Armv7, Armv6]);
        assert_eq!(machines(2, 1, 183), [Aarch64]);
        assert_eq!(machines(2, 1, 243), [Riscv64]);
        assert_eq!(machines(2, 1, 62), [X86_64]);
        assert_eq!(machines(1, 1, 3), [I686]);
        assert_eq!(machines(2, 1, 21), [], "one that nothing is built for");
    }

    #[test]
    fn names_lead_back() {
        for machine in Machine::ALL {
            assert_eq!(Machine::named(machine.name()), Some(machine));
        }
        assert!(Machine::here().is_some(), "tests run on machines that have a probe");
    }
}
