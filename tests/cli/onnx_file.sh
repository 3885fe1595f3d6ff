# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
# run on a user's .onnx files, each of a node or two: what is claimed of them, and what is not.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
has_platform cpu || exit 77
quick="--runs 3 --no-conform"
made()
{
	python3 "$SOURCE/tests/cli/tiny_onnx.py" "$work/$1.onnx" "${@:2}" || fail "$1.onnx was not written"
}

# A graph that the engine folds into constants, and one without a node: the processor answers, and no other platform has computed anything.
made folded -MatMul,Relu x:batch,8 y:8,8
made none none x:4,8 x:4,8
for m in folded none; do
	code 0 "$ASSAY" run "$work/$m.onnx" --on cpu $quick --json
	json 'd[0]["actual"] == "cpu" and d[0]["verdict"] in ("right", "unjudged")'
	for p in qnn webgpu:native; do
		has_device $p || continue
		code 2 "$ASSAY" run "$work/$m.onnx" --on $p $quick --json
		json 'd[0]["verdict"] == "fell_back" and d[0]["actual"] == "cpu" and d[0]["cause"].startswith("nothing was left to compute on '${p%%:*}': ")'
		code 2 "$ASSAY" run "$work/$m.onnx" --on $p $quick --no-fallback
		code 0 "$ASSAY" run "$work/$m.onnx" --on $p $quick --allow-fallback --json
		json 'd[0]["actual"] == "cpu" and d[0]["compute_dtype"] == "f32"'
	done
done

# Where nodes run WebGPU's native route tells with a second session. Of one that is not made (here its weights are away; it may be
# memory) all nodes were called folded away, and the row fell back. Whenever the file goes, nothing is said of them.
if has_device webgpu:native; then
	made going MatMul,Relu x:batch,8 y:batch,8 beside
	"$ASSAY" run "$work/going.onnx" --on webgpu:native --runs 5000 --no-conform --json >"$work/out" 2>"$work/err" &
	sleep 1.5
	mv "$work/going.onnx.w" "$work/gone"
	wait $!
	json 'd[0]["fallback_reason"] is None and not d[0]["nodes_fused"] and d[0]["verdict"] != "fell_back"'
fi

# ONNX Runtime ran a file with its own mark at byte 4 as its own format, in which another graph can lie: a forged answer and time.
made plain MatMul,Relu x:4,8 y:4,8
printf '\010\011\022\004ORTM' | cat - "$work/plain.onnx" >"$work/marked.onnx"
code 0 "$ASSAY" run "$work/marked.onnx" --on cpu $quick --json
json 'd[0]["verdict"] in ("right", "unjudged") and d[0]["nodes"] == 2'

# Words of the file say nothing of the machine, however its path was given.
made quota "Disk quota exceeded" x:4 y:4
code 2 env -C "$work" "$ASSAY" run quota.onnx --on cpu $quick --json
json 'd[0]["verdict"] in ("failed", "unsupported")'

# Of two weights of one name ONNX Runtime took the one and OpenVINO the other, and both were right; so of a graph in two pieces,
# which protobuf joins.
made weighed MatMul x:4,8 y:4,8
python3 - "$work/weighed.onnx" "$work/twice.onnx" "$work/pieces.onnx" "$work/sparse.onnx" "$work/opsets.onnx" "$work/constant.onnx" "$work/truth.onnx" "$work/places.onnx" "$work/nul.onnx" "$work/again.onnx" "$work/behind.onnx" <<'PY' || fail "no files with two weights"
import sys
b = open(sys.argv[1], "rb").read()
def varint(n): return bytes([n & 127 | (128 if n > 127 else 0)]) + (varint(n >> 7) if n > 127 else b"")
at = b.index(b"\x3a") + 1
n, i = 0, at
while True:
    n |= (b[i] & 127) << 7 * (i - at); i += 1
    if b[i - 1] < 128: break
graph = b[i:i + n]
w = graph[graph.index(b"\x2a"):]
size = (w[1] & 127) | w[2] << 7
w = w[:3 + size]
open(sys.argv[2], "wb").write(b[:at] + varint(n + len(w)) + graph + w + b[i + n:])
open(sys.argv[3], "wb").write(b[:i + n] + b"\x3a" + varint(len(w)) + w + b[i + n:])
sparse = b"\x7a" + varint(len(w) + 2) + b"\x0a" + w[1:] + b"\x0a\x00" # its values in two pieces, the second without a name
open(sys.argv[4], "wb").write(b[:at] + varint(n + len(sparse)) + graph + sparse + b[i + n:])
def part(field, data): return bytes([field << 3 | 2]) + varint(len(data)) + data
def more(path, data): open(path, "wb").write(b[:at] + varint(n + len(data)) + graph + data + b[i + n:])
both = part(5, part(1, b"value_float") + b"\x15\0\0\x80\x3f\xa0\x01\x01") + part(5, part(1, b"value_int") + b"\x18\x02\xa0\x01\x02")
more(sys.argv[6], part(1, part(2, b"c") + part(4, b"Constant") + both))
more(sys.argv[7], part(5, b"\x08\x01\x10\x09" + part(8, b"b") + part(9, b"\x02")))
def entry(key, value): return part(13, part(1, key) + part(2, value))
more(sys.argv[8], part(5, b"\x08\x01\x10\x01" + part(8, b"p") + entry(b"location", b"w.bin") + entry(b"offset", b"0") + entry(b"offset", b"4") + b"\x70\x01"))
more(sys.argv[9], part(5, b"\x08\x01\x10\x01" + part(8, b"p") + entry(b"location", b"w.bin") + entry(b"offset\0", b"4") + b"\x70\x01"))
open(sys.argv[5], "wb").write(b + b"\x42\x0b\x0a\x07ai.onnx\x10\x0c") # opset 12 beside its own
open(sys.argv[10], "wb").write(b + b"\x42\x0b\x0a\x07ai.onnx\x10\x11") # its own, 17, again: that is one set
open(sys.argv[11], "wb").write(b + b"\x42\x0b\x0a\x07ai.onnx\x10\x11\x42\x05\x0a\x01z\x10\x01\x42\x05\x0a\x01z\x10\x03") # and another in two versions
PY
for m in 'twice:has two weights that are called W' 'pieces:has a graph in several pieces' 'sparse:has a sparse weight in several pieces' \
	'opsets:imports one set of operators twice' 'behind:imports one set of operators twice' 'constant:has a constant with two values' 'places:has a weight whose data lies in two places' 'nul:has a weight in another file with a word' 'truth:has a truth value that is neither 0 nor 1'; do
	code 2 "$ASSAY" run "$work/${m%%:*}.onnx" --on cpu,null $quick --json
	json 'all(x["verdict"] == "failed" and "'"${m#*:}"'" in x["cause"] for x in d)'
done
code 0 "$ASSAY" run "$work/weighed.onnx" "$work/again.onnx" --on cpu $quick

# A batch is what is named one, or nothing; a time or points of one cloud are none, and then there are no inputs a second.
made named MatMul x:batch,8 y:batch,8
made time MatMul frames:time,8 y:time,8
made points Relu points:1,N,3 y:1,N,3
code 0 "$ASSAY" run "$work/named.onnx" --on cpu --batch 8 $quick --json
json 'd[0]["batch"] == 8 and d[0]["throughput_per_s"] > 0'
code 0 "$ASSAY" run "$work/time.onnx" --on cpu --batch 8 $quick --json
json 'd[0]["batch"] is None and d[0]["throughput_per_s"] is None and d[0]["output_shape"].replace(" ", "") == "[128,8]"'
code 0 "$ASSAY" run "$work/points.onnx" --on cpu $quick --json
json 'd[0]["batch"] is None and d[0]["throughput_per_s"] is None'

# What fixed shapes cannot take is said, and what they have is taken.
made fixed MatMul x:4,8 y:4,8
code 2 "$ASSAY" run "$work/fixed.onnx" --on cpu --batch 1,2,4,16 $quick --json
json '[x["verdict"] in ("right", "unjudged") for x in d] == [True, False, True, False] and [x["batch"] for x in d] == [None, 2, 4, 16]'
json 'all(x["verdict"] == "unsupported" and "a fixed batch of 4 (x is [4,8])" in x["cause"] for x in d[1::2])'
code 0 "$ASSAY" run "$work/fixed.onnx" --on cpu --seq 32 $quick
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/bert"
code 0 "$ASSAY" build "$work/bert" -o "$work/static" --static --batch 2 --seq 16
code 0 "$ASSAY" run "$work/static/model.onnx" --on cpu --batch 2 --seq 16 $quick
code 0 "$ASSAY" run "$work/static/model.onnx" --on cpu $quick --json
json 'd[0]["sequence"] == 16 and d[0]["asked_sequence"] is None'
code 2 "$ASSAY" run "$work/static/model.onnx" --on cpu --batch 2 --seq 32 $quick
has out 'cause +--seq 32 cannot be asked of it: the model.s inputs have a fixed length of 16'
finish
