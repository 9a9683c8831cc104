//! What `openssl speed` prints for programs (`-mr`).

use plimsoll_model::device::Algorithm;

/// Bytes of a message, as the probe takes them too.
pub(super) const MESSAGE_BYTES: u64 = 16384;

/// The command that measures an algorithm for so many seconds. By elapsed time, as the
/// probe measures: hardware that works beside the processor uses none of its time.
pub(super) fn command(openssl: &str, algorithm: Algorithm, seconds: u64) -> String {
    let aead = match algorithm {
        Algorithm::Aes128Gcm | Algorithm::Aes256Gcm | Algorithm::Chacha20Poly1305 => "-aead ",
        Algorithm::Aes128Xts | Algorithm::Aes256Xts | Algorithm::Sha256 => "",
    };
    format!(
        "{openssl} speed -elapsed -mr -seconds {seconds} -bytes {MESSAGE_BYTES} {aead}-evp {}",
        algorithm.name()
    )
}

/// The rate in bytes per second: the line `+F:25:AES-128-GCM:3521658880.00` after the line
/// `+H:16384` that names the one size of its messages.
pub fn parse(text: &str, algorithm: Algorithm) -> Result<u64, String> {
    let line = |start: &str| {
        let mut lines = text.lines().filter_map(|line| line.trim().strip_prefix(start));
        match (lines.next(), lines.next()) {
            (Some(line), None) => Ok(line),
            (None, _) => Err(format!("the output has no line '{start}'")),
            _ => Err(format!("the output has two lines '{start}'")),
        }
    };
    if line("+H:")? != MESSAGE_BYTES.to_string() {
        return Err(format!("it measured messages of another size than {MESSAGE_BYTES} bytes"));
    }
    let mut fields = line("+F:")?.split(':').skip(1);
    let (name, rate) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
    if !name.eq_ignore_ascii_case(algorithm.name()) || fields.next().is_some() {
        return Err(format!("it measured another algorithm than {algorithm}"));
    }
    let rate = rate.parse::<f64>().ok().filter(|rate| (1.0..1e14).contains(rate));
    rate.map(|rate| rate.round() as u64).ok_or_else(|| "its rate is not a valid number".to_owned())
}

/// "3.0.22" from "OpenSSL 3.0.22 25 Aug 2026 (Library: …)"; LibreSSL says its name too.
pub fn version(text: &str) -> Option<String> {
    let mut words = text.lines().next()?.split_whitespace();
    let (name, version) = (words.next()?, words.next()?);
    let plain = |word: &str| {
        word.len() <= 40 && word.bytes().all(|b| b.is_ascii_alphanumeric() || b".-+_".contains(&b))
    };
    if !plain(name) || !plain(version) {
        return None;
    }
    Some(if name == "OpenSSL" { version.to_owned() } else { format!("{name} {version}") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_openssl_3_prints() {
        let printed = "+DT:AES-128-GCM:1:16384\n+R:214945:AES-128-GCM:1.000000\n+H:16384\n\
                       +F:25:AES-128-GCM:3521658880.00\n";
        assert_eq!(parse(printed, Algorithm::Aes128Gcm), Ok(3_521_658_880));
        let aead = "+H:16384\n+F:25:ChaCha20-Poly1305:1936343040.00\n";
        assert_eq!(parse(aead, Algorithm::Chacha20Poly1305), Ok(1_936_343_040));
        let older = "+H:16384\n+F:22:sha256:362921984.00\r\n";
        assert_eq!(parse(older, Algorithm::Sha256), Ok(362_921_984));
    }

    #[test]
    fn everything_else_is_refused_with_its_reason() {
        for (text, expected) in [
            ("", "the output has no line '+H:'"),
            ("+H:16384\n", "the output has no line '+F:'"),
            (
                "+H:16:64\n+F:1:sha256:1:2\n",
                "it measured messages of another size than 16384 \
            bytes",
            ),
            ("+H:16384\n+F:1:sha256:1:2\n", "it measured another algorithm than SHA-256"),
            ("+H:16384\n+F:1:md5:1\n", "it measured another algorithm than SHA-256"),
            ("+H:16384\n+F:1:sha256:NaN\n", "its rate is not a valid number"),
            ("+H:16384\n+F:1:sha256:-7\n", "its rate is not a valid number"),
            ("+H:16384\n+F:1:sha256:1e30\n", "its rate is not a valid number"),
            ("+H:16384\n+F:1:sha256:5\n+F:1:sha256:6\n", "the output has two lines '+F:'"),
        ] {
            assert_eq!(parse(text, Algorithm::Sha256), Err(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn versions() {
        assert_eq!(version("OpenSSL 3.0.22 25 Aug 2026 (Library: …)").as_deref(), Some("3.0.22"));
        assert_eq!(version("LibreSSL 3.8.2\n").as_deref(), Some("LibreSSL 3.8.2"));
        assert_eq!(version("sh: openssl: not found"), None);
        assert_eq!(version("OpenSSL \u{1b}[2J"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_no_panic(text in "\\PC{0,60}", rate in "\\PC{0,20}") {
            let _ = (parse(&text, Algorithm::Sha256), version(&text));
            if let Ok(rate) = parse(&format!("+H:16384\n+F:1:sha256:{rate}"), Algorithm::Sha256) {
                prop_assert!((1..=100_000_000_000_000).contains(&rate));
            }
        }
    }
}
