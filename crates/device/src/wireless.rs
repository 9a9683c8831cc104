//! The radio link of a wireless interface, as `iw` prints it.

use super::tool::{SMALL, in_english};
use plimsoll_model::WirelessLink;
use plimsoll_reach::{Reach, quote};

/// Longest line that is read.
const MOST_LETTERS: usize = 256;
/// Most lines that are read: some stations of an access point.
const MOST_LINES: usize = 4096;

/// The radio link of an interface; `None` if it is not wireless. Without `iw` on the host, nothing is known of it.
pub fn wireless(reach: &dyn Reach, interface: &str) -> Option<WirelessLink> {
    let (name, path) = (quote(interface), quote(&format!("/sys/class/net/{interface}")));
    let script = format!(
        "[ -e {path}/phy80211 ] || [ -e {path}/wireless ] || exit 0; echo wireless; iw dev {name} link; \
         iw dev {name} station dump"
    );
    let ran = reach.run(&in_english(&script), &[], SMALL).ok()?;
    (!ran.output.is_empty()).then(|| parse(&String::from_utf8_lossy(&ran.output)))
}

/// The output of `iw dev IF link`, followed by that of `iw dev IF station dump`. What the interface has with one of
/// several stations says nothing of the path, and is left out.
pub fn parse(text: &str) -> WirelessLink {
    let lines = || text.lines().take(MOST_LINES).filter(|line| line.len() <= MOST_LETTERS);
    let stations = lines().filter(|line| line.starts_with("Station ")).count();
    let is_connected = lines().any(|line| line.starts_with("Connected to "));
    let mut link = WirelessLink::default();
    if stations > 1 && !is_connected {
        return link;
    }
    let mut own = true;
    let mut seen = 0;
    for line in lines() {
        if line.starts_with("Station ") {
            seen += 1;
            own = seen == 1;
        }
        let Some((key, value)) = line.trim().split_once(':').filter(|_| own) else { continue };
        let number = || value.split_ascii_whitespace().next();
        let count = || number()?.parse::<u64>().ok();
        match key {
            "freq" => link.frequency_hertz = link.frequency_hertz.or(scaled(number(), 1e6)),
            "signal" => {
                let dbm = number().and_then(|text| text.parse::<i32>().ok());
                link.signal_dbm = link.signal_dbm.or(dbm.filter(|dbm| (-200..=50).contains(dbm)));
            }
            "tx bitrate" => {
                link.send_bits_per_second = link.send_bits_per_second.or(scaled(number(), 1e6));
            }
            "rx bitrate" => {
                link.receive_bits_per_second =
                    link.receive_bits_per_second.or(scaled(number(), 1e6));
            }
            "tx packets" => link.sent_packets = count(),
            "tx retries" => link.retried_packets = count(),
            "tx failed" => link.failed_packets = count(),
            _ => {}
        }
    }
    link
}

/// Megahertz or megabits, such as "433.3".
fn scaled(text: Option<&str>, unit: f64) -> Option<u64> {
    let number = text?.parse::<f64>().ok()? * unit;
    (1.0..1e15).contains(&number).then_some(number.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: &str = "Connected to 02:00:5e:00:53:01 (on wlan0)
\tSSID: home
\tfreq: 5180
\tRX: 1234567 bytes (8901 packets)
\tTX: 765432 bytes (6543 packets)
\tsignal: -61 dBm
\trx bitrate: 433.3 MBit/s VHT-MCS 9 80MHz short GI VHT-NSS 1
\ttx bitrate: 390.0 MBit/s VHT-MCS 8 80MHz short GI VHT-NSS 1
";
    const STATION: &str = "Station 02:00:5e:00:53:01 (on wlan0)
\tinactive time:\t10 ms
\ttx packets:\t6543
\ttx retries:\t311
\ttx failed:\t2
\tsignal:  \t-60 [-63, -65] dBm
\ttx bitrate:\t390.0 MBit/s VHT-MCS 8 80MHz short GI VHT-NSS 1
";
    const OTHER: &str = "Station 02:00:5e:00:53:02 (on wlan0)
\ttx packets:\t9
\ttx retries:\t8
\tsignal:  \t-90 dBm
";

    #[test]
    fn a_client_has_the_link_to_its_access_point() {
        let expected = WirelessLink {
            send_bits_per_second: Some(390_000_000),
            receive_bits_per_second: Some(433_300_000),
            signal_dbm: Some(-61),
            frequency_hertz: Some(5_180_000_000),
            sent_packets: Some(6543),
            retried_packets: Some(311),
            failed_packets: Some(2),
        };
        assert_eq!(parse(&format!("{LINK}{STATION}")), expected);
        // A second station, as with a direct link beside the access point, is not this one.
        assert_eq!(parse(&format!("{LINK}{STATION}{OTHER}")), expected);
    }

    #[test]
    fn an_access_point_has_a_link_if_it_has_one_station() {
        let one = parse(&format!("Not connected.\n{STATION}"));
        assert_eq!((one.signal_dbm, one.retried_packets), (Some(-60), Some(311)));
        let two = parse(&format!("Not connected.\n{STATION}{OTHER}"));
        assert_eq!(two, WirelessLink::default());
    }

    #[test]
    fn what_cannot_be_is_left_out() {
        for text in ["", "command failed: No such device (-19)\n", "signal: -9999 dBm\nfreq: x\n"] {
            assert_eq!(parse(text), WirelessLink::default(), "{text}");
        }
        let odd = "tx bitrate: 1e300 MBit/s\ntx retries: -5\nfreq: NaN\nfreq: 2437.0\n";
        assert_eq!(parse(odd).frequency_hertz, Some(2_437_000_000));
        assert_eq!((parse(odd).send_bits_per_second, parse(odd).retried_packets), (None, None));
    }
}
