"""What must hold of the verb net: each end counts exactly what the other one does."""

import secrets
import socket
import time
import unittest

import cases
from net_session import Delay, Net, Result, trial


def pair(test, inside=((), ())):
    """Sessions for the opening end, with sanitizers, and the listening end."""
    commands = [cases.program("sanitized"), cases.here()]
    sessions = [Net(command, where) for command, where in zip(commands, inside)]
    for session in sessions:
        test.addCleanup(session.__exit__)
    return sessions


def check_exact(test, opener, listener, address="127.0.0.1", rate=20000):
    """Every byte and every datagram that one end sent, the other counted."""
    size = 3 << 20
    for job in ("send", "receive", "both"):
        ends = trial(opener, listener, job, address, bytes=size, streams=2, block_bytes=10000)
        for end in ends:
            test.assertEqual(end.end["status"], "done", end.failed)
            for stream in end.streams:
                test.assertEqual((stream["outcome"], stream["total_bytes"]), ("done", size), stream)
        test.assertEqual([len(end.streams) for end in ends], [4 if job == "both" else 2] * 2)
        directions = [[stream["direction"] for stream in end.streams] for end in ends]
        test.assertTrue(all(a != b for a, b in zip(*directions)), directions)
    for job, call in (("send", "one"), ("receive", "mmsg"), ("both", "gso")):
        ends = trial(opener, listener, job, address, transport="udp", call=call, packets=2000,
                     packets_per_second=rate, payload_bytes=200, streams=2)
        for end in ends:
            test.assertEqual(end.end["status"], "done", end.failed)
            for stream in end.streams:
                test.assertEqual((stream["outcome"], stream["total_packets_count"],
                                  stream["total_bytes"]), ("done", 2000, 400000), stream)
                if stream["direction"] == "receive":
                    test.assertEqual(
                        [stream[key] for key in ("sent_count", "received_count", "lost_count",
                                                 "duplicate_count", "reordered_count",
                                                 "foreign_count", "loss_events_count")],
                        [2000, 2000, 0, 0, 0, 0, 0], stream)


class Counts(unittest.TestCase):
    def test_exact(self):
        check_exact(self, *pair(self))

    def test_exact_over_ipv6(self):
        check_exact(self, *pair(self), address="::1")

    def test_a_peer_whose_address_a_router_replaces(self):
        opener, listener = pair(self)
        behind = {"listener": {"translated": "127.0.0.1"}}
        for transport in ("tcp", "udp"):
            common = {"opener_address": "127.0.0.9", "transport": transport, "duration_ms": 100}
            for end in trial(opener, listener, "send", only=behind, **common):
                self.assertEqual(end.end["status"], "done", end.failed)
        # Without it, that address is a stranger's.
        refused = trial(opener, listener, "connect", opener_address="127.0.0.9", duration_ms=100,
                        setup_ms=500)
        self.assertGreater(refused[1].sum("foreign_count"), 0)
        accepted = trial(opener, listener, "connect", opener_address="127.0.0.9", duration_ms=100,
                         only=behind)
        self.assertEqual(accepted[1].sum("foreign_count"), 0)

    def test_facts(self):
        opener, _ = pair(self)
        for key in ("realtime_allowed", "forced_buffers_allowed", "udp_segmentation"):
            self.assertIsInstance(opener.facts[key], bool)
        self.assertIn("reno", opener.facts["congestion_available"])

    def test_timed_trials_and_their_intervals(self):
        opener, listener = pair(self)
        for job in ("send", "receive"):
            ends = trial(opener, listener, job, duration_ms=300, lead_ms=100, interval_ms=50,
                         congestion="reno", nodelay=1, send_buffer_bytes=100000)
            self.assertEqual(ends[0].sum("total_bytes"), ends[1].sum("total_bytes"))
            for end in ends:
                stream, rows = end.streams[0], end.intervals[0]
                self.assertEqual(stream["congestion"], "reno")
                self.assertGreaterEqual(len(rows), 2)
                for before, after in zip(rows, rows[1:]):
                    for key in ("at_ns", "bytes", "calls_count", "cpu_ns"):
                        self.assertLessEqual(before[key], after[key], rows)
                # What counts is the difference between two of the rows: lead-in and end.
                led = [row["bytes"] for row in rows if row["at_ns"] >= 100_000_000][0]
                self.assertEqual(stream["bytes"], rows[-1]["bytes"] - led, rows)
                self.assertLessEqual(stream["bytes"], stream["total_bytes"])
                self.assertGreater(stream["bytes"], 0)
            sender = ends[job == "receive"].streams[0]
            self.assertGreaterEqual(sender["send_buffer_bytes"], 200000)
            self.assertGreaterEqual(sender["acked_bytes"], sender["total_bytes"])

    def test_nagles_algorithm_joins_small_blocks(self):
        opener, listener = pair(self)
        shares = []
        for nodelay in (0, 1):
            ends = trial(opener, listener, "send", duration_ms=200, block_bytes=10, nodelay=nodelay)
            sent = ends[0].streams[0]
            if "sent_segments_count" not in sent:
                self.skipTest("the kernel does not count segments")
            shares.append(sent["sent_segments_count"] / sent["calls_count"])
        self.assertGreater(shares[1], 2 * shares[0], shares)

    def test_rate(self):
        opener, listener = pair(self)
        sender, receiver = trial(opener, listener, "send", transport="udp", duration_ms=400,
                                 packets_per_second=2000, realtime=1, payload_bytes=16)
        sent = sender.streams[0]
        # Late wake-ups move the schedule: never more than the rate.
        self.assertLessEqual(sent["total_packets_count"], 801)
        self.assertGreaterEqual(
            sent["total_packets_count"],
            (400_000_000 - sent["shifted_ns"] - sent["late_most_ns"]) * 2000 // 10**9 - 1, sent)
        self.assertEqual(sent["realtime"], opener.facts["realtime_allowed"])
        self.assertEqual(sent["gap"]["count"], sum(n for _, n in sent["gap"]["steps"]))
        got = receiver.streams[0]
        self.assertEqual(got["received_count"], sent["total_packets_count"])
        self.assertEqual(got["delay"]["count"], got["received_count"])
        self.assertEqual(sum(row["times_count"] for row in receiver.intervals[0]),
                         got["packets_count"])

    def test_flows_share_one_sequence_in_segments(self):
        opener, listener = pair(self)
        for job, flows in (("send", 16), ("receive", 16), ("both", 8), ("send", 1), ("both", 512)):
            ends = trial(opener, listener, job, transport="udp", call="mmsg", packets=2000,
                         packets_per_second=10000, payload_bytes=100, streams=2, flows=flows,
                         segment_packets=300, pace_us=50)
            for end in ends:
                self.assertEqual(end.end["status"], "done", end.failed)
                for stream in end.streams:
                    self.assertEqual((stream["outcome"], stream["total_packets_count"]),
                                     ("done", 2000), stream)
                    rows = end.segments[stream["stream_number"]]
                    self.assertEqual([row["times_count"] for row in rows], [300] * 6 + [200])
                    if stream["direction"] == "receive":
                        self.assertEqual([stream[key] for key in
                                          ("lost_count", "duplicate_count", "foreign_count")],
                                         [0, 0, 0], stream)

    def test_sizes_are_mixed(self):
        opener, listener = pair(self)
        for flows in (1, 12):
            sizes = dict(payload_bytes=1472, middle_bytes=524, small_bytes=18)
            sent, received = trial(opener, listener, "send", transport="udp", call="mmsg",
                                   packets=1200, packets_per_second=10000, flows=flows, **sizes)
            for end in (sent, received):
                self.assertEqual(end.end["status"], "done", end.failed)
                self.assertEqual(end.sum("total_bytes"), 100 * (7 * 18 + 4 * 524 + 1472))
            self.assertEqual([received.streams[0][key] for key in
                              ("received_count", "lost_count", "foreign_count")], [1200, 0, 0])

    def test_a_stream_ends_when_enough_segments_are_good(self):
        opener, listener = pair(self)
        # A second is never too late, so all are good: those of the lead-in do not count.
        wanted = dict(transport="udp", packets_per_second=5000, payload_bytes=100, flows=4,
                      segment_packets=100, lead_ms=100, duration_ms=20000, good_segments=5)
        for job in ("send", "receive"):
            ends = trial(opener, listener, job, late_us=1000000, **wanted)
            sender = ends[job == "receive"]
            # A segment counts if it begins after the lead-in, which is known up to a batch.
            whole = [row for row in sender.segments[0] if row["times_count"] == 100]
            self.assertIn(len(whole), (10, 11), sender.segments)
            # Up to the end of the batch that the last segment ended in.
            counts = [end.sum("total_packets_count") for end in ends]
            self.assertEqual(counts[0], counts[1])
            self.assertIn(counts[0], range(1000, 1200))
        # A microsecond always is.
        wanted["duration_ms"] = 400
        sender, _ = trial(opener, listener, "send", late_us=1, **wanted)
        self.assertGreater(len(sender.segments[0]), 15, sender.segments)

    def test_requests(self):
        opener, listener = pair(self)
        for settings in ({}, {"request_bytes": 200, "response_bytes": 70000},
                         {"transport": "udp"}, {"transport": "udp", "response_bytes": 1000},
                         {"requests_per_second": 200, "realtime": 1}):
            asker, answerer = trial(opener, listener, "request", duration_ms=200, **settings)
            asked, answered = asker.streams[0], answerer.streams[0]
            self.assertEqual((asked["outcome"], answered["outcome"]), ("done", "done"), answered)
            self.assertGreater(asked["total_packets_count"], 0)
            self.assertEqual(asked["unanswered_count"], 0)
            self.assertEqual(asked["total_packets_count"], answered["total_packets_count"])
            self.assertEqual(asked["latency"]["count"], asked["total_packets_count"])
            self.assertLessEqual(asked["latency"]["p50_ns"], asked["latency"]["p99_ns"])

    def test_the_lead_in_of_requests_is_not_counted(self):
        opener, listener = pair(self)
        for job in ("request", "connect"):
            end, _ = trial(opener, listener, job, duration_ms=200, lead_ms=200)
            asked = end.streams[0]
            self.assertGreater(asked["packets_count"], 0)
            self.assertGreater(asked["total_packets_count"], asked["packets_count"])
            self.assertEqual(asked["latency"]["count"], asked["packets_count"])

    def test_requests_of_several_streams_take_turns(self):
        opener, listener = pair(self)
        # Of one a second each, the second stream's is due after 0.5 s.
        asker, _ = trial(opener, listener, "request", duration_ms=250, streams=2,
                         requests_per_second=1)
        self.assertEqual([s["total_packets_count"] for s in asker.streams], [1, 0])

    def test_requests_at_a_rate_do_not_wait_for_answers(self):
        opener, listener = pair(self)
        shared = {"peer": "127.0.0.1", "token": secrets.token_hex(16), "duration_ms": 1000,
                  "requests_per_second": 50, "timeout_ms": 20_000, "drain_ms": 20_000}
        listener.begin("respond", open="listen", **shared)
        port = listener.until("net_listening")[-1]["port_number"]
        with Delay(port, 0.1) as path:
            opener.begin("request", open="connect", port=path.port, **shared)
            asked, answered = (Result(session.until("net_end")).streams[0]
                               for session in (opener, listener))
        # One after the other, it would be five a second.
        self.assertGreater(asked["total_packets_count"], 25)
        self.assertEqual(asked["total_packets_count"], answered["total_packets_count"])
        self.assertEqual(asked["latency"]["count"], asked["total_packets_count"])
        self.assertEqual(asked["unanswered_count"], 0)
        self.assertGreater(asked["latency"]["least_ns"], 200_000_000)

    def test_rate_that_the_sender_cannot_keep(self):
        opener, listener = pair(self)
        sender, _ = trial(opener, listener, "send", transport="udp", duration_ms=1500,
                          packets_per_second=10_000_000, realtime=1, payload_bytes=1000)
        self.assertEqual(sender.streams[0]["outcome"], "done")
        self.assertFalse(sender.streams[0]["realtime"])

    def test_listener_counts_from_the_first_connection(self):
        opener, listener = pair(self)
        token = secrets.token_hex(16)
        shared = {"peer": "127.0.0.1", "token": token, "duration_ms": 300,
                  "requests_per_second": 5}
        listener.begin("accept", open="listen", **shared)
        port = listener.until("net_started")[0]["port_number"]
        time.sleep(0.4)  # its time would be over by now
        opener.begin("connect", open="connect", port=port, **shared)
        asked, served = (Result(session.until("net_end")) for session in (opener, listener))
        self.assertEqual(asked.sum("refused_count") + asked.sum("unanswered_count"), 0)
        self.assertEqual(asked.sum("total_packets_count"), served.sum("total_packets_count"))

    def test_requests_from_the_listening_end(self):
        opener, listener = pair(self)
        token = secrets.token_hex(16)
        for transport in ("tcp", "udp"):
            shared = {"peer": "127.0.0.1", "token": token, "duration_ms": 200,
                      "transport": transport}
            listener.begin("request", open="listen", **shared)
            port = listener.until("net_listening")[-1]["port_number"]
            opener.begin("respond", open="connect", port=port, **shared)
            asked = Result(listener.until("net_end")).streams[0]
            answered = Result(opener.until("net_end")).streams[0]
            self.assertGreater(asked["total_packets_count"], 0)
            self.assertEqual(asked["total_packets_count"], answered["total_packets_count"])

    def test_connections(self):
        opener, listener = pair(self)
        ends = trial(opener, listener, "connect", duration_ms=200, streams=2)
        counts = [end.sum("total_packets_count") for end in ends]
        self.assertGreater(counts[0], 0)
        self.assertEqual(counts[0], counts[1])
        self.assertEqual(ends[0].sum("refused_count") + ends[0].sum("unanswered_count"), 0)
        self.assertEqual(sum(s["latency"]["count"] for s in ends[0].streams), counts[0])

    def test_port_that_was_chosen(self):
        opener, listener = pair(self)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        for transport in ("tcp", "udp", "tcp", "udp"):
            ends = trial(opener, listener, "send", port=port, transport=transport, duration_ms=20)
            self.assertEqual([end.end["status"] for end in ends], ["done", "done"])
            self.assertEqual(ends[1].streams[0]["local_port_number"], port)
