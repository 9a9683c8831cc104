//! Random numbers of generators that are seeded, and hashes: the same on every machine.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;

/// An odd number, near 2^64 divided by the golden ratio.
pub(crate) const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A number below this one.
pub(crate) fn below(end: u64, generator: &mut Pcg64) -> u64 {
    ((u128::from(generator.next_u64()) * u128::from(end)) >> 64) as u64
}

/// Scatters 64 bits (the output function of SplitMix64: Steele, Lea, Flood, "Fast splittable
/// pseudorandom number generators", OOPSLA 2014).
pub(crate) fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(SPREAD);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
