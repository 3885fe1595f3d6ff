# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Inputs of a user's .onnx file: --shape, --dim and --input, what is guessed without them, files of inputs alone, and that all of it is part of
# the question.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
has_platform cpu || exit 77
quick="--on cpu --runs 1 --no-conform"
made()
{
	python3 "$SOURCE/tests/cli/tiny_onnx.py" "$work/$1.onnx" "$2" "$3" "$4" || fail "$1.onnx was not written"
}
# npy FILE TYPE SHAPE NUMBER...: as numpy.save writes it.
npy()
{
	python3 - "$@" <<'PY'
import struct, sys
path, kind, shape, numbers = sys.argv[1], sys.argv[2], sys.argv[3], [float(x) for x in sys.argv[4:]]
head = "{'descr': '<%s', 'fortran_order': False, 'shape': %s, }" % (kind, shape)
head += " " * (-(len(head) + 11) % 64) + "\n"
code = {"f4": "f", "f8": "d", "i8": "q"}[kind]
open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%d%s" % (len(numbers), code), *(numbers if code != "q" else map(int, numbers))))
PY
}

made image Relu x:batch,3,height,width y:batch,3,height,width
code 0 "$ASSAY" run "$work/image.onnx" $quick --json
json 'd[0]["verdict"] == "right" and d[0]["output_shape"].replace(" ", "") == "[1,3,224,224]"'
json 'd[0]["inputs_note"] == "x: guessed [1,3,224,224], the usual size of images"'
code 0 "$ASSAY" run "$work/image.onnx" $quick --shape x:2,3,4,5 --json
json 'd[0]["verdict"] == "right" and d[0]["output_shape"].replace(" ", "") == "[2,3,4,5]" and d[0]["shapes"] == "x:2,3,4,5" and d[0]["batch"] == 2 and d[0]["inputs_note"] is None'
code 0 "$ASSAY" run "$work/image.onnx" $quick --dim height=6 --dim width=7 --json
json 'd[0]["output_shape"].replace(" ", "") == "[1,3,6,7]" and d[0]["dims"] == "height=6;width=7"'
code 0 "$ASSAY" run "$work/image.onnx" $quick --shape x:2,3,4,5 -v
has out '^ *inputs +--shape x:2,3,4,5$'
code 0 "$ASSAY" report --format md -o "$work/report.md"
grep -q 'shapes x:2,3,4,5' "$work/report.md" || fail "the report does not say which shapes were asked for"
for what in ones zeros random:5,6; do
	code 0 "$ASSAY" run "$work/image.onnx" $quick --shape x:1,3,2,2 --input "x=$what" --json
	json 'd[0]["verdict"] in ("right", "unjudged") and d[0]["inputs"].startswith("x=")'
done
npy "$work/x.npy" f8 '(1, 3, 1, 2)' 1 2 3 4 5 6
(cd "$work" && code 0 "$ASSAY" run image.onnx $quick --input x=x.npy --json)
json 'd[0]["verdict"] == "right" and d[0]["output_shape"].replace(" ", "") == "[1,3,1,2]" and d[0]["inputs"].startswith("x=/")'
row=$(python3 -c "import json, sys; print(json.load(open(sys.argv[1]))[0]['row'])" "$work/out")
code 0 "$ASSAY" reproduce "$row"
has out "--input x=/.*x\.npy"

# What the file has not is a row; what makes no sense is refused before.
code 2 "$ASSAY" run "$work/image.onnx" $quick --shape z:1
has out 'cause +--shape z: the file has no such input; it has x'
code 2 "$ASSAY" run "$work/image.onnx" $quick --shape x:1,4,2,2
has out 'asks for \[1,4,2,2\], and the file has'
code 2 "$ASSAY" run "$work/image.onnx" $quick --dim depth=2
has out 'named are batch, height, width'
npy "$work/flat.npy" f4 '(6,)' 1 2 3 4 5 6
code 2 "$ASSAY" run "$work/image.onnx" $quick --input "x=$work/flat.npy"
for bad in "--shape x" "--shape x:1,a" "--dim height" "--input x" "--input x=y.png" "--input x=absent.npy" "--input x=random:2,1" "--golden $work/x.npy --shape x:1"; do
	code 1 "$ASSAY" run "$work/image.onnx" $quick $bad
	empty out
done
head -c 100 "$work/x.npy" >"$work/short.npy"
code 1 "$ASSAY" run "$work/image.onnx" $quick --input "x=$work/short.npy"
has err 'short\.npy'
code 1 "$ASSAY" run "$SOURCE/tests/conform/cases/bert" --synthetic $quick --shape input_ids:1,4
has err 'are about .onnx files'

# A key has the contents of the files: measured again when they change, and not when they do not.
matrix="$ASSAY matrix --models $work/image.onnx --on cpu --runs 1 --no-conform --resume --output-dir $work/matrix --input x=$work/x.npy"
code 0 $matrix
code 0 $matrix
has err 'finished before'
npy "$work/x.npy" f8 '(1, 3, 1, 2)' 6 5 4 3 2 1
code 0 $matrix
lacks err 'finished before'

# A size that the graph does not take: 224 wide rows cannot be multiplied with 8 of a weight, and the row says what else was tried.
made wide MatMul x:1,3,h,w y:1,3,h,8
code 2 "$ASSAY" run "$work/wide.onnx" $quick --json
json 'd[0]["verdict"] == "failed" and "MatMul" in d[0]["cause"]'
code 0 "$ASSAY" run "$work/wide.onnx" $quick --dim w=8 --json
json 'd[0]["verdict"] == "right" and "guessed [1,3,8,8], as high as wide" in d[0]["inputs_note"]'

# A golden file without outputs gives inputs alone; one without either is refused.
python3 - "$work" <<'PY'
import json, struct, sys
def write(path, name):
    head = json.dumps({name: {"dtype": "F32", "shape": [1, 3, 1, 2], "data_offsets": [0, 24]}}).encode()
    open(path, "wb").write(struct.pack("<Q", len(head)) + head + struct.pack("<6f", 1, 2, 3, 4, 5, 6))
write(sys.argv[1] + "/inputs.safetensors", "in.x")
write(sys.argv[1] + "/plain.safetensors", "x")
PY
code 0 "$ASSAY" run "$work/image.onnx" $quick --golden "$work/inputs.safetensors" --json
json 'd[0]["verdict"] == "right" and d[0]["reference"].startswith("engine:") and d[0]["golden_file"] is None and "holds no outputs" in d[0]["inputs_note"]'
code 1 "$ASSAY" run "$work/image.onnx" $quick --golden "$work/plain.safetensors"
has err 'neither inputs nor outputs'
for file in inputs plain; do
	code 0 "$ASSAY" run "$work/image.onnx" $quick --input "x=$work/$file.safetensors" --json
	json 'd[0]["output_shape"].replace(" ", "") == "[1,3,1,2]"'
done
# A device that takes integers only has not computed in its own type, and is not judged by that type's bound.
if has_platform qnn; then
	code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/whole"
	code 0 "$ASSAY" build "$work/whole" -o "$work/graph"
	code 0 "$ASSAY" run "$work/graph/model.onnx" $quick --on qnn --dim sequence=16 --json
	json 'd[0]["verdict"] == "right" and d[0]["nodes_on_platform"] > 0 and d[0]["compute_dtype"] == "f32" and d[0]["max_abs_error"] < 1e-4'
fi

finish
