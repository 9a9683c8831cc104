//! How much each warning explains.

/// How much a warning explains of the figures, most first: the order of warnings on a screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Data came back wrong.
    Corruption,
    /// The program left something behind that the user has to remove or restore.
    NotPutBack,
    /// Another run of plimsoll used the share at the same time.
    OtherRun,
    /// Something else used a machine or the share during the study, or interrupted it.
    Disturbance,
    /// The figures are those of something else than was meant: of memory in place of the storage, of one target given
    /// twice.
    NotMeant,
    /// A killed run left something behind, which has no effect on the figures and which the user has to remove.
    Leftovers,
    /// Targets or runs that are not alike, so that comparing them says little.
    Comparison,
    /// Reads or writes of a cache instead of the storage.
    Cache,
    /// Writes of a write cache, which are faster than the storage.
    Burst,
    /// The client or the server may be the bottleneck rather than the storage, or is not monitored.
    Limit,
    /// Too little was measured.
    Preliminary,
    /// Good to know.
    Note,
}

impl Severity {
    /// Whether it is on the screen however little room there is: data, settings or space of the user are at stake, or
    /// the figures are not about the storage.
    pub fn is_urgent(self) -> bool {
        self <= Severity::NotPutBack || matches!(self, Severity::NotMeant | Severity::Leftovers)
    }
}
