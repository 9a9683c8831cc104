"""What must hold of the verb net: counts are exact, strangers get no answer, nothing is left."""

import json
import os
import random
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import time
import unittest

import cases
from channel import Channel, frame, request, run
from net_session import Delay, Net, Result, trial

GREETING = struct.Struct(">4sBcH16s")


def pair(test, inside=((), ())):
    """Sessions for the opening end, with sanitizers, and the listening end."""
    commands = [cases.program("sanitized"), cases.here()]
    sessions = [Net(command, where) for command, where in zip(commands, inside)]
    for session in sessions:
        test.addCleanup(session.__exit__)
    return sessions


def greeting(kind, stream, token):
    return GREETING.pack(b"PLMN", 1, kind, stream, bytes.fromhex(token))


def tag(token, stream):
    value = 2166136261
    for byte in [*bytes.fromhex(token), stream]:
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return (value ^ value >> 16) & 0xFFFF


def datagram(kind, token, stream, sequence, payload=100, sent_ns=None, wrong_tag=0):
    sent_ns = time.monotonic_ns() if sent_ns is None else sent_ns
    head = kind + struct.pack(">H", tag(token, stream) ^ wrong_tag) + sequence.to_bytes(5, "big")
    return (head + struct.pack(">Q", sent_ns & (1 << 64) - 1)).ljust(payload, b"\x5a")


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


class Listener(unittest.TestCase):
    """This program is the opening end, and not always a good one."""

    def listen(self, job="receive", seconds=30, **settings):
        self.session = Net(cases.program("sanitized"))
        self.addCleanup(self.session.__exit__)
        self.token = secrets.token_hex(16)
        self.session.begin(job, **{"open": "listen", "peer": "127.0.0.1", "token": self.token,
                                   "duration_ms": 20000, **settings})
        return self.session.until("net_listening", seconds)[-1]["port_number"]

    def connected(self, kind, port, address="127.0.0.1"):
        opened = socket.socket(socket.AF_INET, kind)
        self.addCleanup(opened.close)
        opened.settimeout(10)
        opened.bind((address, 0))
        opened.connect(("127.0.0.1", port))
        return opened

    def result(self):
        return Result(self.session.until("net_end"))

    def test_loss_order_and_duplicates(self):
        port = self.listen(transport="udp", payload_bytes=100)
        opened = self.connected(socket.SOCK_DGRAM, port)
        opened.send(greeting(b"H", 0, self.token))
        self.assertEqual(opened.recv(100), greeting(b"R", 0, self.token))
        opened.send(greeting(b"G", 0, self.token))
        stranger = self.connected(socket.SOCK_DGRAM, port)
        # 0 is lost; 2 is late by one, 5 by two; 3 comes twice; 7, 8 and 9 are lost; so are 11 and 12.
        for sequence in (1, 3, 2, 3, 4, 6, 7 + 3, 5):
            opened.send(datagram(b"D", self.token, 0, sequence))
        opened.send(datagram(b"D", self.token, 0, 8, wrong_tag=1))
        opened.send(datagram(b"D", self.token, 0, 8, payload=99))
        opened.send(datagram(b"D", self.token, 0, 1 << 39))
        opened.send(b"D")
        opened.send(b"")
        try:
            stranger.send(datagram(b"D", self.token, 0, 8))
        except ConnectionRefusedError:
            pass
        opened.send(datagram(b"F", self.token, 0, 13))
        result = self.result()
        stream = result.streams[0]
        self.assertEqual(
            {key: stream[key] for key in stream if key.endswith("_count")},
            {**{key: stream[key] for key in stream if key.endswith("switches_count")},
             "packets_count": 7, "total_packets_count": 7, "received_count": 7, "sent_count": 13,
             "calls_count": stream["calls_count"], "lost_count": 6, "duplicate_count": 1,
             "reordered_count": 2, "reordered_most_count": 5, "too_late_count": 0,
             "loss_events_count": 3, "loss_longest_count": 3, "foreign_count": 5,
             "socket_dropped_count": 0}, stream)
        self.assertEqual(result.end["status"], "done")

    def test_delay_and_jitter(self):
        port = self.listen(transport="udp", payload_bytes=16)
        opened = self.connected(socket.SOCK_DGRAM, port)
        opened.send(greeting(b"H", 0, self.token))
        opened.recv(100)
        # A clock that is ahead by hours, and the second half sent "1 s earlier".
        now = time.monotonic_ns() + 10**13
        for sequence in range(40):
            back = 10**9 if sequence >= 20 else 0
            opened.send(datagram(b"D", self.token, 0, sequence, 16, now - back))
        opened.send(datagram(b"F", self.token, 0, 40, 16))
        stream = self.result().streams[0]
        self.assertEqual((stream["received_count"], stream["lost_count"]), (40, 0))
        self.assertLess(stream["first_transit_ns"], -9 * 10**12)
        self.assertGreaterEqual(stream["delay"]["most_ns"], 10**9)
        self.assertLess(stream["delay"]["most_ns"], 6 * 10**9)
        self.assertGreater(stream["jitter_ns"], 10**9 // 16 // 4)

    def test_no_answer_to_strangers(self):
        port = self.listen(transport="udp", setup_ms=1500)
        opened = self.connected(socket.SOCK_DGRAM, port)
        elsewhere = self.connected(socket.SOCK_DGRAM, port, "127.0.0.2")
        chance = random.Random(7)
        good = greeting(b"H", 0, self.token)
        for wrong in (greeting(b"H", 0, "0" * 32), greeting(b"H", 9, self.token),
                      greeting(b"R", 0, self.token), greeting(b"G", 0, self.token),
                      good[:-1], good + b"x", b"", datagram(b"D", self.token, 0, 0),
                      *(chance.randbytes(chance.randrange(1, 100)) for _ in range(100))):
            opened.send(wrong)
        elsewhere.send(good)
        result = self.result()
        for quiet in (opened, elsewhere):
            quiet.setblocking(False)
            with self.assertRaises((BlockingIOError, ConnectionRefusedError)):
                quiet.recv(100)
        self.assertEqual(result.failed["error"], "net")
        self.assertIn("token", result.failed["happened"])
        self.assertEqual(result.end["status"], "failed")

    def test_wrong_connections(self):
        port = self.listen(setup_ms=20000)
        good = greeting(b"H", 0, self.token)
        for address, wrong in (("127.0.0.1", greeting(b"H", 0, "0" * 32)), ("127.0.0.2", good),
                               ("127.0.0.1", greeting(b"H", 1, self.token)),
                               ("127.0.0.1", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
                               ("127.0.0.1", b"PLMN")):
            try:  # a stranger may be reset before it has sent anything
                opened = self.connected(socket.SOCK_STREAM, port, address)
                opened.send(wrong)
                self.assertEqual(opened.recv(100), b"")
            except (ConnectionResetError, BrokenPipeError):
                pass
        # The right one is served after all that.
        opened = self.connected(socket.SOCK_STREAM, port)
        opened.sendall(good)
        self.assertEqual(opened.recv(100), greeting(b"R", 0, self.token))
        opened.sendall(greeting(b"G", 0, self.token) + b"x" * 12345)
        opened.close()
        stream = self.result().streams[0]
        self.assertEqual((stream["outcome"], stream["total_bytes"]), ("done", 12345))

    def test_peer_that_never_comes_or_never_starts(self):
        self.listen(setup_ms=200)
        self.assertIn("did not come", self.result().failed["happened"])
        for kind, transport in ((socket.SOCK_STREAM, "tcp"), (socket.SOCK_DGRAM, "udp")):
            port = self.listen(setup_ms=300, transport=transport)
            opened = self.connected(kind, port)
            opened.send(greeting(b"H", 0, self.token))
            opened.recv(100)
            stream = self.result().streams[0]
            self.assertEqual((stream["outcome"], stream["total_bytes"]), ("failed", 0), stream)
            self.assertTrue(stream["tried"] and stream["happened"])

    def test_peer_that_vanishes(self):
        port = self.listen()
        opened = self.connected(socket.SOCK_STREAM, port)
        opened.send(greeting(b"H", 0, self.token))
        opened.recv(100)
        opened.send(greeting(b"G", 0, self.token) + b"x" * 999)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        time.sleep(0.1)
        opened.close()
        stream = self.result().streams[0]
        self.assertEqual((stream["outcome"], stream["total_bytes"]), ("peer_ended", 999))

    def test_port_in_use(self):
        for kind, transport in ((socket.SOCK_STREAM, "tcp"), (socket.SOCK_DGRAM, "udp")):
            with socket.socket(socket.AF_INET, kind) as other:
                other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                other.bind(("0.0.0.0", 0))
                if transport == "tcp":
                    other.listen()
                session = Net(cases.here())
                session.begin("receive", open="listen", peer="127.0.0.1", token="0" * 32,
                              transport=transport, port=other.getsockname()[1])
                result = Result(session.until("net_end"))
                self.assertEqual(result.failed["happened"], "the port is in use")
                self.assertEqual(session.close(), (0, ""))

    def test_nobody_listens(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        for transport in ("tcp", "udp"):
            session = Net(cases.program("sanitized"))
            session.begin("send", open="connect", peer="127.0.0.1", token="0" * 32, port=port,
                          transport=transport, setup_ms=1000)
            result = Result(session.until("net_end"))
            self.assertEqual(result.failed["happened"], "nobody listens at that port")
            self.assertEqual(session.close(), (0, ""))


class Sessions(unittest.TestCase):
    USUAL = {"open": "listen", "peer": "127.0.0.1", "token": "0" * 32}

    def assert_gone(self, processes):
        until = time.monotonic() + 5
        while any(map(cases.alive, processes)) and time.monotonic() < until:
            time.sleep(0.01)
        self.assertFalse(any(map(cases.alive, processes)), "a process outlived its session")

    def test_refused_settings(self):
        session = Net(cases.program("sanitized"), idle_seconds=1)
        usual = self.USUAL
        for job, key, settings in (
            ("sing", "sing", usual), ("send", "open", {**usual, "open": "maybe"}),
            ("send", "token", {**usual, "token": "0" * 31}), ("send", "peer", {"open": "listen"}),
            ("send", "token", {**usual, "token": "G" * 32}),
            ("send", "peer", {**usual, "peer": "nas.example"}),
            ("send", "peer", {**usual, "peer": "1.2.3.4%eth0"}),
            ("send", "peer", {**usual, "peer": "fe80::1%"}),
            ("send", "peer", {**usual, "peer": "f" * 300}),
            ("send", "translated", {**usual, "translated": "::1"}),
            ("send", "translated", {**usual, "open": "connect", "translated": "127.0.0.2"}),
            ("send", "payload_bytes", {**usual, "payload_bytes": 100}),
            ("send", "payload_bytes", {**usual, "payload_bytes": 15, "transport": "udp"}),
            ("send", "block_bytes", {**usual, "block_bytes": 0}),
            ("send", "streams", {**usual, "streams": 65}), ("send", "what", {**usual, "what": 1}),
            ("send", "call", {**usual, "call": "gso"}),
            ("send", "port", {**usual, "open": "connect"}),
            ("connect", "open", usual), ("accept", "transport", {**usual, "transport": "udp"}),
            ("request", "request_bytes", {**usual, "transport": "udp", "request_bytes": 5}),
            ("send", "realtime", {**usual, "transport": "udp", "realtime": 1}),
            ("send", "interval_ms", {**usual, "duration_ms": 3600000, "interval_ms": 10}),
        ):
            session.begin(job, **settings)
            result = Result(session.until("net_end"))
            self.assertEqual((result.failed["error"], result.failed["on"]), ("request", key))
            self.assertEqual(result.end["status"], "failed")
        self.assertEqual(json.loads(session.channel.receive()[1])["status"], "idle")
        self.assertEqual(session.end(), (0, ""))

    def test_congestion_control_that_is_not_there(self):
        session = Net(cases.here())
        session.begin("send", **self.USUAL, congestion="carrier-pigeon")
        self.assertIn("congestion", Result(session.until("net_end")).failed["tried"])
        session.close()

    def test_frames_out_of_order(self):
        for wrong in (frame("N", "send\n"), frame("T"), frame("Q", "net\n")):
            session = Net(cases.program("sanitized"))
            session.begin("receive", **self.USUAL)
            session.until("net_listening")
            group = cases.children(session.channel.process.pid)
            session.channel.send(wrong)
            kind, body = session.channel.receive()
            self.assertEqual((kind, json.loads(body)["error"]), ("E", "frame"))
            self.assertEqual(session.end(), (1, ""))
            self.assert_gone(group)

    def test_cancelled(self):
        opener, listener = pair(self)
        listener.begin("receive", **self.USUAL)
        listener.until("net_listening")
        listener.cancel()
        self.assertEqual(listener.until("net_end")[-1]["status"], "cancelled")
        listener.cancel()  # nothing runs: nothing happens
        for transport in ("tcp", "udp"):
            shared = {"peer": "127.0.0.1", "token": "1" * 32, "duration_ms": 60000,
                      "transport": transport, "streams": 3}
            listener.begin("receive", open="listen", **shared)
            port = listener.until("net_listening")[-1]["port_number"]
            opener.begin("send", open="connect", port=port, **shared)
            opener.until("net_started")
            time.sleep(0.3)
            opener.cancel()
            sent, got = Result(opener.until("net_end")), Result(listener.until("net_end"))
            self.assertEqual((sent.end["status"], got.end["status"]), ("cancelled", "done"))
            self.assertEqual([s["outcome"] for s in sent.streams], ["done"] * 3)
            self.assertGreater(sent.sum("total_bytes"), 0)
            if transport == "tcp":
                self.assertGreater(got.sum("total_bytes"), 0)

    def test_nothing_is_left(self):
        def closed(channel):
            channel.close_input()

        def signalled(number):
            return lambda channel: os.kill(channel.process.pid, number)

        for how, code in ((closed, 3), (signalled(signal.SIGTERM), 3), (signalled(signal.SIGINT), 3),
                          (signalled(signal.SIGKILL), -9),
                          (lambda channel: channel.send(frame("S")), 0)):
            opener, listener = pair(self)
            shared = {"peer": "127.0.0.1", "token": "2" * 32, "duration_ms": 60000, "streams": 2}
            listener.begin("both", open="listen", **shared)
            port = listener.until("net_listening")[-1]["port_number"]
            opener.begin("both", open="connect", port=port, **shared)
            opener.until("net_started")
            group = [*cases.children(opener.channel.process.pid)]
            self.assertEqual(len(group), 5)
            time.sleep(0.3)
            how(opener.channel)
            self.assertEqual(opener.end()[0], code)
            self.assert_gone(group)
            for stream in Result(listener.until("net_end")).streams:
                self.assertIn(stream["outcome"], ("done", "peer_ended"), stream)

    def test_clock_during_a_trial(self):
        session = Net(cases.program("sanitized"))
        session.begin("receive", **self.USUAL)
        session.until("net_listening")
        before = time.monotonic_ns()
        session.channel.send(frame("C", b"now"))
        kind, body = session.channel.receive()
        self.assertEqual((kind, body[:8]), ("C", b"now".ljust(8, b"\0")))
        self.assertTrue(before <= int.from_bytes(body[8:], "big") <= time.monotonic_ns())
        self.assertEqual(session.close(), (0, ""))

    def test_processes_that_are_killed(self):
        """A stream costs its own figures, a trial the trial's; the session goes on."""
        opener, listener = pair(self)
        for whole in (False, True):
            shared = {"peer": "127.0.0.1", "token": "5" * 32, "duration_ms": 1000, "streams": 2,
                      "interval_ms": 60000}
            listener.begin("receive", open="listen", **shared)
            port = listener.until("net_listening")[-1]["port_number"]
            opener.begin("send", open="connect", port=port, **shared)
            opener.until("net_started")
            time.sleep(0.3)
            group = cases.children(opener.channel.process.pid)
            os.kill(group[0 if whole else 1], signal.SIGKILL)
            sent, got = Result(opener.until("net_end")), Result(listener.until("net_end"))
            if whole:
                self.assertEqual((sent.failed["error"], sent.end["status"]), ("worker", "failed"))
                self.assert_gone(group)
            else:
                self.assertEqual(sorted(s["outcome"] for s in sent.streams), ["done", "killed"])
                # The one that was killed had no interval: its figures are 0, and not less than that.
                self.assertTrue(all(s["cpu_ns"] < 10**12 for s in sent.streams), sent.streams)
            self.assertEqual(got.end["status"], "done")


class Namespaces(unittest.TestCase):
    """Two hosts with a link between them, in network namespaces."""

    def setUp(self):
        missing = [tool for tool in ("ip", "nft") if shutil.which(tool) is None]
        if missing or os.geteuid() != 0:
            if os.environ.get("PLIMSOLL_REQUIRE") == "all":
                self.fail(f"needs root and {missing}")
            self.skipTest("needs root, ip and nft")
        name = f"pn{os.getpid() % 100000}"
        self.names = [name + end for end in "ab"]
        for here in self.names:
            self.run_tool("ip", "netns", "add", here)
            self.addCleanup(subprocess.run, ["ip", "netns", "del", here], check=False)
        self.run_tool("ip", "link", "add", "v", "netns", self.names[0], "type", "veth", "peer",
                      "name", "v", "netns", self.names[1])
        for i, here in enumerate(self.names):
            for address in (f"10.9.8.{i + 1}/24", f"fd00:9::{i + 1}/64"):
                self.run_tool("ip", "-n", here, "addr", "add", address, "dev", "v", *(
                    ["nodad"] if ":" in address else []))
            self.run_tool("ip", "-n", here, "link", "set", "v", "up")
        self.ends = pair(self, [("ip", "netns", "exec", here) for here in self.names])

    @staticmethod
    def run_tool(*words, **options):
        return subprocess.run(words, check=True, capture_output=True, text=True, **options).stdout

    def test_exact(self):
        check_exact_between(self, self.ends)

    def test_loss_is_counted_exactly(self):
        rules = """add table inet t
            add chain inet t c { type filter hook input priority 0; }
            add rule inet t c meta l4proto udp @th,64,8 0x44 counter numgen inc mod 7 0 counter drop
            """
        self.run_tool("ip", "netns", "exec", self.names[1], "nft", "-f", "-", input=rules)
        for call in ("one", "mmsg"):
            before = self.counters()
            sender, receiver = trial(*self.ends, "send", "10.9.8.2", "10.9.8.1", transport="udp",
                                     call=call, packets=7000, packets_per_second=20000,
                                     payload_bytes=300)
            seen, dropped = (now - then for now, then in zip(self.counters(), before))
            stream = receiver.streams[0]
            self.assertEqual((sender.streams[0]["total_packets_count"], seen, dropped),
                             (7000, 7000, 1000))
            self.assertEqual([stream[key] for key in ("received_count", "lost_count", "sent_count",
                                                      "loss_events_count", "loss_longest_count",
                                                      "reordered_count", "duplicate_count")],
                             [6000, 1000, 7000, 1000, 1, 0, 0], stream)

    def counters(self):
        listed = self.run_tool("ip", "netns", "exec", self.names[1], "nft", "-j", "list", "table",
                               "inet", "t")
        found = []
        for item in json.loads(listed)["nftables"]:
            found += [part["counter"]["packets"] for part in item.get("rule", {}).get("expr", [])
                      if "counter" in part]
        return found

    def test_payload_longer_than_the_path(self):
        self.run_tool("ip", "-n", self.names[0], "link", "set", "v", "mtu", "1280")
        for address, other, longest in (("10.9.8.2", "10.9.8.1", 1252),
                                        ("fd00:9::2", "fd00:9::1", 1232)):
            for payload in (longest, longest + 1):
                listener, opener = self.ends[1], self.ends[0]
                shared = {"token": "3" * 32, "transport": "udp", "payload_bytes": payload,
                          "packets": 10, "duration_ms": 500, "setup_ms": 1000}
                listener.begin("receive", open="listen", peer=other, **shared)
                port = listener.until("net_listening")[-1]["port_number"]
                opener.begin("send", open="connect", peer=address, port=port, **shared)
                sent, got = Result(opener.until("net_end")), Result(listener.until("net_end"))
                if payload == longest:
                    self.assertEqual(got.streams[0]["received_count"], 10)
                else:
                    self.assertEqual(sent.failed["path_mtu_bytes"], 1280)
                    self.assertEqual(sent.end["status"], "failed")

    def test_slow_path_with_a_long_queue(self):
        """What the queue holds at the end is dropped, and the next trial starts on a free path."""
        try:
            self.run_tool("ip", "netns", "exec", self.names[0], "tc", "qdisc", "add", "dev", "v",
                          "root", "tbf", "rate", "4mbit", "burst", "20k", "latency", "1s")
        except (OSError, subprocess.CalledProcessError) as error:
            self.skipTest(f"no shaper here: {error}")
        for transport in ("tcp", "udp"):
            for job in ("send", "receive"):
                first, second = (trial(*self.ends, job, "10.9.8.2", "10.9.8.1", duration_ms=500,
                                       transport=transport, drain_ms=100, seconds=60)
                                 for _ in range(2))
                for end in (*first, *second):
                    self.assertEqual(end.end["status"], "done", end.failed)
                    self.assertEqual(end.streams[0]["outcome"], "done")
        sender, receiver = trial(*self.ends, "send", "10.9.8.2", "10.9.8.1", transport="udp",
                                 packets=1500, packets_per_second=3000, drain_ms=5000,
                                 send_buffer_bytes=10_000_000)  # else the sender has to wait
        got = receiver.streams[0]
        self.assertEqual(got["received_count"] + got["lost_count"],
                         sender.streams[0]["total_packets_count"])
        # 4 Mbit/s with a queue of 1 s carry at most 1.6 s of it: 560 of these datagrams, and the burst.
        self.assertLess(got["received_count"], 700)
        self.assertGreater(got["delay"]["most_ns"], 500_000_000)

    def test_link_that_goes_away(self):
        opener, listener = self.ends
        shared = {"token": "4" * 32, "duration_ms": 1500, "drain_ms": 200}
        listener.begin("receive", open="listen", peer="10.9.8.1", **shared)
        port = listener.until("net_listening")[-1]["port_number"]
        opener.begin("send", open="connect", peer="10.9.8.2", port=port, **shared)
        opener.until("net_started")
        time.sleep(0.3)
        self.run_tool("ip", "-n", self.names[1], "link", "set", "v", "down")
        for session in (opener, listener):
            stream = Result(session.until("net_end")).streams[0]
            self.assertEqual((stream["outcome"], stream["timed_out"]), ("done", True), stream)


def check_exact_between(test, ends):
    for address, other in (("10.9.8.2", "10.9.8.1"), ("fd00:9::2", "fd00:9::1")):
        sender, receiver = trial(*ends, "both", address, other, bytes=1 << 20, streams=2)
        test.assertEqual([s["total_bytes"] for end in (sender, receiver) for s in end.streams],
                         [1 << 20] * 8)
        sender, receiver = trial(*ends, "receive", address, other, transport="udp", packets=500,
                                 packets_per_second=5000, payload_bytes=1200, streams=3, call="mmsg")
        test.assertEqual([s["received_count"] for s in sender.streams], [500] * 3)
        test.assertEqual([s["lost_count"] for s in sender.streams], [0] * 3)


class Relay(unittest.TestCase):
    """Bytes between the driver and a server."""

    def server(self):
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)
        return listener

    def start(self, listener):
        channel = Channel(cases.program("sanitized"))
        channel.send(request("relay", peer="127.0.0.1", port=listener.getsockname()[1]))
        self.assertEqual(json.loads(channel.receive()[1])["section"], "relay")
        there, _ = listener.accept()
        there.settimeout(10)
        self.addCleanup(there.close)
        return channel, there

    def received(self, channel, count):
        got = b""
        while len(got) < count:
            section = json.loads(channel.receive()[1])
            self.assertEqual(section["section"], "relay_bytes")
            got += bytes.fromhex(section["hex"])
        return got

    def test_bytes_go_both_ways(self):
        channel, there = self.start(self.server())
        sent = random.randbytes(1000)
        channel.send(frame("N", "send\nhex=" + sent.hex() + "\n"))
        got = b""
        while len(got) < len(sent):
            got += there.recv(4096)
        self.assertEqual(got, sent)
        back = random.randbytes(50000)
        there.sendall(back)
        self.assertEqual(self.received(channel, len(back)), back)
        there.close()
        self.assertEqual(json.loads(channel.receive()[1])["section"], "relay_end")
        channel.send(frame("S"))
        kind, body = channel.receive()
        self.assertEqual((kind, json.loads(body)["status"]), ("D", "stopped"))
        self.assertEqual(channel.end(), (0, ""))

    def test_orders_that_are_none_end_it(self):
        for order in ("send\nhex=0\n", "send\nhex=0g\n", "send\n", "call\nhex=00\n"):
            channel, there = self.start(self.server())
            channel.send(frame("N", order))
            self.assertEqual(channel.receive()[0], "E", order)
            self.assertEqual(there.recv(1), b"", order)
            self.assertEqual(channel.end(), (1, ""), order)

    def test_a_server_that_does_not_listen(self):
        listener = self.server()
        port = listener.getsockname()[1]
        listener.close()
        _, kind, last = run(cases.here(), "relay", peer="127.0.0.1", port=port)
        self.assertEqual((kind, last["error"], last["errno_number"]), ("E", "net", 111))
        for wrong in ({"peer": "nas", "port": 1}, {"peer": "127.0.0.1"}, {"port": 1}):
            _, kind, last = run(cases.here(), "relay", **wrong)
            self.assertEqual((kind, last["error"]), ("E", "request"), wrong)
