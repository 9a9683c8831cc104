//! What is written, so that it can be checked.

/// Content as a pure function of (study, file, generation, offset).
pub struct Content;
