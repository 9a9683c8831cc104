//! From lines to trees.

use crate::call::{Call, Capture};
use crate::line::{Event, Function, Line, read};
use std::collections::HashMap;

/// Greatest depth of a tree, and most functions of a sample. The kernel's own limits are 50 and 127.
pub const DEPTH: usize = 256;
/// Most calls of a capture.
const CALLS: usize = 400_000;
/// Most tasks with an open call.
const TASKS: usize = 1024;

/// Reads the text of the function_graph tracer: each call of `root` outside another one is an operation. Calls before
/// and after are left out, and calls that interrupts made. Time of interrupts remains in the calls that they
/// interrupted.
///
/// A call with a missing or unreadable line is left out, so that each tree has every call of its operation.
pub fn parse(text: &[u8], root: &str) -> Capture {
    let (tasks, running, capture) = (HashMap::new(), HashMap::new(), Capture::default());
    let mut parser = Parser { root, tasks, running, capture, count: 0 };
    for bytes in text.split(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(bytes);
        if let Some(line) = read(&line) {
            parser.take(&line);
        }
        if parser.count > CALLS {
            parser.capture.is_cut = true;
            break;
        }
    }
    parser.leave_out_all();
    parser.capture
}

/// Whose calls nest in one another.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Owner {
    /// A task, on whichever CPU it runs.
    Task(u32),
    /// What runs on a CPU, if the text does not name it, or if it is idle: the idle tasks of all CPUs have one number.
    Cpu(Option<u32>),
}

/// An operation that has not returned.
struct Operation {
    /// Never empty: the traced function first.
    open: Vec<Frame>,
    in_interrupt: bool,
}

struct Frame {
    call: Call,
    indent: usize,
}

struct Parser<'a> {
    root: &'a str,
    tasks: HashMap<Owner, Operation>,
    /// Tasks on CPUs, from lines on context switches.
    running: HashMap<Option<u32>, u32>,
    capture: Capture,
    count: usize,
}

impl Parser<'_> {
    fn take(&mut self, line: &Line<'_>) {
        let owner = self.owner(line);
        let operation = self.tasks.get_mut(&owner);
        match (line.event, operation) {
            (Event::Lost(count), _) => {
                self.capture.lost_events = self.capture.lost_events.saturating_add(count);
                self.capture.is_cut = true;
                self.leave_out_all();
            }
            // It may have been a line of any of them.
            (Event::Unknown, _) => self.leave_out_all(),
            (Event::Switch { from, to }, _) => self.switch(line.cpu, from, to),
            (Event::InterruptBegin, Some(operation)) => operation.in_interrupt = true,
            (Event::InterruptEnd, Some(operation)) => operation.in_interrupt = false,
            (_, Some(operation)) if operation.in_interrupt => {}
            (Event::Enter(function), Some(operation)) => {
                if operation.accepts(line) && operation.open.len() < DEPTH {
                    operation.open.push(Frame::new(function, line.indent));
                    self.count += 1;
                } else {
                    self.leave_out(owner);
                    self.begin(owner, function, line);
                }
            }
            (Event::Leaf(function), Some(operation)) => {
                match operation.open.last_mut().filter(|top| top.indent < line.indent) {
                    Some(top) => {
                        top.call.children.push(new_call(function, line.time_ns));
                        self.count += 1;
                    }
                    None => {
                        self.leave_out(owner);
                        self.leaf(function, line);
                    }
                }
            }
            (Event::Return(name), Some(operation)) => {
                if !operation.returns(line, name) {
                    self.leave_out(owner);
                } else if let Some(whole) = operation.close(line.time_ns) {
                    self.tasks.remove(&owner);
                    self.capture.calls.push(whole);
                }
            }
            (Event::Enter(function), None) => self.begin(owner, function, line),
            (Event::Leaf(function), None) => self.leaf(function, line),
            (
                Event::Return(_) | Event::InterruptBegin | Event::InterruptEnd | Event::Comment,
                _,
            ) => {}
        }
    }

    fn owner(&self, line: &Line<'_>) -> Owner {
        match line.pid.or_else(|| self.running.get(&line.cpu).copied()) {
            None | Some(0) => Owner::Cpu(line.cpu),
            Some(pid) => Owner::Task(pid),
        }
    }

    fn switch(&mut self, cpu: Option<u32>, from: u32, to: u32) {
        // The first switch of a CPU tells whose calls its lines were before.
        if !self.running.contains_key(&cpu)
            && from != 0
            && let Some(operation) = self.tasks.remove(&Owner::Cpu(cpu))
        {
            self.tasks.insert(Owner::Task(from), operation);
        }
        if self.running.len() < TASKS || self.running.contains_key(&cpu) {
            self.running.insert(cpu, to);
        }
    }

    fn is_root(&self, function: Function<'_>) -> bool {
        // Compilers make copies of functions: "vfs_read.part.0".
        function
            .name
            .strip_prefix(self.root)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    fn begin(&mut self, owner: Owner, function: Function<'_>, line: &Line<'_>) {
        if !self.is_root(function) {
            return;
        }
        if self.tasks.len() >= TASKS {
            self.capture.is_cut = true;
            return;
        }
        self.count += 1;
        let open = vec![Frame::new(function, line.indent)];
        self.tasks.insert(owner, Operation { open, in_interrupt: false });
    }

    /// A traced function that called nothing.
    fn leaf(&mut self, function: Function<'_>, line: &Line<'_>) {
        if self.is_root(function) {
            self.count += 1;
            self.capture.calls.push(new_call(function, line.time_ns));
        }
    }

    fn leave_out(&mut self, owner: Owner) {
        self.capture.is_cut |= self.tasks.remove(&owner).is_some();
    }

    fn leave_out_all(&mut self) {
        self.capture.is_cut |= !self.tasks.is_empty();
        self.tasks.clear();
    }
}

impl Operation {
    /// Whether a call on this line is one of the innermost open call: it is indented further. If it is not, lines on
    /// returns are missing.
    fn accepts(&self, line: &Line<'_>) -> bool {
        self.open.last().is_some_and(|top| top.indent < line.indent)
    }

    /// Whether this line ends the innermost open call.
    fn returns(&self, line: &Line<'_>, name: Option<&str>) -> bool {
        self.open.last().is_some_and(|top| {
            top.indent == line.indent && name.is_none_or(|name| name == top.call.name)
        })
    }

    /// Ends the innermost open call; the operation if it was the outermost.
    fn close(&mut self, time_ns: Option<u64>) -> Option<Call> {
        let mut call = self.open.pop()?.call;
        call.time_ns = time_ns;
        match self.open.last_mut() {
            Some(caller) => {
                caller.call.children.push(call);
                None
            }
            None => Some(call),
        }
    }
}

impl Frame {
    fn new(function: Function<'_>, indent: usize) -> Frame {
        Frame { call: new_call(function, None), indent }
    }
}

fn new_call(function: Function<'_>, time_ns: Option<u64>) -> Call {
    let (name, module) = (function.name.to_owned(), function.module.map(str::to_owned));
    Call { name, module, time_ns, children: Vec::new() }
}
