//! Which trials the figures of a cell are of.
//!
//! What compares trials of the same block (ratios, verdicts, effects, costs of parts, cost models) keeps every block. Other
//! load is what a host did beyond the usual cost of our operations, so its mark depends on the rate of the trial: a trial
//! whose own operations were few and expensive has it as well. Without such blocks a subject that slows itself down now and then
//! would seem as fast as one that does not. The choice also changes from block to block, as a mark needs earlier trials
//! and disturbed ones count again once they are half, and a confidence sequence holds only for values that stay.

/// Trials of a cell, or figures of them, by whether others used a host meanwhile.
pub(crate) struct SetApart<T> {
    /// Those that its figures are of: all but the disturbed ones, where these are fewer than the others.
    pub(crate) counted: Vec<T>,
    /// The disturbed ones, counted or not.
    pub(crate) disturbed: Vec<T>,
    /// Whether the figures are of the others alone.
    pub(crate) apart: bool,
}

impl<T: Copy> SetApart<T> {
    /// Keeps the order.
    pub(crate) fn new(all: Vec<T>, is_disturbed: impl Fn(&T) -> bool) -> SetApart<T> {
        let (disturbed, alone): (Vec<T>, Vec<T>) = all.iter().copied().partition(is_disturbed);
        let apart = disturbed.len() < alone.len();
        SetApart { counted: if apart { alone } else { all }, disturbed, apart }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disturbed_trials_are_set_apart_where_they_are_fewer_than_the_others() {
        let negative = |all: &[i32]| {
            let SetApart { counted, disturbed, apart } =
                SetApart::new(all.to_vec(), |value| *value < 0);
            (counted, disturbed, apart)
        };
        assert_eq!(negative(&[1, -2, 3]), (vec![1, 3], vec![-2], true));
        assert_eq!(negative(&[1, -2]), (vec![1, -2], vec![-2], false));
        assert_eq!(negative(&[-1, 2, -3]), (vec![-1, 2, -3], vec![-1, -3], false));
        assert_eq!(negative(&[1, 2]), (vec![1, 2], vec![], true));
        assert_eq!(negative(&[]), (vec![], vec![], false));
    }
}
