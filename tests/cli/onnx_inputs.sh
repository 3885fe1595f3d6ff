# SPDX-License-Identifier: Apache-2.0
# Tier: engine
# Program: plain
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
code 0 "$ASSAY" history "$work/image.onnx"
has out ', batch 2, shapes x:2,3,4,5$'
has out ', batch 1, dims height=6;width=7$'
code 0 "$ASSAY" compare 1 2
has out 'they differ in shapes: A default, B x:2,3,4,5; batch: A 1, B 2$|they differ in batch: A 1, B 2; shapes: A default, B x:2,3,4,5$'
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

# One dimension has one number, by whichever option.
made square Relu x:n,n y:n,n
code 2 "$ASSAY" run "$work/square.onnx" $quick --shape x:3,4
has out 'the dimension n is asked to be 4 in x and 3 in x'
code 2 "$ASSAY" run "$work/square.onnx" $quick --shape x:3,3 --dim n=4
has out 'dim n=4: it is 3 in x'
code 0 "$ASSAY" run "$work/square.onnx" $quick --shape x:3,3 --dim n=3
for bad in "--dim n=3 --dim n=4" "--shape x:3,3 --shape x:4,4" "--input x=ones --input x=zeros"; do
	code 1 "$ASSAY" run "$work/square.onnx" $quick $bad
done
# Two numbers of a dimension are two lines of the fastest.
for n in 2 5; do
	code 0 "$ASSAY" run "$work/square.onnx" $quick --dim n=$n --db "$work/dims.duckdb"
done
code 0 "$ASSAY" query fastest --db "$work/dims.duckdb"
has out 'n=2 '
has out 'n=5 '
# A name that the file has not, and what makes no sense, is refused before anything runs.
code 1 "$ASSAY" run "$work/image.onnx" $quick --shape z:1
has err '--shape z: the file has no such input; .*it has x$'
code 1 "$ASSAY" run "$work/image.onnx" $quick --dim heigth=6 --db "$work/typo.duckdb"
has err '--dim heigth: the file has no open dimension of this name; did you mean height\?; it has batch, height, width$'
empty out
[ ! -e "$work/typo.duckdb" ] || fail "a mistyped name became a row"
code 2 "$ASSAY" run "$work/image.onnx" $quick --shape x:1,4,2,2
has out 'asks for \[1,4,2,2\], and the file has'
code 1 "$ASSAY" run "$work/image.onnx" $quick --dim depth=2
has err 'it has batch, height, width$'
# One dimension follows from another, and no name says so: what was given, and what to give besides.
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/llama" -o "$work/llama"
code 0 "$ASSAY" build "$work/llama" -o "$work/llama-onnx"
code 2 "$ASSAY" run "$work/llama-onnx/model.onnx" $quick --dim sequence=16 --json
json '"give both, such as `--dim total_sequence_length=N`" in d[0]["hint"] and "total_sequence_length=128" in d[0]["hint"]'
code 0 "$ASSAY" run "$work/llama-onnx/model.onnx" $quick --dim sequence=16,total_sequence_length=16
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
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/bert" -o "$work/whole"
code 0 "$ASSAY" build "$work/whole" -o "$work/graph"
# The model has 64 positions: the usual 128 tokens are refused, and the next guess is taken.
code 0 "$ASSAY" run "$work/graph/model.onnx" $quick --json
json 'd[0]["verdict"] == "right" and d[0]["sequence"] == 64 and "input_ids: guessed 64 tokens; 1 other guess was refused" in d[0]["inputs_note"] and d[0]["hint"] is None'
# Lengths that every model has are guessed, too.
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/llama" -o "$work/causal"
code 0 "$ASSAY" build "$work/causal" -o "$work/past"
code 0 "$ASSAY" run "$work/past/model.onnx" $quick --json
json 'd[0]["verdict"] == "right" and d[0]["inputs_note"].endswith("; guessed sequence=128, total_sequence_length=128, past_sequence_length=0, as is usual")'
code 0 "$ASSAY" run "$work/past/model.onnx" $quick --dim sequence=8,total_sequence_length=8,past_sequence_length=0 --json
json '"guessed" not in d[0]["inputs_note"]'
# Where no guess is taken, the row says how to give a shape.
code 2 "$ASSAY" run "$work/wide.onnx" $quick
has out 'hint +the shapes of open dimensions were guessed: `--shape x:N,\.\.\.` or `--dim h=N` gives others'
# Fixed shapes stand in the graph that the engine gets: asked for by --static, and on platforms that take no others.
code 0 "$ASSAY" run "$work/image.onnx" $quick --json --dim height=6,width=7
open=$(python3 -c "import json, sys; print(json.load(open(sys.argv[1]))[0]['artifact_key'])" "$work/out")
code 0 "$ASSAY" run "$work/image.onnx" $quick --static --json --dim height=6,width=7
json "d[0]['verdict'] == 'right' and d[0]['form'] == 'as given, static' and d[0]['artifact_key'] != '$open' and d[0]['dims'] == 'height=6,width=7'"
code 0 "$ASSAY" run "$work/image.onnx" $quick --static --json
json 'd[0]["verdict"] == "right" and d[0]["inputs_note"] == "x: guessed [1,3,224,224], the usual size of images"'
code 0 "$ASSAY" run "$work/graph/model.onnx" $quick --static --json
json 'd[0]["verdict"] == "right" and d[0]["sequence"] == 64 and "1 other guess was refused" in d[0]["inputs_note"]'
code 0 "$ASSAY" run "$work/image.onnx" $quick --static --golden "$work/inputs.safetensors" --json
json 'd[0]["verdict"] == "right" and d[0]["output_shape"].replace(" ", "") == "[1,3,1,2]" and d[0]["form"] == "as given, static"'
if has_platform openvino; then
	code 0 "$ASSAY" run "$work/image.onnx" $quick --on openvino --static --json --dim height=6,width=7
	json 'd[1]["verdict"] == "right" and d[1]["form"] == "as given, static" and d[1]["output_shape"].replace(" ", "") == "[1,3,6,7]"'
fi
# The emulator takes what it can with fixed shapes, in its own type.
if has_platform qnn; then
	code 0 "$ASSAY" run "$work/graph/model.onnx" $quick --on qnn --dim sequence=16 --json
	json 'd[1]["verdict"] == "right" and d[1]["nodes_on_platform"] > 50 and d[1]["nodes_elsewhere"] == 0 and d[1]["compute_dtype"] == "f16"'
fi

# Numbers that are none: a file of --input with one is refused, and a golden file that has them judges nothing.
made twice Add x:n,2 y:n,2
npy "$work/nan.npy" f4 '(1, 2)' 1 nan
code 2 "$ASSAY" run "$work/twice.onnx" $quick --input "x=$work/nan.npy"
has out 'unsupported'
has out 'number 2 of .*/nan\.npy is NaN'
python3 - "$work/nan.safetensors" <<'PY'
import json, struct, sys
head = json.dumps({"in.x": {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]}, "out.y": {"dtype": "F32", "shape": [1, 2], "data_offsets": [8, 16]}}).encode()
open(sys.argv[1], "wb").write(struct.pack("<Q", len(head)) + head + struct.pack("<4f", 1, 2, 2, float("nan")))
PY
code 0 "$ASSAY" run "$work/twice.onnx" $quick --golden "$work/nan.safetensors" --json
json 'd[0]["verdict"] == "unjudged" and "the golden file holds 1 values that are no numbers" in d[0]["cause"]'

# Generation of a file: with a cache it is measured and judged; without one the row says what is missing.
code 0 "$ASSAY" synth "$SOURCE/tests/conform/cases/llama" -o "$work/llama"
code 0 "$ASSAY" build "$work/llama" -o "$work/text"
code 0 "$ASSAY" run "$work/text/model.onnx" --on cpu --no-conform --task generate --new-tokens 4 --json
json 'd[0]["verdict"] == "right" and d[0]["token_ms"] > 0 and d[0]["cache_form"] == "plain"'
code 2 "$ASSAY" run "$work/graph/model.onnx" --on cpu --no-conform --task generate
has out 'it takes no cache'
code 2 "$ASSAY" run "$work/image.onnx" --on cpu --no-conform --task generate
has out 'it has no input named input_ids; it has x'

# OpenVINO gives an input whose first node does nothing any one of two names: it keeps the file's own.
if has_platform openvino; then
	for name in x zz; do
		made kept Identity,Relu $name:2,3 y:2,3
		code 0 "$ASSAY" run "$work/kept.onnx" --runs 1 --no-conform --on openvino --json
		json 'd[0]["verdict"] == "right"'
	done
fi

finish
