//! The sizes and the tree of files that are generated: a pure function of class, seed and totals.
//!
//! Of a file eight bytes are kept, of a directory eight more; names and content are computed.

use super::file_set::FileSet;
use super::shape::{self, Quantiles};
use crate::random::below;
use plimsoll_model::units::Bytes;
use plimsoll_model::{Cause, DataClass, Dataset, Failure, GeneratedData};
use rand_pcg::Pcg64;

/// Most files and directories of one dataset.
const MOST: u64 = 4_000_000;
/// Most bytes: sums of sizes stay exact far beyond.
const MOST_BYTES: u64 = 1 << 50;
/// The generator's streams.
const SIZES: u128 = 1;
const TREE: u128 = 2;

/// Generated files: how large they are and where they lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    class: DataClass,
    bytes: Bytes,
    sizes: Vec<u64>,
    /// The first file of each directory, and behind the last how many files there are.
    first_files: Vec<u32>,
    /// The directory that each is in; that of the first is itself.
    parents: Vec<u32>,
}

impl Manifest {
    /// The files of a dataset that is generated.
    ///
    /// # Errors
    /// [`Cause::Usage`] for more than four million files or a petabyte, and for none.
    pub fn new(dataset: &Dataset, data: &GeneratedData) -> Result<Manifest, Failure> {
        let Dataset { files, directories, bytes, .. } = *dataset;
        if !(1..=MOST).contains(&files)
            || !(1..=files).contains(&directories)
            || bytes.0 > MOST_BYTES
        {
            let happened = format!("{files} files with {bytes} in total are not possible");
            let next = "Give a --count from 1 to 4000000 and a smaller --mean or --scale.";
            let on = format!("the dataset {}", data.class.title());
            return Err(Failure::new(Cause::Usage, "generate files")
                .on(on)
                .happened(happened)
                .next(next));
        }
        let generator =
            |stream| Pcg64::new((u128::from(data.seed) << 8) | data.class as u128, stream);
        let of_sizes = match data.class {
            DataClass::Source => shape::SOURCE_SIZES,
            _ => shape::MEDIA_SIZES,
        };
        let sizes = spread(of_sizes, files as usize, &mut generator(SIZES));
        let mut tree = generator(TREE);
        let parents = parents(directories as usize, &mut tree);
        let per_directory = spread(shape::FILES_OF_DIRECTORY, parents.len(), &mut tree);
        let mut first_files = vec![0];
        let mut before = 0;
        for count in shared_out(files, &per_directory) {
            before += count as u32;
            first_files.push(before);
        }
        let sizes = shared_out(bytes.0, &sizes).collect();
        Ok(Manifest { class: data.class, bytes, sizes, first_files, parents })
    }

    /// How many directories lie between a directory and the top, the top included.
    pub fn depth(&self, directory: usize) -> usize {
        std::iter::successors(self.parent(directory), |above| self.parent(*above)).count()
    }
}

impl FileSet for Manifest {
    fn files(&self) -> usize {
        self.sizes.len()
    }

    fn directories(&self) -> usize {
        self.parents.len()
    }

    fn bytes(&self) -> Bytes {
        self.bytes
    }

    fn size(&self, file: usize) -> u64 {
        self.sizes[file]
    }

    fn directory_of(&self, file: usize) -> usize {
        self.first_files.partition_point(|first| *first as usize <= file) - 1
    }

    fn parent(&self, directory: usize) -> Option<usize> {
        (directory > 0).then(|| self.parents[directory] as usize)
    }

    fn has_long_names(&self) -> bool {
        self.class.is_text()
    }
}

/// So many values of a distribution, each part of it as often as it should be, in an order that is drawn.
fn spread(quantiles: Quantiles, count: usize, generator: &mut Pcg64) -> Vec<f64> {
    let share = |rank| (rank as f64 + 0.5) / count as f64;
    let mut values: Vec<f64> = (0..count).map(|rank| shape::at(quantiles, share(rank))).collect();
    for last in (1..count).rev() {
        values.swap(last, below(last as u64 + 1, generator) as usize);
    }
    values
}

/// A whole in parts that are to each other as these weights, exact in their sum.
fn shared_out(whole: u64, weights: &[f64]) -> impl Iterator<Item = u64> {
    let sum: f64 = weights.iter().sum();
    let (mut weight, mut before, mut left) = (0.0, 0, weights.len());
    weights.iter().map(move |own| {
        weight += own;
        left -= 1;
        let until = match left {
            0 => whole,
            _ => ((weight / sum * whole as f64).round() as u64).clamp(before, whole),
        };
        let part = until - before;
        before = until;
        part
    })
}

/// A tree of so many directories, those above before those below.
fn parents(count: usize, generator: &mut Pcg64) -> Vec<u32> {
    let mut parents = vec![0];
    // The directories one level up, and this level's first.
    let (mut above, mut first, mut level) = (0..1, 1, 1);
    for number in 1..count {
        let wanted = shape::DEPTHS.partition_point(|share| *share * count as f64 <= number as f64);
        if wanted > level && number > first {
            (above, first, level) = (first..number, number, level + 1);
        }
        let branching = (above.len() as f64 * shape::BRANCHING).ceil();
        let share = below(1 << 32, generator) as f64 / (1_u64 << 32) as f64;
        parents.push((above.start + (share * share * branching) as usize) as u32);
    }
    parents
}
