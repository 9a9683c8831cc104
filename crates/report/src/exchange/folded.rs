//! Folded stacks of traced kernels, as programs for flame graphs read them.

use crate::study::Shown;
use plimsoll_model::kernel_trace::{KernelFunction, TraceJob};
use plimsoll_model::{Cell, Metric, Outcome, Study};
use plimsoll_trace::Call;

/// The call tree of each traced operation as folded stacks: its name and setting, then the functions. The weights are
/// nanoseconds if the times of all operations are valid, else numbers of functions. Empty without a call tree.
pub fn folded(study: &Study) -> String {
    let shown = Shown::new(study);
    let complete = study.trials.iter().filter(|trial| trial.result.outcome == Outcome::Complete);
    let mut last: Vec<(Cell, &[KernelFunction])> = Vec::new();
    let mut is_timed = true;
    for trial in complete {
        let Some(part) = trial.result.main().filter(|part| !part.functions.is_empty()) else {
            continue;
        };
        is_timed &= part.quantities.contains_key(&Metric::all(TraceJob::CORRECTED));
        last.retain(|(cell, _)| *cell != trial.cell);
        last.push((trial.cell, &part.functions));
    }
    last.sort_by_key(|(cell, _)| *cell);
    let named = |(cell, functions): &(Cell, &[KernelFunction])| {
        let words = [shown.names.workload(cell.workload), shown.names.levels(cell.setting)];
        let words: Vec<String> = words.into_iter().filter(|word| !word.is_empty()).collect();
        let children = calls(functions, is_timed);
        let time_ns = children.iter().map(|call| call.time_ns).sum();
        Call { name: words.join("_").replace([' ', ','], "_"), module: None, time_ns, children }
    };
    plimsoll_trace::folded(&last.iter().map(named).collect::<Vec<Call>>())
}

/// Trees from functions that each follow the one that called them.
fn calls(functions: &[KernelFunction], is_timed: bool) -> Vec<Call> {
    // Open calls with their depths; the first stands for what called the operation.
    let mut open = vec![(None, Call::default())];
    let close = |open: &mut Vec<(Option<u16>, Call)>| {
        if let Some((_, call)) = open.pop()
            && let Some((_, caller)) = open.last_mut()
        {
            caller.children.push(call);
        }
    };
    for function in functions {
        while open.last().is_some_and(|(depth, _)| depth.is_some_and(|d| d >= function.depth)) {
            close(&mut open);
        }
        let time_ns = function.traced_nanoseconds.filter(|_| is_timed);
        let name = function.name.clone();
        open.push((Some(function.depth), Call { name, module: None, time_ns, children: vec![] }));
    }
    while open.len() > 1 {
        close(&mut open);
    }
    open.pop().map_or_else(Vec::new, |(_, whole)| whole.children)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_follow_from_depths() {
        let function = |depth, name: &str| KernelFunction {
            depth,
            name: name.to_owned(),
            block: None,
            traced_nanoseconds: Some(10),
        };
        let list = [function(0, "a"), function(1, "b"), function(2, "c"), function(1, "d")];
        let found = calls(&list, false);
        assert_eq!(plimsoll_trace::folded(&found), "a 1\na;b 1\na;b;c 1\na;d 1\n");
        // A depth that no call has is one below the call before.
        let odd = calls(&[function(3, "a"), function(9, "b"), function(1, "c")], true);
        assert_eq!(odd.len(), 2);
        assert_eq!((odd[0].children.len(), odd[1].time_ns), (1, Some(10)));
        assert!(calls(&[], true).is_empty());
    }
}
