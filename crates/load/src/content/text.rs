//! Text that looks like a program's source and compresses like it.

use crate::random::below;
use rand_pcg::Pcg64;

const SYLLABLES: &[&str] = &[
    "reg", "dev", "buf", "map", "irq", "net", "page", "lock", "ctl", "mem", "ring", "clk", "dma",
    "bus", "node", "sk", "tx", "rx", "ops", "hw", "fw", "len", "mask", "attr", "queue", "ctx",
    "init", "free", "alloc", "get", "set", "put", "read", "write", "find", "add", "del", "sync",
];
const WORDS: &[&str] = &[
    "the", "of", "to", "is", "for", "and", "this", "in", "be", "we", "not", "if", "from", "that",
    "on", "must", "are", "when", "with", "device", "before", "driver", "only", "can", "value",
    "pointer", "after", "called", "used", "caller", "hold", "every", "already", "which", "queue",
];
const TYPES: &[&str] = &["int", "u32", "bool", "void", "unsigned long", "size_t", "u8", "u64"];
/// `N`: a name; `M`: one in capitals; `W`: words; `T`: a type; `X`: a number.
const LINES: &[&str] = &[
    "\tN->N = N(N, N->N);\n",
    "\tif (N->N < N)\n\t\treturn -M;\n",
    "\tN = N(N);\n\tif (!N)\n\t\tgoto N;\n",
    "/* W */\n",
    "\t * W\n",
    "#define M\t\t\tX\n",
    "#include <linux/N.h>\n",
    "}\n\nstatic T N(struct N *N, T N)\n{\n",
    "\tT N = N->N;\n",
    "\tN(&N->N, M | M, \"N: W\\n\");\n",
    "\tcase M:\n\t\tbreak;\n",
    "\tfor (N = 0; N < M; N++)\n",
    "\t{ .N = X, .N = N },\n",
];
const NAMES: u64 = 700;

/// Fills a buffer with lines of text, other ones for each state of the generator.
pub(super) fn fill(buffer: &mut [u8], generator: &mut Pcg64) {
    let names: Vec<String> = (0..NAMES).map(|_| name(generator)).collect();
    let mut text = Vec::with_capacity(buffer.len() + 256);
    // A function speaks of few names again and again.
    let mut near = [0; 12];
    while text.len() < buffer.len() {
        for part in one(LINES, generator).bytes() {
            match part {
                b'N' => {
                    let slot = below(near.len() as u64 * 4 / 3, generator) as usize;
                    if slot >= near.len() {
                        near[slot - near.len()] = below(NAMES, generator) as usize;
                    }
                    text.extend(names[near[slot % near.len()]].bytes());
                }
                b'M' => text
                    .extend(names[below(NAMES, generator) as usize].to_ascii_uppercase().bytes()),
                b'W' => {
                    for _ in 0..3 + below(7, generator) {
                        text.extend(one(WORDS, generator).bytes().chain([b' ']));
                    }
                }
                b'T' => text.extend(one(TYPES, generator).bytes()),
                b'X' => text.extend(format!("0x{:04x}", below(1 << 16, generator)).bytes()),
                other => text.push(other),
            }
        }
    }
    buffer.copy_from_slice(&text[..buffer.len()]);
}

fn name(generator: &mut Pcg64) -> String {
    let parts: Vec<_> = (0..1 + below(3, generator)).map(|_| one(SYLLABLES, generator)).collect();
    parts.join("_")
}

fn one(of: &'static [&'static str], generator: &mut Pcg64) -> &'static str {
    of[below(of.len() as u64, generator) as usize]
}
