/* Every choice that trades size or memory for capability, in one place. Change one here and nowhere
 * else; the tests hold the binaries to 150 kB and the verbs inventory and sample to 1 MB resident. */
#ifndef OPTIONS_H
#define OPTIONS_H

#define OPTION_PROBE_VERSION "0.1.0"

/* Longest request body taken from the driver. A path and a dozen settings need less than 1 kB. */
#define OPTION_REQUEST_BYTES 4096u
/* Most `key=value` lines of one request. */
#define OPTION_REQUEST_PAIRS 32u
/* Longest body of a result: one section of the inventory. A section that does not fit leaves out
 * list items and counts them. */
#define OPTION_RESULT_BYTES 32768u
/* Longest body of a sample. 128 cores need about 30 kB; what does not fit is cut and marked. */
#define OPTION_SAMPLE_BYTES 65536u
/* Longest path handled, the kernel's own limit. */
#define OPTION_PATH_BYTES 4096u
/* Longest text taken from one small file of /proc or /sys, and the longest line of a file. */
#define OPTION_LINE_BYTES 512u

/* Files that a sample keeps open for clocks and for temperatures; each costs one system call a
 * sample, and reading a clock may interrupt that core. */
#define OPTION_SAMPLE_CLOCKS 16u
#define OPTION_SAMPLE_TEMPERATURES 16u

/* Cores measured one after the other by the verb cpu. */
#define OPTION_CPU_CORES 256u

/* Memory used by the verb memory unless the driver allows more. */
#define OPTION_MEMORY_LIMIT_BYTES (512ull << 20)
/* Repetitions of each STREAM kernel; the first is not counted, the best is reported (as STREAM). */
#define OPTION_STREAM_REPEATS 10u

/* Longest message of the verb crypto. AF_ALG takes at most 16 pages in one piece. */
#define OPTION_CRYPTO_MESSAGE_BYTES 65536u

/* Block of the sequential phases of the verb disk. */
#define OPTION_DISK_BLOCK_BYTES (1u << 20)
/* Left free beside the file of the verb disk. */
#define OPTION_DISK_RESERVE_BYTES (16ull << 20)

/* Intervals and segments that a stream of the verb net records; each takes up to 120 bytes. */
#define OPTION_NET_INTERVALS 4096u

#endif
