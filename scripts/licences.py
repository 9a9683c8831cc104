#!/usr/bin/env python3
"""Whether the licences and sources of all dependencies are those that deny.toml allows.

The first part of what `make lint` has cargo-deny look at, in a second and without a tool that takes
minutes to build: that is for every change, cargo-deny for those that touch dependencies.
"""

import json
import re
import subprocess
import sys
import tomllib

TARGET = "x86_64-unknown-linux-gnu"
COMMAND = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", TARGET]


def allows(expression, allowed):
    """Whether an SPDX expression can be satisfied by these licences; '/' is an old way to write OR."""
    words = re.findall(r"\(|\)|/|[^\s()/]+", expression)
    meaning = {"(": "(", ")": ")", "/": "or", "OR": "or", "AND": "and"}
    # What stands behind WITH only adds to what is permitted.
    kept = [w for n, w in enumerate(words) if w != "WITH" and (n == 0 or words[n - 1] != "WITH")]
    terms = [meaning.get(word) or str(word in allowed) for word in kept]
    return bool(terms) and eval(" ".join(terms), {"__builtins__": {}})


def main():
    with open("deny.toml", "rb") as file:
        allowed = set(tomllib.load(file)["licenses"]["allow"])
    metadata = json.loads(subprocess.run(COMMAND, check=True, stdout=subprocess.PIPE).stdout)
    used = {node["id"] for node in metadata["resolve"]["nodes"]}
    wrong = []
    packages = [package for package in metadata["packages"] if package["id"] in used]
    for package in packages:
        name = f'{package["name"]} {package["version"]}'
        if not allows(package["license"] or "", allowed):
            wrong.append(f'{name}: its licence is {package["license"] or "not said"}')
        if package["source"] and not package["source"].startswith("registry+"):
            wrong.append(f'{name}: it comes from {package["source"]}')
    print(*wrong, sep="\n", end="\n" if wrong else "", file=sys.stderr)
    if wrong:
        sys.exit("Dependencies that deny.toml does not allow: see above.")
    print(f"{len(packages)} packages have licences and sources that deny.toml allows")


if __name__ == "__main__":
    main()
