//! Fewer points, the same picture: of many neighbours the lowest and the highest are kept, so that
//! no peak and no gap is lost.

use super::lines::Point;

/// At most about `most` points: the least and the greatest of each of `most / 2` equal stretches, in
/// their order. Bands become as wide as the widest of their stretch. Points that are not finite stay
/// where a whole stretch has no other.
pub(super) fn thinned(points: &[Point], most: usize) -> Vec<Point> {
    let stretches = (most / 2).max(1);
    if points.len() <= most.max(2) {
        return points.to_vec();
    }
    let mut kept = Vec::with_capacity(2 * stretches);
    for i in 0..stretches {
        let part = &points[i * points.len() / stretches..(i + 1) * points.len() / stretches];
        let finite = || part.iter().enumerate().filter(|(_, p)| p.x.is_finite() && p.y.is_finite());
        let least = finite().min_by(|a, b| a.1.y.total_cmp(&b.1.y));
        let greatest = finite().max_by(|a, b| a.1.y.total_cmp(&b.1.y));
        let (Some(least), Some(greatest)) = (least, greatest) else {
            kept.extend(part.first());
            continue;
        };
        let band = part.iter().filter_map(|p| p.band).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let mut pair = [least, greatest];
        pair.sort_by_key(|(at, _)| *at);
        let distinct = if pair[0].0 == pair[1].0 { &pair[..1] } else { &pair[..] };
        kept.extend(distinct.iter().map(|(_, p)| Point { band, ..**p }));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn peaks_and_gaps_survive(values in prop::collection::vec(-1e6..1e6f64, 0..3000), most in 2usize..200) {
            let points: Vec<Point> = values
                .iter()
                .enumerate()
                .map(|(i, y)| Point { x: i as f64, y: *y, band: Some((y - 1.0, y + 1.0)) })
                .collect();
            let kept = thinned(&points, most);
            prop_assert!(kept.len() <= most.max(2) || kept.len() == points.len().min(most));
            prop_assert!(kept.windows(2).all(|w| w[0].x < w[1].x));
            let extremes = |points: &[Point]| {
                super::super::scale::extent(points.iter().map(|p| p.y))
            };
            prop_assert_eq!(extremes(&points), extremes(&kept));
        }
    }

    #[test]
    fn what_is_not_finite_is_a_gap_and_no_peak() {
        let point =
            |x: usize| Point { x: x as f64, y: if x < 500 { f64::NAN } else { 1.0 }, band: None };
        let kept = thinned(&(0..1000).map(point).collect::<Vec<_>>(), 10);
        assert!(kept[0].y.is_nan() && kept.last().unwrap().y == 1.0);
    }
}
