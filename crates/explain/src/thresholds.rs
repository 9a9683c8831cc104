//! Thresholds that decide what is named as a bottleneck, each with its source.
//!
//! "Labs" stands for the experiment `limits`: thirty cases drawn by seed, in beds with throttled links, quotas, slow
//! disks, few server threads and added delays, in which each resource is doubled in turn. With all of these values
//! together, 27 cases were named right, none wrong, and 3 were inconclusive (seed 20). Single values were not
//! varied. After a change of one, run the experiment again.
//!
//! Crates that cannot use this one have thresholds of their own where they are used, each with its source: `model` and
//! `stats`, on which this one depends, and `runner`, which does not draw conclusions.
//!
//! - `model/src/clock_call.rs`: whether a call of a clock is a system call.
//! - `stats/src/kept/finish.rs` and `search.rs`: whether the sender, interruptions or a collapse set the rate that a
//!   router keeps.
//! - `runner/src/summarize.rs`: whether a copy is near what the client can do, and whether a fixed rate was missed.

use std::ops::RangeInclusive;

/// A resource whose doubling would help by less than this, as a share, is no bottleneck.
/// Source: the default margin of verdicts, within which differences are practically equal.
pub const LEAST_GAIN: f64 = 0.05;
/// Calls of one operation from which larger transfers are worth a trial. Chosen.
pub const MANY_CALLS: u64 = 8;
/// A bottleneck stands out where it would help by so many times as much as the next. Source: labs.
pub(crate) const STANDS_OUT: f64 = 1.5;

/// Utilisation from which two resources are both saturated: twice as much of either alone would help by next to
/// nothing, as more than 1/U − 1 is not to be had of the other. Source: Denning and Buzen 1978, ACM Computing
/// Surveys 10, 225–261; labs with two saturated resources.
pub(crate) const BOTH_SATURATED: f64 = 0.9;
/// Utilisation from which a resource is named as a bottleneck at all, and below which nothing is said to be saturated.
/// Source: counters of saturated links and quotas in labs show 86 to 97%. They miss headers of packets that the kernel
/// puts together, gaps between frames, and the ends of short trials. Of all waiting 1/U − 1 = 18% is to be had at most.
pub(crate) const NEARLY_SATURATED: f64 = 0.85;
/// Utilisation from which a resource that is no bottleneck stands beside "none found". Chosen: half of the time is a
/// large part.
pub const BESIDE_NONE_FOUND: f64 = 0.5;
/// Utilisation from which a resource may be the bottleneck at another load, so the details report whether its demand
/// depends on the load. Chosen.
pub const MAY_BIND_ELSEWHERE: f64 = 0.25;
/// Share of what TCP carries over a link of a common rate from which a rate is about that of the link, and up to which.
/// Chosen.
pub const ABOUT_A_LINK: RangeInclusive<f64> = 0.92..=1.01;
/// Headers in a frame that carries TCP with timestamps over IPv4, as kernels count them: 14 bytes of Ethernet, 20 of IP
/// and 32 of TCP.
pub(crate) const HEADER_BYTES: f64 = 66.0;
/// The largest frame as kernels count it, with an MTU of 1500 and of 9000 bytes. A packet that is larger than the latter
/// is several frames that the kernel put together, as far as is known of 1500.
pub(crate) const FRAME_BYTES: f64 = 1514.0;
pub(crate) const JUMBO_FRAME_BYTES: f64 = 9014.0;
/// Bytes of each frame that interfaces do not count: preamble, check sequence and gap. Source: IEEE 802.3.
pub(crate) const AROUND_FRAME_BYTES: f64 = 24.0;
/// Payload of a full TCP segment with timestamps over IPv4 and an MTU of 1500 bytes: 1448 bytes.
pub const SEGMENT_BYTES: f64 = FRAME_BYTES - HEADER_BYTES;
/// Bytes of such a segment on an Ethernet, with everything around its frame: 1538.
pub const SEGMENT_ON_ETHERNET_BYTES: f64 = FRAME_BYTES + AROUND_FRAME_BYTES;
/// Share of the time from which processors as a whole are what holds the threads on them up, and all threads of a
/// server are taken. Source: labs.
pub(crate) const SATURATED: f64 = 0.85;
/// Utilisation beyond which a figure is wrong: more than rounding and clocks explain. Source: labs.
pub(crate) const IMPOSSIBLE: f64 = 1.05;
/// An interface that counted at least this share of the payload carried all of it; counters of short trials miss a part.
/// One that counted less carried the payload of another target, or none. Chosen: trials of 30 ms missed up to a third.
pub(crate) const CARRIED: f64 = 0.5;
/// A client's processor is the bottleneck instead of plimsoll's own threads on it where it is so many times as busy
/// as these make it. Source: labs.
pub(crate) const BEYOND_DRIVER: f64 = 1.2;
/// Operations of so many bytes go through a link while their server still works on them: what one that was not
/// monitored takes of them may be as long as all of it, however long the link takes. Source: a link at 68% was named
/// for reads of 1 MiB one at a time, although the server took a part of this time.
pub(crate) const STREAMED_BYTES: f64 = 65_536.0;

/// A core that is so busy, and so many times as busy as all of them on average, limits by itself. Source: labs.
pub(crate) const BUSY_CORE: f64 = 0.6;
pub(crate) const BUSIER_THAN_AVERAGE: f64 = 1.25;
/// Busy cores together, where one thread is always busy and moves from one core to another. Source: it has one core's
/// time; the tolerance of a tenth is chosen.
pub(crate) const ONE_CORE: RangeInclusive<f64> = 0.9..=1.1;
/// CPU time in seconds below which nothing is known of what an operation costs, nor whether a core was saturated. Source:
/// it is 20 ticks of the kernels' 10 ms, so that one tick more or less is 5% of it.
pub const FEW_TICKS_SECONDS: f64 = 0.2;
/// Utilisation of the busiest core beyond which a client or a server is flagged as saturated in a trial. Chosen.
pub const CORE_SATURATED: f64 = 0.95;
/// A processor that may have been so busy, by so few ticks, may be the bottleneck. Chosen.
pub(crate) const MAY_BE_SATURATED: f64 = 0.5;

/// A disk works for a workload if it moves at least this share of its bytes or, of small operations, does so many
/// for each: what is small is gathered, and what is kept in memory costs the disk nothing. Source: labs.
pub(crate) const OWN_DISK_WORK: f64 = 0.2;
/// Writes of the disks for each of their reads beyond which the threads of an NFS server are not looked at: no thread
/// waits for what is written later. Chosen.
pub(crate) const WRITES_PER_READ: f64 = 0.25;
/// Operations of at most so many bytes are small: each takes the time of a seek or of a call, not of its bytes. Source:
/// 16 KiB are 0.1 ms at 150 MB/s, a hundredth of a seek.
pub(crate) const SMALL_BYTES: f64 = 16_384.0;
/// Idle time with I/O outstanding that is reported where no disk is known that may be the reason. Chosen.
pub(crate) const WAITS_FOR_IO: f64 = 0.25;

/// A host whose cores other work keeps busy for more than this share of idle windows: busy minus idle is no cost there, as
/// the other work varies by more than the load takes. Chosen.
pub(crate) const BUSY_ANYWAY: f64 = 0.5;
/// Lookups that take so many times as long as all kinds of operation on average were held up among these. Source: labs
/// with CPU quotas, whose stall falls on the call after a listing; of six scans by such lookups all were 1.9 to 4 times
/// too long.
pub(crate) const HELD_UP: f64 = 1.5;

/// A clock that moved by more than this share is reported. Source: demands are proportional to the clock, and differences
/// within the margin of 5% are practically equal.
pub(crate) const CLOCK_MOVED: f64 = 0.05;
/// Memory of which less than this share was left is reported. Chosen.
pub(crate) const MEMORY_LEFT: f64 = 0.05;
/// Time that processes waited for memory is reported from this share on. Chosen.
pub(crate) const MEMORY_STALL: f64 = 0.01;
/// Time that a hypervisor took is reported from this share on. Chosen.
pub(crate) const STOLEN: f64 = 0.02;

/// A workload is saturated where twice as many operations in flight bring less than this more. Source: labs.
pub(crate) const FLAT_GAIN: f64 = 0.10;
/// Several operations in flight help from so many times the rate of one at a time. It is not of a doubling: the numbers
/// in flight differ by any factor. Chosen.
pub const SEVERAL_HELP: f64 = 1.5;
/// A step of so many doublings of what is in flight, at least, tells whether more of it helps. Source: at
/// [`FLAT_GAIN`] half a doubling brings 4.9%, about the default margin of verdicts.
pub(crate) const LEAST_DOUBLINGS: f64 = 0.5;
/// Demands further apart than this, as a share of the smallest, depend on load. Source: labs.
pub(crate) const CONSTANT_DEMAND: f64 = 0.15;

/// Calls of a mount waited for a slot where so many calls, and so many seconds of waiting together, were counted.
/// Source: the kernel counts milliseconds, and one of 50 is 2%; the number of calls is chosen.
pub(crate) const SLOT_CALLS: u64 = 20;
pub(crate) const SLOT_SECONDS: f64 = 0.05;
/// Share of a call's time that has to be waiting for a slot. Chosen.
pub(crate) const SLOT_WAIT: f64 = 0.25;
/// Calls that a mount has in flight on average, at least, where they waited for a slot, and operations beyond these that
/// the workload keeps in flight. Chosen: half a call.
pub(crate) const SLOT_IN_FLIGHT: f64 = 0.5;
pub(crate) const SLOT_BEYOND: f64 = 0.5;

/// Traffic over the slower of two interfaces matters where this one is so busy. Chosen.
pub(crate) const SLOWER_INTERFACE_BUSY: f64 = 0.5;
/// The faster interface has so many times the rate, and carries at most this share of the traffic. Chosen: the rates of
/// Ethernet differ by 2 and more.
pub(crate) const FASTER_INTERFACE: f64 = 1.5;
pub(crate) const IDLE_INTERFACE: f64 = 0.05;

/// Utilisation from which a link, a core, a process or a quota of a network path is saturated. It is higher than
/// [`NEARLY_SATURATED`]: streams keep a path busy for the whole trial, and the gaps between Ethernet frames are
/// counted. Chosen.
pub(crate) const PATH_SATURATED: f64 = 0.9;
/// Share of the sending time from which a window or a buffer is the bottleneck of a stream. Chosen.
pub(crate) const MOSTLY_STOPPED: f64 = 0.5;
/// Share of the payload that was sent again from which loss is the bottleneck of a stream, if nothing else is. Chosen.
pub(crate) const SENT_AGAIN: f64 = 0.01;
/// A queue grows on a path if the round trip under load is so many times as long as on the empty path, and at least so
/// much longer, in seconds. Chosen.
pub(crate) const QUEUED: f64 = 2.0;
pub(crate) const QUEUED_SECONDS: f64 = 0.001;
/// Share of a fixed rate of datagrams or operations from which it was reached, so that nothing is the bottleneck. Chosen:
/// it leaves room for what is in flight at the end of a trial.
pub const RATE_REACHED: f64 = 0.95;
/// Share of the frames from which they passed the interfaces of a router. Chosen.
pub(crate) const PASSED: f64 = 0.9;
/// Square of the sine of the angle between the frames and the times of trials up to which all have about one rate. Other
/// traffic, which goes with the time, cannot be told from frames then. Chosen.
pub(crate) const ONE_RATE: f64 = 0.01;
/// Busiest core up to which a router's CPU does not set the rate that it forwards. Chosen: at 1.2 times the
/// rate, that of the overload trial, it is not saturated either.
pub(crate) const ROUTER_IDLE: f64 = 0.7;
/// Share of the frames from which the place is looked for where they were lost. Source: at the rate that is kept, 0.5% are
/// lost at most, and the clocks of both ends count to within a few frames.
pub const LOST_ENOUGH: f64 = 0.01;
/// Share of the lost frames from which they were lost in one place. Chosen: more than in all others.
pub(crate) const LOST_THERE: f64 = 0.5;
/// Times that a queueing discipline holds packets back for each frame that was sent, from which it keeps a rate of its own.
/// Chosen: a token bucket does so about once a packet while packets wait, and a few times in all for short bursts.
pub(crate) const HELD_BACK: f64 = 0.5;
/// Share of the table of connections from which it is full. Chosen: it is looked at before and after a trial, not within.
pub(crate) const CONNTRACK_FULL: f64 = 0.95;
/// Share of the attempts to open a connection that fail from which they set the rate, and not the round trips. Chosen: an
/// attempt without an answer takes a second, and others a few milliseconds.
pub(crate) const NOT_OPENED: f64 = 0.02;
/// Flows below which the offloaded connections of other hosts cannot be told from them. Chosen: a browser opens a handful
/// to one server.
pub(crate) const FEW_FLOWS: f64 = 16.0;
/// Share of the flows from which a flowtable forwards them, and share up to which it forwards hardly any. Chosen: with 16
/// flows, one of another host is no sign.
pub const FLOWS_TAKEN: f64 = 0.9;
/// The latter.
pub const FLOWS_LEFT: f64 = 0.1;
/// CPU time in seconds that a kernel takes at least to forward a frame, and the time below which it did not forward it.
/// Chosen: the fastest cores forward about 2 million frames a second, and a tenth of that time is what the first packets
/// of flows and the driver take.
pub(crate) const FRAME_SECONDS: f64 = 0.5e-6;
pub(crate) const OFFLOADED_SECONDS: f64 = 0.05e-6;
/// A demand is known up to so many times the highest rate that was measured; beyond, it is a bound. Source: method,
/// section 10; interrupts and writes gather, and disks reorder, the more the busier they are.
pub(crate) const KNOWN_BEYOND: f64 = 1.5;
/// A bound of so many times today's rate says nothing about a row whose link was not monitored. Chosen.
pub(crate) const FARTHEST_BOUND: f64 = 10.0;
/// A demand of so much of the largest is the next bottleneck as well. Source: method, section 10.
pub(crate) const NEXT_TOO: f64 = 0.8;

/// Share of a link, headers included, from which it is the bottleneck of a published row. Chosen.
pub const PUBLISHED_LINK_FULL: f64 = 0.9;
/// The same of a published rate of payload alone, which leaves room for headers. Chosen.
pub const PUBLISHED_PAYLOAD_FULL: f64 = 0.9;
/// Share of a processor's time from which it is the bottleneck of a published row. Chosen.
pub const PUBLISHED_PROCESSOR_FULL: f64 = 0.8;
/// Share of the rate of a link or a bus below which published payload does not saturate it, whatever headers and pauses
/// take. Chosen.
pub const PUBLISHED_FREE: f64 = 0.5;
/// A published rate of so many times what the disks do without any seek is not theirs. Chosen: they gain less by their
/// own order.
pub const PUBLISHED_BEYOND_DISKS: f64 = 2.0;
