//! What it encrypts and hashes: by the programs that a host has, else by the probe.

use super::clean::{Odd, clean};
use super::inventory::Fields;
use super::{Bench, cryptsetup, openssl, tool};
use crate::probe::Request;
use crate::reach::quote;
use model::device::{Algorithm, CryptoFigure, CryptoFigures, CryptoMeans};
use model::{Cause, Failure};
use std::time::Duration;

/// How long a program may take for one algorithm.
const LIMIT: Duration = Duration::from_secs(60);
/// Seconds that `openssl speed` measures an algorithm for.
const SECONDS: u64 = 2;

/// Measures each algorithm once: XTS by cryptsetup, which asks the kernel as disk encryption does;
/// the others, and XTS where that does not work, by OpenSSL; what is left by the probe.
pub(super) fn measure(bench: &mut Bench<'_>, odd: &mut Odd) -> CryptoFigures {
    let mut crypto = CryptoFigures::default();
    match tool::found(bench.reach, &["cryptsetup", "openssl"]) {
        Ok(found) => {
            if let Err(failure) = programs(bench, &found, &mut crypto) {
                bench.failed(failure);
            }
        }
        Err(failure) => bench.failed(failure),
    }
    let missing = missing(&crypto);
    if !missing.is_empty() && !bench.stopped() {
        bench.say("cryptography by the probe");
        let duration_ms = if bench.quick { 100 } else { 500 };
        let request = Request::new("crypto").set("duration_ms", duration_ms);
        bench.verb(request, &mut |section| take(&mut crypto, section, &missing, odd));
    }
    crypto.algorithms.sort_by_key(|figure| figure.algorithm);
    crypto
}

fn missing(crypto: &CryptoFigures) -> Vec<Algorithm> {
    let there = |a: &Algorithm| crypto.algorithms.iter().any(|figure| figure.algorithm == *a);
    Algorithm::ALL.into_iter().filter(|a| !there(a)).collect()
}

/// Measures with what was found. That a program cannot is only noted: the probe comes after it.
fn programs(
    bench: &mut Bench<'_>,
    found: &[(String, String)],
    crypto: &mut CryptoFigures,
) -> Result<(), Failure> {
    if let Some(cryptsetup) = tool::path(found, "cryptsetup") {
        let cryptsetup = quote(cryptsetup);
        for algorithm in Algorithm::ALL {
            let Some(command) = cryptsetup::command(&cryptsetup, algorithm) else { continue };
            bench.say(&format!("{algorithm} by cryptsetup"));
            let Some(ran) = run(bench, &command)? else { return Ok(()) };
            match cryptsetup::parse(&ran.output, algorithm) {
                Ok(rate) => add(crypto, algorithm, CryptoMeans::Cryptsetup, rate, None),
                Err(why) => {
                    note(bench, "cryptsetup", "AES-XTS", &ran, why);
                    break;
                }
            }
        }
    }
    let Some(path) = tool::path(found, "openssl") else { return Ok(()) };
    let openssl = quote(path);
    let Some(ran) = run(bench, &format!("{openssl} version"))? else { return Ok(()) };
    let Some(version) = openssl::version(&ran.output) else {
        note(bench, "openssl", "anything", &ran, "it does not tell its version".to_owned());
        return Ok(());
    };
    let seconds = if bench.quick { 1 } else { SECONDS };
    for algorithm in missing(crypto) {
        bench.say(&format!("{algorithm} by OpenSSL"));
        let command = openssl::command(&openssl, algorithm, seconds);
        let Some(ran) = run(bench, &command)? else { return Ok(()) };
        match openssl::parse(&ran.output, algorithm) {
            Ok(rate) => {
                let means = CryptoMeans::Openssl { version: version.clone() };
                add(crypto, algorithm, means, rate, Some(openssl::MESSAGE_BYTES));
            }
            Err(why) => note(bench, "openssl", &algorithm.to_string(), &ran, why),
        }
    }
    Ok(())
}

fn run(bench: &Bench<'_>, command: &str) -> Result<Option<tool::Ran>, Failure> {
    tool::run(bench.reach, &tool::program(command), LIMIT, bench.stop)
}

fn note(bench: &mut Bench<'_>, program: &str, what: &str, ran: &tool::Ran, why: String) {
    let why = if ran.status == Some(0) { why } else { ran.complaint() };
    bench.note(format!("{program} could not measure {what}: {why}"));
}

fn add(
    crypto: &mut CryptoFigures,
    algorithm: Algorithm,
    means: CryptoMeans,
    bytes_per_second: u64,
    message_bytes: Option<u64>,
) {
    crypto.algorithms.push(CryptoFigure { algorithm, means, bytes_per_second, message_bytes });
}

/// Reads a section of the verb `crypto`; of algorithms only those that are missing.
pub fn take(
    crypto: &mut CryptoFigures,
    section: serde_json::Value,
    missing: &[Algorithm],
    odd: &mut Odd,
) {
    let fields = Fields(clean(section, odd));
    let number = |key: &str| fields.0.get(key).and_then(serde_json::Value::as_u64);
    match fields.text("section").as_deref() {
        Some("crypto") => {
            crypto.aes_instructions =
                fields.all().and_then(|told: CryptoFigures| told.aes_instructions);
        }
        Some("crypto_algorithm") => {
            let algorithm = fields.text("algorithm").as_deref().and_then(Algorithm::named);
            let means = match fields.text("implementation").as_deref() {
                Some("kernel") => Some(CryptoMeans::Kernel { driver: fields.text("driver") }),
                Some("portable") => Some(CryptoMeans::Portable),
                _ => None,
            };
            let (Some(algorithm), Some(means), Some(rate)) =
                (algorithm, means, number("bytes_per_second"))
            else {
                return odd.add("crypto_algorithm: not all of it is there".to_owned());
            };
            let there = crypto.algorithms.iter().any(|figure| figure.algorithm == algorithm);
            if missing.contains(&algorithm) && !there {
                add(crypto, algorithm, means, rate, number("message_bytes"));
            }
        }
        _ => {}
    }
}

/// Says so where an algorithm has no figure at all.
pub(super) fn lacking(crypto: &CryptoFigures, host: &str) -> Option<Failure> {
    let missing: Vec<String> = missing(crypto).iter().map(ToString::to_string).collect();
    (!missing.is_empty()).then(|| {
        Failure::new(
            Cause::Trial,
            "measure the cryptography",
            host,
            format!("no figure for {}", missing.join(", ")),
            "Install openssl there.",
        )
    })
}
