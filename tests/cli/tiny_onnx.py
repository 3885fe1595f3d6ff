# SPDX-License-Identifier: Apache-2.0
# Writes a small .onnx file without any package. python3 tiny_onnx.py FILE OP[,OP..] INPUT:DIM,DIM.. OUTPUT:DIM,DIM.. [beside]
# Each OP takes the values of the one before, and a second input where it has one: itself, of MatMul the constant W [8,8]. The first takes
# the input, or W where a "-" stands before it. "none": no node at all. A DIM is a number or a name; all is float32. "beside": W
# lies in a file of its own, FILE.w.
import os, struct, sys

def varint(n):
    out = b""
    while True:
        out += bytes([(n & 127) | (128 if n > 127 else 0)])
        n >>= 7
        if not n:
            return out

def number(field, n):
    return varint(field << 3) + varint(n)

def data(field, b):
    b = b.encode() if isinstance(b, str) else b
    return varint(field << 3 | 2) + varint(len(b)) + b

def value(text):
    name, dims = text.split(":")
    shape = b"".join(data(1, number(1, int(d)) if d.isdigit() else data(2, d)) for d in dims.split(","))
    return data(1, name) + data(2, data(1, number(1, 1) + data(2, shape)))

file, ops, given, wanted = sys.argv[1:5]
constant = ops.startswith("-")
ops = [] if ops == "none" else ops.lstrip("-").split(",")
at, end, nodes = "W" if constant else given.split(":")[0], wanted.split(":")[0], b""
for i, op in enumerate(ops):
    out = end if i + 1 == len(ops) else "v%d" % i
    second = data(1, "W") if op == "MatMul" else data(1, at) if op in ("Add", "Mul") else b""
    nodes += data(1, data(1, at) + second + data(2, out) + data(3, "n%d" % i) + data(4, op))
    at = out
weights = struct.pack("<64f", *[(i * 7 % 11 - 5) / 8 for i in range(64)])
values = data(9, weights)
if sys.argv[5:] == ["beside"]:
    open(file + ".w", "wb").write(weights)
    values = data(13, data(1, "location") + data(2, os.path.basename(file) + ".w")) + number(14, 1)
w = data(5, number(1, 8) + number(1, 8) + number(2, 1) + data(8, "W") + values) if constant or "MatMul" in ops else b""
graph = nodes + data(2, "g") + w + data(11, value(given)) + data(12, value(wanted))
open(file, "wb").write(number(1, 8) + data(7, graph) + data(8, data(1, "") + number(2, 17)))
