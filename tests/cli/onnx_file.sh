# SPDX-License-Identifier: Apache-2.0
# run on a user's .onnx files, each of a node or two: what is claimed of them, and what is not.
. "$SOURCE/tests/cli/lib.sh" || exit 1
need_python
has_platform cpu || exit 77
quick="--runs 3 --no-conform"
made()
{
	python3 "$SOURCE/tests/cli/tiny_onnx.py" "$work/$1.onnx" "$2" "$3" "$4" || fail "$1.onnx was not written"
}

# A graph that the engine folds into constants, and one without a node: the processor answers, and no other platform has computed anything.
made folded -MatMul,Relu x:batch,8 y:8,8
made none none x:4,8 x:4,8
for m in folded none; do
	code 0 "$ASSAY" run "$work/$m.onnx" --on cpu $quick --json
	json 'd[0]["actual"] == "cpu" and d[0]["verdict"] in ("right", "unjudged")'
	for p in qnn webgpu; do
		has_platform $p || continue
		code 2 "$ASSAY" run "$work/$m.onnx" --on $p $quick --json
		json 'd[0]["verdict"] == "fell_back" and d[0]["actual"] == "cpu" and d[0]["cause"].startswith("nothing was left to compute on '$p': ")'
		code 2 "$ASSAY" run "$work/$m.onnx" --on $p $quick --no-fallback
		code 0 "$ASSAY" run "$work/$m.onnx" --on $p $quick --allow-fallback --json
		json 'd[0]["actual"] == "cpu" and d[0]["compute_dtype"] == "f32"'
	done
done
finish
