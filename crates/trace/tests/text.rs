//! Any tree, written as the kernel writes it, is read again; hostile text is survived.

use plimsoll_trace::{Call, Capture, DEPTH, fuzzing, parse};
use proptest::prelude::*;

/// Columns that the tracer's options switch.
#[derive(Clone, Copy, Debug)]
struct Columns {
    cpu: bool,
    task: bool,
    duration: bool,
    tail: bool,
    time: bool,
}

fn columns() -> impl Strategy<Value = Columns> {
    any::<[bool; 5]>().prop_map(|[cpu, task, duration, tail, time]| Columns {
        cpu,
        task,
        duration,
        tail,
        time,
    })
}

/// A line of a task on a CPU.
fn line(columns: Columns, cpu: u32, time_ns: Option<u64>, depth: usize, words: &str) -> String {
    let mut line = String::new();
    if columns.time {
        line.push_str("  1234.567890 |  ");
    }
    if columns.cpu {
        line.push_str(&format!(" {cpu}) "));
    }
    if columns.task {
        line.push_str(&format!("  a-b {cpu}-{}  | ", 100 + cpu));
    }
    if columns.duration {
        line.push_str(&match time_ns {
            Some(time) if time > 10_000 => format!("+ {}.{:03} us |", time / 1000, time % 1000),
            Some(time) => format!("  {}.{:03} us |", time / 1000, time % 1000),
            None => "              |".to_owned(),
        });
    }
    format!("{line}{}{words}\n", "  ".repeat(depth + 1))
}

fn write(call: &Call, columns: Columns, cpu: u32, depth: usize, lines: &mut Vec<String>) {
    let module = call.module.as_ref().map_or(String::new(), |module| format!(" [{module}]"));
    let function = format!("{}{module}", call.name);
    if call.children.is_empty() {
        lines.push(line(columns, cpu, call.time_ns, depth, &format!("{function}();")));
        return;
    }
    lines.push(line(columns, cpu, None, depth, &format!("{function}() {{")));
    for child in &call.children {
        write(child, columns, cpu, depth + 1, lines);
    }
    let end = if columns.tail { format!("}} /* {function} */") } else { "}".to_owned() };
    lines.push(line(columns, cpu, call.time_ns, depth, &end));
}

fn tree() -> impl Strategy<Value = Call> {
    let module = prop::option::of("[a-z_]{1,8}");
    let leaf = ("[a-z_][a-z_.0-9]{0,8}", module, 0..20_000_u64).prop_map(|(name, module, time)| {
        Call { name, module, time_ns: Some(time), children: Vec::new() }
    });
    leaf.prop_recursive(6, 40, 5, |inner| {
        ("[a-z_][a-z_.0-9]{0,8}", prop::collection::vec(inner, 0..5), 0..20_000_u64).prop_map(
            |(name, children, time)| Call { name, module: None, time_ns: Some(time), children },
        )
    })
}

fn operation() -> impl Strategy<Value = Call> {
    tree().prop_map(|mut call| {
        call.name = "Root".to_owned();
        call
    })
}

fn without_times(call: &mut Call) {
    call.time_ns = None;
    call.children.iter_mut().for_each(without_times);
}

/// The trees on CPU 0 and those on CPU 1, in the order of their returns.
fn read_back(columns: Columns, calls: &[(u32, Call)], turns: &[bool]) -> (Capture, Vec<Call>) {
    let mut queues = [Vec::new(), Vec::new()];
    for (cpu, call) in calls {
        let queue = &mut queues[*cpu as usize];
        let mut lines = Vec::new();
        write(call, columns, *cpu, 0, &mut lines);
        let last = lines.len() - 1;
        queue.extend(
            lines.into_iter().enumerate().map(|(i, line)| (line, (i == last).then_some(call))),
        );
    }
    let mut queues = queues.map(Vec::into_iter);
    let (mut text, mut wanted) = (String::from("# tracer: function_graph\n#\n"), Vec::new());
    let mut turns = turns.iter().copied().cycle();
    while queues.iter().any(|queue| !queue.as_slice().is_empty()) {
        let turn = usize::from(turns.next().unwrap_or_default());
        let turn = if !queues[turn].as_slice().is_empty() { turn } else { 1 - turn };
        let Some((line, call)) = queues[turn].next() else { break };
        text.push_str(&line);
        wanted.extend(call.cloned());
    }
    (parse(text.as_bytes(), "Root"), wanted)
}

proptest! {
    #[test]
    fn what_the_kernel_writes_is_read(
        columns in columns(),
        calls in prop::collection::vec((0..2_u32, operation()), 1..5),
        turns in prop::collection::vec(any::<bool>(), 1..40),
    ) {
        // Without both columns, calls of one CPU alone can be told apart.
        let has_owners = columns.cpu || columns.task;
        let calls: Vec<(u32, Call)> = calls
            .into_iter()
            .map(|(cpu, call)| (if has_owners { cpu } else { 0 }, call))
            .collect();
        let (found, mut wanted) = read_back(columns, &calls, &turns);
        if !columns.duration {
            wanted.iter_mut().for_each(without_times);
        }
        prop_assert_eq!(found, Capture { calls: wanted, is_cut: false, lost_events: 0 });
    }

    /// No line can be left out without a trace: a tree is that of the whole text, or it is missing.
    #[test]
    fn a_text_without_a_return_has_no_tree(columns in columns(), mut call in operation(), place in any::<prop::sample::Index>()) {
        // Of a call in one line no return can be missing.
        call.children.push(Call { name: "leaf".to_owned(), time_ns: Some(1), ..Call::default() });
        let mut lines = Vec::new();
        write(&call, columns, 0, 0, &mut lines);
        let returns: Vec<usize> = (0..lines.len()).filter(|i| lines[*i].contains('}')).collect();
        lines.remove(returns[place.index(returns.len())]);
        let found = parse(lines.concat().as_bytes(), "Root");
        prop_assert!(found.is_cut && found.calls.is_empty(), "{:?}", found);
    }

    #[test]
    fn hostile_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        fuzzing::text(&bytes);
    }

    #[test]
    fn hostile_lines_are_survived(text in "(( [01]\\)|)( a-[0-3] \\||)( [0-9.]{1,4} us \\||)( {1,6}|)(__x64_sys_sendto|b)(\\(\\) \\{|\\(\\);|\\}|)\n){0,30}") {
        fuzzing::text(text.as_bytes());
    }
}

/// A task that moves keeps its calls; a softirq in the middle has calls of its own.
#[test]
fn calls_belong_to_tasks() {
    let text = "\
 0)               |  vfs_read() {
 0)   1.000 us    |    rw_verify_area();
 ------------------------------------------
 0)  sh-12         =>  ksoftir-14
 ------------------------------------------

 0)               |  vfs_read() {
 0)   0.500 us    |    kfree();
 ------------------------------------------
 1)   <idle>-0     =>  sh-12
 ------------------------------------------
 1)   2.000 us    |    touch_atime();
 1)   9.000 us    |  }
 0)   3.000 us    |  } /* vfs_read */
";
    let capture = parse(text.as_bytes(), "vfs_read");
    let names =
        |call: &Call| call.children.iter().map(|call| call.name.clone()).collect::<Vec<_>>();
    assert!(!capture.is_cut);
    assert_eq!(names(&capture.calls[0]), ["rw_verify_area", "touch_atime"]);
    assert_eq!(names(&capture.calls[1]), ["kfree"]);
}

#[test]
fn calls_of_interrupts_are_left_out() {
    let text = "\
 0)               |  vfs_read() {
 0)   ==========> |
 0)               |    handle_irq() {
 0)   0.500 us    |      kfree();
 0)   1.000 us    |    }
 0)   <========== |
 0)   2.000 us    |    touch_atime();
 0) + 12.000 us   |  }
";
    let capture = parse(text.as_bytes(), "vfs_read");
    assert!(!capture.is_cut);
    assert_eq!((capture.calls[0].count(), capture.calls[0].time_ns), (2, Some(12_000)));
}

#[test]
fn lost_events_end_open_calls() {
    let call = " 0)               |  a() {\n 0)   1.0 us      |    b();\n 0)   2.0 us      |  }\n";
    let open = " 0)               |  a() {\n";
    let text = format!("{call}{open}CPU:1 [LOST 123 EVENTS]\n 0)   2.0 us      |  }}\n{call}");
    let capture = parse(text.as_bytes(), "a");
    assert_eq!((capture.calls.len(), capture.is_cut, capture.lost_events), (2, true, 123));
}

#[test]
fn depth_and_number_of_calls_are_bounded() {
    let deep = |depth: usize| -> String {
        let line = |i: usize| format!("{}{}() {{\n", " ".repeat(i), if i == 0 { "a" } else { "b" });
        let ends = (0..depth).rev().map(|i| format!("{}}}\n", " ".repeat(i)));
        (0..depth).map(line).chain(ends).collect()
    };
    let deepest = parse(deep(DEPTH).as_bytes(), "a");
    assert_eq!((deepest.calls[0].count(), deepest.is_cut), (DEPTH as u64, false));
    let deeper = parse(deep(DEPTH + 1).as_bytes(), "a");
    assert!(deeper.is_cut && deeper.calls.is_empty());
    let many = parse("a();\n".repeat(1_000_000).as_bytes(), "a");
    assert!(many.is_cut && many.calls.len() < 500_000);
}

/// Soft interrupts run while CPUs are idle, and the idle tasks of all CPUs have one number.
#[test]
fn softirqs_of_idle_cpus_are_told_apart() {
    let text = " 0)    <idle>-0    |               |  net_rx_action() {\n \
         1)    <idle>-0    |               |  net_rx_action() {\n \
         0)    <idle>-0    |   1.000 us    |    ip_forward();\n \
         1)    <idle>-0    |   2.000 us    |    udp_rcv();\n \
         0)    <idle>-0    |   9.000 us    |  }\n \
         1)    <idle>-0    |   8.000 us    |  }\n \
         0)    <idle>-0    |   0.500 us    |  net_rx_action();\n";
    let Capture { calls, is_cut, lost_events } = parse(text.as_bytes(), "net_rx_action");
    let found: Vec<(Option<u64>, Vec<&str>)> = calls
        .iter()
        .map(|call| (call.time_ns, call.children.iter().map(|child| child.name.as_str()).collect()))
        .collect();
    let wanted =
        [(Some(9000), vec!["ip_forward"]), (Some(8000), vec!["udp_rcv"]), (Some(500), vec![])];
    assert_eq!((found.as_slice(), is_cut, lost_events), (&wanted[..], false, 0));
}
