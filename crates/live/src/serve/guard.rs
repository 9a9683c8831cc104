//! Who is let in: those who know the token and mean this host.

use axum::http::header::{self, HOST, HeaderName};
use axum::http::{HeaderMap, HeaderValue};
use std::fmt;
use std::hint::black_box;

/// 128 random bits, as hexadecimal digits in every address.
#[derive(Clone)]
pub(super) struct Token(String);

impl Token {
    /// Draws a token from the system's randomness by way of a cryptographic generator.
    pub(super) fn draw() -> Token {
        Token(format!("{:032x}", rand::random::<u128>()))
    }

    /// Whether `given` is the token. The time this takes does not tell how much of it is right.
    pub(super) fn is(&self, given: &str) -> bool {
        let (right, given) = (self.0.as_bytes(), given.as_bytes());
        let differing = right.iter().zip(given).fold(0, |all, (a, b)| black_box(all | (a ^ b)));
        right.len() == given.len() && differing == 0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether the request is for this host by one of its own names. A page elsewhere whose name was
/// made to resolve to the loopback address sends that name.
pub(super) fn is_this_host(headers: &HeaderMap, port: u16) -> bool {
    let mut hosts = headers.get_all(HOST).iter();
    let (Some(host), None) = (hosts.next(), hosts.next()) else { return false };
    let Ok(host) = host.to_str() else { return false };
    let (name, given) = host.rsplit_once(':').unwrap_or((host, "80"));
    (name == "127.0.0.1" || name.eq_ignore_ascii_case("localhost")) && given == port.to_string()
}

/// Nothing from anywhere but this server, no frames, no forms to elsewhere.
pub(super) const OWN_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    connect-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// For a report, which has its style and script within: whatever were to run in it has no origin,
/// can reach nothing and send nothing.
pub(super) const REPORT_POLICY: &str = "sandbox allow-scripts; default-src 'none'; \
    script-src 'unsafe-inline'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'";

/// Adds what every answer has. A policy that is there already stays.
pub(super) fn harden(headers: &mut HeaderMap) {
    if !headers.contains_key(header::CONTENT_SECURITY_POLICY) {
        let policy = HeaderValue::from_static(OWN_POLICY);
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // The address has the token in it.
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_is_the_token() {
        let token = Token::draw();
        let text = token.to_string();
        assert_eq!(text.len(), 32);
        assert!(token.is(&text));
        let mut wrong = text.clone().into_bytes();
        wrong[31] ^= 1;
        let wrong = String::from_utf8(wrong).unwrap();
        for given in ["", &text[..31], &format!("{text}0"), &wrong] {
            assert!(!token.is(given), "{given}");
        }
        assert_ne!(text, Token::draw().to_string());
    }

    #[test]
    fn other_hosts_are_refused() {
        let given = |hosts: &[&str]| {
            let mut headers = HeaderMap::new();
            for host in hosts {
                headers.append(HOST, HeaderValue::from_str(host).unwrap());
            }
            is_this_host(&headers, 8080)
        };
        assert!(
            given(&["127.0.0.1:8080"]) && given(&["localhost:8080"]) && given(&["LOCALHOST:8080"])
        );
        for bad in [
            "127.0.0.1",
            "127.0.0.1:80",
            "evil.example:8080",
            "127.0.0.1:8080.evil.example",
            "localhost.evil.example:8080",
            "[::1]:8080",
            "",
        ] {
            assert!(!given(&[bad]), "{bad}");
        }
        assert!(!given(&[]) && !given(&["localhost:8080", "localhost:8080"]));
    }
}
