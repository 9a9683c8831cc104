#!/usr/bin/env python3
"""Runs all tests of the workspace: scripts/tests.py [--properties] [TARGET...]

Most tests wait most of the time, for servers, time limits and other processes. So test targets run
side by side, those that take longest first. Those that do nothing but wait, for time limits, reboots and kills at
chosen moments, have lanes of their own beside the others. Targets that compare the machine's counters, or all packets of
a link, with their own traffic run alone, at the end; so does the search of a rate, whose trials do not count where the
sender is late.

Tests that take long do all that they can do: they are asked for it by the name `time` in PLIMSOLL_REQUIRE. cargo
test alone does a part of them.

Properties use one fixed seed, which is printed: the same commit passes or fails the same way each
time. PROPTEST_RNG_SEED sets another seed. With --properties only the targets that have properties run,
with a fresh seed: `make fuzz` does so.

A test that starts servers, labs, browsers or other programs can fail because the machine is starved.
Such a test runs once more, alone, after all others. If it passes then, it is listed as flaky in the
last lines, with its first failure. A pure test is never run twice: its failure is a defect.
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ALONE = ["watch", "wire", "net_via"]
# Those that take longest, the longest first: whatever begins last, the whole run waits for. All others take less.
LONGEST = [
    "swap", "crash", "check_smb", "check_on", "device", "servers", "simulate", "check", "knobs", "deadlines", "net",
    "play", "ops", "lab", "explain", "healing", "settings", "net_routed", "journal", "clients", "check_hosts", "resume",
    "run", "reboot", "lib", "stalls", "reach", "check_nfs", "copy", "net_ends", "demo", "lying", "jobs", "pipeline",
    "run_subjects", "iperf3", "names", "bad_input", "samba_pipeline", "scale", "transfers", "conduct", "nfs4", "browser",
]  # fmt: skip
# They wait nearly all of their time.
WAITING = ["deadlines", "healing", "reboot"]
SEED_VARIABLE = "PROPTEST_RNG_SEED"
REQUIRE_VARIABLE = "PLIMSOLL_REQUIRE"
THREADS_VARIABLE = "RUST_TEST_THREADS"
CARGO = ["cargo", "test", "--workspace", "--locked", "--quiet"]

# A source that names one of these starts programs or talks to a server over a socket.
STARTS_PROGRAMS = re.compile(
    r"testkit|\bCommand\b|assert_cmd|responder|\bTcp(Listener|Stream)\b|\bUdpSocket\b|mod support"
)
FAILED_TEST = re.compile(r"^    (\S+)$", re.MULTILINE)
PANIC = r"^---- {} stdout ----\n(?:.*\n)*?(thread '.*panicked at .*\n.*)"
# The harness prints its dots without a line end, so a skip can follow them on one line.
SHOWN_OF_A_PASS = re.compile(r"SKIPPED .*|^test result: .* [1-9]\d* ignored.*", re.MULTILINE)


@dataclass
class Target:
    """Test targets of one name, of all packages: cargo runs them together."""

    flags: list[str]
    source_bytes: int = 0
    starts_programs: bool = False
    has_properties: bool = False

    @property
    def name(self) -> str:
        return self.flags[-1].lstrip("-")


@dataclass
class Outcome:
    target: Target
    passed: bool
    log: str
    seconds: float
    cpu_seconds: float
    tests: list[str]


def targets() -> list[Target]:
    """All test targets: those that take longest first, then the largest sources; documentation tests last."""
    metadata = subprocess.run(
        ["cargo", "metadata", "--no-deps", "--locked", "--format-version", "1"],
        check=True,
        stdout=subprocess.PIPE,
    )
    named: dict[str, Target] = {}
    for package in json.loads(metadata.stdout)["packages"]:
        for each in package["targets"]:
            # Experiments are no tests: they are built where one is run.
            if each["kind"] != ["test"] or not each.get("test", True):
                continue
            target = named.setdefault(each["name"], Target(["--test", each["name"]]))
            root = Path(each["src_path"])
            target.source_bytes += root.stat().st_size
            for source in [root, *root.with_suffix("").rglob("*.rs")]:
                text = source.read_text()
                target.starts_programs |= bool(STARTS_PROGRAMS.search(text))
                target.has_properties |= "proptest" in text
    by_size = sorted(named.values(), key=lambda target: target.source_bytes, reverse=True)
    units = [Target([flag], has_properties=True) for flag in ("--lib", "--bins")]
    everything = by_size + units + [Target(["--doc"])]
    return sorted(everything, key=lambda target: place(target.name, LONGEST))


def place(name: str, names: list[str]) -> int:
    """Where a name stands in a list: after its end if it is not in it."""
    return names.index(name) if name in names else len(names)


def run(target: Target, test: str | None = None) -> Outcome:
    """Runs a target, or one test of it."""
    begun = time.monotonic()
    only = ["--", "--exact", test] if test else []
    child = subprocess.Popen(
        CARGO + ["--no-fail-fast"] + target.flags + only,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    with child.stdout as output:
        log = output.read()
    # Of all that it started and waited for.
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    passed = child.returncode == 0
    tests = [] if passed else failed_tests(log)
    cpu = used.ru_utime + used.ru_stime
    return Outcome(target, passed, log, time.monotonic() - begun, cpu, tests)


def failed_tests(log: str) -> list[str]:
    """Names in the lists that the test harness prints at its end, one list for each program."""
    names: list[str] = []
    for part in log.split("\nfailures:\n")[1:]:
        listed = re.match(r"(?:    \S+\n)+", part)
        if listed:
            names += FAILED_TEST.findall(listed.group())
    return list(dict.fromkeys(names))


def first_failure(log: str, test: str) -> str:
    found = re.search(PANIC.format(re.escape(test)), log, re.MULTILINE)
    text = found.group(1) if found else next((l for l in log.splitlines() if "error" in l), "no message")
    return " ".join(text.split())[:400]


def report(outcome: Outcome) -> None:
    flags = " ".join(outcome.target.flags)
    if outcome.passed:
        print(f"passed in {outcome.seconds:.0f} s ({outcome.cpu_seconds:.0f} s of CPU time): {flags}")
        for line in SHOWN_OF_A_PASS.findall(outcome.log):
            print(line)
    else:
        print(outcome.log)
        print(f"FAILED after {outcome.seconds:.0f} s: {flags}")
    sys.stdout.flush()


def run_again(first: Outcome) -> tuple[list[str], list[str]]:
    """Runs the failed tests of a target once more, alone: (flaky, failed). A pure target has no second run."""
    flags = " ".join(first.target.flags)
    if not first.target.starts_programs:
        return [], [f"{flags} {test}" for test in first.tests or ["(no test named)"]]
    flaky, failed = [], []
    # A target that died names no test, so the whole of it runs again.
    for test in first.tests or [None]:
        name = f"{flags} {test}" if test else flags
        print(f"running again, alone: {name}", flush=True)
        second = run(first.target, test)
        # A name that selects no test passes as well, and shows nothing.
        ran = not test or re.search(r"^test result: ok\. [1-9]", second.log, re.MULTILINE)
        if second.passed and ran:
            flaky.append(f"{name}: {first_failure(first.log, test or '')}")
        else:
            report(second)
            failed.append(f"{name} (twice)")
    return flaky, failed


def memory_directory() -> str | None:
    """A directory in memory for what tests write, where memory is plenty.

    Programs side by side would wait for one disk, and trials of a tenth of a second would get nothing
    done. Tests of disks name a place on one.
    """
    place = Path("/dev/shm")
    mount = subprocess.run(
        ["findmnt", "-no", "FSTYPE,OPTIONS", str(place)], stdout=subprocess.PIPE, text=True, check=False
    ).stdout
    available = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
    if (
        not mount.startswith("tmpfs")
        or "noexec" in mount
        or not os.access(place, os.W_OK)
        or shutil.disk_usage(place).free < 8 << 30
        or not available
        or int(available.group(1)) < 12 << 20
    ):
        return None
    directory = tempfile.mkdtemp(prefix="t.", dir=place)
    # Servers in the tests serve these files to users of their own, as below /tmp.
    os.chmod(directory, 0o1777)
    return directory


def fixed_seed() -> str:
    """The seed that cargo test has by itself."""
    settings = Path(".cargo/config.toml").read_text()
    return re.search(rf'^{SEED_VARIABLE} = "(\d+)"$', settings, re.MULTILINE).group(1)


def require_time() -> None:
    """Asks for all of the tests that take long, whatever else is asked for."""
    names = [name.strip() for name in os.environ.get(REQUIRE_VARIABLE, "").split(",")]
    if "all" not in names and "time" not in names:
        os.environ[REQUIRE_VARIABLE] = ",".join([*filter(None, names), "time"])


def run_all(chosen: list[Target]) -> list[Outcome]:
    """Runs the targets, reports each as it ends, and returns the failures."""
    together = [target for target in chosen if target.name not in ALONE]
    failures = []
    # Most wait half of their time; one more keeps the cores busy.
    lanes = (os.cpu_count() or 1) * 2 + 1
    with (
        concurrent.futures.ThreadPoolExecutor(lanes) as pool,
        concurrent.futures.ThreadPoolExecutor(len(WAITING)) as waiting,
    ):
        running = [
            (waiting if target.name in WAITING else pool).submit(run, target) for target in together
        ]
        ended = (each.result() for each in concurrent.futures.as_completed(running))
        alone = (run(target) for target in chosen if target not in together)
        for outcome in itertools.chain(ended, alone):
            report(outcome)
            failures += [] if outcome.passed else [outcome]
    return failures


def main() -> int:
    arguments = argparse.ArgumentParser(description="Runs the tests of the workspace.")
    arguments.add_argument("--properties", action="store_true", help="properties only, fresh seed")
    arguments.add_argument("target", nargs="*", help="name of a test target, or lib, bins, doc")
    asked = arguments.parse_args()
    os.chdir(Path(__file__).resolve().parent.parent)
    chosen = [
        target
        for target in targets()
        if (not asked.target or target.name in asked.target)
        and (target.has_properties or not asked.properties)
    ]
    if not chosen:
        print(f"no test target is named {' or '.join(asked.target)}", file=sys.stderr)
        return 2
    fresh = str(random.SystemRandom().getrandbits(63))
    require_time()
    # Targets run side by side here, so each has no more threads than there are cores.
    os.environ.setdefault(THREADS_VARIABLE, str(os.cpu_count() or 1))
    seed = os.environ.setdefault(SEED_VARIABLE, fresh if asked.properties else fixed_seed())
    subprocess.run(CARGO + ["--no-run"], check=True)
    print(f"seed of the properties: {SEED_VARIABLE}={seed}", flush=True)
    directory = memory_directory()
    if directory:
        os.environ["TMPDIR"] = directory
    try:
        outcomes = [run_again(failure) for failure in run_all(chosen)]
    finally:
        if directory:
            shutil.rmtree(directory, ignore_errors=True)
    failing = sum(bool(failed) for _, failed in outcomes)
    print(f"targets: {len(chosen) - failing} passed, {failing} failed")
    for line in itertools.chain(*(flaky for flaky, _ in outcomes)):
        print(f"FLAKY, passed when run again alone: {line}")
    for line in itertools.chain(*(failed for _, failed in outcomes)):
        print(f"FAILED: {line}")
    return 1 if failing else 0


if __name__ == "__main__":
    sys.exit(main())
