//! What it encrypts and hashes, and what that allows.

use super::Host;
use super::section::{BarGroup, Section, Whose, heading};
use crate::figure::BANDWIDTH;
use crate::text::printable;
use plimsoll_model::device::{Algorithm, CryptoFigure, CryptoFigures, CryptoMeans, Part};

pub(super) fn section(host: &Host<'_>) -> Section {
    let mut section = Section::new("crypto", heading(Part::Crypto));
    let Some(crypto) = &host.crypto else { return section };
    let figures = &crypto.algorithms;
    section.table.rows = figures.iter().map(|figure| figure.algorithm.to_string()).collect();
    let rates = figures.iter().map(|figure| {
        let rate = figure.bytes_per_second as f64;
        host.shown(Part::Crypto, &figure.algorithm.to_string(), rate, BANDWIDTH)
    });
    section.table.columns = vec![
        ("one core".to_owned(), rates.collect()),
        ("by".to_owned(), figures.iter().map(tool).collect()),
    ];
    for (ceiling, of) in [
        (disk_ceiling as Ceiling, [Algorithm::Aes256Xts, Algorithm::Aes128Xts]),
        (transport_ceiling, [Algorithm::Aes128Gcm, Algorithm::Aes256Gcm]),
    ] {
        let Some(figure) = first(crypto, of) else { continue };
        section.claims.push(match host.is_disturbed(Part::Crypto, &figure.algorithm.to_string()) {
            false => ceiling(host, crypto, figure),
            true => format!(
                "No limit is derived from {}, because its figure was disturbed.",
                figure.algorithm
            ),
        });
    }
    let bar = |f: &CryptoFigure| (f.algorithm.to_string(), rate(host, f), Whose::Device);
    if figures.len() > 1 {
        section.bars.push(BarGroup {
            id: "crypto-rates",
            title: "Cryptography, one core",
            axis: "rate of encryption or hashing",
            kind: BANDWIDTH,
            bars: figures.iter().map(bar).collect(),
            caption: "The table shows the tool that measured each figure.".to_owned(),
        });
    }
    section
}

fn tool(figure: &CryptoFigure) -> String {
    match &figure.means {
        CryptoMeans::Cryptsetup => "the kernel (cryptsetup benchmark)".to_owned(),
        CryptoMeans::Openssl { version } => format!("OpenSSL {}", printable(version)),
        CryptoMeans::Kernel { driver: Some(driver) } => {
            format!("the kernel (AF_ALG, {})", printable(driver))
        }
        CryptoMeans::Kernel { driver: None } => "the kernel (AF_ALG)".to_owned(),
        CryptoMeans::Portable => "the probe's portable code".to_owned(),
    }
}

/// Bytes per second of one core.
fn rate(host: &Host<'_>, figure: &CryptoFigure) -> f64 {
    let name = figure.algorithm.to_string();
    host.value(Part::Crypto, &name, figure.bytes_per_second as f64)
}

/// What a figure allows, in a sentence.
type Ceiling = fn(&Host<'_>, &CryptoFigures, &CryptoFigure) -> String;

/// Disk encryption.
fn disk_ceiling(host: &Host<'_>, crypto: &CryptoFigures, figure: &CryptoFigure) -> String {
    let rate = BANDWIDTH.value(rate(host, figure));
    // What asked the kernel measured the code that encrypts disks.
    let kernel = matches!(figure.means, CryptoMeans::Cryptsetup | CryptoMeans::Kernel { .. });
    let code = if kernel { "" } else { " and the kernel's code is as fast as the measured code" };
    format!(
        "Disk encryption ({}, LUKS): at most about {rate} on one core{}, if the core does nothing \
         else{code}.{}",
        figure.algorithm,
        cores(host, figure),
        doubt(host, crypto, figure)
    )
}

/// Encrypted transport: one connection's work is one core's.
fn transport_ceiling(host: &Host<'_>, crypto: &CryptoFigures, figure: &CryptoFigure) -> String {
    let rate = BANDWIDTH.value(rate(host, figure));
    let nics = host.inventory.iter().flat_map(|i| &i.network).flat_map(|network| &network.nics);
    let link = nics.filter_map(|nic| nic.rate_bits_per_second).max();
    let link = link
        .map(|bits| format!(" The fastest link carries {}.", BANDWIDTH.value(bits as f64 / 8.0)));
    format!(
        "Encrypted transport ({}, SMB 3 and TLS): at most about {rate} on one connection, if one core \
         serves the connection and does nothing else, and the server's code is as fast as the \
         measured code.{}{}",
        figure.algorithm,
        link.unwrap_or_default(),
        doubt(host, crypto, figure)
    )
}

/// The first of these that has a figure.
fn first(crypto: &CryptoFigures, of: [Algorithm; 2]) -> Option<&CryptoFigure> {
    of.into_iter().find_map(|a| crypto.algorithms.iter().find(|figure| figure.algorithm == a))
}

/// ", 7.44 GB/s on 4": the kernel spreads the blocks of a disk over cores.
fn cores(host: &Host<'_>, figure: &CryptoFigure) -> String {
    let cores = host.inventory.as_ref().and_then(|i| i.cpu.as_ref()?.cores_usable_count);
    match cores.filter(|cores| (2..=4096).contains(cores)) {
        Some(cores) => {
            let all = rate(host, figure) * cores as f64;
            format!(", {} on all {cores}", BANDWIDTH.value(all))
        }
        None => String::new(),
    }
}

/// Portable code says little of a processor with instructions for AES.
fn doubt(host: &Host<'_>, crypto: &CryptoFigures, figure: &CryptoFigure) -> &'static str {
    let inventory = host.inventory.as_ref();
    let listed = inventory.and_then(|i| i.cpu.as_ref()?.aes_instructions);
    let instructions = crypto.aes_instructions.or(listed) == Some(true);
    match figure.means == CryptoMeans::Portable && instructions {
        true => {
            " It was measured with portable code. The processor has instructions for AES, which are \
             several times as fast, so this is not a limit."
        }
        false => "",
    }
}
