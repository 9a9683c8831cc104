//! Results that are recognised but cannot be imported, and what to do about each: one table.

/// A kind of file.
struct Foreign {
    /// Its name, as a message has it: "a result of iperf3".
    what: &'static str,
    /// Marks of such a file, any of which is enough; of a mark, all words must be there.
    marks: &'static [&'static [&'static str]],
    /// Advice, as a sentence.
    next: &'static str,
}

const MEASURE: &str = "Measure the same storage with plimsoll check, or with fio, and import that.";
const RATE_ALONE: &str =
    "It has one rate, and neither latencies nor the kind of work: measure with plimsoll check.";

const FOREIGN: [Foreign; 12] = [
    Foreign {
        what: "a result of CrystalDiskMark",
        marks: &[&["CrystalDiskMark"]],
        next: "It has no counts or distributions of latency. Run fio for Windows on the same drive \
               with --output-format=json and import that, or measure the share with plimsoll check.",
    },
    Foreign {
        what: "a result of iperf3",
        marks: &[
            &["[ ID] Interval", "Transfer", "Bitrate"],
            &["[ ID] Interval", "Transfer", "Bandwidth"],
            &["\"start\"", "\"intervals\"", "\"test_start\""],
        ],
        next: "Import the whole output of iperf3 --json, or measure the network with plimsoll net.",
    },
    Foreign {
        what: "a result of netperf",
        marks: &[&[" TEST from ", " port ", " to "], &["establish control: "]],
        next: "Run netperf with its omni output, as in netperf -H HOST -- -k all, and import that.",
    },
    Foreign {
        what: "a result of elbencho",
        marks: &[
            &["OPERATION", "RESULT TYPE", "FIRST DONE", "LAST DONE"],
            &["ISO date", "path type", "paths", "hosts", "threads"],
            &["elbencho"],
        ],
        next: MEASURE,
    },
    Foreign {
        what: "a result of YABS",
        marks: &[&["Yet-Another-Bench-Script"], &["fio Disk Speed Tests (Mixed R/W 50/50)"]],
        next: "YABS keeps only a table of fio's figures: run fio itself with --output-format=json and \
               import that.",
    },
    Foreign {
        what: "output of dd",
        marks: &[&[" copied, ", "records in", "records out"], &[" bytes (", " copied, ", "B/s"]],
        next: RATE_ALONE,
    },
    Foreign {
        what: "a result of IOzone",
        marks: &[&["Iozone: Performance Test of File I/O"], &["Iozone", "reclen", "rewrite"]],
        next: MEASURE,
    },
    Foreign {
        what: "a result of DiskSpd",
        marks: &[
            &["Command Line:", "Input parameters:", "timespan:"],
            &["<Results>", "<System>", "<Profile>", "<TimeSpan>"],
            &["diskspd"],
        ],
        next: "Run fio for Windows on the same drive with --output-format=json and import that, or \
               measure the share with plimsoll check.",
    },
    Foreign {
        what: "a result of Bonnie++",
        marks: &[
            &["------Sequential Output------", "--Sequential Input-"],
            &["Bonnie++"],
            &["bonnie++"],
            &["format_version,bonnie_version"],
        ],
        next: MEASURE,
    },
    Foreign {
        what: "a result of hdparm",
        marks: &[&["Timing ", " reads:", " MB in ", " seconds = "]],
        next: RATE_ALONE,
    },
    Foreign { what: "a result of ioping", marks: &[&["ioping statistics ---"]], next: MEASURE },
    Foreign {
        what: "a job file of fio",
        marks: &[
            &["[global]\n", "rw="],
            &["[global]\n", "readwrite="],
            &["[global]\n", "ioengine="],
        ],
        next: "Run it: fio --output-format=json --output=FILE JOBFILE, and import FILE.",
    },
];

/// How compressed files begin, and what makes text of them.
const COMPRESSED: [(&[u8], &str, &str); 4] = [
    (b"PK\x03\x04", "zip", "unzip"),
    (b"\xfd7zXZ\0", "xz", "unxz -k"),
    (b"\x28\xb5\x2f\xfd", "zstd", "unzstd"),
    (b"BZh", "bzip2", "bunzip2 -k"),
];

/// How much of a file is searched for marks: they are at its head.
const SEARCHED_BYTES: usize = 1 << 20;

/// Tool of a text that is not output of fio or plimsoll, and advice; `None` if unknown.
pub(super) fn text(text: &str) -> Option<(String, String)> {
    let mut end = text.len().min(SEARCHED_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let head = text[..end].replace('\r', "");
    let has = |mark: &&[&str]| mark.iter().all(|word| head.contains(word));
    let known = FOREIGN.iter().find(|foreign| foreign.marks.iter().any(&has))?;
    Some((format!("it is {}, which cannot be imported", known.what), known.next.to_owned()))
}

/// The same of bytes that are no text.
pub(super) fn bytes(bytes: &[u8]) -> Option<(String, String)> {
    let (_, how, with) = COMPRESSED.iter().find(|(magic, ..)| bytes.starts_with(magic))?;
    Some((
        format!("it is compressed with {how}"),
        format!("Decompress it ({with} FILE) and import what is in it."),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A few lines of each, as those programs print them.
    const SAMPLES: [(&str, &str); 15] = [
        (
            "CrystalDiskMark",
            "------------------------------------------------------------------------------\r\n\
             CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo\r\n[Read]\r\n  \
             SEQ    1MiB (Q=  8, T= 1):   118.123 MB/s [    112.7 IOPS] < 70911.54 us>\r\n",
        ),
        (
            "iperf3",
            "Connecting to host nas, port 5201\n[ ID] Interval           Transfer     Bitrate      \
             Retr\n[  5]   0.00-10.00  sec  1.10 GBytes   941 Mbits/sec    0   sender\n",
        ),
        ("iperf3", "{\n\t\"start\":\t{\n\t\t\"test_start\": {}\n\t},\n\t\"intervals\":\t[]\n}\n"),
        (
            "elbencho",
            "OPERATION   RESULT TYPE         FIRST DONE   LAST DONE\n=========== ================    \
             ==========   =========\nWRITE       Elapsed time     :      1.001s      1.002s\n",
        ),
        (
            "elbencho",
            "ISO date,label,path type,paths,hosts,threads,dirs,files,file size,block size\n\
             2024-01-01T00:00:00+0000,,dir,1,1,4,1,4,1048576,4096\n",
        ),
        (
            "netperf",
            "MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to nas () port 0 AF_INET\n\
             Recv   Send    Send\n 87380  16384  16384    10.00     941.10\n",
        ),
        (
            "YABS",
            "# ## ## ## ## ## ## ## ## ## ## ## ## ## ## ## ## ## #\n#              \
             Yet-Another-Bench-Script              #\nfio Disk Speed Tests (Mixed R/W 50/50):\n",
        ),
        (
            "dd",
            "1024+0 records in\n1024+0 records out\n1073741824 bytes (1.1 GB, 1.0 GiB) copied, 9.8 \
             s, 110 MB/s\n",
        ),
        (
            "IOzone",
            "\tIozone: Performance Test of File I/O\n\t        Version $Revision: 3.506 $\n",
        ),
        (
            "DiskSpd",
            "\nCommand Line: C:\\diskspd.exe -b4K -d10 x.dat\n\nInput parameters:\n\n\ttimespan:   1\n",
        ),
        ("DiskSpd", "<Results>\n<System>\n</System><Profile></Profile><TimeSpan></TimeSpan>\n"),
        (
            "Bonnie++",
            "Version  1.98       ------Sequential Output------ --Sequential Input- --Random-\n",
        ),
        (
            "hdparm",
            "/dev/sda:\n Timing buffered disk reads: 532 MB in  3.00 seconds = 177 MB/sec\n",
        ),
        (
            "ioping",
            "\n--- . (ext4 /dev/sda1) ioping statistics ---\n9 requests completed in 2 ms\n",
        ),
        ("a job file of fio", "[global]\nrw=randread\nbs=4k\n[a]\n"),
    ];

    #[test]
    fn each_is_known_by_its_name_and_has_something_to_do() {
        for (name, sample) in SAMPLES {
            let (happened, next) = text(sample).unwrap_or_else(|| panic!("{name}"));
            assert!(happened.contains(name), "{name}: {happened}");
            assert!(next.ends_with('.'), "{next}");
        }
        for foreign in &FOREIGN {
            let has = |(name, _): &(&str, &str)| foreign.what.contains(name);
            assert!(SAMPLES.iter().any(has), "no sample of {}", foreign.what);
        }
        assert_eq!(text("a shopping list\n"), None);
        assert_eq!(text(""), None);
        // The head is cut between characters.
        assert_eq!(text(&"é".repeat(SEARCHED_BYTES / 2 + 1)), None);
        assert_eq!(text(&format!("x{}", "é".repeat(SEARCHED_BYTES / 2 + 1))), None);
    }

    #[test]
    fn compressed_files_are_known_by_how_they_begin() {
        for (magic, how, _) in COMPRESSED {
            let (happened, next) = bytes(magic).unwrap();
            assert!(happened.contains(how) && next.contains("Decompress"), "{happened} {next}");
        }
        assert_eq!(bytes(b"{"), None);
    }
}
