# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# What a user's .onnx cannot hide: the name of an output, a node that changes nothing, an engine that computes integers otherwise.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
has_platform cpu || skip "cpu is not here, so nothing computes"
has_platform openvino || skip "openvino is not here, and nothing else judges cpu"
cd "$work" || exit 1
python3 - <<'PY'
import json, struct
varint = lambda n: bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)
field = lambda n, x: varint(n << 3) + varint(x) if isinstance(x, int) else varint(n << 3 | 2) + varint(len(x)) + (x if isinstance(x, bytes) else x.encode())
node = lambda op, ins, out: field(1, b"".join(field(1, i) for i in ins) + field(2, out) + field(4, op))
value = lambda name, t, dims: field(1, name) + field(2, field(1, field(1, t) + field(2, b"".join(field(1, field(1, d)) for d in dims))))
tensor = lambda name, t, dims, raw: field(5, b"".join(field(1, d) for d in dims) + field(2, t) + field(8, name) + field(9, raw))
FLOAT, INT8, INT64 = 1, 3, 7

def write(path, graph, outputs, t=FLOAT):
    graph = graph + field(2, "g") + field(11, value("x", t, [4, 4])) + b"".join(field(12, value(o, t, [4, 4])) for o in outputs)
    open(path, "wb").write(field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17)))

def golden(path, tensors):
    header, data = {}, b""
    for name, numbers in tensors.items():
        raw = struct.pack("<%df" % len(numbers), *numbers)
        header[name] = {"dtype": "F32", "shape": [4, 4], "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    head = json.dumps(header).encode()
    open(path, "wb").write(struct.pack("<Q", len(head)) + head + data)

x = [((i * 7) % 11 - 5) / 3 for i in range(16)]
golden("golden.safetensors", {"in.x": x, "out.y": [1.01 * v + v * v / 50 for v in x]})     # not what any of these computes
golden("right.safetensors", {"in.x": x, "out.y": x})
zero = tensor("zero", FLOAT, [], struct.pack("<f", 0))
same = node("Add", ["x", "nothing"], "y")
write("plain.onnx", node("Mul", ["x", "zero"], "nothing") + same + zero, ["y"])
write("quantised.onnx", node("DequantizeLinear", ["q", "zero"], "d") + node("Mul", ["x", "d"], "nothing") + same + zero + tensor("q", INT8, [], b"\1"), ["y"])
write("built.onnx", node("RandomNormalLike", ["x"], "r") + node("Mul", ["r", "zero"], "nothing") + same + zero, ["y"])
write("random.onnx", node("RandomNormalLike", ["x"], "nothing") + same, ["y"])
write("named.onnx", node("Identity", ["x"], "y") + node("Sub", ["x", "x"], "o") + node("Div", ["o", "o"], "in.bad"), ["y", "in.bad"])
write("hash.onnx", node("Mul", ["x", "k"], "y") + tensor("k", INT64, [], struct.pack("<q", 6364136223846793005)), ["y"], INT64)
PY
quick="--on cpu --runs 1 --no-conform --json"

# Golden outputs are of float32. What a bound for integers could keep is no agreement, and what --max-loss allows is asked of it, too.
code 3 "$ASSAY" run plain.onnx --golden golden.safetensors $quick
code 0 "$ASSAY" run quantised.onnx --golden golden.safetensors $quick
json 'd[0]["verdict"] == "unjudged" and "computes with integer weights" in d[0]["cause"] and 1e-8 < d[0]["nmse"] < 1e-2'
code 2 "$ASSAY" run quantised.onnx --golden golden.safetensors $quick --max-loss nmse=1e-6
json 'd[0]["verdict"] == "lossy" and d[0]["cause"].startswith("--max-loss: normalised mean squared error")'
code 0 "$ASSAY" run quantised.onnx --golden right.safetensors $quick

# What is built excuses only what it changes.
code 3 "$ASSAY" run built.onnx --golden golden.safetensors $quick
code 0 "$ASSAY" run random.onnx --golden golden.safetensors $quick
json 'd[0]["verdict"] == "unjudged" and "draws random numbers (RandomNormalLike)" in d[0]["cause"]'
code 2 "$ASSAY" run random.onnx --golden golden.safetensors $quick --max-loss cosine=1
json 'd[0]["verdict"] == "unsupported" and d[0]["cause"].startswith("--max-loss: cannot be applied: not judged: the file draws")'

# An output may be called as an input is in a golden file.
code 3 "$ASSAY" run named.onnx --golden right.safetensors $quick
json 'd[0]["cause"].startswith("in.bad: 16 values are not finite")'

# OpenVINO computes int64 in 32 bits: that is no mistake of another engine.
code 3 "$ASSAY" run hash.onnx --on cpu,openvino --runs 1 --no-conform --json
json '[r["verdict"] for r in d] == ["unjudged", "wrong"] and "which of them is right is not known" in d[0]["cause"]'
finish
