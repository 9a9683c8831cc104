//! The older tables of netperf, which its tests still print unless the user selects figures: streams of TCP and UDP,
//! and transactions, with CPU columns (-c, -C) or without. Each has its numbers in a fixed order.

use std::collections::BTreeMap;

/// Lines of headings: three above datagrams, four above the others.
const HEADINGS: [usize; 2] = [3, 4];

/// Values by key of a table, and the number of lines it took.
pub(super) fn table(lines: &[&str]) -> Option<(BTreeMap<&'static str, String>, usize)> {
    let is_last = |line: &&str| {
        let line = line.trim_start();
        line.starts_with("bytes ") && line.contains(" secs")
    };
    let [least, most] = HEADINGS;
    let last = lines.iter().take(most).position(is_last).filter(|last| last + 1 >= least)?;
    let headings = lines[..=last].join("\n");
    let blank = usize::from(lines.get(last + 1).is_some_and(|line| line.trim().is_empty()));
    let first = last + 1 + blank;
    let numbers = |at: usize| -> Vec<&str> {
        let words = lines.get(at).map_or("", |line| line).split_whitespace();
        words.take_while(|word| word.parse::<f64>().is_ok()).collect()
    };
    let (one, two) = (numbers(first), numbers(first + 1));
    let has_cpu = headings.contains("Service") || headings.contains("S.dem");
    let mut found = BTreeMap::new();
    let mut add = |key: &'static str, number: Option<&&str>| {
        found.extend(number.map(|number| (key, (*number).to_owned())));
    };
    let used;
    if headings.contains("Trans.") {
        add("REQUEST_SIZE", one.get(2));
        add("RESPONSE_SIZE", one.get(3));
        add("ELAPSED_TIME", one.get(4));
        add("TRANSACTION_RATE", Some(one.get(5)?));
        if has_cpu {
            add_cpu(&mut add, "usec/Tran", [one.get(6), one.get(7), one.get(8), one.get(9)]);
        }
        used = first + 1;
    } else if headings.contains("Errors") {
        // A line of the sender, and one of the receiver.
        add("LOCAL_SEND_SIZE", one.get(1));
        add("ELAPSED_TIME", one.get(2));
        add("LOCAL_SEND_CALLS", one.get(3));
        add("LOCAL_SEND_THROUGHPUT", one.get(5));
        add("REMOTE_RECV_CALLS", two.get(2));
        add("REMOTE_RECV_THROUGHPUT", two.get(3));
        add("THROUGHPUT", Some(two.get(3)?));
        add("THROUGHPUT_UNITS", Some(&unit(&headings)?));
        if has_cpu {
            add_cpu(&mut add, "usec/KB", [one.get(6), two.get(4), one.get(7), two.get(5)]);
        }
        used = first + 2;
    } else {
        // The message is that of the sender, which is the server in TCP_MAERTS.
        add("LOCAL_SEND_SIZE", one.get(2));
        add("REMOTE_SEND_SIZE", one.get(2));
        add("ELAPSED_TIME", one.get(3));
        add("THROUGHPUT", Some(one.get(4)?));
        add("THROUGHPUT_UNITS", Some(&unit(&headings)?));
        if has_cpu {
            add_cpu(&mut add, "usec/KB", [one.get(5), one.get(6), one.get(7), one.get(8)]);
        }
        used = first + 1;
    }
    Some((found, used))
}

/// CPU of the client and the server, and their service demands.
fn add_cpu<'a>(
    add: &mut impl FnMut(&'static str, Option<&&'a str>),
    unit: &'a str,
    [client, server, client_demand, server_demand]: [Option<&&'a str>; 4],
) {
    add("LOCAL_CPU_UTIL", client);
    add("REMOTE_CPU_UTIL", server);
    add("LOCAL_SD", client_demand);
    add("REMOTE_SD", server_demand);
    add("SD_UNITS", Some(&unit));
}

/// Unit of the throughput, as in omni output. The heading has it as `10^6bits/sec`, `10^6bits/s` or `MBytes  /s`.
fn unit(headings: &str) -> Option<&'static str> {
    const UNITS: [&str; 7] =
        ["10^3bits/s", "10^6bits/s", "10^9bits/s", "KBytes/s", "MBytes/s", "GBytes/s", "Bytes/s"];
    let last: String = headings.lines().last()?.split_whitespace().collect();
    UNITS.into_iter().find(|unit| last.contains(unit))
}
