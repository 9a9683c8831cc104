//! Which trials the figures of a cell are of.

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
