//! Whether a lab file may act on this machine as root.

use crate::output;
use plimsoll_lab::Plan;
use plimsoll_model::{Failure, printable};

/// Asks at the terminal about what the file would do beside the lab; `false` where that is nothing.
///
/// # Errors
/// [`plimsoll_model::Cause::Usage`], with the lines, where nobody can be asked or the answer is not yes.
pub fn confirmed(plan: &Plan, text: &str, source: &str) -> Result<bool, Failure> {
    let Err(refused) = plan.refuse_risks(|risk| risk.shown(text, source)) else {
        return Ok(false);
    };
    if !output::can_ask() {
        return Err(refused);
    }
    output::complain(&printable(&refused.happened));
    match output::agrees("Do you trust the author of this file? Start the lab? [y/N]") {
        true => Ok(true),
        false => Err(Failure { happened: "you did not agree".to_owned(), ..refused }),
    }
}
