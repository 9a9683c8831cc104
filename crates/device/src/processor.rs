//! What /proc/cpuinfo says of the processor; every architecture has words of its own.

use super::arm;

/// The processor's name.
pub(super) fn name(cpuinfo: &[(String, String)]) -> Option<String> {
    let said = |key: &str| value(cpuinfo, key);
    let arm = said("CPU implementer").zip(said("CPU part")).map(|(implementer, part)| {
        match arm::name(implementer, part) {
            Some(name) => name.to_owned(),
            None => format!("ARM, implementer {implementer}, part {part}"),
        }
    });
    let others = ["model name", "cpu model", "uarch", "Processor", "cpu", "isa"];
    arm.or_else(|| others.into_iter().find_map(said).map(str::to_owned))
}

/// The clock in Hz in a name such as "Intel(R) Xeon(R) Processor @ 2.50GHz".
pub(super) fn named_clock(name: &str) -> Option<u64> {
    let (_, clock) = name.rsplit_once('@')?;
    let clock = clock.trim();
    let (digits, unit) = clock.split_at(clock.find(|c: char| c.is_ascii_alphabetic())?);
    let factor = match unit {
        "GHz" => 1e9,
        "MHz" => 1e6,
        _ => return None,
    };
    let hertz = digits.trim().parse::<f64>().ok()? * factor;
    (1e6..1e11).contains(&hertz).then_some(hertz.round() as u64)
}

/// The clock in Hz of the first core, as x86, PowerPC and others write it: "cpu MHz : 2594.116",
/// "clock : 1500.000000MHz". BogoMIPS is no clock.
pub(super) fn reported_clock(cpuinfo: &[(String, String)]) -> Option<u64> {
    let keys = ["cpu MHz", "CPU MHz", "cpu MHz static", "clock"];
    let said = keys.into_iter().find_map(|key| value(cpuinfo, key))?;
    let megahertz = said.trim_end_matches("MHz").trim().parse::<f64>().ok()?;
    let hertz = megahertz * 1e6;
    (1e6..1e11).contains(&hertz).then_some(hertz.round() as u64)
}

/// Whether there are instructions for AES; `None` where no features are listed.
pub(super) fn has_aes(cpuinfo: &[(String, String)]) -> Option<bool> {
    if let Some(features) = value(cpuinfo, "flags").or(value(cpuinfo, "Features")) {
        return Some(features.split_whitespace().any(|feature| feature == "aes"));
    }
    value(cpuinfo, "isa").map(|isa| isa.contains("_zkne"))
}

fn value<'a>(cpuinfo: &'a [(String, String)], key: &str) -> Option<&'a str> {
    let (_, value) = cpuinfo.iter().find(|(k, v)| k == key && !v.is_empty())?;
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpuinfo(lines: &[(&str, &str)]) -> Vec<(String, String)> {
        lines.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    #[test]
    fn every_architecture_has_its_words() {
        for (lines, expected) in [
            (&[("model name", "Intel(R) Atom(TM) @ 1.1GHz")][..], "Intel(R) Atom(TM) @ 1.1GHz"),
            (
                &[("system type", "Atheros AR9132"), ("cpu model", "MIPS 24Kc V7.4")],
                "MIPS 24Kc V7.4",
            ),
            (
                &[
                    ("model name", "ARMv7 Processor rev 5 (v7l)"),
                    ("CPU implementer", "0x41"),
                    ("CPU part", "0xc07"),
                ],
                "ARM Cortex-A7",
            ),
            (
                &[("CPU implementer", "0x99"), ("CPU part", "0x001")],
                "ARM, implementer 0x99, part 0x001",
            ),
            (&[("isa", "rv64imafdc"), ("uarch", "sifive,u74-mc")], "sifive,u74-mc"),
        ] {
            assert_eq!(name(&cpuinfo(lines)).as_deref(), Some(expected));
        }
        assert_eq!(name(&[]), None);
    }

    #[test]
    fn clocks_in_names() {
        assert_eq!(named_clock("Intel(R) Xeon(R) Processor @ 2.50GHz"), Some(2_500_000_000));
        assert_eq!(named_clock("Geode @ 500MHz"), Some(500_000_000));
        for none in ["MIPS 24Kc V7.4", "x @ nanGHz", "x @ 1e99GHz", "x @ -1GHz", "@", "x @ 2.5 THz"]
        {
            assert_eq!(named_clock(none), None, "{none}");
        }
    }

    #[test]
    fn clocks_that_the_kernel_reports() {
        let reported = |key: &str, value: &str| reported_clock(&cpuinfo(&[(key, value)]));
        assert_eq!(reported("cpu MHz", "2594.116"), Some(2_594_116_000));
        assert_eq!(reported("clock", "1500.000000MHz"), Some(1_500_000_000));
        for (key, value) in [
            ("BogoMIPS", "5188.23"),
            ("bogomips", "5188.23"),
            ("cpu MHz", "nan"),
            ("cpu MHz", "0.000"),
        ] {
            assert_eq!(reported(key, value), None, "{key} {value}");
        }
    }

    #[test]
    fn instructions_for_aes() {
        assert_eq!(has_aes(&cpuinfo(&[("flags", "fpu aes avx")])), Some(true));
        assert_eq!(has_aes(&cpuinfo(&[("Features", "half thumb vfpv4")])), Some(false));
        assert_eq!(has_aes(&cpuinfo(&[("isa", "rv64imac_zkne_zknd")])), Some(true));
        assert_eq!(has_aes(&cpuinfo(&[("cpu model", "MIPS 24Kc")])), None);
    }
}
