//! What it encrypts and hashes: by the programs that a host has, else by the probe.

use super::bench::Bench;
use super::clean::{Odd, clean};
use super::inventory::Fields;
use super::{cryptsetup, openssl, tool};
use plimsoll_model::device::{Algorithm, CryptoFigure, CryptoFigures, CryptoMeans};
use plimsoll_model::{Cause, Failure};
use plimsoll_reach::probe::Request;
use plimsoll_reach::quote;
use std::time::Duration;

/// How long a program may take for one algorithm.
const LIMIT: Duration = Duration::from_secs(60);
/// Seconds that `openssl speed` measures an algorithm for, each time.
const SECONDS: u64 = 1;
/// How often it does, or cryptsetup does: the fastest counts. And for a short measurement.
const REPEATS: usize = 3;
const REPEATS_QUICK: usize = 2;
/// Kernels load and test a cipher when it is first asked for, which may take most of a first run.
const WARM_UP: usize = 1;

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
            let read = |printed: &str| cryptsetup::parse(printed, algorithm);
            let Some(rates) = repeated(bench, &command, WARM_UP, read)? else { return Ok(()) };
            match rates {
                Ok(rates) => {
                    crypto.algorithms.push(rates.figure(algorithm, CryptoMeans::Cryptsetup, None));
                }
                Err(why) => {
                    bench.note(format!("cryptsetup could not measure AES-XTS: {why}"));
                    break;
                }
            }
        }
    }
    let Some(path) = tool::path(found, "openssl") else { return Ok(()) };
    let openssl = quote(path);
    let Some(ran) = run(bench, &format!("{openssl} version"))? else { return Ok(()) };
    let Some(version) = openssl::version(&ran.output) else {
        let why = complaint(&ran, "it does not print its version".to_owned());
        bench.note(format!("openssl could not measure anything: {why}"));
        return Ok(());
    };
    for algorithm in missing(crypto) {
        bench.say(&format!("{algorithm} by OpenSSL"));
        let command = openssl::command(&openssl, algorithm, SECONDS);
        let read = |printed: &str| openssl::parse(printed, algorithm);
        let Some(rates) = repeated(bench, &command, 0, read)? else { return Ok(()) };
        match rates {
            Ok(rates) => {
                let means = CryptoMeans::Openssl { version: version.clone() };
                crypto.algorithms.push(rates.figure(
                    algorithm,
                    means,
                    Some(openssl::MESSAGE_BYTES),
                ));
            }
            Err(why) => bench.note(format!("openssl could not measure {algorithm}: {why}")),
        }
    }
    Ok(())
}

/// What several runs of a program gave.
struct Rates {
    slowest: u64,
    fastest: u64,
    runs: usize,
    /// What all of them took.
    spent: Option<tool::Spent>,
}

impl Rates {
    fn figure(
        &self,
        algorithm: Algorithm,
        means: CryptoMeans,
        message_bytes: Option<u64>,
    ) -> CryptoFigure {
        CryptoFigure {
            algorithm,
            means,
            bytes_per_second: self.fastest,
            slowest_bytes_per_second: (self.runs > 1).then_some(self.slowest),
            message_bytes,
            elapsed_ns: self.spent.map(|spent| spent.elapsed_ns),
            cpu_ns: self.spent.map(|spent| spent.cpu_ns),
        }
    }
}

/// Runs a program again and again, the first `warm_up` times for nothing. Its rates, or why there
/// are none; `None` where the user wanted an end.
fn repeated(
    bench: &Bench<'_>,
    command: &str,
    warm_up: usize,
    read: impl Fn(&str) -> Result<u64, String>,
) -> Result<Option<Result<Rates, String>>, Failure> {
    let repeats = if bench.quick { REPEATS_QUICK } else { REPEATS };
    let spent = Some(tool::Spent::default());
    let mut rates = Rates { slowest: u64::MAX, fastest: 0, runs: 0, spent };
    for number in 0..repeats {
        let Some(ran) = run(bench, command)? else { return Ok(None) };
        let rate = match read(&ran.output) {
            Ok(rate) => rate,
            Err(why) => return Ok(Some(Err(complaint(&ran, why)))),
        };
        if number >= warm_up {
            rates.slowest = rates.slowest.min(rate);
            rates.fastest = rates.fastest.max(rate);
            rates.runs += 1;
            rates.spent = rates.spent.zip(ran.spent).map(|(sum, more)| sum + more);
        }
    }
    Ok(Some(Ok(rates)))
}

fn run(bench: &Bench<'_>, command: &str) -> Result<Option<tool::Ran>, Failure> {
    tool::run(bench.reach, &tool::program(command), LIMIT, bench.stop)
}

fn complaint(ran: &tool::Ran, why: String) -> String {
    if ran.status == Some(0) { why } else { ran.complaint() }
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
                fields.all().and_then(|figures: CryptoFigures| figures.aes_instructions);
        }
        Some("crypto_algorithm") => {
            let algorithm = fields.text("algorithm").as_deref().and_then(Algorithm::named);
            let means = match fields.text("implementation").as_deref() {
                Some("kernel") => Some(CryptoMeans::Kernel { driver: fields.text("driver") }),
                Some("portable") => Some(CryptoMeans::Portable),
                _ => None,
            };
            let (Some(algorithm), Some(means), Some(bytes_per_second)) =
                (algorithm, means, number("bytes_per_second"))
            else {
                return odd.add("crypto_algorithm: some fields are missing".to_owned());
            };
            let there = crypto.algorithms.iter().any(|figure| figure.algorithm == algorithm);
            if missing.contains(&algorithm) && !there {
                crypto.algorithms.push(CryptoFigure {
                    algorithm,
                    means,
                    bytes_per_second,
                    slowest_bytes_per_second: number("slowest_bytes_per_second"),
                    message_bytes: number("message_bytes"),
                    elapsed_ns: number("elapsed_ns"),
                    cpu_ns: number("cpu_ns"),
                });
            }
        }
        _ => {}
    }
}

/// Says so where an algorithm has no figure at all.
pub(super) fn lacking(crypto: &CryptoFigures, host: &str) -> Option<Failure> {
    let missing: Vec<String> = missing(crypto).iter().map(ToString::to_string).collect();
    (!missing.is_empty()).then(|| {
        Failure::new(Cause::Trial, "measure the cryptography")
            .on(host)
            .happened(format!("no figure for {}", missing.join(", ")))
            .next("Install openssl on the host.")
    })
}
