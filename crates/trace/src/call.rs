//! Trees of calls.

/// A call of a kernel function, with the calls that it made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Name of the function.
    pub name: String,
    /// Module of the function; `None` of the kernel's image.
    pub module: Option<String>,
    /// Time from entry to return, in nanoseconds; `None` if the text has no durations.
    pub time_ns: Option<u64>,
    /// Calls that it made, in their order.
    pub children: Vec<Call>,
}

/// Operations in a tracer's text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capture {
    /// Complete calls of the traced function, one for each operation, in the order of their returns.
    pub calls: Vec<Call>,
    /// Whether a call is missing from `calls` or events were lost: the text ended inside a call, a line of a call is
    /// missing or unreadable, or a limit was reached.
    pub is_cut: bool,
    /// Events that the kernel lost because its buffer was full; one if it did not count them.
    pub lost_events: u64,
}

impl Call {
    /// All calls of the tree, each before its children.
    pub fn all(&self) -> impl Iterator<Item = &Call> {
        let mut next = vec![self];
        std::iter::from_fn(move || {
            let call = next.pop()?;
            next.extend(call.children.iter().rev());
            Some(call)
        })
    }

    /// Number of calls in the tree.
    pub fn count(&self) -> u64 {
        self.all().count() as u64
    }

    /// Time outside the children, in nanoseconds; `None` if a time is missing.
    pub fn own_ns(&self) -> Option<u64> {
        let below = self
            .children
            .iter()
            .try_fold(0_u64, |sum, child| Some(sum.saturating_add(child.time_ns?)))?;
        Some(self.time_ns?.saturating_sub(below))
    }
}

/// The tree with each time less the cost of tracing the calls below it: `per_call_ns` for entry and return of one
/// call. No time falls below zero.
pub fn corrected(call: &Call, per_call_ns: f64) -> Call {
    let cost = if per_call_ns.is_finite() { per_call_ns.max(0.0) } else { 0.0 };
    less(call, cost).0
}

/// The corrected tree, and the number of its calls.
fn less(call: &Call, cost: f64) -> (Call, u64) {
    let mut below = 0;
    let mut children = Vec::with_capacity(call.children.len());
    for child in &call.children {
        let (child, count) = less(child, cost);
        below += count;
        children.push(child);
    }
    let tracing = (below as f64 * cost).round() as u64;
    let time_ns = call.time_ns.map(|time| time.saturating_sub(tracing));
    let (name, module) = (call.name.clone(), call.module.clone());
    (Call { name, module, time_ns, children }, below + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, time_ns: u64, children: Vec<Call>) -> Call {
        Call { name: name.to_owned(), module: None, time_ns: Some(time_ns), children }
    }

    #[test]
    fn times_less_the_cost_of_tracing_the_calls_below() {
        let tree = call(
            "a",
            1000,
            vec![call("b", 600, vec![call("c", 100, vec![])]), call("d", 50, vec![])],
        );
        assert_eq!((tree.count(), tree.own_ns()), (4, Some(350)));
        let found = corrected(&tree, 100.4);
        let times: Vec<Option<u64>> = found.all().map(|call| call.time_ns).collect();
        assert_eq!(times, [Some(699), Some(500), Some(100), Some(50)]);
        for nothing in [0.0, -5.0, f64::NAN, f64::INFINITY] {
            assert_eq!(corrected(&tree, nothing), tree);
        }
        assert_eq!(corrected(&tree, 1e12).time_ns, Some(0));
    }

    #[test]
    fn an_own_time_needs_all_times() {
        let mut tree = call("a", 10, vec![call("b", 4, vec![])]);
        tree.children[0].time_ns = None;
        assert_eq!(tree.own_ns(), None);
        assert_eq!(corrected(&tree, 1.0).children[0].time_ns, None);
    }
}
