#!/usr/bin/env python3
"""Black-box tests of the probe: check.py DIRECTORY MACHINE..., where `make probes` put them.

Each program must work on its machine (here, under qemu-user where it is another), keep to its size
and memory, refuse what is no request, and leave nothing behind.
"""

import os
import pathlib
import platform
import shutil
import sys
import unittest

import cases
import net_cases
import net_listener_cases
import net_namespace_cases
import net_session_cases
import relay_cases
from channel import run
from net_session import Net

MODULES = [cases, net_cases, net_listener_cases, net_session_cases, net_namespace_cases,
           relay_cases]
# Emulated processors: the least that each build must run on.
EMULATORS = {
    "mips": [["qemu-mips-static", "-cpu", "24Kc"], ["qemu-mips-static", "-cpu", "4Kc"]],
    "mipsel": [["qemu-mipsel-static", "-cpu", "24Kc"], ["qemu-mipsel-static", "-cpu", "4Kc"]],
    "armv6": [["qemu-arm-static", "-cpu", "arm1176"]],
    "armv7": [["qemu-arm-static", "-cpu", "cortex-a7"]],
    "aarch64": [["qemu-aarch64-static", "-cpu", "cortex-a53"]],
    "riscv64": [["qemu-riscv64-static", "-cpu", "rv64"]],
    "x86_64": [["qemu-x86_64-static"]],
    "i686": [["qemu-i386-static"]],
}
LONGEST_BYTES = 150_000


class Emulated(unittest.TestCase):
    """Every build under the emulator of its machine."""

    def check(self, machine, emulator):
        program = cases.DIRECTORY / machine / "plimsoll-probe"
        self.assertLessEqual(program.stat().st_size, LONGEST_BYTES, program)
        if shutil.which(emulator[0]) is None:
            if os.environ.get("PLIMSOLL_REQUIRE") == "all":
                self.fail(f"{emulator[0]} is missing: install qemu-user-static")
            self.skipTest(f"{emulator[0]} is missing")
        command = [*emulator, str(program)]
        results, kind, last = run(command, "selftest")
        self.assertEqual(kind, "D", last)
        self.assertTrue(all(v for k, v in results[0].items() if k.endswith("_good")), results)
        results, kind, last = run(command, "inventory", path="/tmp")
        self.assertEqual(kind, "D", last)
        sections = {result["section"]: result for result in results}
        big = machine == "mips"
        self.assertEqual(sections["probe"]["byte_order"], "big" if big else "little")
        self.assertEqual(sections["kernel"]["release"], platform.release())
        cases.check_sample(self, command)
        results, kind, last = run(command, "cpu", duration_ms=10, each_core=0)
        self.assertEqual(kind, "D", last)
        self.assertGreater(results[1]["rounds_count"], 0)
        self.assertEqual(results[1]["wrong_rounds_count"], 0)
        with Net(command) as there, Net(cases.here()) as other:
            net_cases.check_exact(self, there, other, rate=2000)


def add_emulated(machines):
    for machine in machines:
        for emulator in EMULATORS[machine]:
            name = "test_" + "_".join([machine, *emulator[2:]])
            setattr(Emulated, name, lambda self, m=machine, e=emulator: self.check(m, e))


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: check.py DIRECTORY MACHINE...")
    _, directory, *machines = sys.argv
    cases.DIRECTORY = pathlib.Path(directory)
    add_emulated(machines)
    loader, suite = unittest.TestLoader(), unittest.TestSuite()
    suite.addTests(loader.loadTestsFromTestCase(Emulated))
    for module in MODULES:
        suite.addTests(loader.loadTestsFromModule(module))
    sys.exit(not unittest.TextTestRunner(verbosity=1).run(suite).wasSuccessful())


if __name__ == "__main__":
    main()
