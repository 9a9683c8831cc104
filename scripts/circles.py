#!/usr/bin/env python3
"""Whether files of a crate use each other in circles: scripts/circles.py [ROOT]

A circle is a set of files of which each uses each other one, directly or through others. In a circle of more than
three files none can be understood without all others. Tests do not count. The use of a name that a file passes on
(`pub use`) is a use of the file that defines it. Names that macros make and calls of methods are not found.

Known circles may only become smaller.
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

MOST = 3
# Sizes of the larger circles of each crate. Whoever makes one smaller lowers its number.
KNOWN = {}

# Comments and literals; a lifetime is neither.
SILENT = re.compile(
    r"""//[^\n]*|/\*.*?\*/|\b[bc]?r(\#*)".*?"\1|(?:\b[bc])?"(?:\\.|[^"\\])*"|'(?:\\u\{[^}]*\}|\\x..|\\.|[^\\'])'""",
    re.DOTALL,
)
TOKEN = re.compile(r"r#\w+|'\w+|\w+|::|\S")
WORD = re.compile(r"[A-Za-z_]")
ITEMS = {"fn", "struct", "enum", "trait", "type", "const", "static", "union"}
CLOSING = {"(": ")", "[": "]", "{": "}"}


@dataclass(eq=False)
class Module:
    """A module, its names, and the paths in its text."""

    file: Path
    parent: "Module | None" = None
    children: dict = field(default_factory=dict)
    items: set = field(default_factory=set)
    # Imports by their names in the module, and modules whose names are all imported.
    imports: dict = field(default_factory=dict)
    globs: list = field(default_factory=list)
    # Paths that are used: those of private imports, and those in the text.
    paths: set = field(default_factory=set)

    def root(self):
        return self.parent.root() if self.parent else self

    def walk(self):
        yield self
        for child in self.children.values():
            yield from child.walk()

    def find(self, path, seen=frozenset()):
        """The file or the module that a path leads to from here; None if it leads out of the crate."""
        if not path:
            return self
        if (self, path) in seen:
            return None
        seen |= {(self, path)}
        first, rest = path[0], path[1:]
        if first in ("crate", "self", "super"):
            start = {"crate": self.root(), "self": self, "super": self.parent}[first]
            return start and start.find(rest, seen)
        if first in self.children:
            return self.children[first].find(rest, seen)
        if first in self.items:
            return self.file
        if first in self.imports:
            return self.find(self.imports[first] + rest, seen)
        for path_of_all in self.globs:
            source = self.find(path_of_all, seen)
            found = source.find(path, seen) if isinstance(source, Module) and source is not self else None
            if found:
                return found
        return None


def end_of(tokens, at):
    """The place of the bracket that closes the one at a place."""
    opening, closing, depth = tokens[at], CLOSING[tokens[at]], 0
    for place in range(at, len(tokens)):
        depth += (tokens[place] == opening) - (tokens[place] == closing)
        if depth == 0:
            return place
    return len(tokens)


def end_of_item(tokens, at):
    """The place after the item, field or statement that begins at a place."""
    is_use = "use" in tokens[at : at + 6]
    while at < len(tokens) and tokens[at] != "}":
        if tokens[at] in CLOSING:
            is_last = tokens[at] == "{" and not is_use
            at = end_of(tokens, at) + 1
            if is_last:
                return at
            continue
        at += 1
        if tokens[at - 1] in (";", ","):
            return at
    return at


def imported(tokens, at, start, found):
    """Adds the imports of a tree of `use`, each with its name; the place after the tree."""
    path = start
    while True:
        token = tokens[at]
        at += 1
        if token == "{":
            while tokens[at] != "}":
                at = imported(tokens, at, path, found)
                at += tokens[at] == ","
            return at + 1
        if token == "*":
            found.append((path, "*"))
            return at
        if token != "::":
            path += (token,)
            if tokens[at] == "as":
                found.append((path, tokens[at + 1]))
                return at + 2
            if tokens[at] != "::":
                path = path[:-1] if token == "self" and len(path) > 1 else path
                found.append((path, path[-1]))
                return at


def read(module, directory, tokens):
    """Reads a module's text; its children lie in a directory."""
    at, depth = 0, 0
    while at < len(tokens):
        token = tokens[at]
        following = tokens[at + 1] if at + 1 < len(tokens) else ""
        before = tokens[at - 1] if at else ";"
        if token == "#" and following in ("[", "!"):
            opening = at + 1 + (following == "!")
            attribute = tokens[opening + 1 : end_of(tokens, opening)]
            at = end_of(tokens, opening) + 1
            if attribute[:3] == ["cfg", "(", "test"] or attribute == ["test"]:
                while tokens[at] == "#":
                    at = end_of(tokens, at + 1) + 1
                at = end_of_item(tokens, at)
        elif token == "mod" and before not in ("::", ".") and tokens[at + 2 : at + 3] == [";"]:
            places = [directory / f"{following}.rs", directory / following / "mod.rs"]
            for file in filter(Path.exists, places):
                module.children[following] = child = Module(file, module)
                read(child, directory / following, tokens_of(file))
            at += 3
        elif token == "mod" and before not in ("::", ".") and tokens[at + 2 : at + 3] == ["{"]:
            end = end_of(tokens, at + 2)
            module.children[following] = child = Module(module.file, module)
            read(child, directory / following, tokens[at + 3 : end])
            at = end + 1
        elif token == "use" and before in (";", "{", "}", "]", ")", "pub"):
            found = []
            is_passed_on = before == "pub" or before == ")" and "pub" in tokens[max(0, at - 7) : at]
            at = imported(tokens, at + 1, (), found)
            for path, name in found:
                if name == "*":
                    module.globs.append(path)
                else:
                    module.imports[name] = path
                    module.paths |= set() if is_passed_on else {path}
        elif token == "pub" and following == "(":
            at = end_of(tokens, at + 1) + 1
        elif WORD.match(token):
            if depth == 0 and token in ITEMS and WORD.match(following):
                module.items.add(following)
            if depth == 0 and token == "macro_rules":
                module.items.add(tokens[at + 2])
            path = (token,)
            while tokens[at + 1 : at + 2] == ["::"] and WORD.match("".join(tokens[at + 2 : at + 3])):
                path += (tokens[at + 2],)
                at += 2
            if before not in ("::", "."):
                module.paths.add(path)
            at += 1
        else:
            depth += (token == "{") - (token == "}")
            at += 1


def tokens_of(file):
    return TOKEN.findall(SILENT.sub(" ", file.read_text()))


def uses(root):
    """The files that each file uses."""
    files = {}
    for module in root.walk():
        used = files.setdefault(module.file, set())
        for path in module.paths:
            found = module.find(path)
            # The import of a module alone uses nothing: the names in it are in other paths.
            if isinstance(found, Path) and found != module.file:
                used.add(found)
    return files


def circles(files):
    """Sets of more than a few files of which each reaches each other one."""

    def reached(start):
        found, waiting = set(), [start]
        while waiting:
            new = files.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        return found

    reach = {file: reached(file) for file in files}
    found = {frozenset(other for other in reach[file] if file in reach[other]) for file in files}
    return sorted((circle for circle in found if len(circle) > MOST), key=len)


def main():
    top = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent
    problems = []
    for crate in sorted((top / "crates").iterdir()):
        known = sorted(KNOWN.get(crate.name, []))
        found = []
        for file in filter(Path.exists, (crate / "src/lib.rs", crate / "src/main.rs")):
            root = Module(file)
            read(root, file.parent, tokens_of(file))
            found += circles(uses(root))
        found.sort(key=len)
        sizes = [len(circle) for circle in found]
        if sizes == known:
            continue
        problems.append(f"{crate.name}: circles of {sizes} files instead of {known}")
        for circle in found:
            names = sorted(str(file.relative_to(crate / "src")) for file in circle)
            problems.append(f"  {len(circle)} files use each other: {' '.join(names)}")
    if problems:
        problems.append("Move what both sides use to a file of its own. Of a smaller circle lower the number in KNOWN.")
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
