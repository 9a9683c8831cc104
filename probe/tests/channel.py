"""The driver's side of the probe's protocol (README.md), in as little as the tests need."""

import json
import os
import select
import struct
import subprocess
import time

MAGIC = b"PLMS"
VERSION = 1
HEADER = struct.Struct(">4sBBHI")
LONGEST_BODY = 65536


def frame(kind, body=b"", version=VERSION, magic=MAGIC, reserved=0, length=None):
    """One frame; every field of the header can be made wrong."""
    if isinstance(body, str):
        body = body.encode()
    length = len(body) if length is None else length
    return HEADER.pack(magic, version, ord(kind), reserved, length) + body


def request(verb, **settings):
    """The frame that asks for a verb. A list is a key that comes several times."""
    lines = [verb]
    for key, value in settings.items():
        for one in value if isinstance(value, list) else [value]:
            lines.append(f"{key}={one}")
    return frame("Q", "".join(line + "\n" for line in lines))


class Channel:
    """A running probe."""

    def __init__(self, command, **options):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options
        )
        self.waiting = b""

    def send(self, data):
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def close_input(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass

    def receive(self, seconds=60):
        """The next frame as (kind, body), or None at the end of the output."""
        until = time.monotonic() + seconds
        while True:
            if len(self.waiting) >= HEADER.size:
                magic, version, kind, reserved, length = HEADER.unpack_from(self.waiting)
                assert (magic, version, reserved) == (MAGIC, VERSION, 0), self.waiting[:64]
                assert length <= LONGEST_BODY, length
                if len(self.waiting) >= HEADER.size + length:
                    body = self.waiting[HEADER.size : HEADER.size + length]
                    self.waiting = self.waiting[HEADER.size + length :]
                    return chr(kind), body
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise TimeoutError(f"no frame in {seconds} s; so far {self.waiting[:64]!r}")
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                assert self.waiting == b"", f"the output ends inside a frame: {self.waiting[:64]!r}"
                return None
            self.waiting += more

    def frames(self, seconds=60):
        """All frames up to the end of the output."""
        while (got := self.receive(seconds)) is not None:
            yield got

    def end(self, seconds=20):
        """Waits for the process; returns (exit code, standard error)."""
        try:
            self.process.wait(seconds)
        finally:
            self.process.kill()
            self.close_input()
        error = self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()
        self.process.wait()
        return self.process.returncode, error.decode(errors="replace")


def run(command, verb, seconds=120, **settings):
    """Runs a verb to its end. Returns (results, last frame's kind, last frame's object)."""
    channel = Channel(command)
    channel.send(request(verb, **settings))
    results, last = [], None
    for kind, body in channel.frames(seconds):
        if kind == "R":
            results.append(json.loads(body))
        elif kind in "ED":
            last = kind, json.loads(body)
    code, error = channel.end()
    assert error == "", error
    assert last is not None, f"{verb} ended without a last frame, exit code {code}"
    assert code == (0 if last[0] == "D" else 1), (code, last)
    return results, last[0], last[1]
