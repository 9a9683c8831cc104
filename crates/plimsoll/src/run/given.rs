//! What the command line says beside the file.

use super::options::Word;
use crate::arguments::HostArguments;

/// What the command line says beside the file.
pub struct Given<'a> {
    pub targets: &'a [String],
    pub hosts: &'a HostArguments,
    /// Whether the device is rebooted before each setting, though the file does not say so.
    pub reboot: bool,
    /// What was typed of [`RuleArguments`](crate::arguments::RuleArguments), which goes before what the file says.
    pub how: &'a [Word],
}
