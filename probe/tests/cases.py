"""What must hold of the builds that run here without an emulator."""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest

from channel import Channel, frame, request, run

# Where the probes are; set by check.py.
DIRECTORY = pathlib.Path()

MOST_RESIDENT_BYTES = 1_000_000
STAT, MEMINFO, DISKSTATS, NET_DEV, NET_SNMP, SOFTIRQS, LOADAVG = range(1, 8)


def program(kind="native"):
    return [str(DIRECTORY / kind / "plimsoll-probe")]


def here():
    """The size-limited build for this machine's own processor, else the native one."""
    small = program(os.uname().machine)
    return small if os.path.exists(small[0]) else program()


def parse_sample(body):
    """A sample as (begin, end, own processor time, sections)."""
    begin, end, cpu = struct.unpack_from(">QQQ", body)
    at, sections, last_place = 24, [], -1
    while at < len(body):
        number, flags, place, length = struct.unpack_from(">BBHI", body, at)
        assert place > last_place and flags in (0, 1), (flags, place)
        last_place = place
        at += 8
        assert at + length <= len(body), "a section longer than its sample"
        sections.append((number, body[at : at + length].decode()))
        at += length
    return begin, end, cpu, sections


def busy_and_idle_ticks(stat):
    fields = stat.split("\n", 1)[0].split()
    assert fields[0] == "cpu", stat[:80]
    return sum(map(int, fields[1:]))


def check_sample(test, command):
    """Samples lie between what this process reads before and after them."""
    def outside():
        with open("/proc/stat", encoding="ascii") as file:
            return time.monotonic_ns(), busy_and_idle_ticks(file.read())

    channel = Channel(command)
    before = outside()
    channel.send(request("sample", interval_ms=20, count=3))
    frames = list(channel.frames())
    after = outside()
    code, error = channel.end()
    test.assertEqual((code, error), (0, ""))
    test.assertEqual([kind for kind, _ in frames], ["R", "T", "T", "T", "D"])
    facts = json.loads(frames[0][1])
    test.assertEqual(facts["clock_ticks_per_second"], os.sysconf("SC_CLK_TCK"))
    test.assertEqual(facts["files"][0], {"section_number": STAT, "name": "/proc/stat"})
    last_end = before[0]
    ticks = before[1]
    for _, body in frames[1:4]:
        begin, end, cpu, sections = parse_sample(body)
        test.assertTrue(last_end <= begin <= end <= after[0], (last_end, begin, end, after[0]))
        test.assertGreater(cpu, 0)
        last_end = end
        numbers = [number for number, _ in sections]
        test.assertEqual(numbers, [file["section_number"] for file in facts["files"]])
        texts = dict(sections)
        now = busy_and_idle_ticks(texts[STAT])
        # Counters of idle time may step back by a tick or so a core (proc(5)).
        slack = 2 * os.cpu_count() + 2
        test.assertTrue(ticks - slack <= now <= after[1] + slack, (ticks, now, after[1]))
        ticks = now
        test.assertIn("MemTotal:", texts[MEMINFO])
        test.assertIn("lo:", texts[NET_DEV])
        test.assertRegex(texts[LOADAVG], r"^\d+\.\d\d ")
    return facts


def resident_peak_bytes(pid):
    """The kernel's peak counter lags behind by some pages a core; the sum over the maps does not."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        peak = int(re.search(r"VmHWM:\s*(\d+) kB", file.read())[1])
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        now = int(re.search(r"Rss:\s*(\d+) kB", file.read())[1])
    return max(peak, now) * 1024


class Verbs(unittest.TestCase):
    def check_done(self, command, verb, **settings):
        results, kind, last = run(command, verb, **settings)
        self.assertEqual((kind, last.get("status")), ("D", "done"), last)
        return results

    def test_selftest_with_sanitizers(self):
        for kind in ("native", "sanitized"):
            result = self.check_done(program(kind), "selftest")[0]
            self.assertTrue(result["crypto_vectors_good"] and result["cpu_rounds_good"], result)

    def test_sample_beside_proc(self):
        for kind in ("native", "sanitized"):
            check_sample(self, program(kind))

    def test_stat_keeps_all_but_the_list_of_interrupts(self):
        channel = Channel(here())
        channel.send(request("sample", interval_ms=10, count=1))
        body = [body for kind, body in channel.frames() if kind == "T"][0]
        channel.end()
        told = dict(parse_sample(body)[3])[STAT]
        names = lambda text: [line.split()[0] for line in text.splitlines()]
        self.assertEqual(names(told), names(pathlib.Path("/proc/stat").read_text()))
        self.assertRegex(told, r"\nintr \d+\n")

    def test_samples_come_when_asked_for(self):
        for kind in ("native", "sanitized"):
            channel = Channel(program(kind))
            channel.send(request("sample", interval_ms=0, count=5))
            facts, told = channel.receive()
            self.assertEqual((facts, json.loads(told)["interval_ms"]), ("R", 0))
            with self.assertRaises(TimeoutError):
                channel.receive(0.3)
            last_end = 0
            for _ in range(2):
                asked = time.monotonic_ns()
                channel.send(frame("T"))
                kind, body = channel.receive()
                begin, end, _, sections = parse_sample(body)
                self.assertEqual((kind, sections[0][0]), ("T", STAT))
                self.assertTrue(asked <= begin <= end <= time.monotonic_ns())
            # Asked three times at once, a clock between: answered in order.
            channel.send(frame("T") + frame("T") + frame("C", b"between") + frame("T"))
            got = list(channel.frames())
            self.assertEqual([kind for kind, _ in got], ["T", "T", "C", "T", "D"])
            for body in (got[0][1], got[1][1], got[3][1]):
                begin, end, _, _ = parse_sample(body)
                self.assertTrue(last_end <= begin <= end)
                last_end = end
            self.assertEqual(json.loads(got[4][1])["status"], "done")
            self.assertEqual(channel.end(), (0, ""))

    def test_a_sample_may_be_asked_for_between_others(self):
        channel = Channel(here())
        channel.send(request("sample", interval_ms=3600000))
        self.assertEqual([channel.receive()[0] for _ in range(2)], ["R", "T"])
        channel.send(frame("T"))
        self.assertEqual(channel.receive()[0], "T")
        channel.close_input()
        self.assertEqual(channel.end()[0], 3)

    def test_sample_stays_small_and_answers_clocks(self):
        channel = Channel(here())
        channel.send(request("sample", interval_ms=10))
        seen = []
        while seen.count("T") < 20:
            kind, body = channel.receive()
            seen.append(kind)
            if seen.count("T") == 5 and kind == "T":
                sent = time.monotonic_ns()
                channel.send(frame("C", b"question"))
            if kind == "C":
                self.assertEqual(body[:8], b"question")
                told = struct.unpack(">Q", body[8:])[0]
                self.assertTrue(sent <= told <= time.monotonic_ns())
        self.assertEqual(seen.count("C"), 1)
        peak = resident_peak_bytes(channel.process.pid)
        self.assertGreater(peak, 0)
        self.assertLessEqual(peak, MOST_RESIDENT_BYTES)
        channel.send(frame("S"))
        ends = [json.loads(body) for kind, body in channel.frames() if kind == "D"]
        self.assertEqual(ends[0]["status"], "stopped")
        self.assertEqual(channel.end(), (0, ""))

    def test_inventory(self):
        with tempfile.TemporaryDirectory() as directory:
            for command in (here(), program("sanitized")):
                results, _, last = run(command, "inventory", path=[directory, "/no/such/path"])
                found = {}
                for result in results:
                    found.setdefault(result["section"], []).append(result)
                self.assertEqual(found["kernel"][0]["release"], os.uname().release)
                meminfo = pathlib.Path("/proc/meminfo").read_text()
                total = int(re.search(r"MemTotal:\s*(\d+) kB", meminfo)[1]) * 1024
                self.assertEqual(found["memory"][0]["total_bytes"], total)
                nics = {nic["name"]: nic for nic in found["nics"][0]["nics"]}
                self.assertEqual(set(nics), set(os.listdir("/sys/class/net")) - {"bonding_masters"})
                for name, nic in nics.items():
                    mtu = pathlib.Path(f"/sys/class/net/{name}/mtu").read_text()
                    self.assertEqual(nic["mtu_bytes"], int(mtu))
                here_path, nowhere = found["path"]
                space = os.statvfs(directory)
                self.assertEqual(here_path["size_bytes"], space.f_blocks * space.f_frsize)
                self.assertEqual(here_path["real_path"], os.path.realpath(directory))
                self.assertTrue(here_path["file_system"], here_path)
                self.assertEqual(nowhere["errno_number"], 2)
                if command == here():
                    for peak in (last, found["worker"][0]):
                        self.assertGreater(peak["resident_peak_bytes"], 0)
                        self.assertLessEqual(peak["resident_peak_bytes"], MOST_RESIDENT_BYTES)

    def test_every_number_has_its_unit(self):
        units = ("_bytes", "_count", "_ns", "_ps", "_hertz", "_per_second", "_number", "_bits",
                 "_seconds", "_packets", "_us", "_ms")

        def walk(value, key):
            if isinstance(value, dict):
                for inner, item in value.items():
                    walk(item, inner)
            elif isinstance(value, list):
                for item in value:
                    walk(item, key)
            elif isinstance(value, int) and not isinstance(value, bool):
                self.assertTrue(key.endswith(units), f"{key} = {value} has no unit")

        for verb, settings in [
            ("inventory", {"path": "/"}), ("cpu", {"duration_ms": 10}),
            ("clock_call", {"duration_ms": 10}), ("memory", {"limit_bytes": 1 << 20}), ("crypto", {"duration_ms": 1}),
        ]:
            results, _, last = run(here(), verb, **settings)
            walk([results, last], verb)

    def test_cpu(self):
        results = self.check_done(here(), "cpu", duration_ms=20)
        cores = [r for r in results if r["section"] == "cpu_core"]
        every = [r for r in results if r["section"] == "cpu_all"][0]
        self.assertEqual({r["core_number"] for r in cores}, os.sched_getaffinity(0))
        self.assertEqual(every["processes_count"], len(cores))
        for score in [*cores, every]:
            self.assertGreater(score["rounds_count"], 0)
            self.assertEqual(score["wrong_rounds_count"], 0)

    def test_clock_call(self):
        for kind in ("native", "sanitized"):
            for clock in ("monotonic", "realtime", "process_cpu"):
                results = self.check_done(program(kind), "clock_call", clock=clock, duration_ms=20)
                cores = [r for r in results if r["section"] == "clock_core"]
                self.assertEqual({r["core_number"] for r in cores}, os.sched_getaffinity(0))
                for core in cores:
                    for key in ("calls_count", "call_ps", "system_calls_count", "system_call_ps"):
                        self.assertGreater(core[key], 0)
        _, kind, last = run(here(), "clock_call", clock="wall")
        self.assertEqual((kind, last["error"], last["on"]), ("E", "request", "clock"))

    def test_call(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "file")
            for kind in ("native", "sanitized"):
                for call in range(5):
                    where = {"peer": "127.0.0.1"} if call in (0, 4) else {"path": path}
                    results = self.check_done(program(kind), "call", call=call, calls_count=3,
                                              payload_bytes=1450, **where)
                    times = [r for r in results if r["section"] == "call"][0]["elapsed_ns"]
                    self.assertEqual(len(times), 6)
                    self.assertGreater(min(times), 0)
                    self.assertEqual(os.listdir(directory), [])
        for settings, on in (({}, "peer"), ({"peer": "nas"}, "peer"), ({"call": 5}, "call")):
            _, kind, last = run(here(), "call", **settings)
            self.assertEqual((kind, last["error"], last["on"]), ("E", "request", on))
        _, kind, last = run(here(), "call", call=1, path="/no/such/file")
        self.assertEqual((kind, last["error"], last["errno_number"]), ("E", "call", 2))

    def test_memory(self):
        for kind in ("native", "sanitized"):
            results = self.check_done(program(kind), "memory", limit_bytes=3 << 20)
            streams = [r for r in results if r["section"] == "memory_stream"]
            chases = [r for r in results if r["section"] == "memory_latency"]
            self.assertEqual(streams[-1]["place"], "memory")
            for result in streams + chases:
                self.assertTrue(result["verified"], result)
                self.assertLessEqual(result["working_set_bytes"], 3 << 20)
            for result in streams:
                for kernel in ("copy", "scale", "add", "triad", "checksum"):
                    self.assertGreater(result[f"{kernel}_bytes_per_second"], 0)

    def test_crypto(self):
        for kind in ("native", "sanitized"):
            results = self.check_done(program(kind), "crypto", duration_ms=1, message_bytes=1024)
            found = [r for r in results if r["section"] == "crypto_algorithm"]
            self.assertEqual(
                [r["algorithm"] for r in found],
                ["aes-128-gcm", "aes-256-gcm", "aes-128-xts", "aes-256-xts",
                 "chacha20-poly1305", "sha256"],
            )
            for result in found:
                self.assertIn(result["implementation"], ("kernel", "portable"))
                self.assertTrue(result["verified"] and result["bytes_per_second"] > 0, result)


class Disk(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(dir=os.environ.get("TMPDIR", "/var/tmp"))
        self.addCleanup(shutil.rmtree, self.directory)

    def assert_nothing_left(self):
        until = time.monotonic() + 10
        while os.listdir(self.directory) and time.monotonic() < until:
            time.sleep(0.01)
        self.assertEqual(os.listdir(self.directory), [])

    def start(self, command=None):
        """A disk channel that is in the middle of its work."""
        channel = Channel(command or here())
        channel.send(request("disk", path=self.directory, size_bytes=8 << 20, duration_ms=60000))
        self.assertEqual(channel.receive()[0], "R")
        self.assertEqual(len(os.listdir(self.directory)), 1)
        return channel

    def test_phases(self):
        for kind in ("native", "sanitized"):
            results, end, last = run(program(kind), "disk", path=self.directory,
                                     size_bytes=2 << 20, duration_ms=50)
            self.assertEqual(end, "D", last)
            phases = [r for r in results if r["section"] == "disk_phase"]
            self.assertEqual(
                [r["phase"] for r in phases],
                ["sequential_write", "sequential_read", "random_read", "random_write", "fsync"],
            )
            for phase in phases:
                self.assertGreater(phase["operations_count"], 0)
                self.assertEqual(phase.get("wrong_blocks_count", 0), 0)
                self.assertEqual(phase["bytes_count"],
                                 phase["operations_count"] * phase["block_bytes"])
            self.assert_nothing_left()

    def test_signals_leave_no_file(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL):
            channel = self.start()
            channel.process.send_signal(number)
            code, _ = channel.end()
            self.assertEqual(code, -9 if number == signal.SIGKILL else 3)
            self.assert_nothing_left()

    def test_closed_input_leaves_no_file(self):
        channel = self.start()
        channel.close_input()
        self.assertEqual(channel.end()[0], 3)
        self.assert_nothing_left()

    def test_output_that_nobody_reads_leaves_no_file(self):
        channel = self.start()
        channel.process.stdout.close()
        channel.send(frame("C", b"question"))
        channel.process.wait(20)
        self.assert_nothing_left()
        channel.process.stdin.close()
        channel.process.stderr.close()

    def test_stop_and_limit(self):
        channel = self.start()
        channel.send(frame("S"))
        last = list(channel.frames())[-1]
        self.assertEqual(json.loads(last[1])["status"], "stopped")
        self.assertEqual(channel.end()[0], 0)
        self.assert_nothing_left()
        _, kind, last = run(here(), "disk", path=self.directory, size_bytes=1 << 20,
                            duration_ms=60000, limit_seconds=1)
        self.assertEqual((kind, last["status"]), ("D", "limit"))
        self.assert_nothing_left()

    def test_refusals(self):
        for settings, error in [
            ({}, "request"),
            ({"path": "relative"}, "request"),
            ({"path": self.directory, "size_bytes": 12}, "request"),
            ({"path": self.directory + "/none"}, "disk"),
            ({"path": self.directory, "size_bytes": 1 << 40}, "space"),
            ({"path": "/proc"}, "space"),
        ]:
            _, kind, last = run(here(), "disk", **settings)
            self.assertEqual((kind, last["error"]), ("E", error), settings)
            self.assertTrue(last["tried"] and last["happened"], last)
        self.assert_nothing_left()


class HostileInput(unittest.TestCase):
    def answer(self, data, command=None):
        channel = Channel(command or program("sanitized"))
        channel.send(data)
        frames = list(channel.frames(20))
        code, error = channel.end()
        self.assertEqual(error, "")
        return frames, code

    def assert_refused(self, data, error):
        frames, code = self.answer(data)
        self.assertEqual([kind for kind, _ in frames], ["E"], data[:80])
        told = json.loads(frames[0][1])
        self.assertEqual((told["error"], code), (error, 1), told)
        return told

    def test_garbage(self):
        chance = random.Random(5)
        self.assert_refused(b"GET / HTTP/1.1\r\n\r\n", "frame")
        self.assert_refused(b"\0", "frame")
        for _ in range(50):
            self.assert_refused(b"X" + chance.randbytes(200), "frame")

    def test_other_version(self):
        for version in (0, 2, 255):
            told = self.assert_refused(frame("Q", "cpu\n", version=version), "version")
            self.assertIn(f"version {version},", told["happened"])
            self.assertIn("version 1", told["happened"])

    def test_lengths(self):
        for length in (4097, 65536, 0x7FFFFFFF, 0xFFFFFFFF):
            self.assert_refused(frame("Q", "cpu\n", length=length), "frame")
        self.assert_refused(frame("Q", ""), "request")
        self.assert_refused(frame("Q", "x" * 4096), "request")

    def test_headers(self):
        self.assert_refused(frame("Q", "cpu\n", magic=b"PLMT"), "frame")
        self.assert_refused(frame("Q", "cpu\n", reserved=1), "frame")
        self.assert_refused(frame("Z", "cpu\n"), "frame")
        self.assert_refused(frame("S"), "frame")
        self.assert_refused(frame("T"), "frame")

    def test_requests(self):
        for body in ("nothing\n", "cpu\nduration_ms=1\n", "cpu\nduration_ms=\n",
                     "cpu\nduration_ms=-5\n", "cpu\nduration_ms=99999999999999999999999\n",
                     "cpu\nduration_ms=10\nduration_ms=10\n", "cpu\npath=/\n", "cpu\n=\n", "cpu\nx\n",
                     "cpu", "cpu\n\n", "\n", "C P U\n", "sample\ninterval_ms=9\n",
                     "sample\ninterval_ms=00\n", "sample\ninterval_ms=0\ncount=0\n",
                     "crypto\nimplementation=best\n", "cpu\nlimit_seconds=0\n",
                     "cpu\n" + "".join(f"k{i}=1\n" for i in range(40)), "cpu\n\0\n"):
            self.assert_refused(frame("Q", body), "request")

    def test_rubbish_in_the_middle_of_a_verb(self):
        for verb in (request("sample", interval_ms=10), request("cpu", duration_ms=60000)):
            for rubbish, error in ((b"rubbish!", "frame"), (frame("T", "now"), "frame"),
                                   (frame("Q", "cpu\n", version=7), "version")):
                channel = Channel(program("sanitized"))
                channel.send(verb)
                channel.receive()
                channel.send(rubbish)
                last = list(channel.frames(20))[-1]
                self.assertEqual((last[0], json.loads(last[1])["error"]), ("E", error))
                self.assertEqual(channel.end(), (1, ""))

    def test_closed_input(self):
        for data in (b"", b"PL", frame("Q", "cpu\n")[:-2]):
            channel = Channel(program("sanitized"))
            channel.send(data)
            channel.close_input()
            self.assertEqual(list(channel.frames(20)), [])
            self.assertEqual(channel.end(), (3, ""))
        for verb in (request("sample", interval_ms=3600000), request("cpu", duration_ms=60000),
                     request("memory"), request("crypto", duration_ms=60000)):
            channel = Channel(here())
            channel.send(verb)
            channel.receive()
            group = children(channel.process.pid)
            channel.close_input()
            self.assertEqual(channel.end()[0], 3)
            until = time.monotonic() + 5
            while any(map(alive, group)) and time.monotonic() < until:
                time.sleep(0.01)
            self.assertFalse(any(map(alive, group)), "a child outlived the probe")

    def test_one_byte_at_a_time(self):
        channel = Channel(program("sanitized"))
        for byte in request("selftest"):
            channel.send(bytes([byte]))
        self.assertEqual([kind for kind, _ in channel.frames()], ["R", "R", "D"])
        self.assertEqual(channel.end(), (0, ""))

    def test_random_sessions(self):
        chance = random.Random(11)
        good = request("selftest") + frame("S") + request("inventory", path="/")
        for _ in range(60):
            data = bytearray(good)
            for _ in range(chance.randrange(1, 6)):
                data[chance.randrange(len(data))] = chance.randrange(256)
            channel = Channel(program("sanitized"))
            channel.send(bytes(data[: chance.randrange(1, len(data))]))
            channel.close_input()
            for _ in channel.frames(30):
                pass
            code, error = channel.end()
            self.assertIn(code, (0, 1, 3), error)
            self.assertEqual(error, "")


def children(pid):
    """All processes below this one."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                text = pathlib.Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue
            if int(text.rsplit(")", 1)[1].split()[1]) == pid:
                found += [int(entry), *children(int(entry))]
    return found


def alive(pid):
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rsplit(")", 1)[1].split()[0] != "Z"


class CommandLine(unittest.TestCase):
    def test_remove_self(self):
        with tempfile.TemporaryDirectory() as directory:
            copy = shutil.copy(here()[0], directory)
            other = os.path.join(directory, "link")
            os.symlink(copy, other)
            channel = Channel([other, "--remove-self"])
            channel.send(request("selftest"))
            self.assertEqual([kind for kind, _ in channel.frames()][-1], "D")
            channel.end()
            self.assertEqual(os.listdir(directory), ["link"])

    def test_words(self):
        said = subprocess.run([*here(), "--version"], capture_output=True, check=True)
        self.assertRegex(said.stdout.decode(), r"^plimsoll-probe \d+\.\d+\.\d+\n$")
        said = subprocess.run([*here(), "--nonsense"], capture_output=True, check=False)
        self.assertEqual((said.returncode, said.stdout), (2, b""))
        self.assertIn(b"usage:", said.stderr)
