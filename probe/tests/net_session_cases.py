"""What must hold of a session of the verb net, however it is used and ended."""

import json
import os
import signal
import time
import unittest

import cases
from channel import frame
from net_cases import pair
from net_session import Net, Result


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
