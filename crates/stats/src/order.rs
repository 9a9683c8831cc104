//! Chance that can be repeated: seeded generators and the shuffled order of a block.
//!
//! A seed that was recorded must give the same order years later, so everything between the seed
//! and the order is fixed here: PCG64 (XSL RR 128/64; O'Neill 2014) with its published constants,
//! FNV-1a and SplitMix64 (Steele, Lea and Flood 2014) to derive its state, and the Fisher–Yates
//! shuffle. A general library's `shuffle` may change between its versions and is not used.

use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// A generator for one purpose of a study. The same `seed` and `label` always give the same
/// numbers; different labels give unrelated ones.
pub fn generator(seed: u64, label: &str) -> Pcg64 {
    let mut state = derive(seed, label);
    let mut bytes = [0; 32];
    for word in bytes.chunks_exact_mut(8) {
        word.copy_from_slice(&split_mix(&mut state).to_le_bytes());
    }
    Pcg64::from_seed(bytes)
}

/// A seed for one purpose of a study, to be handed to a part that takes a seed itself.
pub fn sub_seed(seed: u64, label: &str) -> u64 {
    split_mix(&mut derive(seed, label))
}

/// The numbers 0 to `count` − 1 in random order, every order equally likely.
pub fn shuffled(count: usize, generator: &mut Pcg64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        order.swap(last, below(last as u64 + 1, generator) as usize);
    }
    order
}

/// A uniform number from 0 to 1, 1 excluded.
pub fn unit(generator: &mut Pcg64) -> f64 {
    const BITS: u32 = 53;
    (generator.next_u64() >> (u64::BITS - BITS)) as f64 / (1_u64 << BITS) as f64
}

/// A uniform number below `bound`, without the bias of a plain remainder (Lemire 2019). 0 for a
/// `bound` of 0.
fn below(bound: u64, generator: &mut Pcg64) -> u64 {
    let rejected = bound.wrapping_neg().checked_rem(bound).unwrap_or(0);
    loop {
        let product = u128::from(generator.next_u64()) * u128::from(bound);
        if product as u64 >= rejected {
            return (product >> 64) as u64;
        }
    }
}

/// Mixes seed and label into a state of SplitMix64. The seed is scrambled first: seeds that people
/// choose differ in few bits, and so do short labels.
fn derive(seed: u64, label: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    for byte in label.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    let mut state = seed;
    split_mix(&mut state) ^ hash
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn split_mix_agrees_with_its_published_output() {
        // First outputs for seed 1234567, from the reference implementation by Vigna.
        let mut state = 1_234_567;
        let words: Vec<u64> = (0..3).map(|_| split_mix(&mut state)).collect();
        assert_eq!(
            words,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    /// Golden: a change here means that recorded seeds no longer give their orders.
    #[test]
    fn a_seed_gives_the_same_order_for_ever() {
        let mut generator = generator(42, "order");
        assert_eq!(shuffled(10, &mut generator), [1, 8, 7, 6, 2, 3, 9, 0, 4, 5]);
        assert_eq!(sub_seed(42, "content"), 7_865_110_506_533_153_036);
        assert_eq!(sub_seed(0, ""), 6_566_800_829_925_814_604);
    }

    #[test]
    fn every_order_is_equally_likely() {
        let mut generator = generator(1, "test");
        let mut counts = std::collections::HashMap::new();
        for _ in 0..24_000 {
            *counts.entry(shuffled(4, &mut generator)).or_insert(0.0) += 1.0;
        }
        assert_eq!(counts.len(), 24);
        // Chi-squared with 23 degrees of freedom: 49.7 is its 99.9% point.
        let chi: f64 = counts.values().map(|c: &f64| (c - 1000.0).powi(2) / 1000.0).sum();
        assert!(chi < 49.7, "{chi}");
    }

    #[test]
    fn labels_and_seeds_do_not_collide() {
        let labels = ["", "order", "content", "offsets 0", "offsets 1"];
        let mut seeds: Vec<u64> =
            (0..1000).flat_map(|s| labels.map(|label| sub_seed(s, label))).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 5000);
    }

    proptest! {
        #[test]
        fn a_shuffle_loses_nothing(count in 0usize..200, seed in any::<u64>()) {
            let mut order = shuffled(count, &mut generator(seed, "order"));
            prop_assert_eq!(&order, &shuffled(count, &mut generator(seed, "order")));
            order.sort_unstable();
            prop_assert_eq!(order, (0..count).collect::<Vec<_>>());
        }
    }
}
