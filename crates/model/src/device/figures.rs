//! Figures of a device.

use super::facts::facts;
use serde::{Deserialize, Serialize};
use std::fmt;

facts! {
    /// Figures of the CPU.
    pub struct CpuFigures {
        /// Version of the probe's workload; rounds of different versions cannot be compared.
        pub workload_version_number: Option<u64>,
        /// The probe's rounds on each core alone.
        pub cores: Vec<CoreRounds>,
        /// The probe's rounds on all cores at once.
        pub all: Option<AllRounds>,
        /// CoreMark, or its port: one core, then all.
        pub coremark: Vec<CoreMark>,
    }

    /// The probe's integer workload on one core. Its unit is the round, which compares devices
    /// measured by the same probe and nothing else.
    pub struct CoreRounds {
        /// The core.
        pub core_number: Option<u64>,
        /// Rounds per second.
        pub rounds_per_second: Option<u64>,
        /// Rounds done.
        pub rounds_count: Option<u64>,
        /// Rounds with a wrong result.
        pub wrong_rounds_count: Option<u64>,
        /// Duration.
        pub elapsed_ns: Option<u64>,
        /// Time on the core; well below `elapsed_ns` if other work used the core.
        pub cpu_ns: Option<u64>,
        /// Clock after the measurement, in Hz.
        pub clock_hertz: Option<u64>,
    }

    /// The same with a process on every core.
    pub struct AllRounds {
        /// Processes.
        pub processes_count: Option<u64>,
        /// Processes that the host refused.
        pub processes_refused_count: Option<u64>,
        /// Rounds per second of all together.
        pub rounds_per_second: Option<u64>,
        /// Rounds done.
        pub rounds_count: Option<u64>,
        /// Rounds with a wrong result.
        pub wrong_rounds_count: Option<u64>,
        /// Duration.
        pub elapsed_ns: Option<u64>,
        /// Time on all cores together.
        pub cpu_ns: Option<u64>,
    }

    /// Figures of the memory.
    pub struct MemoryFigures {
        /// `hardware` or `software`: then scale, add and triad measure the emulation.
        pub floating_point: Option<String>,
        /// Limit of the used memory in bytes.
        pub limit_bytes: Option<u64>,
        /// Size of the largest cache in bytes; 0 if unknown.
        pub largest_cache_bytes: Option<u64>,
        /// Bandwidth in each cache and beyond all caches, one thread.
        pub streams: Vec<StreamFigure>,
        /// Latency at the same places.
        pub latencies: Vec<LatencyFigure>,
    }

    /// The four kernels of STREAM, bytes counted as STREAM counts them, best of several.
    pub struct StreamFigure {
        /// `memory`, or `cache`.
        pub place: Option<String>,
        /// Level of the cache.
        pub cache_level_number: Option<u64>,
        /// Bytes of all three arrays.
        pub working_set_bytes: Option<u64>,
        /// Whether each array is at least four times the largest cache, as STREAM requires; absent
        /// if no cache is known.
        pub past_caches: Option<bool>,
        /// a = b
        pub copy_bytes_per_second: Option<u64>,
        /// a = q b
        pub scale_bytes_per_second: Option<u64>,
        /// a = b + c
        pub add_bytes_per_second: Option<u64>,
        /// a = b + q c
        pub triad_bytes_per_second: Option<u64>,
        /// Internet checksum (RFC 1071) of one array, each byte counted once: the CPU computes it
        /// for TCP and UDP if the network interface does not.
        pub checksum_bytes_per_second: Option<u64>,
        /// Whether the arrays had the right content.
        pub verified: Option<bool>,
        /// Duration of all kernels.
        pub elapsed_ns: Option<u64>,
        /// Time on the core; well below `elapsed_ns` if other work used the core.
        pub cpu_ns: Option<u64>,
    }

    /// Loads that each wait for the one before, in random order.
    pub struct LatencyFigure {
        /// `memory`, or `cache`.
        pub place: Option<String>,
        /// Level of the cache.
        pub cache_level_number: Option<u64>,
        /// Bytes that the loads cover.
        pub working_set_bytes: Option<u64>,
        /// Time of a load in picoseconds.
        pub latency_ps: Option<u64>,
        /// Whether the loads covered the whole ring.
        pub verified: Option<bool>,
        /// Duration of all repetitions.
        pub elapsed_ns: Option<u64>,
        /// Time on the core; well below `elapsed_ns` if other work used the core.
        pub cpu_ns: Option<u64>,
    }

    /// Figures of encryption and hashing.
    pub struct CryptoFigures {
        /// Whether the processor has AES instructions, according to the probe.
        pub aes_instructions: Option<bool>,
        /// Figures, one per algorithm.
        pub algorithms: Vec<CryptoFigure>,
    }

    /// Figures of the disk of a path.
    pub struct DiskFigures {
        /// Measured directory.
        pub path: Option<String>,
        /// Size of the file in bytes.
        pub size_bytes: Option<u64>,
        /// Whether the file system accepted O_DIRECT; if not, reads may come from memory.
        pub direct: Option<bool>,
        /// The phases.
        pub phases: Vec<DiskPhase>,
    }

    /// One phase on a disk.
    pub struct DiskPhase {
        /// `sequential_write`, `sequential_read`, `random_read`, `random_write`, `fsync`.
        pub phase: Option<String>,
        /// Bytes per operation.
        pub block_bytes: Option<u64>,
        /// Number of operations.
        pub operations_count: Option<u64>,
        /// Duration, the flush at the end of writes included.
        pub elapsed_ns: Option<u64>,
        /// Bytes per second.
        pub bytes_per_second: Option<u64>,
        /// Operations per second.
        pub operations_per_second: Option<u64>,
        /// Duration of the flush at the end.
        pub flush_ns: Option<u64>,
        /// Mean latency of an operation (in phase `fsync` of the fsync alone).
        pub latency_mean_ns: Option<u64>,
        /// Median latency.
        pub latency_p50_ns: Option<u64>,
        /// Latency that 99% of the operations do not exceed; absent if there were too few
        /// operations.
        pub latency_p99_ns: Option<u64>,
        /// Highest latency.
        pub latency_most_ns: Option<u64>,
        /// Blocks with wrong content.
        pub wrong_blocks_count: Option<u64>,
    }
}

/// A figure of CoreMark 1.0, or of its port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoreMark {
    /// Program of the figure.
    pub kind: CoreMarkKind,
    /// Iterations per second, of all processes together.
    pub iterations_per_second: f64,
    /// Processes at once.
    pub processes_count: u64,
    /// Threads of each.
    pub threads_count: u64,
    /// Seconds of the shortest process; valid from 10 s on.
    pub seconds: f64,
    /// Compiler, as the program reports it.
    pub compiler: String,
    /// Flags of the compiler, as the program reports them.
    pub flags: String,
    /// Duration of all processes or threads together; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ns: Option<u64>,
    /// Time on all cores together; well below `elapsed_ns` if other work used them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
}

impl CoreMark {
    /// Cores that it could use at once.
    pub fn cores(&self) -> u64 {
        self.processes_count.saturating_mul(self.threads_count)
    }
}

/// Program of a CoreMark figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum CoreMarkKind {
    /// EEMBC's own program, found on the device.
    Program {
        /// How it was called.
        command: String,
    },
    /// The `coremark` crate, a port to Rust inside plimsoll: not comparable with CoreMark.
    Port {
        /// Its version.
        version: String,
    },
}

/// Figure of one core with an algorithm.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CryptoFigure {
    /// The algorithm: `aes-128-gcm`, `aes-256-gcm`, `aes-128-xts`, `aes-256-xts`,
    /// `chacha20-poly1305`, `sha256`.
    pub algorithm: Algorithm,
    /// Measured program or code.
    pub means: CryptoMeans,
    /// Bytes encrypted or hashed per second by one core, in the fastest repetition.
    pub bytes_per_second: u64,
    /// The same in the slowest repetition; absent if there was only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slowest_bytes_per_second: Option<u64>,
    /// Bytes of a message; absent if the program does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_bytes: Option<u64>,
    /// Duration of all repetitions; absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub elapsed_ns: Option<u64>,
    /// Time on the core; well below `elapsed_ns` if other work used the core, or if other hardware
    /// does the work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
}

/// Algorithm of storage or its transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Algorithm {
    /// AES in Galois/Counter mode with a key of 128 bits: SMB 3, TLS.
    #[serde(rename = "aes-128-gcm")]
    Aes128Gcm,
    /// The same with a key of 256 bits.
    #[serde(rename = "aes-256-gcm")]
    Aes256Gcm,
    /// AES in XTS mode with two keys of 128 bits: disks.
    #[serde(rename = "aes-128-xts")]
    Aes128Xts,
    /// The same with two keys of 256 bits, LUKS's default.
    #[serde(rename = "aes-256-xts")]
    Aes256Xts,
    /// ChaCha20 with Poly1305: SSH, TLS, WireGuard.
    #[serde(rename = "chacha20-poly1305")]
    Chacha20Poly1305,
    /// SHA-256.
    #[serde(rename = "sha256")]
    Sha256,
}

impl Algorithm {
    /// All of them.
    pub const ALL: [Algorithm; 6] = [
        Algorithm::Aes128Gcm,
        Algorithm::Aes256Gcm,
        Algorithm::Aes128Xts,
        Algorithm::Aes256Xts,
        Algorithm::Chacha20Poly1305,
        Algorithm::Sha256,
    ];

    /// Its name in the schema, which is OpenSSL's and the probe's too.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Aes128Gcm => "aes-128-gcm",
            Algorithm::Aes256Gcm => "aes-256-gcm",
            Algorithm::Aes128Xts => "aes-128-xts",
            Algorithm::Aes256Xts => "aes-256-xts",
            Algorithm::Chacha20Poly1305 => "chacha20-poly1305",
            Algorithm::Sha256 => "sha256",
        }
    }

    /// The algorithm of this name.
    pub fn named(name: &str) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name)
    }
}

impl fmt::Display for Algorithm {
    /// For people: `AES-128-GCM`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Algorithm::Aes128Gcm => "AES-128-GCM",
            Algorithm::Aes256Gcm => "AES-256-GCM",
            Algorithm::Aes128Xts => "AES-128-XTS",
            Algorithm::Aes256Xts => "AES-256-XTS",
            Algorithm::Chacha20Poly1305 => "ChaCha20-Poly1305",
            Algorithm::Sha256 => "SHA-256",
        })
    }
}

/// Program or code that ran an algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum CryptoMeans {
    /// The kernel, measured by `cryptsetup benchmark`.
    Cryptsetup,
    /// OpenSSL, measured by `openssl speed`.
    Openssl {
        /// Its version.
        version: String,
    },
    /// The kernel, measured by the probe through AF_ALG, copies and system calls included.
    Kernel {
        /// The kernel's driver.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        driver: Option<String>,
    },
    /// The probe's portable code, which uses no special instructions.
    Portable,
}
