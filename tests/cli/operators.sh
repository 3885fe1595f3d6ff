# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# operators: ONNX's own tests of its operators: right, wrong, refused in the engine's words, unjudged.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
has_platform cpu || exit 77
tests=$SOURCE/tests/operators

code 2 "$ASSAY" operators "$tests"
has out '^operator +tests  cpu$'
has out '^LayerNormalization +2  2 right$'
has out '^cpu: 8 right, 2 unjudged, 1 unsupported of 11$'
has out '^  BitShift: 1 unsupported: .*Could not find an implementation for BitShift\(11\)'
has out '^  Dropout: 1 unjudged: .*draws random numbers'
has out '^  Equal: 1 unjudged: input x: its type is none that assay holds'
code 0 "$ASSAY" operators "$tests" --only Add,Relu,LayerNormalization --json
json 'len(d) == 4 and all(x["verdict"] == "right" and x["platform"] == "cpu" and x["max_abs_error"] < 1e-5 for x in d)'
json '[x["operator"] for x in d] == ["Add", "LayerNormalization", "LayerNormalization", "Relu"]'
code 2 "$ASSAY" operators "$tests" --markdown
has out '^[|] operator [|] tests [|] cpu [|]$'
has out '^[|] all [|] 11 [|] 8 right, 2 unjudged, 1 unsupported [|]$'
has out '^## What is not right on cpu$'

# Another number in what is expected is wrong, one that is missing is no verdict about the platform.
cp -r "$tests" "$work/tests"
python3 - "$work/tests/test_add/test_data_set_0/output_0.pb" <<'PY'
import sys
b = bytearray(open(sys.argv[1], "rb").read())
b[-1] ^= 0x80  # the sign of the last number
open(sys.argv[1], "wb").write(b)
PY
: >"$work/tests/test_relu/test_data_set_0/input_0.pb"
rm "$work/tests/test_max_int32/test_data_set_0/input_1.pb"
code 3 "$ASSAY" operators "$work/tests" --only Add,Relu,Max --json
json '[x["verdict"] for x in d] == ["wrong", "unjudged", "unjudged"] and " off at " in d[0]["reason"]'
# A number where the reference has none is wrong, too.
for bytes in 'b"\x00\x00\xc0\x7f"' 'b"\x00\x00\x80\x7f"'; do
	python3 - "$work/tests/test_add/test_data_set_0/output_0.pb" "$bytes" <<'PY'
import ast, sys
b = open(sys.argv[1], "rb").read()
open(sys.argv[1], "wb").write(b[:-4] + ast.literal_eval(sys.argv[2]))
PY
	code 3 "$ASSAY" operators "$work/tests" --only Add --json
	json '[x["verdict"] for x in d] == ["wrong"]'
done
# What is small beside a large value, and wrong, is wrong; a test without outputs, or whose files have what no test has, is nothing.
mkdir -p "$work/small/hidden/test_data_set_0" "$work/small/many/test_data_set_0"
python3 "$SOURCE/tests/cli/tiny_onnx.py" "$work/small/hidden/model.onnx" Relu x:64 y:64 || fail "no model"
cp "$work/small/hidden/model.onnx" "$work/small/many"
python3 - "$work/small" <<'PY'
import struct, sys
def tensor(path, small, more=b""):
    values = struct.pack("<64f", *[small] * 63, 1e7)
    open(sys.argv[1] + path, "wb").write(b"\x08\x40\x10\x01\x4a" + b"\x80\x02" + values + more)
tensor("/hidden/test_data_set_0/input_0.pb", 0.3)
tensor("/hidden/test_data_set_0/output_0.pb", 0.6)
tensor("/many/test_data_set_0/input_0.pb", 0.3, b"\x6a\0" * 2000) # entries of external data
tensor("/many/test_data_set_0/output_0.pb", 0.3)
PY
code 3 "$ASSAY" operators "$work/small" --json
json '[x["verdict"] for x in d] == ["wrong", "unjudged"] and "field 13 of TensorProto is not taken" in d[1]["reason"]'
# A platform beside another: one table.
if has_platform openvino; then
	code 0 "$ASSAY" operators "$tests" --on cpu,openvino --only Add,Softmax
	has out '^Add +1  1 right +1 right$'
	has out '^openvino: 2 right of 2$'
fi
code 2 "$ASSAY" operators "$tests" --on cuda --only Add
has out '^  Add: 1 unavailable: '
# Bad use.
code 1 "$ASSAY" operators "$work"
has err 'holds no folder with model.onnx'
code 1 "$ASSAY" operators "$work/nowhere"
code 1 "$ASSAY" operators "$tests" --only Nonesuch
has err 'only Nonesuch: no test in'
code 1 "$ASSAY" operators "$tests" --json --markdown
code 1 "$ASSAY" operators "$tests" --on nonesuch
finish
