"""Sessions of the verb net, as a driver has them."""

import json
import secrets
import select
import socket
import threading
import time

from channel import Channel, frame, request


class Net:
    """A session. Sections are kept in the order in which they came."""

    def __init__(self, command, inside=(), **settings):
        self.channel = Channel([*inside, *command])
        self.ended = None
        self.channel.send(request("net", **settings))
        kind, body = self.channel.receive()
        assert kind == "R", (kind, body)
        self.facts = json.loads(body)

    def begin(self, job, **settings):
        lines = [job, *(f"{key}={value}" for key, value in settings.items())]
        self.channel.send(frame("N", "".join(line + "\n" for line in lines)))

    def cancel(self):
        self.channel.send(frame("N", "cancel\n"))

    def section(self, seconds=30):
        """The next result."""
        got = self.channel.receive(seconds)
        assert got is not None and got[0] == "R", got
        return json.loads(got[1])

    def until(self, name, seconds=30):
        """The results up to the first of that section."""
        found = []
        end = time.monotonic() + seconds
        while not found or found[-1]["section"] != name:
            found.append(self.section(max(0.1, end - time.monotonic())))
            assert found[-1]["section"] != "net_end" or name == "net_end", found
        return found

    def close(self):
        """Ends the session; the exit code and what was on standard error."""
        self.channel.send(frame("S"))
        for _ in self.channel.frames(20):
            pass
        return self.end()

    def end(self):
        """Waits for the process, however it ends: the exit code and what was on standard error."""
        if self.ended is None:
            self.ended = self.channel.end()
        return self.ended

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.close_input()
        self.end()


class Result:
    """What one end reported of a trial."""

    def __init__(self, sections):
        self.sections = sections
        self.end = sections[-1]
        self.failed = next((s for s in sections if s["section"] == "net_failed"), None)
        self.streams = [s for s in sections if s["section"] == "net_stream"]
        self.intervals, self.segments = {}, {}
        for s in sections:
            kept = {"net_intervals": self.intervals, "net_segments": self.segments}
            if s["section"] in kept:
                rows = kept[s["section"]].setdefault(s["stream_number"], [])
                rows += [dict(zip(s["columns"], row)) for row in s["rows"]]

    def sum(self, key):
        return sum(stream[key] for stream in self.streams)


OTHER = {"send": "receive", "receive": "send", "both": "both", "request": "respond",
         "connect": "accept"}


def trial(opener, listener, job, address="127.0.0.1", opener_address=None, only=None, number=1,
          seconds=30, **settings):
    """A whole trial: `job` is what the opening end does. Returns the results of both."""
    settings = {"token": secrets.token_hex(16), "trial": number, **settings}
    listener_only = (only or {}).get("listener", {})
    opener_only = (only or {}).get("opener", {})
    listener.begin(OTHER[job], open="listen", peer=opener_address or address,
                   **{**settings, **listener_only})
    said = listener.until("net_listening")[-1]
    opener.begin(job, open="connect", peer=address,
                 **{**settings, "port": said["port_number"], **opener_only})
    ends = []
    for session in (opener, listener):
        ends.append(Result(session.until("net_end", seconds)))
    return ends


class Delay:
    """A TCP connection to a local port, whose bytes take so many seconds longer in each direction."""

    def __init__(self, port, seconds):
        self.port_behind, self.seconds = port, seconds
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self.run, daemon=True)

    def run(self):
        near, _ = self.socket.accept()
        far = socket.create_connection(("127.0.0.1", self.port_behind))
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        waiting, open_ends = [], {near: far, far: near}
        while open_ends or waiting:
            pause = max(0.0, waiting[0][0] - time.monotonic()) if waiting else 1.0
            for end in select.select(list(open_ends), [], [], pause)[0]:
                try:
                    got = end.recv(65536)
                except OSError:
                    got = b""
                waiting.append((time.monotonic() + self.seconds, open_ends[end], got))
                if not got:
                    del open_ends[end]
            while waiting and waiting[0][0] <= time.monotonic():
                _, end, got = waiting.pop(0)
                try:
                    end.sendall(got) if got else end.shutdown(socket.SHUT_WR)
                except OSError:
                    pass  # It has gone.
        near.close()
        far.close()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.thread.join(10)
