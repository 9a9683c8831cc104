#!/usr/bin/env python3
"""Reads a file by NFS 3 as a player does, and says how often and for how long it would have stalled.

    paced.py SERVER DIRECTORY FILE RATE BUFFER START SECONDS REQUEST

The same as paced.sh with the client of libnfs, for machines whose kernel has none: RATE in bytes per second, one request
of REQUEST bytes at a time while the buffer of BUFFER bytes has room, the film from START bytes on. The result is the
same line.
"""

import ctypes
import sys
import time

server, directory, file = (word.encode() for word in sys.argv[1:4])
rate, buffer, start, seconds, request = (float(word) for word in sys.argv[4:])
# Later versions of the library have another order of arguments.
nfs = ctypes.CDLL("libnfs.so.13")
nfs.nfs_init_context.restype = ctypes.c_void_p
nfs.nfs_get_error.restype = ctypes.c_char_p
context = ctypes.c_void_p(nfs.nfs_init_context())
handle = ctypes.c_void_p()
data = ctypes.create_string_buffer(int(request))


def checked(result: int) -> int:
    """What a call returned, unless it failed."""
    if result < 0:
        sys.exit(f"{file.decode()}: {nfs.nfs_get_error(context).decode()}")
    return result


checked(nfs.nfs_mount(context, server, directory))
checked(nfs.nfs_open(context, file, 0, ctypes.byref(handle)))
received = shown = 0.0
playing = False
stalls, longest, first, dry = 0, 0.0, -1.0, 0.0
begun = since = time.monotonic()


def advance() -> float:
    """Shows the film until now, or until the buffer is empty."""
    global shown, since, playing, dry
    now = time.monotonic()
    if playing:
        reached = shown + rate * (now - since)
        playing = reached <= received
        if not playing:
            dry = since + (received - shown) / rate
        shown = min(reached, received)
    since = now
    return now


while (now := advance()) < begun + seconds:
    missing = received - shown + request - buffer
    if playing and missing > 0:
        time.sleep(missing / rate + 0.001)
        continue
    size = ctypes.c_uint64(int(request))
    if checked(nfs.nfs_read(context, handle, size, data)) == 0:
        sys.exit(f"{file.decode()}: shorter than the film")
    received += request
    now = advance()
    if not playing and received - shown >= start:
        if first < 0:
            first = now - begun
        else:
            stalls, longest = stalls + 1, max(longest, now - dry)
        playing = True
# A stall that has not ended.
if not playing and first >= 0:
    stalls, longest = stalls + 1, max(longest, now - dry)
print(f"stalls {stalls} longest {100 * longest:.0f} first {100 * first:.0f}")
