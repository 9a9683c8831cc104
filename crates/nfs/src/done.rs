//! Results of calls that all versions have in common.

use crate::nfs3::{Stability, Verifier};

/// Result of a call of a pipeline: with the attributes `A` of its version, and the results `O` that only this
/// version has. What is large is boxed, so that reads and writes do not pay for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done<'a, A, O> {
    /// READ, and a small file: never more than asked for, perhaps less.
    Read {
        /// The bytes, in the receive buffer.
        data: &'a [u8],
        /// Whether the file ends after them.
        end_of_file: bool,
    },
    /// WRITE, and a small file: never more than sent, perhaps less; never less safe than asked for.
    Write {
        /// Bytes written.
        count: u32,
        /// How safe they are.
        committed: Stability,
        /// Changes when the server restarts.
        verifier: Verifier,
    },
    /// COMMIT.
    Commit {
        /// Changes when the server restarts.
        verifier: Verifier,
    },
    /// GETATTR.
    Attributes(Box<A>),
    /// ACCESS: the rights granted, of those that were asked for, as bits.
    Access(u32),
    /// REMOVE, RMDIR, SETATTR, RENAME, CLOSE, LOCKU, and a small file without bytes.
    Changed,
    /// A result of this version alone.
    Other(O),
}
