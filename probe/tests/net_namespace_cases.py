"""What must hold of the verb net on a link that loses, holds up and goes away."""

import json
import os
import shutil
import subprocess
import time
import unittest

from net_cases import pair
from net_session import Result, trial


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
        for address, other in (("10.9.8.2", "10.9.8.1"), ("fd00:9::2", "fd00:9::1")):
            sender, receiver = trial(*self.ends, "both", address, other, bytes=1 << 20, streams=2)
            self.assertEqual([s["total_bytes"] for end in (sender, receiver) for s in end.streams],
                             [1 << 20] * 8)
            sender, receiver = trial(*self.ends, "receive", address, other, transport="udp",
                                     packets=500, packets_per_second=5000, payload_bytes=1200,
                                     streams=3, call="mmsg")
            self.assertEqual([s["received_count"] for s in sender.streams], [500] * 3)
            self.assertEqual([s["lost_count"] for s in sender.streams], [0] * 3)

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
