//! Options after the '?' of a URL.

/// The options of a query; one without '=' has an empty value.
pub(super) fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")))
}

/// Largest transfer in one operation on the wire, in bytes.
pub(super) fn transfer_size(value: &str) -> Result<u32, &'static str> {
    match value.parse::<u32>() {
        Ok(bytes @ 512..=0x0400_0000) => Ok(bytes),
        Ok(_) => Err("must be from 512 bytes to 64 MiB"),
        Err(_) => Err("not a number"),
    }
}
