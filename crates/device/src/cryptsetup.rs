//! What `cryptsetup benchmark` prints.

use plimsoll_model::device::Algorithm;

/// The command that measures an algorithm; `None` for those that are not its business. Two keys go
/// into XTS: 256 bits are AES-128.
pub(super) fn command(cryptsetup: &str, algorithm: Algorithm) -> Option<String> {
    let bits = key_bits(algorithm)?;
    Some(format!("{cryptsetup} benchmark -c aes-xts -s {bits}"))
}

fn key_bits(algorithm: Algorithm) -> Option<u64> {
    match algorithm {
        Algorithm::Aes128Xts => Some(256),
        Algorithm::Aes256Xts => Some(512),
        _ => None,
    }
}

/// The rate of encryption in bytes per second:
/// `    aes-xts        256b      1861.0 MiB/s      1867.7 MiB/s`.
pub fn parse(text: &str, algorithm: Algorithm) -> Result<u64, String> {
    let bits = key_bits(algorithm).ok_or("it does not measure this algorithm")?;
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let rows = text.lines().map(words);
    let mut rows =
        rows.filter(|row| row.len() >= 3 && row[0] == "aes-xts" && row[1] == format!("{bits}b"));
    let row = rows.next().ok_or("the output has no line for it")?;
    if rows.next().is_some() {
        return Err("the output has two lines for it".to_owned());
    }
    let unit = match row.get(3).map(String::as_str) {
        Some("MiB/s") => f64::from(1 << 20),
        Some("GiB/s") => f64::from(1 << 30),
        _ => {
            return Err(format!(
                "it printed '{}' instead of a rate",
                row[2].chars().take(40).collect::<String>()
            ));
        }
    };
    let rate = row[2].parse::<f64>().ok().map(|rate| rate * unit);
    let rate = rate.filter(|rate| (1.0..1e14).contains(rate));
    rate.map(|rate| rate.round() as u64).ok_or_else(|| "its rate is not a valid number".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PRINTED: &str = "# Tests are approximate using memory only (no storage IO).
# Algorithm |       Key |      Encryption |      Decryption
    aes-xts        256b      1861.0 MiB/s      1867.7 MiB/s
    aes-xts        512b             N/A             N/A
";

    #[test]
    fn a_rate_is_read() {
        assert_eq!(parse(PRINTED, Algorithm::Aes128Xts), Ok(1_951_399_936));
        assert_eq!(
            parse(PRINTED, Algorithm::Aes256Xts),
            Err("it printed 'N/A' instead of a \
        rate"
                .to_owned())
        );
        assert!(parse(PRINTED, Algorithm::Sha256).is_err());
        assert!(command("cryptsetup", Algorithm::Sha256).is_none());
    }

    #[test]
    fn everything_else_is_refused_with_its_reason() {
        for (text, expected) in [
            ("Required kernel crypto interface not available.", "the output has no line for it"),
            ("aes-xts 256b nan MiB/s", "its rate is not a valid number"),
            ("aes-xts 256b -1 MiB/s", "its rate is not a valid number"),
            ("aes-xts 256b 1e30 MiB/s", "its rate is not a valid number"),
            ("aes-xts 256b 5 parsecs", "it printed '5' instead of a rate"),
            ("aes-xts 256b 1 MiB/s\naes-xts 256b 2 MiB/s", "the output has two lines for it"),
        ] {
            assert_eq!(parse(text, Algorithm::Aes128Xts), Err(expected.to_owned()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_no_panic(text in "\\PC{0,60}", rate in "\\PC{0,20}") {
            let _ = parse(&text, Algorithm::Aes128Xts);
            let _ = parse(&format!("aes-xts 256b {rate} MiB/s"), Algorithm::Aes128Xts);
        }
    }
}
