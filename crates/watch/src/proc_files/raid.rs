//! Software RAID.

/// What an array of /proc/mdstat is busy with beside its work: "md0: resync at 12.6%". Of several
/// the first.
pub fn parse_raid(text: &str) -> Option<String> {
    let mut array = "";
    for line in text.lines() {
        if let Some((name, _)) = line.split_once(" : ") {
            array = name.trim();
        }
        for work in ["resync", "recovery", "check", "reshape"] {
            // "[=>...................]  resync =  5.9% (57664/976630) finish=..."
            let Some((_, after)) = line.split_once(&format!("{work} =")) else { continue };
            let share = after.split_ascii_whitespace().next()?.strip_suffix('%')?;
            let percent: f64 = share.parse().ok()?;
            let plain = array.len() <= 32 && array.bytes().all(|b| b.is_ascii_graphic());
            return (plain && percent.is_finite())
                .then(|| format!("{array}: {work} at {percent}%"));
        }
    }
    None
}
