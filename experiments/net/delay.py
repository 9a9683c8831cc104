"""Delays every packet that a host forwards, where the kernel has no netem: delay.py MILLISECONDS INTERFACE INTERFACE.

Packets that come in from the two interfaces are routed to a tun device, wait here, and are routed on. Prints "ready".
"""

import collections
import fcntl
import os
import select
import struct
import subprocess
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
TABLE = "100"

delay = float(sys.argv[1]) / 1e3
wire = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
fcntl.ioctl(wire, TUNSETIFF, struct.pack("16sH", b"wire", IFF_TUN | IFF_NO_PI))
lines = ["link set wire up", f"route replace default dev wire table {TABLE}"]
for interface in sys.argv[2:]:
    rule = f"iif {interface} lookup {TABLE}"
    # The rules of an earlier delay are still there.
    subprocess.run(["ip", "rule", "del", *rule.split()], stderr=subprocess.DEVNULL)
    lines.append(f"rule add {rule}")
for line in lines:
    subprocess.run(["ip", *line.split()], check=True)
print("ready", flush=True)

waiting = collections.deque()
poll = select.poll()
poll.register(wire, select.POLLIN)
while True:
    pause = max(0.0, waiting[0][0] - time.monotonic()) if waiting else 1.0
    if poll.poll(1e3 * pause):
        try:
            while len(waiting) < 10000:
                waiting.append((time.monotonic() + delay, os.read(wire, 65536)))
        except BlockingIOError:
            pass
    while waiting and waiting[0][0] <= time.monotonic():
        try:
            os.write(wire, waiting.popleft()[1])
        except OSError:
            pass  # The device has no room: the packet is lost.
