//! Clocks that a router's kernel writes into its log when it starts, and nowhere else.

use plimsoll_reach::Reach;
use serde_json::{Value, json};

/// The section of the log, where the log still has those lines and may be read.
pub(super) fn section(reach: &dyn Reach) -> Option<Value> {
    let look = "dmesg 2>/dev/null | grep -iE 'clocks?: *(cpu|[0-9])' | head -n 8";
    let ran = reach.run(&super::tool::in_english(look), &[], super::tool::SMALL).ok()?;
    from_log(&String::from_utf8_lossy(&ran.output))
}

/// `Clocks: CPU:720.000MHz, DDR:680.000MHz, AHB:340.000MHz, Ref:40.000MHz` (Atheros),
/// `CPU Clock: 880MHz` (MediaTek and Ralink).
pub(super) fn from_log(log: &str) -> Option<Value> {
    for line in log.lines() {
        let clock = |name: &str| {
            let (_, rest) = line.split_once(name)?;
            let rest = rest.trim_start();
            let number = &rest[..rest.find("MHz")?];
            let hertz = number.trim().parse::<f64>().ok()? * 1e6;
            (1e6..1e11).contains(&hertz).then_some(hertz.round() as u64)
        };
        if let Some(cpu) = clock("Clocks: CPU:").or(clock("CPU Clock:")) {
            let memory = clock("DDR:");
            let bus = clock("AHB:");
            return Some(json!({
                "section": "clocks", "cpu_hertz": cpu, "memory_hertz": memory, "bus_hertz": bus,
            }));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_of_routers() {
        let atheros = "[    0.000000] Clocks: CPU:720.000MHz, DDR:360.000MHz, AHB:180.000MHz, \
                       Ref:40.000MHz";
        assert_eq!(
            from_log(atheros),
            Some(json!({"section": "clocks", "cpu_hertz": 720_000_000,
                "memory_hertz": 360_000_000, "bus_hertz": 180_000_000}))
        );
        let mediatek = from_log("x\n[    0.0] CPU Clock: 880MHz\n").unwrap();
        assert_eq!(mediatek["cpu_hertz"], 880_000_000);
        assert_eq!(mediatek["bus_hertz"], Value::Null);
        for none in ["", "Clocks: CPU:", "Clocks: CPU:nanMHz", "CPU Clock: 9e99MHz", "clock: cpu"] {
            assert_eq!(from_log(none), None, "{none}");
        }
    }
}
