#!/usr/bin/env python3
"""Counts the instructions that a sample takes, the kernel's included: instructions.py PROBE KERNEL

QEMU gives a machine of one core a clock that advances by a nanosecond an instruction (`-icount
shift=0`), so the processor time that the probe tells of itself in each sample, in nanoseconds, is
the number of instructions since its start. KERNEL is a Linux for x86_64 with a serial console.
"""

import base64
import gzip
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import cases
from channel import HEADER, request

SAMPLES = 100
LIMIT_SECONDS = 300
INIT = """#!/bin/busybox sh
/bin/busybox mkdir /proc /sys /tmp
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t sysfs sys /sys
{ /bin/busybox cat /request; exec /bin/busybox sleep 60; } | /probe >/tmp/said
echo; echo BEGIN
/bin/busybox gzip -c /tmp/said | /bin/busybox base64
echo END
exec /bin/busybox poweroff -f
"""


def archive(files):
    """A file system for the kernel to begin with (cpio, newc): (name, mode, content)."""
    out = b""
    for number, (name, mode, content) in enumerate([*files, ("TRAILER!!!", 0, b"")], 1):
        fields = [number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name) + 1, 0]
        out += b"070701" + b"".join(b"%08X" % field for field in fields) + name.encode() + b"\0"
        out += b"\0" * (-len(out) % 4) + content
        out += b"\0" * (-len(out) % 4)
    return out


def machine(kernel, initrd):
    """What the machine writes to its console."""
    command = ["qemu-system-x86_64", "-nodefaults", "-display", "none", "-no-reboot", "-m", "256"]
    command += ["-accel", "tcg", "-icount", "shift=0,sleep=off", "-serial", "stdio"]
    command += ["-kernel", kernel, "-initrd", initrd, "-append", "console=ttyS0 quiet panic=-1"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_SECONDS)
    return done.stdout.decode(errors="replace").replace("\r", "")


def own_times(said):
    """The probe's own processor time in each of its samples, in ns."""
    while len(said) >= HEADER.size:
        _, _, kind, _, length = HEADER.unpack_from(said)
        if chr(kind) == "T":
            yield cases.parse_sample(said[HEADER.size : HEADER.size + length])[2]
        said = said[HEADER.size + length :]


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: instructions.py PROBE KERNEL")
    probe, kernel = sys.argv[1:]
    busybox = shutil.which("busybox") or sys.exit("busybox is missing: install busybox-static")
    files = [(name, 0o40755, b"") for name in ("bin", "dev")]
    for name, path in [("bin/busybox", busybox), ("probe", probe)]:
        with open(path, "rb") as program:
            files.append((name, 0o100755, program.read()))
    files.append(("init", 0o100755, INIT.encode()))
    files.append(("request", 0o100644, request("sample", interval_ms=10, count=SAMPLES)))
    with tempfile.TemporaryDirectory() as place:
        initrd = os.path.join(place, "initrd")
        with open(initrd, "wb") as file:
            file.write(archive(files))
        console = machine(kernel, initrd)
    if "BEGIN" not in console or "END" not in console:
        sys.exit(f"the machine did not come to its end; its console:\n{console[-2000:]}")
    text = console.split("BEGIN\n")[-1].split("END")[0]
    times = list(own_times(gzip.decompress(base64.b64decode(text))))
    each = [after - before for before, after in zip(times, times[1:])]
    if len(times) != SAMPLES:
        sys.exit(f"{len(times)} samples of {SAMPLES}")
    print(f"instructions a sample, {SAMPLES} samples: median {statistics.median(each):.0f}, ", end="")
    print(f"least {min(each)}, most {max(each)}; goal 2000000")


if __name__ == "__main__":
    main()
