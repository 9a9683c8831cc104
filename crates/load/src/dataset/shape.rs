//! How sizes, directories and names of files are distributed, as quantiles.
//!
//! The source tree is Linux 6.1 as Debian packages it (`linux-source-6.1` 6.1.192-2, listed with
//! `tar -tv`), without the generated register headers of `asic_reg`, which 4.9 hardly had: 77,858 files in
//! 5,055 directories, mean 11,546 bytes where 4.9 has 11,567.

/// Quantiles: shares from 0 to 1, and the value of each. Between two of them it is linear, so that it is
/// the same on every machine to the last bit.
pub(super) type Quantiles = &'static [(f64, f64)];

/// Bytes of a source file. The median is 3.8 kB, and a file in a hundred has a fifth of all bytes.
pub(super) const SOURCE_SIZES: Quantiles = &[
    (0.0, 0.0),
    (0.001, 14.0),
    (0.01, 73.0),
    (0.05, 252.0),
    (0.1, 442.0),
    (0.2, 948.0),
    (0.3, 1605.0),
    (0.4, 2502.0),
    (0.5, 3831.0),
    (0.6, 5828.0),
    (0.7, 8913.0),
    (0.8, 14_511.0),
    (0.9, 27_833.0),
    (0.95, 46_211.0),
    (0.98, 77_871.0),
    (0.99, 109_706.0),
    (0.995, 152_505.0),
    (0.999, 315_646.0),
    (0.9999, 1_013_732.0),
    (1.0, 1_747_157.0),
];

/// Files of one directory.
pub(super) const FILES_OF_DIRECTORY: Quantiles = &[
    (0.0, 0.0),
    (0.05, 0.0),
    (0.1, 1.0),
    (0.2, 2.0),
    (0.3, 3.0),
    (0.4, 4.0),
    (0.5, 6.0),
    (0.6, 8.0),
    (0.7, 11.0),
    (0.8, 18.0),
    (0.9, 32.0),
    (0.95, 52.0),
    (0.98, 103.0),
    (0.99, 156.0),
    (0.995, 210.0),
    (0.999, 484.0),
    (1.0, 2541.0),
];

/// Share of the directories that lie no deeper than 0, 1, 2 and so on below the top.
pub(super) const DEPTHS: [f64; 10] =
    [0.0002, 0.0049, 0.1252, 0.4229, 0.6965, 0.8617, 0.9177, 0.9565, 0.9889, 1.0];

/// How many of the directories one level up have any below. Which of them has another is drawn as the
/// square of a share: most have few, and some a hundred (in the kernel's tree 79% have none, a tenth more
/// than two, one in a thousand more than 82).
pub(super) const BRANCHING: f64 = 0.25;

/// Characters of a name: the mean is 12.7.
pub(crate) const NAMES: Quantiles = &[
    (0.0, 2.0),
    (0.1, 6.0),
    (0.2, 8.0),
    (0.3, 9.0),
    (0.4, 10.0),
    (0.5, 11.0),
    (0.6, 13.0),
    (0.7, 15.0),
    (0.8, 17.0),
    (0.9, 20.0),
    (0.95, 24.0),
    (0.99, 32.0),
    (0.999, 42.0),
    (1.0, 60.0),
];

/// Sizes of media as parts of their mean: the tracks of an album and photos of one camera differ by a
/// factor of three.
pub(super) const MEDIA_SIZES: Quantiles =
    &[(0.0, 0.5), (0.1, 0.7), (0.5, 0.95), (0.9, 1.35), (1.0, 1.7)];

/// The value at a share.
pub(crate) fn at(quantiles: Quantiles, share: f64) -> f64 {
    let above =
        quantiles.partition_point(|(known, _)| *known < share).clamp(1, quantiles.len() - 1);
    let ((low, from), (high, to)) = (quantiles[above - 1], quantiles[above]);
    from + (share.clamp(low, high) - low) / (high - low) * (to - from)
}
