"""What must hold of the verb relay."""

import json
import random
import socket
import unittest

import cases
from channel import Channel, frame, request, run


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
