//! Settings that a study varies.

use plimsoll_model::{Deadline, Failure, Flag};

/// Sets the factors of a plan, and puts them back.
pub trait Settings {
    /// Sets a factor to one of its levels, by their indices in the plan.
    ///
    /// # Errors
    /// Where it cannot be set, or does not take effect: then it is as it was before.
    fn set(&mut self, factor: usize, level: usize) -> Result<(), Failure>;

    /// Puts every factor back, reboots the host of the plan's [`Reboot`](plimsoll_model::Reboot), and reads
    /// anew what is found; when this returns, all hosts can be set.
    ///
    /// # Errors
    /// Where something cannot be put back, or the host does not work again before the deadline.
    fn reboot(&mut self, _: &Deadline) -> Result<(), Failure> {
        Ok(())
    }

    /// Writes out what is dirty on the hosts of the study and drops what they have in their caches; a flag
    /// for each that does not let that be done.
    fn drop_caches(&mut self) -> Vec<Flag> {
        Vec::new()
    }

    /// Puts every factor back to what it was before the study; a flag for each that cannot be.
    fn restore(&mut self) -> Vec<Flag>;
}

/// The settings of a plan without factors.
pub struct NoSettings;

impl Settings for NoSettings {
    fn set(&mut self, _: usize, _: usize) -> Result<(), Failure> {
        Ok(())
    }

    fn restore(&mut self) -> Vec<Flag> {
        Vec::new()
    }
}
