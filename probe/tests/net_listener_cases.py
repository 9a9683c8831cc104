"""What the listening end of the verb net does with an opening end that is not always a good one."""

import random
import secrets
import socket
import struct
import time
import unittest

import cases
from net_session import Net, Result

GREETING = struct.Struct(">4sBcH16s")


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


class Listener(unittest.TestCase):
    """This program is the opening end."""

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
