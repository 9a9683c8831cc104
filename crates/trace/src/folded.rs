//! Folded stacks: a line for each chain of callers, as programs for flame graphs read them.

use crate::call::Call;
use std::collections::BTreeMap;

/// Most text, in bytes.
const MOST: usize = 4 << 20;

/// The stacks of the calls, equal ones added up, in the order of their names: "a;b;c 123". The number is the time in c
/// outside its children, in nanoseconds; if a time is missing, the number of calls. Where the text would be too long,
/// the time or calls of further stacks count for the function above them.
pub fn folded(calls: &[Call]) -> String {
    let is_timed = calls.iter().flat_map(Call::all).all(|call| call.time_ns.is_some());
    let mut stacks = Stacks { is_timed, left: MOST, weights: BTreeMap::new() };
    for call in calls {
        stacks.add(call, &mut String::new());
    }
    let mut text = String::new();
    for (stack, weight) in stacks.weights {
        text.push_str(&format!("{stack} {weight}\n"));
    }
    text
}

struct Stacks {
    is_timed: bool,
    /// Room for names, in bytes.
    left: usize,
    weights: BTreeMap<String, u64>,
}

impl Stacks {
    fn add(&mut self, call: &Call, stack: &mut String) {
        let above = stack.len();
        if above > 0 {
            stack.push(';');
        }
        let is_plain = |letter: &char| !letter.is_whitespace() && !letter.is_control();
        stack.extend(call.name.chars().filter(|letter| *letter != ';').filter(is_plain));
        let needed = stack.len() + 24;
        if !self.weights.contains_key(stack.as_str()) && needed > self.left {
            stack.truncate(above);
            if above > 0 {
                self.put(stack, self.total(call));
            }
            return;
        }
        if !self.weights.contains_key(stack.as_str()) {
            self.left -= needed;
        }
        self.put(stack, if self.is_timed { call.own_ns().unwrap_or_default() } else { 1 });
        for child in &call.children {
            self.add(child, stack);
        }
        stack.truncate(above);
    }

    fn total(&self, call: &Call) -> u64 {
        if self.is_timed { call.time_ns.unwrap_or_default() } else { call.count() }
    }

    fn put(&mut self, stack: &str, weight: u64) {
        let sum = self.weights.entry(stack.to_owned()).or_default();
        *sum = sum.saturating_add(weight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, time_ns: Option<u64>, children: Vec<Call>) -> Call {
        Call { name: name.to_owned(), module: None, time_ns, children }
    }

    #[test]
    fn equal_stacks_add_up() {
        let leaf = |time| call("b", time, vec![]);
        let one = call("a", Some(100), vec![leaf(Some(10)), leaf(Some(20))]);
        let two = call("a", Some(50), vec![call("c; d\n", Some(5), vec![])]);
        assert_eq!(folded(&[one.clone(), two]), "a 115\na;b 30\na;cd 5\n");
        let untimed = call("a", None, vec![leaf(None), leaf(None)]);
        assert_eq!(folded(&[one, untimed]), "a 2\na;b 4\n");
        assert_eq!(folded(&[]), "");
    }

    #[test]
    fn a_text_too_long_has_the_rest_in_the_functions_above() {
        let many = (0..30_000).map(|i| call(&format!("{i:0200}"), Some(1), vec![])).collect();
        let text = folded(&[call("a", Some(50_000), many)]);
        assert!(text.len() <= MOST, "{}", text.len());
        let weights = text.lines().map(|line| line.rsplit_once(' ').unwrap().1.parse::<u64>());
        assert_eq!(weights.sum::<Result<u64, _>>(), Ok(50_000));
    }
}
