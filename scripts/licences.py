#!/usr/bin/env python3
"""Whether the licences and sources of all dependencies are those that deny.toml allows.

The first part of what `make lint` has cargo-deny look at, in a second and without a tool that takes
minutes to build: that is for every change, cargo-deny for those that touch dependencies.

With --texts: prints the licences of all libraries in the programs, for archives of those.
"""

import json
import pathlib
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


# What is in the programs and is no package of Rust.
OTHERS = """\
The Rust standard library: MIT OR Apache-2.0.

The GNU C Library, in static programs: LGPL-2.1-or-later. The programs' own sources are free, so that
they can be linked with another version of it: `make dist` does.

musl, in the probes: MIT, Copyright 2005-2020 Rich Felker, et al.

SQLite, in libsqlite3-sys: in the public domain. AWS-LC, in aws-lc-sys: its LICENSE is below.
"""


def texts(metadata):
    """The licences of all that the programs are linked from."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    own = metadata["workspace_members"]
    wanted = {i for i in own if packages[i]["name"] == "plimsoll"}
    new = set(wanted)
    while new:
        deps = [dep for i in new for dep in nodes[i]["deps"]]
        normal = (d["pkg"] for d in deps if any(k["kind"] is None for k in d["dep_kinds"]))
        new = set(normal) - wanted
        wanted |= new
    users = {}
    libraries = (packages[i] for i in wanted - set(own))
    for package in sorted(libraries, key=lambda package: (package["name"], package["version"])):
        name = f'{package["name"]} {package["version"]}: {package["license"]}'
        files = sorted(
            path
            for path in pathlib.Path(package["manifest_path"]).parent.iterdir()
            if re.match(r"(?i)(licen[cs]e|copying|notice|copyright|unlicense)", path.name)
            and path.is_file()
        )
        print(name)
        for path in files:
            text = path.read_text(encoding="utf-8", errors="replace").strip()
            users.setdefault(text, []).append(f"{name} ({path.name})")
    print("", OTHERS, sep="\n")
    for text, names in users.items():
        print("=" * 80, *names, "-" * 80, text, sep="\n")


def main():
    with open("deny.toml", "rb") as file:
        allowed = set(tomllib.load(file)["licenses"]["allow"])
    metadata = json.loads(subprocess.run(COMMAND, check=True, stdout=subprocess.PIPE).stdout)
    if sys.argv[1:] == ["--texts"]:
        return texts(metadata)
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
