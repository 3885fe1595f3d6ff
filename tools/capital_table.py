#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes src/chat/capital_table.c: letters whose capital, by Python's str.upper and str.title, is not the one letter whose small
letter they are (token/unicode.h has those). Sorted by code point. Made with Python 3.11 (Unicode 14)."""
import pathlib
import sys

small = {}
for c in range(0x80, 0x110000):
    if 0xD800 <= c < 0xE000:
        continue
    low = chr(c).lower()
    if len(low) == 1 and low != chr(c):
        small.setdefault(low, chr(c))
rows = []
for c in range(0x80, 0x110000):
    if 0xD800 <= c < 0xE000:
        continue
    s = chr(c)
    usual = small.get(s, s)
    if s.upper() != usual or s.title() != usual:
        text = lambda t: "".join("\\x%02X" % b for b in t.encode())
        rows.append('\t{ 0x%04X, "%s", "%s" },' % (c, text(s.upper()), text(s.title())))
out = pathlib.Path(__file__).resolve().parent.parent / "src" / "chat" / "capital_table.c"
out.write_text("// SPDX-License-Identifier: Apache-2.0\n// Made by tools/capital_table.py.\n#include \"chat/inside.h\"\n\n"
               "const struct capital capital_table[] = {\n" + "\n".join(rows) + "\n};\nconst size_t capital_count = sizeof capital_table / sizeof *capital_table;\n")
sys.stderr.write(f"{len(rows)} letters\n")
