//! What this machine can do for labs.
