#!/usr/bin/env python3
"""Cuts off an ELF program whatever is behind its last loaded byte: strip.py FILE

Strippers leave the section headers and, on MIPS, a table of procedures that no kernel reads: a
quarter of the probe. What is loaded stays as it is.
"""

import struct
import sys

PT_LOAD = 1


def loaded_end(image, wide, order):
    """The end of what the program headers load."""
    layout = order + ("16xHHIQQQIHHHHHH" if wide else "16xHHIIIIIHHHHHH")
    fields = struct.unpack_from(layout, image)
    table, size, count = fields[4], fields[8], fields[9]
    end = table + size * count
    for i in range(count):
        at = table + i * size
        if wide:
            kind, _, offset, _, _, length = struct.unpack_from(order + "IIQQQQ", image, at)
        else:
            kind, offset, _, _, length = struct.unpack_from(order + "IIIII", image, at)
        if kind == PT_LOAD:
            end = max(end, offset + length)
    return end


def main(path):
    with open(path, "rb") as file:
        image = bytearray(file.read())
    if image[:4] != b"\x7fELF":
        sys.exit(f"{path} is no ELF program")
    wide, order = image[4] == 2, "<" if image[5] == 1 else ">"
    end = loaded_end(image, wide, order)
    # No section headers: their offset, size, number and the index of their names.
    struct.pack_into(order + ("Q" if wide else "I"), image, 0x28 if wide else 0x20, 0)
    struct.pack_into(order + "HHH", image, 0x3A if wide else 0x2E, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(image[:end])


main(sys.argv[1])
